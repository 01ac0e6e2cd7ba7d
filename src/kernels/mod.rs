//! Our own CPU kernels: where burn has none with torch's meaning, or a measured faster one exists.

pub mod box_muller;
pub mod copy;
pub mod element;
pub mod extreme;
pub mod index;
pub mod iterate;
pub mod lines;
pub mod memory;
pub mod reduce;
pub mod reducers;
pub mod scan;
pub mod search;
pub mod sort;
