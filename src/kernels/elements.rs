//! CPU memory of tensors as kernels see it: a pointer with its geometry, kept alive for the time of the call.

use crate::dtype::DType;
use crate::error::{self, Result};
use crate::tensor::Tensor;
use crate::tensor::geometry::Geometry;
use crate::tensor::storage::{Data, Storage};

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
