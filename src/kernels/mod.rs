//! Our own CPU kernels: where burn has none with torch's meaning, or a measured faster one exists.

pub mod binary;
pub mod box_muller;
pub mod complex;
pub mod conv;
pub mod copy;
pub mod element;
pub mod elements;
pub mod extreme;
pub mod fft;
pub mod gemm;
pub mod index;
pub mod iterate;
pub mod lines;
pub mod memory;
pub mod number;
pub mod pointwise;
pub mod reduce;
pub mod reducers;
pub mod scan;
pub mod search;
pub mod softmax;
pub mod sort;
pub mod special;
pub mod taps;
pub mod unary;
pub mod windows;
