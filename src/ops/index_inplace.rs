//! The in-place forms of the index ops: written to the rows themselves where no history asks for a copy.

use pyo3::prelude::*;

use super::indexing::{index_add, index_copy, scaled, scatter, scatter_add, scatter_parts, slab_rows, source_rows};
use super::operand::{Operand, Scalar};
use super::rows::{self, Rows};
use crate::autograd::inplace::{assign, check, check_apart};
use crate::error::Result;
use crate::kernels::index::Update;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::wrap_dim;

type Own<'py> = PyResult<Bound<'py, PyTensor>>;

/// torch's refusals of a write to `x` that reads `others`.
fn check_all(op: &str, x: &Tensor, others: &[&Tensor]) -> Result<()> {
    check(op, x)?;
    others.iter().try_for_each(|other| check_apart(op, x, other, true))
}

/// Writes to the rows of `x`, or the result that `make` gives into all of it.
fn write(
    op: &str,
    x: &Tensor,
    (rows, values, update): (&Rows, &Tensor, Update),
    make: impl FnOnce() -> Result<Tensor>,
) -> Result<()> {
    if rows::put_here(x, rows, values, update)? { Ok(()) } else { assign(op, x, &make()?) }
}

#[pymethods]
impl PyTensor {
    /// This tensor, to whose sub-tensors at `index` `alpha * source` has been added.
    #[pyo3(signature = (dim, index, source, *, alpha=None))]
    fn index_add_<'py>(
        slf: Bound<'py, Self>,
        dim: isize,
        index: Tensor,
        source: Tensor,
        alpha: Option<Scalar>,
    ) -> Own<'py> {
        let x = &slf.get().tensor;
        check_all("index_add_", x, &[&index, &source])?;
        let dim = wrap_dim("index_add", dim, x.rank())?;
        let found = slab_rows("index_add", x, dim, &index, &source)?;
        let values = scaled(&source, alpha)?;
        write("index_add_", x, (&found, &values, Update::Add), || index_add(x, dim, &index, &source, alpha))?;
        Ok(slf)
    }

    /// This tensor, whose sub-tensors at `index` are those of `source` now.
    fn index_copy_<'py>(slf: Bound<'py, Self>, dim: isize, index: Tensor, source: Tensor) -> Own<'py> {
        let x = &slf.get().tensor;
        check_all("index_copy_", x, &[&index, &source])?;
        let dim = wrap_dim("index_copy", dim, x.rank())?;
        let found = source_rows("index_copy", x, dim, &index, &source)?;
        write("index_copy_", x, (&found, &source, Update::Assign), || index_copy(x, dim, &index, &source))?;
        Ok(slf)
    }

    /// This tensor, to which `src` has been added at the positions that `index` names along `dim`.
    fn scatter_add_<'py>(slf: Bound<'py, Self>, dim: isize, index: Tensor, src: Tensor) -> Own<'py> {
        let x = &slf.get().tensor;
        check_all("scatter_add_", x, &[&index, &src])?;
        let (dim, src) = (wrap_dim("scatter_add", dim, x.rank())?, src.into());
        let (found, values) = scatter_parts("scatter_add", x, dim, &index, &src)?;
        write("scatter_add_", x, (&found, &values, Update::Add), || scatter_add(x, dim, &index, &src))?;
        Ok(slf)
    }

    /// This tensor, in which `values` stand at the positions that `index` names along `dim`.
    fn _scatter_<'py>(slf: Bound<'py, Self>, dim: isize, index: Tensor, values: Operand) -> Own<'py> {
        let x = &slf.get().tensor;
        check_all("scatter_", x, &[&index])?;
        if let Operand::Tensor(values) = &values {
            check_apart("scatter_", x, values, true)?;
        }
        let dim = wrap_dim("scatter", dim, x.rank())?;
        let (found, given) = scatter_parts("scatter", x, dim, &index, &values)?;
        write("scatter_", x, (&found, &given, Update::Assign), || scatter(x, dim, &index, &values))?;
        Ok(slf)
    }
}
