//! Values moved between a base and a view of it by geometry; the rules of writes through views are made of these.

use smallvec::SmallVec;

use super::{complex, reduce};
use crate::autograd::{Record, grads};
use crate::dtype::DType;
use crate::error::Result;
use crate::tensor::Tensor;
use crate::tensor::geometry::Geometry;

/// A flat copy of storage in which `x` lies as `base` says, and where geometries over the base's storage fit.
fn unrolled(x: &Tensor, base: &Geometry, view: &Geometry) -> Result<(Tensor, usize)> {
    let start = base.offset.min(view.offset);
    let length = base.end().max(view.end()) - start;
    let flat = super::creation::zeros(&[length], x.dtype(), x.device())?;
    flat.alias(shifted(base, start)).write(x)?;
    Ok((flat, start))
}

fn shifted(geometry: &Geometry, start: usize) -> Geometry {
    Geometry { offset: geometry.offset - start, ..geometry.clone() }
}

/// What a view of geometry `view` shows when `x` stands in a storage as `base`.
pub fn gather(x: &Tensor, base: &Geometry, view: &Geometry) -> Result<Tensor> {
    let (flat, start) = unrolled(x, base, view)?;
    let out = flat.alias(shifted(view, start)).copied()?;
    if let Some(record) = Record::new("AsStridedBackward0", &[x]) {
        let (base, view) = (base.clone(), view.clone());
        record.finish(&out, move |c| grads([Some(accumulate(&c.grad()?, &base, &view)?)]));
    }
    Ok(out)
}

/// `x` with `value` written through the view.
pub fn scatter(x: &Tensor, value: &Tensor, base: &Geometry, view: &Geometry) -> Result<Tensor> {
    let (flat, start) = unrolled(x, base, view)?;
    flat.alias(shifted(view, start)).write(value)?;
    let out = flat.alias(shifted(base, start)).copied()?;
    if let Some(record) = Record::new("AsStridedScatterBackward0", &[x, value]) {
        let (base, view) = (base.clone(), view.clone());
        record.finish(&out, move |c| {
            let grad = c.grad()?;
            grads([
                c.when(0, || {
                    let zeros = super::creation::zeros(&view.shape, grad.dtype(), grad.device())?;
                    scatter(&grad, &zeros, &base, &view)
                })?,
                c.when(1, || gather(&grad, &base, &view))?,
            ])
        });
    }
    Ok(out)
}

/// Zeros as `base`, which is contiguous, with `value` at the places of `view` inside it.
fn place(value: &Tensor, base: &Geometry, view: &Geometry) -> Result<Tensor> {
    let out = super::creation::zeros(&base.shape, value.dtype(), value.device())?;
    out.alias(shifted(view, base.offset)).write(value)?;
    if let Some(record) = Record::new("AsStridedScatterBackward0", &[value]) {
        let (base, view) = (base.clone(), view.clone());
        record.finish(&out, move |c| grads([Some(gather(&c.grad()?, &base, &view)?)]));
    }
    Ok(out)
}

/// The adjoint of `gather`: each element of `grad` is added to the base element that it came from.
pub fn accumulate(grad: &Tensor, base: &Geometry, view: &Geometry) -> Result<Tensor> {
    // Broadcast dimensions repeat one element: their gradients are summed first.
    let repeated: Vec<usize> = (0..view.rank()).filter(|&dim| view.strides[dim] == 0 && view.shape[dim] > 1).collect();
    let mut distinct = view.clone();
    let mut value = grad.clone();
    if !repeated.is_empty() {
        value = reduce::sum(&value, &repeated, true)?;
        for &dim in &repeated {
            distinct.shape[dim] = 1;
        }
    }
    let from = base.offset;
    let inside = distinct.offset >= from && distinct.end() <= from + base.numel();
    if base.is_contiguous() && inside && value.device().is_cpu() && !distinct.overlaps_itself() {
        return place(&value, base, &distinct);
    }
    let zeros = |geometry: &Geometry| super::creation::zeros(&geometry.shape, grad.dtype(), grad.device());
    if !distinct.overlaps_itself() {
        return scatter(&zeros(base)?, &value, base, &distinct);
    }
    // Overlapping windows: those among which none overlaps at a time.
    let (dim, turns) = turns(&distinct);
    if base.is_contiguous() && inside && value.device().is_cpu() && !turn(&distinct, dim, 0, turns).overlaps_itself() {
        return add_up(&value, base, &distinct, (dim, turns));
    }
    let mut total = zeros(base)?;
    for first in 0..turns {
        let window = turn(&distinct, dim, first, turns);
        let part = super::movement::slice(&value, dim, first, window.shape[dim], turns)?;
        total = super::elementwise::add(&total, &accumulate(&part, base, &window)?)?;
    }
    Ok(total)
}

/// Zeros as `base`, which is contiguous, with `value` added at the places of `view` inside it, in turns along a dimension.
fn add_up(value: &Tensor, base: &Geometry, view: &Geometry, (dim, turns): (usize, usize)) -> Result<Tensor> {
    let out = super::creation::zeros(&base.shape, value.dtype(), value.device())?;
    let plain = value.detached();
    for first in 0..turns {
        let place = out.alias(shifted(&turn(view, dim, first, turns), base.offset));
        let part = plain.alias(turn(&plain.geometry(), dim, first, turns));
        place.write(&super::elementwise::add(&place, &part)?)?;
    }
    if let Some(record) = Record::new("AsStridedScatterBackward0", &[value]) {
        let (base, view) = (base.clone(), view.clone());
        record.finish(&out, move |c| grads([Some(gather(&c.grad()?, &base, &view)?)]));
    }
    Ok(out)
}

/// As `accumulate`, where the base has `dtype` and one of base and view shows the parts of the other's elements.
pub fn accumulate_as(dtype: DType, grad: &Tensor, base: &Geometry, view: &Geometry) -> Result<Tensor> {
    match (dtype.is_complex(), grad.dtype().is_complex()) {
        (true, false) => complex::view_as_complex(&accumulate(grad, &complex::real_geometry(base), view)?),
        (false, true) => accumulate(&complex::view_as_real(grad)?, base, &complex::real_geometry(view)),
        _ => accumulate(grad, base, view),
    }
}

/// As `gather`, for a view with elements of `dtype`.
pub fn gather_as(dtype: DType, x: &Tensor, base: &Geometry, view: &Geometry) -> Result<Tensor> {
    match (x.dtype().is_complex(), dtype.is_complex()) {
        (true, false) => gather(&complex::view_as_real(x)?, &complex::real_geometry(base), view),
        (false, true) => complex::view_as_complex(&gather(x, base, &complex::real_geometry(view))?),
        _ => gather(x, base, view),
    }
}

/// `x` with zeros written through a view with elements of `dtype`.
pub fn cleared_as(dtype: DType, x: &Tensor, base: &Geometry, view: &Geometry) -> Result<Tensor> {
    let clear = |x: &Tensor, base: &Geometry, view: &Geometry| {
        let zeros = super::creation::zeros(&view.shape, x.dtype(), x.device())?;
        scatter(x, &zeros, base, view)
    };
    match (x.dtype().is_complex(), dtype.is_complex()) {
        (true, false) => {
            let cleared = clear(&complex::view_as_real(x)?, &complex::real_geometry(base), view)?;
            complex::view_as_complex(&cleared)
        }
        (false, true) => clear(x, base, &complex::real_geometry(view)),
        _ => clear(x, base, view),
    }
}

/// Every `turns`-th position along `dim` from `first` on.
fn turn(geometry: &Geometry, dim: usize, first: usize, turns: usize) -> Geometry {
    geometry.slice(dim, first, (geometry.shape[dim] - first).div_ceil(turns), turns)
}

/// A dimension of an overlapping view, and the fewest turns in which its positions do not overlap; where no dimension alone
/// is the reason, the one with the fewest positions, one by one.
fn turns(geometry: &Geometry) -> (usize, usize) {
    let mut best = None;
    for dim in (0..geometry.rank()).filter(|&dim| geometry.shape[dim] > 1) {
        let most = best.map_or(geometry.shape[dim], |(_, turns)| geometry.shape[dim].min(turns - 1));
        let found = (2..=most).find(|&turns| !turn(geometry, dim, 0, turns).overlaps_itself());
        best = found.map(|turns| (dim, turns)).or(best);
    }
    let shortest = || {
        let dims: SmallVec<[usize; 6]> = (0..geometry.rank()).filter(|&dim| geometry.shape[dim] > 1).collect();
        let dim = dims.into_iter().min_by_key(|&dim| geometry.shape[dim]).unwrap_or(0);
        (dim, geometry.shape[dim])
    };
    best.unwrap_or_else(shortest)
}
