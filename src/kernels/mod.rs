//! Our own CPU kernels: where burn has none with torch's meaning, or a measured faster one exists.

pub mod box_muller;
pub mod copy;
pub mod iterate;
pub mod memory;
