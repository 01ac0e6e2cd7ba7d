//! Random tensors. Numbers are drawn on the CPU, whatever the device, so that a seed gives torch's CPU numbers.

// NaN must fail the checks below as well; and the macros serve all real types, float64 among them.
#![allow(clippy::neg_cmp_op_on_partial_ord, clippy::useless_conversion)]

use half::{bf16, f16};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::creation::{device_or_default, finish, shape_of, to_device};
use super::generator::{Shared, Source, stream};
use super::ranges::from_vec;
use super::{inplace, movement};
use crate::autograd::inplace::check;
use crate::device::{Device, DeviceArg};
use crate::dtype::{DType, DTypeArg, Kind, default_dtype};
use crate::error::{self, Error, Result};
use crate::guard;
use crate::kernels::allocator::expect_writes;
use crate::random::Generator;
use crate::tensor::Tensor;
use crate::tensor::class::{PyTensor, sizes};
use crate::tensor::geometry::{Geometry, checked_numel};

/// What to draw, with its parameters.
#[derive(Clone, Copy)]
enum Draw {
    Uniform(f64, f64),
    /// The flag asks for torch's method for contiguous memory.
    Normal(f64, f64, bool),
    /// From a base, so many values; 0 stands for 2^64.
    Between(i64, u64),
    Any,
    Bernoulli(f64),
    Exponential(f64),
    Geometric(f64),
    Cauchy(f64, f64),
    LogNormal(f64, f64),
}

impl Draw {
    fn takes_integers(self) -> bool {
        matches!(self, Self::Between(..) | Self::Any | Self::Bernoulli(_) | Self::Geometric(_))
    }

    fn fill<T: crate::random::Element>(self, generator: &mut Generator, out: &mut [T]) {
        match self {
            Self::Between(base, range) => generator.fill_random_from(out, base, range),
            Self::Any => generator.fill_random(out),
            Self::Bernoulli(p) => generator.fill_bernoulli(out, p),
            Self::Geometric(p) => generator.fill_geometric(out, p),
            Self::Exponential(rate) => generator.fill_exponential(out, rate),
            Self::Cauchy(median, sigma) => generator.fill_cauchy(out, median, sigma),
            Self::LogNormal(mean, std) => generator.fill_log_normal(out, mean, std),
            Self::Uniform(..) | Self::Normal(..) => {}
        }
    }

    fn fill_real<T: crate::random::Real>(self, generator: &mut Generator, out: &mut [T]) {
        match self {
            Self::Uniform(from, to) => generator.fill_uniform(out, from, to),
            Self::Normal(mean, std, true) => generator.fill_normal(out, mean, std),
            Self::Normal(mean, std, false) => generator.fill_normal_scalar(out, mean, std),
            other => other.fill(generator, out),
        }
    }

    /// The parameters, checked with torch's messages.
    fn check(self, op: &str, dtype: DType) -> Result<()> {
        let fail = |message: String| error::runtime(message);
        if matches!(self, Self::Uniform(..) | Self::Normal(..)) {
            crate::check::kind(op, dtype, &[Kind::Float, Kind::Complex])?;
        } else if !self.takes_integers() {
            crate::check::kind(op, dtype, &[Kind::Float])?;
        } else {
            crate::check::kind(op, dtype, &[Kind::Bool, Kind::Int, Kind::Float])?;
        }
        match self {
            Self::Uniform(from, to) if !(from <= to) => {
                fail(format!("uniform_ expects to return a [from, to) range, but found from={from} > to={to}"))
            }
            Self::Uniform(from, to) if !(to - from).is_finite() => fail(format!(
                "uniform_ expects to-from to be finite, but found to={to} and from={from} which result in to-from to \
                 exceed the limit"
            )),
            Self::Normal(_, std, _) if !(std >= 0.0) => fail(format!("normal expects std >= 0.0, but found std {std}")),
            Self::Bernoulli(p) if !(0.0..=1.0).contains(&p) => {
                fail(format!("bernoulli_ expects p to be in [0, 1], but got p={p}"))
            }
            Self::Exponential(rate) if !(rate > 0.0) => {
                fail(format!("exponential_ expects lambda > 0.0, but found lambda={rate}"))
            }
            Self::Geometric(p) if !(p > 0.0 && p < 1.0) => {
                fail(format!("geometric_ expects p to be in (0, 1), but got p={p}"))
            }
            Self::Cauchy(_, sigma) if !(sigma > 0.0) => {
                fail(format!("cauchy_ expects sigma > 0.0, but found sigma={sigma}"))
            }
            Self::LogNormal(_, std) if !(std > 0.0) => {
                fail(format!("log_normal_ expects std > 0.0, but found std={std}"))
            }
            _ => Ok(()),
        }
    }

    /// Draws in row-major order into a new CPU tensor.
    fn tensor(self, source: &Shared, shape: &[usize], dtype: DType) -> Result<Tensor> {
        let length = checked_numel(shape)?;
        crate::check::allocation(length.saturating_mul(dtype.size()))?;
        macro_rules! draw {
            ($type:ty, $fill:ident) => {{
                let values = guard::heavy("random", length, || {
                    let mut values = vec![<$type as Default>::default(); length];
                    expect_writes(values.as_mut_ptr().cast(), size_of_val(values.as_slice()));
                    self.$fill(&mut source.lock(), &mut values);
                    values
                })?;
                from_vec(values, shape, dtype)
            }};
        }
        match dtype {
            DType::Bool => {
                let mut values = vec![false; length];
                self.fill(&mut source.lock(), &mut values);
                from_vec(values.into_iter().map(u8::from).collect::<Vec<u8>>(), shape, dtype)
            }
            DType::U8 => draw!(u8, fill),
            DType::I8 => draw!(i8, fill),
            DType::I16 => draw!(i16, fill),
            DType::I32 => draw!(i32, fill),
            DType::I64 => draw!(i64, fill),
            DType::U16 => draw!(u16, fill),
            DType::U32 => draw!(u32, fill),
            DType::U64 => draw!(u64, fill),
            DType::F16 => draw!(f16, fill_real),
            DType::BF16 => draw!(bf16, fill_real),
            DType::F32 => draw!(f32, fill_real),
            DType::F64 => draw!(f64, fill_real),
            DType::C64 | DType::C128 => {
                let pairs: Vec<usize> = shape.iter().copied().chain([2]).collect();
                let half = match self {
                    // The variance is that of both parts together.
                    Self::Normal(mean, std, whole) => Self::Normal(mean, std / std::f64::consts::SQRT_2, whole),
                    other => other,
                };
                Ok(super::complex::from_parts(&half.tensor(source, &pairs, dtype.real())?))
            }
        }
    }
}

/// The dimensions in the order in which they lie in memory, which is the order torch draws in.
fn memory_order(geometry: &Geometry) -> Vec<usize> {
    let mut order: Vec<usize> = (0..geometry.rank()).collect();
    order.sort_by_key(|&dim| std::cmp::Reverse(geometry.strides.get(dim).copied().unwrap_or(0)));
    order
}

/// Fills a tensor in place.
fn fill(op: &str, target: &Tensor, source: Option<Source>, draw: Draw) -> Result<()> {
    draw.check(op, target.dtype())?;
    check(op, target)?;
    if target.is_meta() {
        target.storage().bump();
        return Ok(());
    }
    let geometry = target.geometry();
    let draw = match draw {
        Draw::Normal(mean, std, _) => Draw::Normal(mean, std, geometry.is_contiguous()),
        other => other,
    };
    let order = if geometry.is_contiguous() { (0..geometry.rank()).collect() } else { memory_order(&geometry) };
    let shape = geometry.permute(&order).shape;
    let drawn = draw.tensor(&stream(source), &shape, target.dtype())?;
    // Parameters are made empty, and filled.
    target.expect_writes();
    let mut back = vec![0; order.len()];
    for (place, &dim) in order.iter().enumerate() {
        if let Some(slot) = back.get_mut(dim) {
            *slot = place;
        }
    }
    inplace::copy(target, &movement::permute(&drawn, &back)?)
}

/// A new tensor of random numbers.
fn create(
    op: &str,
    size: &Bound<'_, PyTuple>,
    source: Option<Source>,
    draw: Draw,
    options: (DType, Option<DeviceArg>, bool),
) -> PyResult<Tensor> {
    let (dtype, device, requires_grad) = options;
    let shape = shape_of(op, &sizes(op, size)?)?;
    draw.check(op, dtype)?;
    let device = device_or_default(device)?;
    if device.is_meta() {
        return Ok(finish(Tensor::meta_of(&shape, dtype)?, requires_grad)?);
    }
    let drawn = draw.tensor(&stream(source), &shape, dtype)?;
    Ok(finish(to_device(&drawn, device)?, requires_grad)?)
}

fn float_dtype(dtype: Option<DTypeArg>) -> DType {
    dtype.map_or_else(default_dtype, |dtype| dtype.0)
}

/// Uniform numbers of [0, 1).
#[pyfunction]
#[pyo3(signature = (op, size, generator=None, dtype=None, device=None, requires_grad=false))]
fn _rand(
    op: &str,
    size: &Bound<'_, PyTuple>,
    generator: Option<Source>,
    dtype: Option<DTypeArg>,
    device: Option<DeviceArg>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    create(op, size, generator, Draw::Uniform(0.0, 1.0), (float_dtype(dtype), device, requires_grad))
}

/// Normal numbers.
#[pyfunction]
#[pyo3(signature = (op, size, mean=0.0, std=1.0, generator=None, dtype=None, device=None, requires_grad=false))]
fn _randn(
    op: &str,
    size: &Bound<'_, PyTuple>,
    mean: f64,
    std: f64,
    generator: Option<Source>,
    dtype: Option<DTypeArg>,
    device: Option<DeviceArg>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    create(op, size, generator, Draw::Normal(mean, std, true), (float_dtype(dtype), device, requires_grad))
}

/// The lowest and highest integers that `random_(from, to)` may be asked for.
fn integer_bounds(dtype: DType) -> (i128, i128) {
    match dtype {
        DType::Bool => (0, 1),
        DType::F64 => (-(1 << 53), 1 << 53),
        DType::F32 => (-(1 << 24), 1 << 24),
        DType::F16 => (-65504, 65504),
        DType::BF16 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        _ => {
            let bits = dtype.size() * 8;
            if dtype.is_signed() { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) }
        }
    }
}

fn between(low: i64, high: i64, dtype: DType) -> Result<Draw> {
    if low >= high {
        return error::runtime(format!("random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"));
    }
    let (least, most) = integer_bounds(dtype);
    if dtype.is_int() || dtype == DType::Bool {
        if i128::from(low) < least || i128::from(low) > most {
            return error::runtime(format!("from is out of bounds for {}, got {low}", dtype.name()));
        }
        if i128::from(high) - 1 > most {
            return error::runtime(format!("to - 1 is out of bounds for {}, got to={high}", dtype.name()));
        }
    }
    let (low, high) = representable(low, high, dtype)?;
    Ok(Draw::Between(low, high.wrapping_sub(low) as u64))
}

/// The bounds as torch moves them where a floating dtype has gaps between integers: a drawn number that is rounded up
/// stays below `high`.
fn representable(low: i64, high: i64, dtype: DType) -> Result<(i64, i64)> {
    let digits = match dtype {
        DType::F16 => 11,
        DType::BF16 => 8,
        DType::F32 => 24,
        DType::F64 => 53,
        _ => return Ok((low, high)),
    };
    if dtype == DType::F16 && (low < -65504 || high > 65505) {
        return error::runtime(format!("from or to - 1 is out of bounds for float16, got from={low}, to={high}"));
    }
    let rounded = |value: i64| match dtype {
        DType::F16 => f16::from_f32(value as f32).to_f64() as i64,
        DType::BF16 => bf16::from_f32(value as f32).to_f64() as i64,
        DType::F32 => value as f32 as i64,
        _ => value as f64 as i64,
    };
    // One step of the dtype, in whole numbers, at this magnitude.
    let step = |value: i64| 1i64 << (value.unsigned_abs().max(1).ilog2() as i32 - digits + 1).clamp(0, 62);
    let (after, before) = (rounded(low.saturating_add(1)), rounded(high.saturating_sub(1)));
    let low = if after < low { after.saturating_add(step(low.saturating_add(1))) } else { low };
    let high = if before >= high { before.saturating_sub(step(high.saturating_sub(1))) } else { high };
    if low >= high {
        return error::runtime(format!(
            "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got from={low} >= to={high}"
        ));
    }
    Ok((low, high))
}

/// Integers of [low, high).
#[pyfunction]
#[pyo3(signature = (op, low, high, size, generator=None, dtype=None, device=None, requires_grad=false))]
fn _randint(
    op: &str,
    low: i64,
    high: i64,
    size: &Bound<'_, PyTuple>,
    generator: Option<Source>,
    dtype: Option<DTypeArg>,
    device: Option<DeviceArg>,
    requires_grad: bool,
) -> PyResult<Tensor> {
    let dtype = dtype.map_or(DType::I64, |dtype| dtype.0);
    create(op, size, generator, between(low, high, dtype)?, (dtype, device, requires_grad))
}

/// The integers below `n` in random order.
#[pyfunction]
#[pyo3(signature = (n, generator=None, dtype=None, device=None, requires_grad=false))]
fn _randperm(
    n: i64,
    generator: Option<Source>,
    dtype: Option<DTypeArg>,
    device: Option<DeviceArg>,
    requires_grad: bool,
) -> Result<Tensor> {
    let Ok(length) = usize::try_from(n) else {
        return error::runtime(format!("randperm: n must be non-negative, got {n}"));
    };
    let dtype = dtype.map_or(DType::I64, |dtype| dtype.0);
    crate::check::kind("randperm", dtype, &[Kind::Int, Kind::Float])?;
    let (_, most) = integer_bounds(dtype);
    if dtype != DType::BF16 && i128::from(n) > most {
        return error::runtime(format!("randperm: n={n} is too large for {}", dtype.name()));
    }
    crate::check::allocation(checked_numel(&[length])?.saturating_mul(8))?;
    let device = device_or_default(device)?;
    if device.is_meta() {
        return finish(Tensor::meta_of(&[length], dtype)?, requires_grad);
    }
    let source = stream(generator);
    let order = guard::heavy("randperm", length, || source.lock().randperm(length))?;
    let out = from_vec(order, &[length], DType::I64)?;
    let out = if dtype == DType::I64 { out } else { out.converted(dtype)? };
    finish(to_device(&out, device)?, requires_grad)
}

/// The row-major values of a float tensor, as the CPU holds them.
enum Reals {
    Half(Vec<f16>),
    Brain(Vec<bf16>),
    Single(Vec<f32>),
    Double(Vec<f64>),
}

fn reals(op: &str, x: &Tensor) -> Result<Reals> {
    crate::check::kind(op, x.dtype(), &[Kind::Float])?;
    let bytes = x.to_bytes()?;
    Ok(match x.dtype() {
        DType::F16 => Reals::Half(bytemuck::pod_collect_to_vec(&bytes)),
        DType::BF16 => Reals::Brain(bytemuck::pod_collect_to_vec(&bytes)),
        DType::F32 => Reals::Single(bytemuck::pod_collect_to_vec(&bytes)),
        _ => Reals::Double(bytemuck::pod_collect_to_vec(&bytes)),
    })
}

macro_rules! with_reals {
    ($reals:expr, |$values:ident| $body:expr) => {
        match $reals {
            Reals::Half($values) => $body,
            Reals::Brain($values) => $body,
            Reals::Single($values) => $body,
            Reals::Double($values) => $body,
        }
    };
}

/// Ones with the probabilities in `p`, zeros elsewhere, in `dtype`.
fn bernoulli_each(p: &Tensor, source: &Shared, dtype: DType) -> Result<Tensor> {
    let probabilities = reals("bernoulli", p)?;
    let length = p.numel();
    let coins: Vec<u8> = with_reals!(probabilities, |values| {
        if let Some(outside) = values.iter().map(|&p| f64::from(p)).find(|p| !(0.0..=1.0).contains(p)) {
            return error::runtime(format!("bernoulli: Expected p_in >= 0 && p_in <= 1, but got {outside}"));
        }
        let mut coins = vec![0u8; length];
        source.lock().fill_bernoulli_each(&mut coins, &values);
        coins
    });
    let out = from_vec(coins, &p.shape(), DType::U8)?;
    out.converted(dtype)
}

/// Ones with the probabilities that a tensor holds.
#[pyfunction]
#[pyo3(signature = (input, generator=None))]
fn _bernoulli(input: Tensor, generator: Option<Source>) -> Result<Tensor> {
    if input.is_meta() {
        return Tensor::meta_of(&input.shape(), input.dtype());
    }
    let drawn = bernoulli_each(&input, &stream(generator), input.dtype())?;
    to_device(&drawn, input.device())
}

/// Indices drawn with the weights that the rows of a tensor hold.
#[pyfunction]
#[pyo3(signature = (input, num_samples, replacement=false, generator=None))]
fn _multinomial(input: Tensor, num_samples: isize, replacement: bool, generator: Option<Source>) -> Result<Tensor> {
    let shape = input.shape();
    if !input.dtype().is_float() {
        return error::dtype(format!(
            "multinomial only supports floating-point dtypes for input, got: {}",
            input.dtype().name()
        ));
    }
    if shape.is_empty() || shape.len() > 2 {
        return error::runtime(format!("multinomial: prob_dist must be 1 or 2 dim, got shape {:?}", shape.as_slice()));
    }
    let categories = shape.last().copied().unwrap_or(0);
    let samples = match usize::try_from(num_samples) {
        Ok(samples) if samples > 0 => samples,
        _ => return error::runtime(format!("cannot sample n_sample <= 0 samples, got {num_samples}")),
    };
    if !replacement && samples > categories {
        return error::runtime(format!(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement, got {samples} of {categories}"
        ));
    }
    let mut out = shape.clone();
    if let Some(last) = out.last_mut() {
        *last = samples;
    }
    if input.is_meta() {
        return Tensor::meta_of(&out, DType::I64);
    }
    let rows: usize = shape.iter().rev().skip(1).product();
    let total = checked_numel(&[rows, samples])?;
    crate::check::allocation(total.saturating_mul(8))?;
    let weights = reals("multinomial", &input)?;
    let source = stream(generator);
    let picked = guard::heavy("multinomial", total.max(input.numel()), || {
        with_reals!(weights, |values| source.lock().multinomial(&values, categories, samples, replacement))
    })?
    .map_err(Error::Runtime)?;
    to_device(&from_vec(picked, &out, DType::I64)?, input.device())
}

/// Poisson numbers with the rates that a tensor holds.
#[pyfunction]
#[pyo3(signature = (input, generator=None))]
fn _poisson(input: Tensor, generator: Option<Source>) -> Result<Tensor> {
    if input.is_meta() {
        return Tensor::meta_of(&input.shape(), input.dtype());
    }
    let rates = reals("poisson", &input)?;
    let source = stream(generator);
    let counts: Vec<f64> = with_reals!(rates, |values| {
        let rates: Vec<f64> = values.into_iter().map(f64::from).collect();
        if rates.iter().any(|rate| !(*rate >= 0.0)) {
            return error::runtime("invalid Poisson rate, expected rate to be non-negative");
        }
        guard::heavy("poisson", rates.len(), || {
            let mut generator = source.lock();
            rates.iter().map(|&rate| generator.poisson(rate)).collect()
        })?
    });
    let out = from_vec(counts, &input.shape(), DType::F64)?.converted(input.dtype())?;
    to_device(&out, input.device())
}

/// Refuses standard deviations below zero.
#[pyfunction]
fn _check_std(std: Tensor) -> Result<()> {
    if std.is_meta() {
        return Ok(());
    }
    let negative = with_reals!(reals("normal", &std)?, |values| values.into_iter().any(|std| !(f64::from(std) >= 0.0)));
    if negative { error::runtime("normal expects all elements of std >= 0.0") } else { Ok(()) }
}

type Own<'py> = PyResult<Bound<'py, PyTensor>>;

#[pymethods]
impl PyTensor {
    /// Fills with uniform numbers of [from, to).
    #[pyo3(signature = (from_=0.0, to=1.0, *, generator=None, **named))]
    fn uniform_<'py>(
        slf: Bound<'py, Self>,
        from_: f64,
        to: f64,
        generator: Option<Source>,
        named: Option<&Bound<'py, pyo3::types::PyDict>>,
    ) -> Own<'py> {
        let from_ = from_keyword(named)?.map_or(Ok(from_), |given| given.extract::<f64>())?;
        fill("uniform_", &slf.get().tensor, generator, Draw::Uniform(from_, to))?;
        Ok(slf)
    }

    /// Fills with normal numbers.
    #[pyo3(signature = (mean=0.0, std=1.0, *, generator=None))]
    fn normal_<'py>(slf: Bound<'py, Self>, mean: f64, std: f64, generator: Option<Source>) -> Own<'py> {
        fill("normal_", &slf.get().tensor, generator, Draw::Normal(mean, std, true))?;
        Ok(slf)
    }

    /// Fills with integers of [from, to), by default with all that the dtype holds exactly.
    #[pyo3(signature = (from_=None, to=None, *, generator=None, **named))]
    fn random_<'py>(
        slf: Bound<'py, Self>,
        from_: Option<i64>,
        to: Option<i64>,
        generator: Option<Source>,
        named: Option<&Bound<'py, pyo3::types::PyDict>>,
    ) -> Own<'py> {
        let keyword = from_keyword(named)?.map(|given| given.extract::<i64>()).transpose()?;
        let tensor = &slf.get().tensor;
        let dtype = tensor.dtype();
        let draw = match (keyword.or(from_), to) {
            (None, None) => Draw::Any,
            (Some(high), None) if keyword.is_none() => between(0, high, dtype)?,
            (None, Some(high)) => between(0, high, dtype)?,
            (Some(low), Some(high)) => between(low, high, dtype)?,
            (Some(low), None) => {
                let (_, most) = integer_bounds(dtype);
                if i128::from(low) >= most {
                    return Err(Error::Runtime(format!("from is out of bounds for {}, got {low}", dtype.name())).into());
                }
                Draw::Between(low, (most - i128::from(low) + 1) as u64)
            }
        };
        fill("random_", tensor, generator, draw)?;
        Ok(slf)
    }

    /// Fills with ones of probability `p`, a number or a tensor of probabilities, and zeros.
    #[pyo3(signature = (p=None, *, generator=None))]
    fn bernoulli_<'py>(
        slf: Bound<'py, Self>,
        p: Option<super::operand::Operand>,
        generator: Option<Source>,
    ) -> Own<'py> {
        use super::operand::{Operand, Scalar};
        let tensor = &slf.get().tensor;
        match p.unwrap_or(Operand::Scalar(Scalar::Float(0.5))) {
            Operand::Scalar(p) => fill("bernoulli_", tensor, generator, Draw::Bernoulli(p.as_f64()))?,
            Operand::Tensor(_) if tensor.is_meta() => check("bernoulli_", tensor)?,
            Operand::Tensor(p) => {
                check("bernoulli_", tensor)?;
                let p = to_device(&p.detached(), Device::Cpu)?;
                let p = if p.dtype().is_float() { p } else { p.converted(DType::F32)? };
                let p = movement::expand(&p, &tensor.shape())?;
                let drawn = bernoulli_each(&p, &stream(generator), tensor.dtype())?;
                inplace::copy(tensor, &drawn)?;
            }
        }
        Ok(slf)
    }

    /// Fills with exponential numbers of rate `lambd`.
    #[pyo3(signature = (lambd=1.0, *, generator=None))]
    fn exponential_<'py>(slf: Bound<'py, Self>, lambd: f64, generator: Option<Source>) -> Own<'py> {
        fill("exponential_", &slf.get().tensor, generator, Draw::Exponential(lambd))?;
        Ok(slf)
    }

    /// Fills with the numbers of trials up to the first success.
    #[pyo3(signature = (p, *, generator=None))]
    fn geometric_<'py>(slf: Bound<'py, Self>, p: f64, generator: Option<Source>) -> Own<'py> {
        fill("geometric_", &slf.get().tensor, generator, Draw::Geometric(p))?;
        Ok(slf)
    }

    /// Fills with Cauchy numbers.
    #[pyo3(signature = (median=0.0, sigma=1.0, *, generator=None))]
    fn cauchy_<'py>(slf: Bound<'py, Self>, median: f64, sigma: f64, generator: Option<Source>) -> Own<'py> {
        fill("cauchy_", &slf.get().tensor, generator, Draw::Cauchy(median, sigma))?;
        Ok(slf)
    }

    /// Fills with numbers whose logarithms are normal.
    #[pyo3(signature = (mean=1.0, std=2.0, *, generator=None))]
    fn log_normal_<'py>(slf: Bound<'py, Self>, mean: f64, std: f64, generator: Option<Source>) -> Own<'py> {
        fill("log_normal_", &slf.get().tensor, generator, Draw::LogNormal(mean, std))?;
        Ok(slf)
    }
}

/// torch's argument `from`, which is a reserved word in Python source but may come through `**`.
fn from_keyword<'py>(named: Option<&Bound<'py, pyo3::types::PyDict>>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let Some(named) = named else { return Ok(None) };
    for key in named.keys() {
        if key.extract::<String>()? != "from" {
            return Err(PyTypeError::new_err(format!("unexpected keyword argument '{key}'")));
        }
    }
    named.get_item("from")
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_check_std, module)?)?;
    module.add_function(wrap_pyfunction!(_rand, module)?)?;
    module.add_function(wrap_pyfunction!(_randn, module)?)?;
    module.add_function(wrap_pyfunction!(_randint, module)?)?;
    module.add_function(wrap_pyfunction!(_randperm, module)?)?;
    module.add_function(wrap_pyfunction!(_bernoulli, module)?)?;
    module.add_function(wrap_pyfunction!(_multinomial, module)?)?;
    module.add_function(wrap_pyfunction!(_poisson, module)?)
}
