//! Our own CPU kernels: where burn has none with torch's meaning, or a measured faster one exists.

pub mod allocator;
pub mod attention;
pub mod attention_back;
pub mod binary;
pub mod box_muller;
pub mod cast;
pub mod complex;
pub mod conv;
pub mod conv_deep;
pub mod conv_few;
pub mod conv_flat;
pub mod conv_panels;
pub mod conv_point;
pub mod conv_tile;
pub mod conv_weight;
pub mod convolve;
pub mod copy;
pub mod ctc;
pub mod curves;
mod deep;
pub mod depthwise;
mod digits;
pub mod dot_sum;
pub mod dots;
pub mod double;
pub mod edges;
pub mod element;
pub mod entropy;
pub mod extreme;
pub mod factor;
pub mod fft;
#[cfg(target_arch = "x86_64")]
mod fft_columns;
#[cfg(target_arch = "x86_64")]
mod fft_rows;
pub mod flip;
mod floats;
pub mod gemm;
pub mod grid;
pub mod gru;
pub mod index;
pub mod index_put;
pub mod index_take;
pub mod introsort;
pub mod iterate;
pub mod ldl;
pub mod lines;
pub mod lstm;
pub mod math;
pub mod memory;
pub mod micro;
pub mod narrow;
#[cfg(target_arch = "x86_64")]
mod narrow_grid;
pub mod norm;
pub mod norm_columns;
pub mod number;
mod peaks;
pub mod pixels;
pub mod pointwise;
mod processor;
pub mod product;
pub mod ranges;
pub mod real;
pub mod recurrent;
pub mod reduce;
pub mod reducers;
pub mod reflect;
pub mod resample;
pub mod same;
pub mod scan;
pub mod scratch;
pub mod search;
pub mod sheet;
pub mod simd;
pub mod softmax;
pub mod sort;
pub mod special;
pub mod steps;
#[cfg(target_arch = "x86_64")]
mod tables;
pub mod taps;
mod team;
pub mod tiles;
pub mod triangle;
mod turned;
pub mod types;
pub mod unary;
pub mod vector;
pub mod weight_panels;
#[cfg(target_arch = "x86_64")]
mod wide;
#[cfg(target_arch = "x86_64")]
mod wide_casts;
#[cfg(target_arch = "x86_64")]
mod wide_grid;
#[cfg(target_arch = "x86_64")]
mod wide_rows;
pub mod widest;
pub mod windows;
pub mod winograd;
