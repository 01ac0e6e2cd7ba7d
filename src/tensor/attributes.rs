//! What torch's tensors say about themselves beyond shape and dtype: bytes, kinds of device, their storage.

use pyo3::prelude::*;

use super::Tensor;
use super::class::PyTensor;
use super::geometry::Geometry;
use super::storage::Data;
use crate::dtype::{PyDType, object};
use crate::error::Result;
use crate::ops::operand::{Operand, result_type};

impl Tensor {
    /// The size of the whole storage, which a view may see only a part of.
    pub fn storage_bytes(&self) -> usize {
        let core = self.core();
        match core.storage.data() {
            Data::Nothing(_) => 0,
            Data::Meta(bytes) => *bytes,
            Data::Cpu(buffer) => buffer.len(),
            Data::Device(cell) => {
                use burn_backend::TensorMetadata;
                cell.get().shape().num_elements() * core.dtype.size()
            }
        }
    }
}

#[pymethods]
impl PyTensor {
    /// The bytes that the elements take.
    #[getter]
    fn nbytes(&self) -> usize {
        self.tensor.numel() * self.tensor.dtype().size()
    }

    /// The bytes that one element takes.
    #[getter]
    fn itemsize(&self) -> usize {
        self.tensor.dtype().size()
    }

    /// The number of elements.
    fn nelement(&self) -> usize {
        self.tensor.numel()
    }

    /// The number of dimensions.
    fn ndimension(&self) -> usize {
        self.tensor.rank()
    }

    /// Whether the elements are in the CPU's memory.
    #[getter]
    fn is_cpu(&self) -> bool {
        self.tensor.device().is_cpu()
    }

    /// False: a GPU is reached through wgpu, never through CUDA.
    #[getter]
    fn is_cuda(&self) -> bool {
        false
    }

    /// False: a GPU is reached through wgpu, never through MPS.
    #[getter]
    fn is_mps(&self) -> bool {
        false
    }

    /// Whether there are no values, only a shape and a dtype.
    #[getter]
    fn is_meta(&self) -> bool {
        self.tensor.is_meta()
    }

    /// False: this tensor is dense.
    #[getter]
    fn is_sparse(&self) -> bool {
        false
    }

    /// False: there are no quantized tensors.
    #[getter]
    fn is_quantized(&self) -> bool {
        false
    }

    /// False: there are no nested tensors.
    #[getter]
    fn is_nested(&self) -> bool {
        false
    }

    /// The bytes of the whole storage.
    fn _storage_nbytes(&self) -> usize {
        self.tensor.storage_bytes()
    }

    /// All elements of the storage as one vector, outside the graph.
    fn _whole_storage(&self) -> Tensor {
        let length = self.tensor.storage_bytes() / self.tensor.dtype().size();
        self.tensor.alias(Geometry::contiguous(&[length]))
    }

    /// The same memory through other sizes and strides, outside the graph.
    fn _over(&self, size: Vec<usize>, stride: Vec<usize>, offset: usize) -> Result<Tensor> {
        let geometry = Geometry { shape: size.into(), strides: stride.into(), offset };
        self.tensor.check_inside(&geometry)?;
        Ok(self.tensor.alias(geometry))
    }
}

/// The dtype that an operation over two tensors or numbers gives.
#[pyfunction]
#[pyo3(name = "result_type")]
fn result_type_of<'py>(py: Python<'py>, tensor1: Operand, tensor2: Operand) -> PyResult<Bound<'py, PyDType>> {
    object(py, result_type(&tensor1, &tensor2))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(result_type_of, module)?)
}
