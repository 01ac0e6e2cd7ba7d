//! Folds over dimensions without gradients: our kernels on the CPU, chains of burn ops on a GPU.

use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_dispatch::{Dispatch, DispatchTensor};
use burn_std::{BoolStore, Scalar as BurnScalar};

use super::complex;
use super::operand::Scalar;
use crate::device::Device;
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::guard;
#[cfg(target_arch = "x86_64")]
use crate::kernels::halves;
use crate::kernels::memory::{Elements, Memory};
use crate::kernels::pairs;
use crate::kernels::reducers::{self, Fold};
use crate::tensor::geometry::Dims;
use crate::tensor::{Tensor, device_view, prim};

/// The sizes that remain after reducing over `dims`.
pub fn reduced_shape(shape: &[usize], dims: &[usize], keepdim: bool) -> Dims {
    shape
        .iter()
        .enumerate()
        .filter(|(dim, _)| keepdim || !dims.contains(dim))
        .map(|(dim, &size)| if dims.contains(&dim) { 1 } else { size })
        .collect()
}

/// The dtype that a fold of this dtype gives.
fn result_dtype(which: Fold, dtype: DType) -> DType {
    match which {
        Fold::Sum | Fold::Prod if !dtype.is_differentiable() => DType::I64,
        Fold::Any | Fold::All => DType::Bool,
        Fold::CountNonzero => DType::I64,
        _ => dtype,
    }
}

/// Elements of 16-bit floats from which on they are folded as float32.
const WIDENED: usize = 1 << 10;

/// One value per slice along `dims`, outside the graph.
pub fn fold(op: &str, which: Fold, x: &Tensor, dims: &[usize], keepdim: bool) -> Result<Tensor> {
    let (shape, from) = (x.shape(), x.dtype());
    let target = reduced_shape(&shape, dims, keepdim);
    let dtype = result_dtype(which, from);
    if x.is_meta() {
        return Tensor::meta_of(&target, dtype);
    }
    if !x.device().is_cpu() {
        return on_device(op, which, x, dims, &target, dtype);
    }
    if let Some(out) = complex_sum(op, which, x, dims, &target)? {
        return Ok(out);
    }
    if let Some(out) = half_sum(op, which, x, dims, &target)? {
        return Ok(out);
    }
    if from.is_half() && matches!(which, Fold::Sum | Fold::Mean | Fold::Max | Fold::Min) && x.numel() > WIDENED {
        // Each of its numbers would be widened by itself.
        return fold(op, which, &x.converted(DType::F32)?, dims, keepdim)?.converted(from);
    }
    let out = Tensor::zeroed(&target, dtype)?;
    let (input, output, geometry) = (Memory::of(x)?, Memory::of(&out)?, x.geometry());
    // SAFETY: a tensor's geometry lies inside its storage, and `out` was made for one element per slice.
    guard::spread(op, x.numel(), || unsafe { reducers::fold(which, from, input, &geometry, dims, output) })??;
    Ok(out)
}

/// Sums and means of complex numbers that lie in row-major order as those of their parts.
fn complex_sum(op: &str, which: Fold, x: &Tensor, dims: &[usize], target: &[usize]) -> Result<Option<Tensor>> {
    let (shape, dtype) = (x.shape(), x.dtype());
    let fits = dtype.is_complex() && matches!(which, Fold::Sum | Fold::Mean) && x.numel() > 0 && x.is_contiguous();
    if !fits || dims.is_empty() {
        return Ok(None);
    }
    if !dims.contains(&(shape.len() - 1)) {
        let out = complex::from_parts(&fold(op, which, &complex::parts(x), dims, false)?);
        return out.reshaped(target).map(Some);
    }
    let first = shape.len() - dims.len();
    if !dims.iter().all(|&dim| dim >= first) {
        return Ok(None);
    }
    let length: usize = shape[first..].iter().product();
    let divisor = if which == Fold::Mean { length as f64 } else { 1.0 };
    let (out, _) = Tensor::uninit_with_pointer(target, dtype)?;
    let (from, to) = (Elements::of(&complex::parts(x))?, Elements::of(&complex::parts(&out))?);
    guard::spread(op, x.numel(), || {
        // SAFETY: both are contiguous pairs of the parts' dtype, and the result is new.
        unsafe {
            match dtype {
                DType::C64 => pairs::totals::<f32>(from.slice(), length, divisor, to.slice_mut()),
                _ => pairs::totals::<f64>(from.slice(), length, divisor, to.slice_mut()),
            }
        }
    })?;
    Ok(Some(out))
}

/// Sums and means of 16-bit floats over the last dimensions, where the elements lie in row-major order.
#[cfg(target_arch = "x86_64")]
fn half_sum(op: &str, which: Fold, x: &Tensor, dims: &[usize], target: &[usize]) -> Result<Option<Tensor>> {
    let (shape, dtype) = (x.shape(), x.dtype());
    let first = shape.len() - dims.len();
    let rows: usize = shape.iter().take(first).product();
    let fits = dtype.is_half()
        && matches!(which, Fold::Sum | Fold::Mean)
        && x.numel() > WIDENED
        && !dims.is_empty()
        && dims.iter().all(|&dim| dim >= first)
        && x.is_contiguous()
        && halves::has_totals();
    if !fits {
        return Ok(None);
    }
    let (length, from) = (x.numel() / rows, Memory::first(x)?);
    let divisor = if which == Fold::Mean { length as f64 } else { 1.0 };
    // SAFETY: a contiguous tensor has its elements side by side.
    let sums = guard::spread(op, x.numel(), || unsafe { halves::totals(dtype, from.at(0), rows, length) })?;
    let values: Vec<f32> = sums.into_iter().map(|sum| (sum / divisor) as f32).collect();
    Ok(Some(super::ranges::from_vec(values, target, DType::F32)?.converted(dtype)?))
}

#[cfg(not(target_arch = "x86_64"))]
fn half_sum(_: &str, _: Fold, _: &Tensor, _: &[usize], _: &[usize]) -> Result<Option<Tensor>> {
    Ok(None)
}

fn empty_value(which: Fold) -> Option<Scalar> {
    Some(match which {
        Fold::Sum | Fold::NanSum | Fold::CountNonzero | Fold::Norm(_) => Scalar::Int(0),
        Fold::Prod => Scalar::Int(1),
        Fold::Mean | Fold::Var { .. } => Scalar::Float(f64::NAN),
        Fold::Any => Scalar::Bool(false),
        Fold::All => Scalar::Bool(true),
        Fold::Max | Fold::Min => return None,
    })
}

/// The longest slice that one kernel reduces; longer ones go dimension by dimension, which keeps more of a GPU busy.
const ONE_KERNEL: usize = 1 << 14;

/// The shape and dimensions of the same fold with neighbours among `dims` taken as one dimension: one kernel for them
/// all instead of one for each.
fn merged(shape: &[usize], dims: &[usize]) -> (Dims, Vec<usize>) {
    let (mut sizes, mut folded) = (Dims::new(), Vec::new());
    let mut joins = false;
    for (dim, &size) in shape.iter().enumerate() {
        let is_folded = dims.contains(&dim);
        match sizes.last_mut() {
            Some(last) if joins && is_folded && last.saturating_mul(size) <= ONE_KERNEL => *last *= size,
            _ => {
                if is_folded {
                    folded.push(sizes.len());
                }
                sizes.push(size);
            }
        }
        joins = is_folded;
    }
    (sizes, folded)
}

fn on_device(op: &str, which: Fold, x: &Tensor, dims: &[usize], target: &[usize], dtype: DType) -> Result<Tensor> {
    let device = x.device();
    if x.numel() == 0 || target.contains(&0) {
        return match empty_value(which) {
            Some(value) => super::creation::full(target, value, dtype, device),
            None => super::creation::zeros(target, dtype, device),
        };
    }
    let input = match (which, x.kind()) {
        (Fold::Any | Fold::All | Fold::CountNonzero, _) => x.converted(DType::Bool)?,
        (_, Kind::Bool) => x.converted(DType::I64)?,
        // A sum of bytes is wider than a byte.
        _ if dtype == DType::I64 => x.converted(DType::I64)?,
        _ => x.clone(),
    };
    let count: usize = dims.iter().map(|&dim| x.size(dim)).product();
    let (input, dims) = if input.is_contiguous() {
        let (sizes, folded) = merged(&input.shape(), dims);
        (input.reshaped(&sizes)?, folded)
    } else {
        (input, dims.to_vec())
    };
    let store = device_view::bool_store(device)?;
    let work = Work { which, kind: input.kind(), dims, count: count as f64, store };
    let shape = device_view::stored_shape(target);
    let integer = device_view::stored_as(DType::I64, device)?;
    let found = match which {
        Fold::Any | Fold::All => DType::Bool,
        Fold::CountNonzero => DType::I64,
        _ => input.dtype(),
    };
    let kind = found.kind();
    let out = Tensor::compute(op, &[&input], found, move |mut values| {
        let value = values.swap_remove(0);
        let value = match which {
            Fold::CountNonzero => {
                work.chain(Kind::Int, Dispatch::bool_into_int(value, integer.into()), Dispatch::int_sum_dim)
            }
            _ => work.run(value),
        };
        prim::reshape(kind, value, shape)
    })?
    .reshaped(target)?;
    if found == dtype { Ok(out) } else { out.converted(dtype) }
}

struct Work {
    which: Fold,
    kind: Kind,
    dims: Vec<usize>,
    count: f64,
    store: BoolStore,
}

type Along = fn(DispatchTensor, usize) -> DispatchTensor;

impl Work {
    fn chain(&self, kind: Kind, value: DispatchTensor, along: Along) -> DispatchTensor {
        self.dims.iter().fold(value, |value, &dim| prim::along(kind, value, dim, along))
    }

    fn either(&self, value: DispatchTensor, float: Along, int: Along) -> DispatchTensor {
        self.chain(self.kind, value, if self.kind == Kind::Int { int } else { float })
    }

    fn sum(&self, value: DispatchTensor) -> DispatchTensor {
        self.either(value, Dispatch::float_sum_dim, Dispatch::int_sum_dim)
    }

    fn run(&self, value: DispatchTensor) -> DispatchTensor {
        match self.which {
            Fold::Sum | Fold::CountNonzero => self.sum(value),
            Fold::NanSum => {
                let nan = Dispatch::float_is_nan(value.clone(), self.store);
                self.sum(Dispatch::float_mask_fill(value, nan, BurnScalar::Float(0.0)))
            }
            Fold::Prod => self.either(value, Dispatch::float_prod_dim, Dispatch::int_prod_dim),
            Fold::Mean => Dispatch::float_div_scalar(self.sum(value), BurnScalar::Float(self.count)),
            Fold::Max => self.either(value, Dispatch::float_max_dim, Dispatch::int_max_dim),
            Fold::Min => self.either(value, Dispatch::float_min_dim, Dispatch::int_min_dim),
            Fold::Any => self.chain(Kind::Bool, value, Dispatch::bool_any_dim),
            Fold::All => self.chain(Kind::Bool, value, Dispatch::bool_all_dim),
            Fold::Var { correction, root } => {
                let mean = Dispatch::float_div_scalar(self.sum(value.clone()), BurnScalar::Float(self.count));
                let apart = Dispatch::float_sub(value, mean);
                let spread = self.sum(Dispatch::float_mul(apart.clone(), apart));
                let freedom = BurnScalar::Float((self.count - correction).max(0.0));
                let variance = Dispatch::float_div_scalar(spread, freedom);
                if root { Dispatch::float_sqrt(variance) } else { variance }
            }
            Fold::Norm(p) => self.norm(Dispatch::float_abs(value), p),
        }
    }

    fn norm(&self, size: DispatchTensor, p: f64) -> DispatchTensor {
        let power = |value, p: f64| Dispatch::float_powf_scalar(value, BurnScalar::Float(p));
        match p {
            f64::INFINITY => self.chain(Kind::Float, size, Dispatch::float_max_dim),
            f64::NEG_INFINITY => self.chain(Kind::Float, size, Dispatch::float_min_dim),
            0.0 => self.sum(power(Dispatch::float_sign(size), 2.0)),
            1.0 => self.sum(size),
            2.0 => Dispatch::float_sqrt(self.sum(Dispatch::float_mul(size.clone(), size))),
            p => power(self.sum(power(size, p)), 1.0 / p),
        }
    }
}

/// Runs a function that only the CPU has over GPU tensors too: down, and its results up again.
pub fn through_cpu<const N: usize>(
    x: &Tensor,
    call: impl FnOnce(&Tensor) -> Result<[Tensor; N]>,
) -> Result<[Tensor; N]> {
    let device = x.device();
    if device.is_cpu() {
        return call(x);
    }
    let results = call(&x.moved(Device::Cpu)?)?;
    let mut moved: Vec<Tensor> = Vec::with_capacity(N);
    for result in &results {
        moved.push(result.moved(device)?);
    }
    match moved.try_into() {
        Ok(moved) => Ok(moved),
        Err(_) => error::runtime("a result was lost on its way between devices"),
    }
}
