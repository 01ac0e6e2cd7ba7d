//! The view methods of `Tensor`, with torch's argument rules.

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::movement;
use crate::dtype::DTypeArg;
use crate::error::{self, Result};
use crate::tensor::Tensor;
use crate::tensor::class::{PyTensor, sizes};
use crate::tensor::geometry::{Dims, Geometry, wrap_dim};

/// One dimension or several: `dim=1`, `dim=(0, -1)`.
#[derive(FromPyObject)]
pub enum DimArg {
    One(isize),
    Many(Vec<isize>),
}

impl DimArg {
    /// The dimensions counted from the front, each once.
    pub fn wrap(&self, op: &str, rank: usize) -> Result<Vec<usize>> {
        let given: &[isize] = match self {
            Self::One(dim) => std::slice::from_ref(dim),
            Self::Many(dims) => dims,
        };
        let mut out = Vec::with_capacity(given.len());
        for &dim in given {
            let dim = wrap_dim(op, dim, rank)?;
            if out.contains(&dim) {
                return error::runtime(format!("{op}: dim {dim} appears multiple times in the list of dims"));
            }
            out.push(dim);
        }
        Ok(out)
    }
}

/// All dimensions as a permutation.
pub fn axes(op: &str, dims: &[isize], rank: usize) -> Result<Dims> {
    if dims.len() != rank {
        return error::runtime(format!(
            "{op}: number of dimensions in the tensor input does not match the length of the desired ordering of \
             dimensions, i.e. {rank} is not equal to {}",
            dims.len()
        ));
    }
    Ok(DimArg::Many(dims.to_vec()).wrap(op, rank)?.into_iter().collect())
}

/// Target sizes of `expand`, where -1 keeps a size.
fn expand_sizes(x: &Tensor, given: &[isize]) -> Result<Dims> {
    let shape = x.shape();
    let Some(extra) = given.len().checked_sub(shape.len()) else {
        return error::runtime(format!(
            "expand: the number of sizes provided ({}) must be greater or equal to the number of dimensions in the \
             tensor ({})",
            given.len(),
            shape.len()
        ));
    };
    given
        .iter()
        .enumerate()
        .map(|(dim, &size)| match (size, dim.checked_sub(extra)) {
            (-1, Some(old)) => Ok(shape[old]),
            (size, _) if size >= 0 => Ok(size as usize),
            _ => error::runtime(format!("expand: size {size} isn't allowed at dimension {dim}")),
        })
        .collect()
}

/// Bytes that one piece of `split` takes, roughly.
const PIECE: usize = 512;

/// The positional arguments, or the one given by name instead.
fn named<'py>(op: &str, args: &Bound<'py, PyTuple>, name: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyTuple>> {
    match name {
        Some(_) if !args.is_empty() => {
            Err(PyTypeError::new_err(format!("{op}: got sizes or dimensions both by position and by name; give one")))
        }
        Some(given) => PyTuple::new(args.py(), [given]),
        None => Ok(args.clone()),
    }
}

fn need_dim(op: &str, x: &Tensor) -> Result<()> {
    if x.rank() == 0 {
        return error::runtime(format!("{op}: expects at least a 1-dimensional tensor"));
    }
    Ok(())
}

#[pymethods]
impl PyTensor {
    /// The same memory in another shape, or (for a dtype) read as another type.
    #[pyo3(signature = (*shape, dtype=None, size=None))]
    fn view<'py>(
        &self,
        shape: &Bound<'py, PyTuple>,
        dtype: Option<DTypeArg>,
        size: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Tensor> {
        if dtype.is_some() && !(shape.is_empty() && size.is_none()) {
            return Err(PyTypeError::new_err("view: takes sizes or a dtype, not both"));
        }
        let shape = &named("view", shape, size)?;
        let given = match dtype {
            Some(dtype) => Some(dtype.0),
            None if shape.len() == 1 => {
                let first = shape.get_item(0)?;
                first.cast::<crate::dtype::PyDType>().ok().map(|dtype| dtype.get().0)
            }
            None => None,
        };
        if let Some(dtype) = given {
            return Ok(super::creation::view_dtype(&self.tensor, dtype)?);
        }
        let shape = movement::infer_shape("view", &sizes("view", shape)?, self.tensor.numel())?;
        Ok(movement::view(&self.tensor, &shape)?)
    }

    /// The same elements in another shape: a view where memory order allows, else a copy.
    #[pyo3(signature = (*args, shape=None))]
    fn reshape<'py>(&self, args: &Bound<'py, PyTuple>, shape: Option<Bound<'py, PyAny>>) -> PyResult<Tensor> {
        let shape = &named("reshape", args, shape)?;
        let shape = movement::infer_shape("reshape", &sizes("reshape", shape)?, self.tensor.numel())?;
        Ok(movement::reshape(&self.tensor, &shape)?)
    }

    /// A view of this tensor in the shape of another.
    fn view_as(&self, other: Tensor) -> Result<Tensor> {
        let sizes: Vec<isize> = other.shape().iter().map(|&size| size as isize).collect();
        movement::view(&self.tensor, &movement::infer_shape("view_as", &sizes, self.tensor.numel())?)
    }

    /// This tensor in the shape of another, a view where that is possible.
    fn reshape_as(&self, other: Tensor) -> Result<Tensor> {
        let sizes: Vec<isize> = other.shape().iter().map(|&size| size as isize).collect();
        movement::reshape(&self.tensor, &movement::infer_shape("reshape_as", &sizes, self.tensor.numel())?)
    }

    /// The dimensions in another order.
    #[pyo3(signature = (*args, dims=None))]
    fn permute<'py>(&self, args: &Bound<'py, PyTuple>, dims: Option<Bound<'py, PyAny>>) -> PyResult<Tensor> {
        let dims = &named("permute", args, dims)?;
        let dims = axes("permute", &sizes("permute", dims)?, self.tensor.rank())?;
        Ok(movement::permute(&self.tensor, &dims)?)
    }

    /// Two dimensions exchanged.
    fn transpose(&self, dim0: isize, dim1: isize) -> Result<Tensor> {
        let rank = self.tensor.rank();
        let (a, b) = (wrap_dim("transpose", dim0, rank)?, wrap_dim("transpose", dim1, rank)?);
        movement::transpose(&self.tensor, a, b)
    }

    /// The transpose of a matrix; vectors and scalars stay as they are.
    fn t(&self) -> Result<Tensor> {
        if self.tensor.rank() > 2 {
            return error::runtime(format!(
                "t: expects a tensor with <= 2 dimensions, but self is {}D",
                self.tensor.rank()
            ));
        }
        movement::transpose(&self.tensor, 0, 1)
    }

    /// Sizes of 1 repeated without copying.
    #[pyo3(signature = (*args, size=None, implicit=false))]
    fn expand<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        size: Option<Bound<'py, PyAny>>,
        implicit: bool,
    ) -> PyResult<Tensor> {
        let _ = implicit;
        let sizes = &named("expand", args, size)?;
        let sizes = expand_sizes(&self.tensor, &crate::tensor::class::sizes("expand", sizes)?)?;
        Ok(movement::expand(&self.tensor, &sizes)?)
    }

    /// A view of this tensor, repeated to the shape of another.
    fn expand_as(&self, other: Tensor) -> Result<Tensor> {
        movement::expand(&self.tensor, &other.shape())
    }

    /// `length` elements from `start` along `dim`.
    fn narrow(&self, dim: isize, start: isize, length: isize) -> Result<Tensor> {
        need_dim("narrow", &self.tensor)?;
        let dim = wrap_dim("narrow", dim, self.tensor.rank())?;
        let size = self.tensor.size(dim) as isize;
        let first = if start < 0 { start + size } else { start };
        if first < 0 || first > size || length < 0 || first + length > size {
            return error::runtime(format!(
                "narrow: start ({start}) + length ({length}) exceeds dimension size ({size})."
            ));
        }
        movement::slice(&self.tensor, dim, first as usize, length as usize, 1)
    }

    /// The sub-tensor at one index of `dim`.
    fn select(&self, dim: isize, index: isize) -> Result<Tensor> {
        if self.tensor.rank() == 0 {
            return error::index("select() cannot be applied to a 0-dim tensor.");
        }
        let dim = wrap_dim("select", dim, self.tensor.rank())?;
        let size = self.tensor.size(dim) as isize;
        if index < -size || index >= size {
            return error::index(format!(
                "select(): index {index} out of range for tensor of size {:?} at dimension {dim}",
                self.tensor.shape().as_slice()
            ));
        }
        movement::select(&self.tensor, dim, ((index + size) % size) as usize)
    }

    /// Pieces of `split_size` (or of the sizes given) along `dim`.
    #[pyo3(signature = (split_size, dim=0))]
    fn split<'py>(&self, py: Python<'py>, split_size: DimArg, dim: isize) -> PyResult<Bound<'py, PyTuple>> {
        need_dim("split", &self.tensor)?;
        let dim = wrap_dim("split", dim, self.tensor.rank())?;
        let size = self.tensor.size(dim);
        let parts = match split_size {
            DimArg::One(step) if step < 0 || (step == 0 && size != 0) => {
                return Err(crate::error::Error::Runtime(format!(
                    "split: split_size can only be 0 if dimension size is 0, got {step} for size {size}"
                ))
                .into());
            }
            DimArg::One(_) if size == 0 => vec![0],
            DimArg::One(step) => {
                let step = step as usize;
                (0..size.div_ceil(step)).map(|part| step.min(size - part * step)).collect()
            }
            DimArg::Many(parts) => {
                let valid = parts.iter().all(|&part| part >= 0) && parts.iter().sum::<isize>() == size as isize;
                if !valid {
                    return Err(crate::error::Error::Runtime(format!(
                        "split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at \
                         dimension {dim}), but got split_sizes={parts:?}"
                    ))
                    .into());
                }
                parts.into_iter().map(|part| part as usize).collect()
            }
        };
        PyTuple::new(py, movement::split(&self.tensor, dim, &parts)?)
    }

    /// At most `chunks` pieces of equal size along `dim`.
    #[pyo3(signature = (chunks, dim=0))]
    fn chunk<'py>(&self, py: Python<'py>, chunks: isize, dim: isize) -> PyResult<Bound<'py, PyTuple>> {
        need_dim("chunk", &self.tensor)?;
        if chunks <= 0 {
            return Err(crate::error::Error::Runtime(format!(
                "chunk expects `chunks` to be greater than 0, got: {chunks}"
            ))
            .into());
        }
        let dim = wrap_dim("chunk", dim, self.tensor.rank())?;
        let (size, chunks) = (self.tensor.size(dim), chunks as usize);
        if size == 0 {
            // Then there are as many pieces as asked for, all empty.
            crate::check::allocation(chunks.saturating_mul(PIECE))?;
        }
        let step = size.div_ceil(chunks);
        let parts: Vec<usize> = if step == 0 {
            vec![0; chunks]
        } else {
            (0..size.div_ceil(step)).map(|part| step.min(size - part * step)).collect()
        };
        PyTuple::new(py, movement::split(&self.tensor, dim, &parts)?)
    }

    /// The sub-tensors along `dim`.
    #[pyo3(signature = (dim=0))]
    fn unbind<'py>(&self, py: Python<'py>, dim: isize) -> PyResult<Bound<'py, PyTuple>> {
        need_dim("unbind", &self.tensor)?;
        let dim = wrap_dim("unbind", dim, self.tensor.rank())?;
        PyTuple::new(py, movement::unbind(&self.tensor, dim)?)
    }

    /// Without the dimensions of size 1 (all of them, or those in `dim`).
    #[pyo3(signature = (dim=None))]
    fn squeeze(&self, dim: Option<DimArg>) -> Result<Tensor> {
        let rank = self.tensor.rank();
        let dims = match dim {
            None => (0..rank).collect(),
            Some(dims) => dims.wrap("squeeze", rank)?,
        };
        movement::squeeze(&self.tensor, &dims)
    }

    /// With a new dimension of size 1 at `dim`.
    fn unsqueeze(&self, dim: isize) -> Result<Tensor> {
        let dim = wrap_dim("unsqueeze", dim, self.tensor.rank() + 1)?;
        movement::unsqueeze(&self.tensor, dim)
    }

    /// The dimensions `start_dim..=end_dim` as one.
    #[pyo3(signature = (start_dim=0, end_dim=-1))]
    fn flatten(&self, start_dim: isize, end_dim: isize) -> Result<Tensor> {
        let shape = self.tensor.shape();
        let (start, end) = (wrap_dim("flatten", start_dim, shape.len())?, wrap_dim("flatten", end_dim, shape.len())?);
        if start > end {
            return error::runtime("flatten() has invalid args: start_dim cannot come after end_dim");
        }
        if shape.is_empty() {
            return movement::reshape(&self.tensor, &[1]);
        }
        if start == end {
            return Ok(self.tensor.clone());
        }
        let mut target: Dims = shape[..start].iter().copied().collect();
        target.push(shape[start..=end].iter().product());
        target.extend(shape[end + 1..].iter().copied());
        movement::reshape(&self.tensor, &target)
    }

    /// Dimensions moved to new places, the others keeping their order.
    fn movedim(&self, source: DimArg, destination: DimArg) -> Result<Tensor> {
        let rank = self.tensor.rank();
        let (from, to) = (source.wrap("movedim", rank)?, destination.wrap("movedim", rank)?);
        if from.len() != to.len() {
            return error::runtime(format!(
                "movedim: Invalid source or destination dims: source ({from:?} dims) should contain the same number \
                 of dims as destination ({to:?} dims)"
            ));
        }
        let mut order: Vec<Option<usize>> = vec![None; rank];
        for (&source, &target) in from.iter().zip(&to) {
            if let Some(slot) = order.get_mut(target) {
                *slot = Some(source);
            }
        }
        let mut rest = (0..rank).filter(|dim| !from.contains(dim));
        let dims: Dims = order.into_iter().filter_map(|slot| slot.or_else(|| rest.next())).collect();
        movement::permute(&self.tensor, &dims)
    }

    /// The diagonal between two dimensions, as a new last dimension.
    #[pyo3(signature = (offset=0, dim1=0, dim2=1))]
    fn diagonal(&self, offset: isize, dim1: isize, dim2: isize) -> Result<Tensor> {
        let rank = self.tensor.rank();
        let (first, second) = (wrap_dim("diagonal", dim1, rank)?, wrap_dim("diagonal", dim2, rank)?);
        if first == second {
            return error::runtime(format!("diagonal dimensions cannot be identical {dim1}, {dim2}"));
        }
        movement::diagonal(&self.tensor, offset, first, second)
    }

    /// Windows of `size` every `step` along a dimension, as a new last dimension.
    fn unfold(&self, dimension: isize, size: isize, step: isize) -> Result<Tensor> {
        let dim = wrap_dim("unfold", dimension, self.tensor.rank())?;
        let length = if self.tensor.rank() == 0 { 1 } else { self.tensor.size(dim) as isize };
        if size < 0 || size > length {
            return error::runtime(format!(
                "unfold: maximum size for tensor at dimension {dim} is {length} but size is {size}"
            ));
        }
        if step <= 0 {
            return error::runtime(format!("unfold: step is {step} but must be > 0"));
        }
        movement::unfold(&self.tensor, dim, size as usize, step as usize)
    }

    /// A view with any sizes and strides over the storage.
    #[pyo3(signature = (size, stride, storage_offset=None))]
    fn as_strided(&self, size: Vec<isize>, stride: Vec<isize>, storage_offset: Option<isize>) -> Result<Tensor> {
        if size.len() != stride.len() {
            return error::runtime("as_strided: mismatch in length of strides and shape");
        }
        let counts = |name: &str, values: &[isize]| -> Result<Dims> {
            values
                .iter()
                .map(|&value| match usize::try_from(value) {
                    Ok(value) => Ok(value),
                    Err(_) => error::runtime(format!("as_strided: a negative {name} is not supported, got {value}")),
                })
                .collect()
        };
        let shape = counts("size", &size)?;
        crate::tensor::geometry::checked_numel(&shape)?;
        let offset = match storage_offset {
            Some(offset) => counts("storage offset", &[offset])?.first().copied().unwrap_or(0),
            None => self.tensor.geometry().offset,
        };
        let geometry = Geometry { shape, strides: counts("stride", &stride)?, offset };
        self.tensor.check_inside(&geometry)?;
        movement::as_strided(&self.tensor, geometry)
    }
}
