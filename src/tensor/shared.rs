//! Memory that several processes see: mappings of a file descriptor, and storages that move into one.

use pyo3::prelude::*;

use super::Tensor;
use super::class::PyTensor;
use super::geometry::Geometry;
use super::storage::{Buffer, Data, Storage};
use crate::dtype::DTypeArg;
use crate::error::{self, Result};

/// The first bytes of a file in memory, seen by all who map it, as long as this object or a tensor over them lives.
#[pyclass(name = "_SharedMemory", module = "pyburn._core", subclass, frozen)]
pub struct SharedMemory {
    pointer: *mut u8,
    length: usize,
}

// SAFETY: a mapping may be used and removed by any thread; races are the program's, as in `Buffer`.
unsafe impl Send for SharedMemory {}
// SAFETY: as for Send.
unsafe impl Sync for SharedMemory {}

#[cfg(unix)]
fn map(descriptor: i32, length: usize) -> Result<*mut u8> {
    let fail = |call: &str| error::runtime(format!("shared memory: {call}: {}", std::io::Error::last_os_error()));
    let mut status = std::mem::MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: fstat writes to the structure, whose zeros are valid too, or refuses the descriptor.
    let (code, status) = unsafe { (libc::fstat(descriptor, status.as_mut_ptr()), status.assume_init()) };
    if code != 0 {
        return fail("fstat");
    }
    // Touching a page past the end of the file would end the process.
    let held = usize::try_from(status.st_size).unwrap_or(0);
    if held < length {
        return error::runtime(format!(
            "shared memory has {held} bytes but {length} are needed; the message that describes it is damaged"
        ));
    }
    let mode = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address that the system chooses.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), length.max(1), mode, libc::MAP_SHARED, descriptor, 0) };
    if start == libc::MAP_FAILED { fail("mmap") } else { Ok(start.cast()) }
}

#[cfg(not(unix))]
fn map(_descriptor: i32, _length: usize) -> Result<*mut u8> {
    error::missing("processes share no memory on this system; send copies of the values, or use threads")
}

#[pymethods]
impl SharedMemory {
    #[new]
    fn new(descriptor: i32, length: usize) -> Result<Self> {
        Ok(Self { pointer: map(descriptor, length)?, length })
    }

    /// The address of the first byte.
    fn address(&self) -> usize {
        self.pointer as usize
    }

    /// A vector of as many elements as the memory has.
    fn tensor(slf: &Bound<'_, Self>, dtype: DTypeArg) -> Tensor {
        let (pointer, length, dtype) = (slf.get().pointer, slf.get().length, dtype.0);
        // SAFETY: `map` has seen that the file has so many bytes; the tensor holds this object, which holds the mapping.
        let buffer = unsafe { Buffer::foreign(pointer, length, Box::new(slf.clone().unbind())) };
        Tensor::new(Storage::cpu(buffer), Geometry::contiguous(&[length / dtype.size()]), dtype)
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        #[cfg(unix)]
        // SAFETY: mapped by `map` with this length; the last tensor over it is gone.
        unsafe {
            libc::munmap(self.pointer.cast(), self.length.max(1))
        };
    }
}

#[pymethods]
impl PyTensor {
    /// Moves the storage under this tensor and all its aliases to the memory of `target`, bytes of the same number.
    fn _move_storage(&self, target: Tensor) -> Result<()> {
        let (from, to) = (self.tensor.core().clone(), target.core().clone());
        let (Data::Cpu(origin), Data::Cpu(place)) = (from.storage.data(), to.storage.data()) else {
            return error::device("share_memory_: processes share only memory of the CPU; call .cpu() first");
        };
        if origin.len() != place.len() {
            return error::runtime(format!("{} bytes do not fit into {}", origin.len(), place.len()));
        }
        // SAFETY: both storages are held and have so many bytes; the target is fresh memory.
        unsafe { std::ptr::copy(origin.pointer(), place.pointer(), origin.len()) };
        drop(from);
        self.tensor.move_storage(&target)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<SharedMemory>()
}
