//! Losses that are one native call.

use pyo3::prelude::*;

use super::activation::{lines_along, softmax};
use super::arithmetic::{div, div_args, mul, sub, sub_args};
use super::pointwise::{Arg, Call, evaluate};
use super::reduce::sum;
use super::select::clamp;
use super::{movement, unary};
use crate::autograd::{Record, grad_enabled, grads};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::entropy::{self, Scores};
use crate::kernels::memory::Elements;
use crate::kernels::real::Real;
use crate::kernels::softmax::At;
use crate::kernels::{curves, vector};
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;

/// The classes with 0 for what is ignored, and how much each line counts.
fn counted(
    x: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    ignored: i64,
    size: usize,
) -> Result<(Tensor, Tensor)> {
    let target = Elements::contiguous(target)?;
    let shape = target.geometry.shape.clone();
    let (classes, classes_at) = Tensor::uninit_with_pointer(&shape, DType::I64)?;
    let mut factors = vec![entropy::IGNORED; target.geometry.numel()];
    let weights: Option<Vec<f64>> = weight.map(values).transpose()?;
    // SAFETY: the targets are contiguous int64.
    for (line, &class) in unsafe { target.slice::<i64>() }.iter().enumerate() {
        let inside = (0..size as i64).contains(&class);
        if !inside && class != ignored {
            return error::index(format!("Target {class} is out of bounds."));
        }
        if class != ignored {
            factors[line] = weights.as_ref().map_or(1.0, |weights| weights[class as usize]);
        }
        // SAFETY: as many elements as targets.
        unsafe { classes_at.cast::<i64>().add(line).write(if class == ignored { 0 } else { class }) };
    }
    let factors = stored(&factors, &shape, x.dtype())?;
    Ok((classes, factors))
}

/// The numbers of a float tensor.
fn values(tensor: &Tensor) -> Result<Vec<f64>> {
    let wide = tensor.converted(DType::F64)?;
    let wide = Elements::contiguous(&wide)?;
    // SAFETY: contiguous float64.
    Ok(unsafe { wide.slice::<f64>() }.to_vec())
}

fn stored(values: &[f64], shape: &[usize], dtype: DType) -> Result<Tensor> {
    let (out, to) = Tensor::uninit_with_pointer(shape, DType::F64)?;
    // SAFETY: the memory is fresh and has room for as many elements as the shape.
    unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), to.cast::<f64>(), values.len().min(out.numel())) };
    if dtype == DType::F64 { Ok(out) } else { out.converted(dtype) }
}

/// The tensors of one call in row-major memory.
struct Held {
    scores: Elements,
    classes: Elements,
    factors: Elements,
    dim: usize,
}

impl Held {
    fn new(x: &Tensor, classes: &Tensor, factors: &Tensor, dim: usize) -> Result<Self> {
        Ok(Self {
            scores: Elements::contiguous(x)?,
            classes: Elements::contiguous(classes)?,
            factors: Elements::contiguous(factors)?,
            dim,
        })
    }

    fn scores<T: Real>(&self) -> Scores<T> {
        Scores {
            lines: lines_along(&self.scores, self.dim),
            scores: At(self.scores.at(self.scores.geometry.offset)),
            classes: At(self.classes.at(self.classes.geometry.offset)),
            factors: At(self.factors.at(self.factors.geometry.offset)),
        }
    }
}

fn losses<T: Real>(held: &Held) -> Result<(Tensor, Tensor)> {
    let dtype = held.scores.dtype;
    let shape = held.classes.geometry.shape.clone();
    let (out, out_at) = Tensor::uninit_with_pointer(&shape, dtype)?;
    let (norms, norms_at) = Tensor::uninit_with_pointer(&[2 * out.numel()], dtype)?;
    let (scores, to, rest) = (held.scores::<T>(), At(out_at.cast::<T>()), At(norms_at.cast::<T>()));
    // SAFETY: all tensors are contiguous and of `T`, classes were checked, and the results are fresh.
    guard::spread("cross_entropy", scores.lines.numel, move || unsafe { entropy::losses(scores, to, rest) })?;
    Ok((out, norms))
}

fn slopes<T: Real>(held: &Held, grad: &Tensor, norms: &Tensor) -> Result<Tensor> {
    let (grad, norms) = (Elements::contiguous(grad)?, Elements::contiguous(norms)?);
    let (out, to) = Tensor::uninit_with_pointer(&held.scores.geometry.shape, held.scores.dtype)?;
    let (scores, to) = (held.scores::<T>(), At(to.cast::<T>()));
    let places = (At(grad.at::<T>(grad.geometry.offset)), At(norms.at::<T>(norms.geometry.offset)));
    // SAFETY: as in `losses`.
    guard::spread("cross_entropy", scores.lines.numel, move || unsafe {
        let (grad, norms) = places;
        entropy::slopes(scores, grad, norms, to);
    })?;
    Ok(out)
}

/// The same gradient of recorded ops.
fn recorded(x: &Tensor, classes: &Tensor, factors: &Tensor, grad: &Tensor, dim: usize) -> Result<Tensor> {
    let mut shape = classes.shape();
    shape.insert(dim, 1);
    let scale = movement::reshape(&mul(grad, factors)?, &shape)?;
    let index = movement::reshape(classes, &shape)?;
    let truth = super::indexing::scatter(
        &super::creation::zeros(&x.shape(), x.dtype(), x.device())?,
        dim,
        &index,
        &super::operand::Operand::Scalar(super::operand::Scalar::Float(1.0)),
    )?;
    mul(&sub(&softmax(x, dim, false)?, &truth)?, &scale)
}

/// `log(x)` and `log(1 - x)`, held at -100: a sure and wrong guess costs 100 and not infinity.
fn held_logarithms(x: &Tensor) -> Result<[Tensor; 2]> {
    let held = |x: Tensor| clamp(&x, Some(Arg::from(-100.0)), None);
    Ok([held(unary::log(x)?)?, held(unary::log1p(&unary::neg(x)?)?)?])
}

fn probability_losses(x: &Tensor, target: &Tensor) -> Result<Tensor> {
    let single = |x: &Tensor| x.dtype() == DType::F32 && x.device().is_cpu();
    if single(x) && single(target) {
        let args = [Arg::Tensor(x), Arg::Tensor(target)];
        return evaluate(
            Call { name: "binary_cross_entropy", args, dtypes: [DType::F32; 2], out: DType::F32, into: None },
            |shape, out, [x, target]| {
                vector::map2(shape, out, x, target, &curves::ProbabilityLoss);
                Ok(())
            },
            |_, _| Ok(None),
        );
    }
    let [positive, negative] = held_logarithms(x)?;
    sub(&mul(&sub_args(Arg::Tensor(target), Arg::from(1))?, &negative)?, &mul(target, &positive)?)
}

/// Whether a number lies below 0 or above 1.
fn is_improbable(x: &Tensor) -> Result<bool> {
    fn any<T: Real>(values: &[T]) -> bool {
        let (zero, one) = (T::of(0.0), T::of(1.0));
        values.iter().fold(false, |found, &x| found | (x < zero) | (x > one))
    }
    if x.is_meta() || x.numel() == 0 {
        return Ok(false);
    }
    let host = x.detached().moved(Device::Cpu)?;
    let host = if host.dtype().is_half() { host.converted(DType::F32)? } else { host };
    let elements = Elements::contiguous(&host)?;
    // SAFETY: contiguous, of the dtype matched on.
    Ok(unsafe {
        match host.dtype() {
            DType::F64 => any(elements.slice::<f64>()),
            _ => any(elements.slice::<f32>()),
        }
    })
}

#[pymethods]
impl PyTensor {
    /// `-log_softmax` of these scores along `dim` at the classes, times the classes' weights, reduced; what has the class
    /// `ignored` counts for nothing.
    #[pyo3(signature = (target, dim, weight, ignored, reduction))]
    fn _class_losses(
        &self,
        target: Tensor,
        dim: usize,
        weight: Option<Tensor>,
        ignored: i64,
        reduction: &str,
    ) -> Result<Tensor> {
        let x = &self.tensor;
        let size = fitting(x, &target, dim, weight.as_ref())?;
        let (classes, factors) = counted(x, &target, weight.as_ref(), ignored, size)?;
        let held = Held::new(x, &classes, &factors, dim)?;
        let (out, norms) = match x.dtype() {
            DType::F64 => losses::<f64>(&held)?,
            _ => losses::<f32>(&held)?,
        };
        if let Some(record) = Record::new("NllLossBackward0", &[x]) {
            // A copy, so that the scores may be written to afterwards: torch keeps log-probabilities of the same size.
            record.save(&super::creation::clone(x)?).save(&classes).save(&factors).save(&norms).finish(
                &out,
                move |c| {
                    let (grad, x, classes, factors) = (c.grad()?, c.saved(0)?, c.saved(1)?, c.saved(2)?);
                    if grad_enabled() {
                        return grads([Some(recorded(x, classes, factors, &grad, dim)?)]);
                    }
                    let held = Held::new(x, classes, factors, dim)?;
                    grads([Some(match x.dtype() {
                        DType::F64 => slopes::<f64>(&held, &grad, c.saved(3)?)?,
                        _ => slopes::<f32>(&held, &grad, c.saved(3)?)?,
                    })])
                },
            );
        }
        reduced(out, &factors, reduction)
    }

    /// The negative log-likelihood of each of `target` under these probabilities, which lie between 0 and 1.
    fn _probability_losses(&self, target: Tensor) -> Result<Tensor> {
        let x = &self.tensor;
        if is_improbable(x)? {
            return error::runtime("all elements of input should be between 0 and 1");
        }
        let out = probability_losses(&x.detached(), &target.detached())?;
        if let Some(record) = Record::new("BinaryCrossEntropyBackward0", &[x, &target]) {
            record.save(x).save(&target).finish(&out, |c| {
                let (grad, x, target) = (c.grad()?, c.saved(0)?, c.saved(1)?);
                let slope = || {
                    let spread = mul(&sub_args(Arg::from(1), Arg::Tensor(x))?, x)?;
                    mul(&grad, &div(&sub(x, target)?, &clamp(&spread, Some(Arg::from(1e-12)), None)?)?)
                };
                let apart = || {
                    let [positive, negative] = held_logarithms(x)?;
                    mul(&grad, &sub(&negative, &positive)?)
                };
                grads([c.when(0, slope)?, c.when(1, apart)?])
            });
        }
        Ok(out)
    }

    /// These log-probabilities along `dim` at the classes, negative and times the classes' weights, reduced; what has the
    /// class `ignored` counts for nothing.
    #[pyo3(signature = (target, dim, weight, ignored, reduction))]
    fn _picked_losses(
        &self,
        target: Tensor,
        dim: usize,
        weight: Option<Tensor>,
        ignored: i64,
        reduction: &str,
    ) -> Result<Tensor> {
        let x = &self.tensor;
        let size = fitting(x, &target, dim, weight.as_ref())?;
        let (classes, factors) = counted(x, &target, weight.as_ref(), ignored, size)?;
        let out = picked(x, &target, &factors, ignored, dim)?;
        if reduction != "none" {
            let mean = (reduction == "mean").then_some(weight.is_some());
            return picked_total(x, (&out, &classes, &factors), dim, mean);
        }
        if let Some(record) = Record::new("NllLossBackward0", &[x]) {
            let shape = x.shape();
            record.save(&classes).save(&factors).finish(&out, move |c| {
                let (grad, classes, factors) = (c.grad()?, c.saved(0)?, c.saved(1)?);
                grads([Some(unpicked(&grad, classes, factors, &shape, dim)?)])
            });
        }
        Ok(out)
    }
}

/// The sum of a float tensor's numbers in float64; eight at a time, so that none waits for the sum before it.
fn total(tensor: &Tensor) -> Result<f64> {
    fn of<T: Copy>(values: &[T], wide: impl Fn(T) -> f64) -> f64 {
        let (groups, rest) = values.as_chunks::<8>();
        let mut lanes = [0.0; 8];
        for group in groups {
            lanes.iter_mut().zip(group).for_each(|(lane, &value)| *lane += wide(value));
        }
        lanes.into_iter().sum::<f64>() + rest.iter().map(|&value| wide(value)).sum::<f64>()
    }
    let elements = Elements::contiguous(tensor)?;
    // SAFETY: contiguous, of the dtype matched on.
    Ok(unsafe {
        match tensor.dtype() {
            DType::F64 => of(elements.slice::<f64>(), |value| value),
            _ => of(elements.slice::<f32>(), f64::from),
        }
    })
}

/// The sum of picked losses, or that over how much counted, by classes' weights or all alike, as one step of the graph.
fn picked_total(
    x: &Tensor,
    (losses, classes, factors): (&Tensor, &Tensor, &Tensor),
    dim: usize,
    mean: Option<bool>,
) -> Result<Tensor> {
    let count = if mean.is_some() { total(factors)? } else { 1.0 };
    // What is ignored has no gradient, though the mean of nothing is NaN.
    let share = if mean == Some(false) && count == 0.0 { 1.0 } else { count };
    let out = stored(&[total(losses)? / count], &[], x.dtype())?;
    if let Some(record) = Record::new("NllLossBackward0", &[x]) {
        let shape = x.shape();
        record.save(classes).save(factors).finish(&out, move |c| {
            let (grad, classes, factors) = (c.grad()?, c.saved(0)?, c.saved(1)?);
            let grad = div_args(Arg::Tensor(&grad), Arg::from(share))?;
            grads([Some(unpicked(&grad, classes, factors, &shape, dim)?)])
        });
    }
    Ok(out)
}

/// The size of `dim`, where the tensors of a loss fit each other.
fn fitting(x: &Tensor, target: &Tensor, dim: usize, weight: Option<&Tensor>) -> Result<usize> {
    let mut shape = x.shape();
    let size = if dim < shape.len() { shape.remove(dim) } else { 0 };
    let weighs = weight.is_none_or(|weight| weight.numel() == size);
    let fits = matches!(x.dtype(), DType::F32 | DType::F64) && target.dtype() == DType::I64 && weighs;
    if fits && target.shape() == shape && x.numel() > 0 {
        return Ok(size);
    }
    error::runtime("the shapes or dtypes of the tensors of a loss do not fit")
}

/// All losses, or their sum, or that over how much counted.
fn reduced(losses: Tensor, factors: &Tensor, reduction: &str) -> Result<Tensor> {
    match reduction {
        "none" => Ok(losses),
        "sum" => sum(&losses, &[], false),
        _ => div(&sum(&losses, &[], false)?, &sum(factors, &[], false)?),
    }
}

/// `-x` at the classes times the factors, and 0 for the class `ignored`, whatever stands there.
fn picked(x: &Tensor, target: &Tensor, factors: &Tensor, ignored: i64, dim: usize) -> Result<Tensor> {
    let plain = x.detached();
    let held = Held::new(&plain, target, factors, dim)?;
    let (out, to) = Tensor::uninit_with_pointer(&held.classes.geometry.shape, x.dtype())?;
    // SAFETY: all tensors are contiguous and of the dtype, classes were checked, and the result is fresh.
    unsafe {
        match x.dtype() {
            DType::F64 => entropy::picked(held.scores::<f64>(), ignored, to.cast()),
            _ => entropy::picked(held.scores::<f32>(), ignored, to.cast()),
        }
    }
    Ok(out)
}

/// Zeros with `-grad` times the factors at the classes.
fn unpicked(grad: &Tensor, classes: &Tensor, factors: &Tensor, shape: &[usize], dim: usize) -> Result<Tensor> {
    let mut places = classes.shape();
    places.insert(dim, 1);
    let values = movement::reshape(&super::unary::neg(&mul(grad, factors)?)?, &places)?;
    super::indexing::scatter(
        &super::creation::zeros(shape, grad.dtype(), grad.device())?,
        dim,
        &movement::reshape(classes, &places)?,
        &super::operand::Operand::Tensor(values),
    )
}
