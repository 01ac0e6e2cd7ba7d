//! Places in sorted sequences, counts in bins, membership. On a GPU the CPU does the work.

use pyo3::prelude::*;

use super::fold::{fold, through_cpu};
use super::operand::{Operand, ResultType, Scalar};
use super::sorting::integers;
use crate::device::Device;
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::memory::{Memory, Numbers};
use crate::kernels::reducers::Fold;
use crate::kernels::search;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::{with_element, with_float};

fn refused<T>(op: &str, dtype: DType) -> Result<T> {
    error::dtype(format!("{op}: not implemented for '{}'", dtype.scalar_type()))
}

/// A CPU copy without gaps, as this dtype.
fn packed(x: &Tensor, dtype: DType) -> Result<Tensor> {
    let host = x.moved(Device::Cpu)?;
    if host.dtype() == dtype { host.contiguous_data() } else { host.converted(dtype) }
}

fn lines_of(x: &Tensor) -> (Vec<usize>, usize) {
    let mut shape = x.shape().to_vec();
    let last = shape.pop().unwrap_or(1);
    (shape, last)
}

/// Where `values` would go in the sorted lines of `sequence`.
fn searchsorted(sequence: &Tensor, values: &Tensor, right: bool, sorter: Option<&Tensor>) -> Result<Tensor> {
    let ((leading, length), (rows, width)) = (lines_of(sequence), lines_of(values));
    let shared = sequence.rank() == 1;
    if sequence.rank() == 0 {
        return error::runtime("searchsorted: the sequence must have at least one dimension, got a scalar");
    }
    if !shared && (values.rank() == 0 || leading != rows) {
        return error::shape(format!(
            "searchsorted: the boundary tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor \
             and input value tensor must match, but got boundaries tensor {:?} and input value tensor {:?}",
            sequence.shape().as_slice(),
            values.shape().as_slice()
        ));
    }
    if let Some(sorter) = sorter
        && (sorter.shape() != sequence.shape() || sorter.dtype() != DType::I64)
    {
        return error::runtime(format!(
            "searchsorted: boundary and sorter must have the same size and sorter must be int64, got {:?} and {:?} {}",
            sequence.shape().as_slice(),
            sorter.shape().as_slice(),
            sorter.dtype().name()
        ));
    }
    let dtype = ResultType::default().with_tensor(sequence).with_tensor(values).get();
    let (sequence, found) = (packed(sequence, dtype)?, packed(values, dtype)?);
    let sorter = sorter.map(|sorter| packed(sorter, DType::I64)).transpose()?;
    let out = Tensor::zeroed(&values.shape(), DType::I64)?;
    let from = (Memory::of(&sequence)?, sequence.geometry().offset, length);
    let order =
        sorter.as_ref().map(|order| Memory::of(order).map(|memory| (memory, order.geometry().offset))).transpose()?;
    let wanted = (Memory::of(&found)?, found.geometry().offset, if shared { found.numel() } else { width });
    let lines = if shared { 1 } else { rows.iter().product() };
    let output = Memory::of(&out)?;
    guard::heavy("searchsorted", found.numel(), || {
        // SAFETY: the copies have no gaps, and `out` has one element per value.
        with_element!(dtype, T => unsafe {
            search::places::<T>(from, order, wanted, lines, shared, right, output);
            Ok(())
        }, else refused("searchsorted", dtype))
    })??;
    out.moved(values.device())
}

fn floats(op: &str, values: Vec<f64>, dtype: DType) -> Result<Tensor> {
    let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
    let out = Tensor::from_bytes(burn_std::Bytes::from_bytes_vec(bytes), &[values.len()], DType::F64)?;
    crate::check::kind(op, dtype, &[Kind::Float, Kind::Int])?;
    if dtype == DType::F64 { Ok(out) } else { out.converted(dtype) }
}

fn numbers(x: &Tensor) -> Result<Vec<f64>> {
    let bytes = packed(x, DType::F64)?.to_bytes()?;
    Ok(bytes.chunks_exact(8).filter_map(|chunk| chunk.try_into().ok().map(f64::from_ne_bytes)).collect())
}

/// The least and the greatest number, where there is one; a NaN is both.
fn extremes(x: &Tensor) -> Result<Vec<f64>> {
    if x.numel() == 0 {
        return Ok(Vec::new());
    }
    let dims: Vec<usize> = (0..x.rank()).collect();
    let [least, greatest] = [Fold::Min, Fold::Max].map(|which| numbers(&fold("histc", which, x, &dims, false)?));
    Ok([least?, greatest?].concat())
}

/// The range of a histogram: the data's where none is given, widened where it is a point.
fn range(op: &str, values: &[f64], low: f64, high: f64) -> Result<(f64, f64)> {
    let (mut low, mut high) = (low, high);
    if low == high && !values.is_empty() {
        low = values.iter().copied().fold(f64::INFINITY, |a, b| if b.is_nan() || b < a { b } else { a });
        high = values.iter().copied().fold(f64::NEG_INFINITY, |a, b| if b.is_nan() || b > a { b } else { a });
    }
    if low == high {
        (low, high) = (low - 1.0, high + 1.0);
    }
    if !low.is_finite() || !high.is_finite() {
        return error::runtime(format!("{op}: range of [{low}, {high}] is not finite; pass min and max"));
    }
    if low > high {
        return error::runtime(format!("{op}: max must be larger than min, got {low} and {high}"));
    }
    Ok((low, high))
}

#[pymethods]
impl PyTensor {
    /// Where the values (a tensor or a number) would go in this sorted sequence.
    fn _searchsorted(&self, values: Operand, right: bool, sorter: Option<Tensor>) -> Result<Tensor> {
        let values = match &values {
            Operand::Tensor(values) => values.clone(),
            Operand::Scalar(value) => values.tensor(value.dtype(), self.tensor.device())?,
        };
        crate::check::same_device("searchsorted", &[&self.tensor, &values])?;
        searchsorted(&self.tensor, &values, right, sorter.as_ref())
    }

    /// How many values fall into each of `bins` equal parts of `min..max` (the data's range where they are equal).
    #[pyo3(signature = (bins=100, min=Scalar::Int(0), max=Scalar::Int(0)))]
    fn histc(&self, bins: isize, min: Scalar, max: Scalar) -> Result<Tensor> {
        let dtype = self.tensor.dtype();
        if bins <= 0 {
            return error::runtime(format!("histc: bins must be > 0, got {bins}"));
        }
        // The counts of each bin, apart and together.
        crate::check::allocation((bins as usize).saturating_mul(32))?;
        if bins >= i32::MAX as isize {
            return error::missing(format!("histc: {bins} bins are more than int32 counts; use fewer"));
        }
        crate::check::kind("histc", dtype, &[Kind::Float])?;
        let [out] = through_cpu(&self.tensor.detached(), |x| {
            let flat = x.contiguous_data()?;
            let (min, max) = (min.as_f64(), max.as_f64());
            let ends = if min == max { extremes(&flat)? } else { Vec::new() };
            let (low, high) = range("histc", &ends, min, max)?;
            let (memory, at, count) = (Memory::of(&flat)?, flat.geometry().offset, flat.numel());
            let counts = guard::heavy("histc", count, || {
                // SAFETY: `flat` has no gaps.
                with_float!(dtype, T => Ok(unsafe {
                    search::even_bins::<T>(memory, at, count, bins as usize, low, high)
                }), else refused("histc", dtype))
            })??;
            Ok([floats("histc", counts, dtype)?])
        })?;
        Ok(out)
    }

    /// The range that `histogram` uses when none is given.
    fn _histogram_range(&self) -> Result<(f64, f64)> {
        if self.tensor.numel() == 0 {
            return Ok((0.0, 1.0));
        }
        range("histogram", &extremes(&self.tensor)?, 0.0, 0.0)
    }

    /// The weight of the values between neighbouring edges.
    fn _histogram(&self, edges: Tensor, weight: Option<Tensor>) -> Result<Tensor> {
        let weights = weight.as_ref().map(numbers).transpose()?;
        let counts = search::uneven_bins(&numbers(&self.tensor)?, weights.as_deref(), &numbers(&edges)?);
        floats("histogram", counts, self.tensor.dtype())?.moved(self.tensor.device())
    }

    /// How often each non-negative integer occurs, or the sum of its weights.
    #[pyo3(signature = (weights=None, minlength=0))]
    fn bincount(&self, weights: Option<Tensor>, minlength: isize) -> Result<Tensor> {
        let x = &self.tensor;
        let refuse = |text: &str| error::runtime(format!("bincount: {text}, got shape {:?}", x.shape().as_slice()));
        crate::check::kind("bincount", x.dtype(), &[Kind::Int])?;
        if minlength < 0 {
            return error::runtime(format!("bincount: minlength should be >= 0, got {minlength}"));
        }
        if x.rank() != 1 && x.numel() > 0 {
            return refuse("expected a 1-d tensor of non-negative integers");
        }
        if weights.as_ref().is_some_and(|weights| weights.shape() != x.shape()) {
            return refuse("weights should have the same shape as input");
        }
        x.need_values()?;
        let numbers_of = Numbers::of(&packed(x, DType::I64)?)?;
        let values = numbers_of.get();
        let most = guard::spread("bincount", values.len(), || search::greatest(values))?;
        if most > i64::MAX as u64 {
            return refuse("expected non-negative integers");
        }
        let length = if values.is_empty() { 0 } else { most as usize + 1 }.max(minlength as usize);
        crate::check::allocation(length.saturating_mul(8))?;
        let out = match &weights {
            None => {
                let mut counts = vec![0i64; length];
                guard::spread("bincount", values.len(), || search::count(values, &mut counts))?;
                integers(&counts)?
            }
            Some(weights) => {
                let mut sums = vec![0.0; length];
                for (&value, weight) in values.iter().zip(numbers(weights)?) {
                    sums[value as usize] += weight;
                }
                floats("bincount", sums, if weights.dtype() == DType::F32 { DType::F32 } else { DType::F64 })?
            }
        };
        out.moved(x.device())
    }

    /// Whether each element is among `wanted`.
    fn _isin(&self, wanted: Tensor) -> Result<Tensor> {
        let x = &self.tensor;
        crate::check::same_device("isin", &[x, &wanted])?;
        let dtype = ResultType::default().with_tensor(x).with_tensor(&wanted).get();
        let (values, others) = (packed(x, dtype)?, packed(&wanted, dtype)?);
        let out = Tensor::zeroed(&x.shape(), DType::Bool)?;
        let place =
            |tensor: &Tensor| -> Result<_> { Ok((Memory::of(tensor)?, tensor.geometry().offset, tensor.numel())) };
        let (values, others, output) = (place(&values)?, place(&others)?, Memory::of(&out)?);
        guard::heavy("isin", x.numel(), || {
            // SAFETY: the copies have no gaps, and `out` has one element per value.
            with_element!(dtype, T => unsafe { search::among::<T>(values, others, output); Ok(()) },
                else refused("isin", dtype))
        })??;
        out.moved(x.device())
    }
}
