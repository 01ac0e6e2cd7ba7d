//! CPU memory of tensors as kernels see it: `Memory` is a bare pointer for tasks that are given geometries, `Elements` a
//! pointer with its geometry that keeps the storage alive.

use super::iterate::spread_over;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::tensor::geometry::Geometry;
use crate::tensor::storage::{Data, Storage};
use crate::tensor::{NO_VALUES, SPARSE, Tensor};

/// CPU memory that several threads of one kernel may use, each for elements of its own.
#[derive(Clone, Copy)]
pub struct Memory(*mut u8);

// SAFETY: kernels give every element they write to exactly one task, and the tensors outlive the kernel.
unsafe impl Send for Memory {}
// SAFETY: as for Send.
unsafe impl Sync for Memory {}

impl Memory {
    /// The storage under a CPU tensor, from its first byte.
    pub fn of(tensor: &Tensor) -> Result<Self> {
        match tensor.core().storage.data() {
            Data::Cpu(buffer) => Ok(Self(buffer.pointer())),
            Data::Nothing(_) => error::missing(SPARSE),
            Data::Meta(_) => error::missing(NO_VALUES),
            Data::Device(_) => error::device("a CPU kernel was given a GPU tensor"),
        }
    }

    /// The first element of a CPU tensor.
    pub fn first(tensor: &Tensor) -> Result<Self> {
        let start = {
            let core = tensor.core();
            core.geometry.offset * core.dtype.size()
        };
        Ok(Self(Self::of(tensor)?.at::<u8>(start)))
    }

    /// Memory of a kernel's own.
    pub fn over(pointer: *mut u8) -> Self {
        Self(pointer)
    }

    /// The address of the element with this number.
    pub fn at<T>(self, index: usize) -> *mut T {
        self.0.cast::<T>().wrapping_add(index)
    }

    /// Reads the element with this number.
    ///
    /// # Safety
    /// The element lies inside the storage, which holds values of `T`.
    #[inline(always)]
    pub unsafe fn read<T: Copy>(self, index: usize) -> T {
        // SAFETY: the caller vouches for the index; storages of foreign memory may be unaligned.
        unsafe { self.0.cast::<T>().add(index).read_unaligned() }
    }

    /// Writes the element with this number.
    ///
    /// # Safety
    /// As `read`, and no other task touches this element.
    #[inline(always)]
    pub unsafe fn write<T: Copy>(self, index: usize, value: T) {
        // SAFETY: as above.
        unsafe { self.0.cast::<T>().add(index).write_unaligned(value) }
    }
}

/// Bytes that one thread clears at a time.
const CLEARED: usize = 1 << 18;

/// Writes zeros, on several threads where they are free and there is enough to do.
///
/// # Safety
/// The memory has so many bytes, and nobody else uses it.
pub unsafe fn clear(pointer: *mut u8, length: usize, free: bool) {
    let memory = Memory::over(pointer);
    // SAFETY: the caller's; parts are apart.
    let part = |start: usize, count: usize| unsafe { memory.at::<u8>(start).write_bytes(0, count) };
    if !free || length < 4 * CLEARED {
        return part(0, length);
    }
    spread_over(length.div_ceil(CLEARED), 1, &|number| {
        part(number * CLEARED, CLEARED.min(length - number * CLEARED));
    });
}

/// One tensor's elements; `at` is unchecked, so indices must come from `geometry`.
pub struct Elements {
    pointer: *mut u8,
    pub geometry: Geometry,
    pub dtype: DType,
    _storage: Storage,
}

// SAFETY: the storage is held; kernels write disjoint elements of results that nobody else has seen yet.
unsafe impl Send for Elements {}
// SAFETY: as for Send.
unsafe impl Sync for Elements {}

impl Elements {
    /// Borrows a CPU tensor's memory. It is aligned to its elements, since memory from outside is refused otherwise.
    pub fn of(tensor: &Tensor) -> Result<Self> {
        let core = tensor.core().clone();
        let Data::Cpu(buffer) = core.storage.data() else {
            return error::device("a CPU kernel was given a tensor on another device");
        };
        let pointer = buffer.pointer();
        if !(pointer as usize).is_multiple_of(core.dtype.size().min(8)) {
            // A copy would lose what a kernel writes.
            return error::runtime("a kernel was given memory that is not aligned to its elements; clone() the tensor");
        }
        Ok(Self { pointer, geometry: core.geometry.clone(), dtype: core.dtype, _storage: core.storage })
    }

    /// As `of`, in row-major order.
    pub fn contiguous(tensor: &Tensor) -> Result<Self> {
        Self::of(&tensor.contiguous_data()?)
    }

    /// The address of the element at an index of the storage.
    pub fn at<T>(&self, index: usize) -> *mut T {
        self.pointer.cast::<T>().wrapping_add(index)
    }

    /// The elements of a row-major tensor.
    ///
    /// # Safety
    /// `T` is the element type, and the geometry is contiguous.
    pub unsafe fn slice<T>(&self) -> &[T] {
        // SAFETY: the caller vouches for the layout; the storage lives as long as `self`.
        unsafe { std::slice::from_raw_parts(self.at::<T>(self.geometry.offset), self.geometry.numel()) }
    }

    /// The elements of a fresh row-major result.
    ///
    /// # Safety
    /// As `slice`, and no other reference to these elements exists.
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn slice_mut<T>(&self) -> &mut [T] {
        // SAFETY: the caller vouches for exclusiveness.
        unsafe { std::slice::from_raw_parts_mut(self.at::<T>(self.geometry.offset), self.geometry.numel()) }
    }
}

/// The integers of an index tensor, which they keep alive.
pub struct Numbers(Elements);

impl Numbers {
    /// Of an int64 tensor on the CPU.
    pub fn of(tensor: &Tensor) -> Result<Self> {
        if tensor.dtype() != DType::I64 {
            return error::dtype("an index was expected to be int64");
        }
        Ok(Self(Elements::contiguous(tensor)?))
    }

    pub fn get(&self) -> &[i64] {
        if self.0.geometry.numel() == 0 {
            return &[];
        }
        // SAFETY: `of` has seen to the type and the order.
        unsafe { self.0.slice() }
    }
}
