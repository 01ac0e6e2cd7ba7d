//! Layer, RMS, group and batch normalization: one node each, with kernels both ways on the CPU.

use pyo3::prelude::*;
use smallvec::SmallVec;

use super::arithmetic::{add, add_scalar, mul, mul_args, sub};
use super::operand::Scalar;
use super::pointwise::Arg;
use super::{creation, inplace, movement, reduce, unary};
use crate::autograd::{Context, Grads, Record, grad_enabled};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::memory::Elements;
use crate::kernels::norm::{
    ChannelGrads, Channels, RowGrads, Rows, channel_moments, channels_backward, channels_forward, groups_forward,
    rows_backward, rows_forward,
};
use crate::kernels::norm_columns;
use crate::kernels::real::Real;
use crate::kernels::scratch::Shared;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;

/// What is normalized together.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    /// Each row, with parameters for each column.
    Layer,
    /// Each row, by its root mean square.
    Rms,
    /// Channels of one sample in groups.
    Group,
    /// Each channel of all samples.
    Batch,
}

/// The input as (samples, groups, channels of a group, elements).
#[derive(Clone, Copy)]
struct Plan {
    over: Over,
    sizes: [usize; 4],
    epsilon: f64,
    /// Whether mean and variance were given.
    fixed: bool,
}

impl Plan {
    /// The dimensions of the four that a mean is taken over.
    fn dims(&self) -> &'static [usize] {
        match self.over {
            Over::Layer | Over::Rms => &[3],
            Over::Group => &[2, 3],
            Over::Batch => &[0, 2, 3],
        }
    }

    /// The parameters' shape beside the four dimensions, and the dimensions that it broadcasts over.
    fn parameters(&self) -> ([usize; 4], &'static [usize]) {
        let [_, groups, channels, size] = self.sizes;
        match self.over {
            Over::Layer | Over::Rms => ([1, 1, 1, size], &[0, 1, 2]),
            _ => ([1, groups, channels, 1], &[0, 3]),
        }
    }

    fn statistics(&self) -> [usize; 4] {
        let [samples, groups, ..] = self.sizes;
        match self.over {
            Over::Batch => [1, groups, 1, 1],
            _ => [samples, groups, 1, 1],
        }
    }

    fn has_rows(&self) -> bool {
        matches!(self.over, Over::Layer | Over::Rms)
    }

    fn node(&self) -> &'static str {
        match self.over {
            Over::Layer => "NativeLayerNormBackward0",
            // In torch it is made of smaller ones, of which a product is the last.
            Over::Rms => "MulBackward0",
            Over::Group => "NativeGroupNormBackward0",
            Over::Batch => "NativeBatchNormBackward0",
        }
    }
}

/// The tensors of one call in row-major memory.
struct Held {
    x: Elements,
    weight: Option<Elements>,
    bias: Option<Elements>,
}

impl Held {
    fn new(x: &Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>) -> Result<Self> {
        let open = |tensor: Option<&Tensor>| tensor.map(Elements::contiguous).transpose();
        Ok(Self { x: Elements::contiguous(x)?, weight: open(weight)?, bias: open(bias)? })
    }

    /// # Safety
    /// The tensors hold `T`.
    unsafe fn rows<T>(&self, plan: Plan) -> Rows<'_, T> {
        // SAFETY: the caller's; all three are contiguous.
        unsafe {
            Rows {
                x: self.x.slice(),
                size: plan.sizes[3],
                weight: self.weight.as_ref().map(|weight| weight.slice()),
                bias: self.bias.as_ref().map(|bias| bias.slice()),
                epsilon: plan.epsilon,
                centred: plan.over != Over::Rms,
            }
        }
    }

    /// # Safety
    /// As `rows`.
    unsafe fn channels<T>(&self, plan: Plan) -> Channels<'_, T> {
        let [samples, groups, together, size] = plan.sizes;
        // SAFETY: as above.
        let rows = unsafe { self.rows(plan) };
        Channels {
            x: rows.x,
            samples,
            channels: groups * together,
            size,
            together,
            across: plan.over == Over::Batch,
            weight: rows.weight,
            bias: rows.bias,
            epsilon: plan.epsilon,
        }
    }
}

fn stored<T: Real>(values: &[T], shape: &[usize], dtype: DType) -> Result<Tensor> {
    let (out, pointer) = Tensor::uninit_with_pointer(shape, dtype)?;
    // SAFETY: the memory is fresh and has room for as many values, of `T`, as the shape has elements.
    unsafe { std::ptr::copy_nonoverlapping(values.as_ptr(), pointer.cast::<T>(), values.len().min(out.numel())) };
    Ok(out)
}

fn forward<T: Real>(plan: Plan, held: &Held, given: Option<[Tensor; 2]>) -> Result<[Tensor; 3]>
where
    f64: From<T>,
{
    let dtype = held.x.dtype;
    let (out, pointer) = Tensor::uninit_with_pointer(&held.x.geometry.shape, dtype)?;
    let target = Shared(pointer.cast::<T>());
    let work = out.numel();
    if plan.has_rows() {
        let count = plan.sizes[0];
        let (mean, mean_at) = Tensor::uninit_with_pointer(&[count], dtype)?;
        let (variance, variance_at) = Tensor::uninit_with_pointer(&[count], dtype)?;
        let places = (Shared(mean_at.cast::<T>()), Shared(variance_at.cast::<T>()));
        // SAFETY: the results are fresh, and `plan` describes `x`.
        guard::spread("layer_norm", work, || unsafe {
            let (mean, variance) = places;
            rows_forward(&held.rows::<T>(plan), target, mean, variance);
        })?;
        return Ok([out, mean, variance]);
    }
    // SAFETY: the tensors hold `T`.
    let at = unsafe { held.channels::<T>(plan) };
    let statistics = at.statistics();
    if at.is_tall() {
        return columns_forward(&at, out, target, given);
    }
    if let Some([mean, variance]) = given {
        let opened = (Elements::contiguous(&mean)?, Elements::contiguous(&variance)?);
        // SAFETY: as above; the given tensors are of the same dtype, one value per statistic.
        guard::spread("batch_norm", work, || unsafe {
            channels_forward(&at, opened.0.slice(), opened.1.slice(), target);
        })?;
        return Ok([out, mean, variance]);
    }
    let (mean, variance) = guard::spread("group_norm", work, || {
        if !at.across {
            // SAFETY: the result is fresh.
            return unsafe { groups_forward(&at, target) };
        }
        let (mean, variance) = channel_moments(&at);
        // SAFETY: the result is fresh.
        unsafe { channels_forward(&at, &mean, &variance, target) };
        (mean, variance)
    })?;
    Ok([out, stored(&mean, &[statistics], dtype)?, stored(&variance, &[statistics], dtype)?])
}

/// As `forward`, for channels that are columns.
fn columns_forward<T: Real>(
    at: &Channels<'_, T>,
    out: Tensor,
    target: Shared<T>,
    given: Option<[Tensor; 2]>,
) -> Result<[Tensor; 3]>
where
    f64: From<T>,
{
    let fixed = given.is_some();
    let [mean, variance] = match given {
        Some(given) => given,
        None => [
            Tensor::uninit_with_pointer(&[at.channels], out.dtype())?.0,
            Tensor::uninit_with_pointer(&[at.channels], out.dtype())?.0,
        ],
    };
    let opened = [Elements::contiguous(&mean)?, Elements::contiguous(&variance)?];
    guard::spread("batch_norm", out.numel(), || {
        let [mean, variance] = opened.each_ref().map(|held| Shared(held.at::<T>(held.geometry.offset)));
        // SAFETY: the result is fresh; the statistics are too, or they are given and only read, one per channel.
        unsafe { norm_columns::forward(at, fixed, mean, variance, target) };
    })?;
    Ok([out, mean, variance])
}

/// The gradients of input, weight and bias by kernels.
fn backward<T: Real>(plan: Plan, held: &Held, grad: &Tensor, stats: [&Tensor; 2], wanted: bool) -> Result<[Tensor; 3]>
where
    f64: From<T>,
{
    let dtype = held.x.dtype;
    let grad = Elements::contiguous(grad)?;
    let (mean, variance) = (Elements::contiguous(stats[0])?, Elements::contiguous(stats[1])?);
    let shape: &[usize] = if wanted { &held.x.geometry.shape } else { &[0] };
    let (out, pointer) = Tensor::uninit_with_pointer(shape, dtype)?;
    let target = wanted.then_some(Shared(pointer.cast::<T>()));
    let (dweight, dbias) = guard::spread("norm", held.x.geometry.numel(), || {
        // SAFETY: the result is fresh, `plan` describes `x`, and all tensors hold `T` in row-major order.
        unsafe {
            let (grad, mean, variance) = (grad.slice::<T>(), mean.slice::<T>(), variance.slice::<T>());
            if plan.has_rows() {
                return rows_backward(&held.rows::<T>(plan), &RowGrads { grad, mean, variance, dx: target });
            }
            let asked = ChannelGrads { grad, mean, variance, fixed: plan.fixed, dx: target };
            let at = held.channels::<T>(plan);
            if at.is_tall() { norm_columns::backward(&at, &asked) } else { channels_backward(&at, &asked) }
        }
    })?;
    let count = dweight.len();
    Ok([out, stored(&dweight, &[count], dtype)?, stored(&dbias, &[count], dtype)?])
}

/// The same gradients of recorded ops, for those who differentiate them again.
fn recorded(
    plan: Plan,
    x: &Tensor,
    weight: Option<&Tensor>,
    grad: &Tensor,
    stats: [&Tensor; 2],
) -> Result<[Tensor; 3]> {
    let (dims, (shape, spread)) = (plan.dims(), plan.parameters());
    let centred = plan.over != Over::Rms;
    let (whole, grad) = (movement::reshape(x, &plan.sizes)?, movement::reshape(grad, &plan.sizes)?);
    let (apart, variance) = if plan.fixed {
        let [mean, variance] = stats.map(|value| movement::reshape(value, &plan.statistics()));
        (sub(&whole, &mean?)?, variance?)
    } else {
        let apart = if centred { sub(&whole, &reduce::mean(&whole, dims, true)?)? } else { whole };
        let variance = reduce::mean(&unary::square(&apart)?, dims, true)?;
        (apart, variance)
    };
    let inverse = unary::rsqrt(&add_scalar(&variance, Scalar::Float(plan.epsilon))?)?;
    let normal = mul(&apart, &inverse)?;
    let scaled = match weight {
        Some(weight) => mul(&grad, &movement::reshape(weight, &shape)?)?,
        None => grad.clone(),
    };
    let dx = if plan.fixed {
        mul(&scaled, &inverse)?
    } else {
        let along = mul(&normal, &reduce::mean(&mul(&scaled, &normal)?, dims, true)?)?;
        let direct = if centred { sub(&scaled, &reduce::mean(&scaled, dims, true)?)? } else { scaled };
        mul(&inverse, &sub(&direct, &along)?)?
    };
    let dweight = reduce::sum(&mul(&grad, &normal)?, spread, false)?;
    Ok([movement::reshape(&dx, &x.shape())?, dweight, reduce::sum(&grad, spread, false)?])
}

/// The gradients in the order of the inputs: of `x`, then of the weight and the bias where there are such.
fn rule(c: &Context<'_>, plan: Plan, given: [bool; 2], shape: &[usize]) -> Result<Grads> {
    let (grad, x) = (c.grad()?, c.saved(0)?);
    let stats = [c.saved(1)?, c.saved(2)?];
    let weight = if given[0] { Some(c.saved(3)?) } else { None };
    let [dx, dweight, dbias] = if grad_enabled() {
        recorded(plan, x, weight, &grad, stats)?
    } else {
        let held = Held::new(x, weight, None)?;
        match x.dtype() {
            DType::F64 => backward::<f64>(plan, &held, &grad, stats, c.needs(0))?,
            _ => backward::<f32>(plan, &held, &grad, stats, c.needs(0))?,
        }
    };
    let mut grads = Grads::new();
    grads.push(c.needs(0).then_some(dx));
    for (index, value) in [dweight, dbias].into_iter().enumerate() {
        if given[index] {
            let place = grads.len();
            grads.push(c.when(place, || movement::reshape(&value, shape))?);
        }
    }
    Ok(grads)
}

#[pymethods]
impl PyTensor {
    /// This contiguous float tensor normalized, with the means and variances that were used. `sizes` are those of
    /// samples, groups, channels of a group and elements; `given` are statistics that are not taken from the tensor.
    #[pyo3(signature = (over, sizes, weight, bias, given, eps))]
    fn _normalized(
        &self,
        over: &str,
        sizes: [usize; 4],
        weight: Option<Tensor>,
        bias: Option<Tensor>,
        given: Option<(Tensor, Tensor)>,
        eps: f64,
    ) -> Result<(Tensor, Tensor, Tensor)> {
        let over = match over {
            "layer" => Over::Layer,
            "rms" => Over::Rms,
            "group" => Over::Group,
            _ => Over::Batch,
        };
        normalized(&self.tensor, Plan { over, sizes, epsilon: eps, fixed: given.is_some() }, weight, bias, given)
    }

    /// `layer_norm` where the tensors are all contiguous CPU floats of one dtype in the shapes that it needs, else None.
    fn _layer_norm(
        &self,
        normalized_shape: Vec<i64>,
        weight: Option<Tensor>,
        bias: Option<Tensor>,
        eps: f64,
    ) -> Result<Option<Tensor>> {
        let x = &self.tensor;
        let Some(plan) = row_plan(x, Over::Layer, normalized_shape, [weight.as_ref(), bias.as_ref()], eps) else {
            return Ok(None);
        };
        normalized(x, plan, weight, bias, None).map(|(out, _, _)| Some(out))
    }

    /// As `_layer_norm`, for `rms_norm`; without `eps` the dtype's smallest step is taken.
    fn _rms_norm(
        &self,
        normalized_shape: Vec<i64>,
        weight: Option<Tensor>,
        eps: Option<f64>,
    ) -> Result<Option<Tensor>> {
        let x = &self.tensor;
        let step = if x.dtype() == DType::F64 { f64::EPSILON } else { f64::from(f32::EPSILON) };
        let Some(plan) = row_plan(x, Over::Rms, normalized_shape, [weight.as_ref(), None], eps.unwrap_or(step)) else {
            return Ok(None);
        };
        normalized(x, plan, weight, None, None).map(|(out, _, _)| Some(out))
    }
}

/// How rows of the last dimensions are normalized, where kernels can do it.
fn row_plan(
    x: &Tensor,
    over: Over,
    normalized_shape: Vec<i64>,
    parameters: [Option<&Tensor>; 2],
    epsilon: f64,
) -> Option<Plan> {
    let shape = x.shape();
    let normalized_shape: Vec<usize> =
        normalized_shape.into_iter().map(|size| usize::try_from(size).ok()).collect::<Option<_>>()?;
    let tail = shape.len().checked_sub(normalized_shape.len()).and_then(|lead| shape.get(lead..));
    let size: usize = normalized_shape.iter().product();
    let fits = matches!(x.dtype(), DType::F32 | DType::F64)
        && is_plain(x)
        && x.numel() > 0
        && !normalized_shape.is_empty()
        && tail == Some(normalized_shape.as_slice())
        && parameters.into_iter().flatten().all(|tensor| {
            is_plain(tensor) && tensor.dtype() == x.dtype() && tensor.shape().as_slice() == normalized_shape.as_slice()
        });
    fits.then(|| Plan { over, sizes: [x.numel() / size, 1, 1, size], epsilon, fixed: false })
}

#[pymethods]
impl PyTensor {
    /// Moves this running statistic towards a batch's, which is `factor * value`.
    fn _track(&self, value: Tensor, factor: f64, momentum: f64) -> Result<()> {
        let scaled = |tensor: &Tensor, by| mul_args(Arg::Tensor(tensor), Arg::Scalar(Scalar::Float(by)));
        let value = if factor == 1.0 { value } else { scaled(&value, factor)? };
        let old = scaled(&self.tensor.detached(), 1.0 - momentum)?;
        let new = scaled(&creation::to_dtype(&value, self.tensor.dtype())?, momentum)?;
        inplace::copy(&self.tensor, &add(&old, &new)?)
    }

    /// `batch_norm` with its means and variances where the tensors are all contiguous CPU floats of one dtype in the
    /// shapes that it needs, and channels are runs of memory; else None. `given` are the running statistics.
    fn _batch_norm(
        &self,
        weight: Option<Tensor>,
        bias: Option<Tensor>,
        given: Option<(Tensor, Tensor)>,
        eps: f64,
    ) -> Result<Option<(Tensor, Tensor, Tensor)>> {
        let x = &self.tensor;
        let Some([samples, channels, size]) = channel_runs(x, [weight.as_ref(), bias.as_ref()], true) else {
            return Ok(None);
        };
        let alike = |tensor: &Tensor| {
            is_plain(tensor) && tensor.dtype() == x.dtype() && tensor.shape().as_slice() == [channels].as_slice()
        };
        if !given.iter().flat_map(|(mean, variance)| [mean, variance]).all(|one| alike(one) && !one.requires_grad()) {
            return Ok(None);
        }
        let sizes = [samples, channels, 1, size];
        let given = given.map(|(mean, variance)| (mean.detached(), variance.detached()));
        let plan = Plan { over: Over::Batch, sizes, epsilon: eps, fixed: given.is_some() };
        normalized(x, plan, weight, bias, given).map(Some)
    }

    /// `group_norm` where the tensors are as `_batch_norm` needs them and the groups are even; else None.
    fn _group_norm(
        &self,
        num_groups: i64,
        weight: Option<Tensor>,
        bias: Option<Tensor>,
        eps: f64,
    ) -> Result<Option<Tensor>> {
        let x = &self.tensor;
        let runs = channel_runs(x, [weight.as_ref(), bias.as_ref()], false);
        let (Some([samples, channels, size]), Ok(groups @ 1..)) = (runs, usize::try_from(num_groups)) else {
            return Ok(None);
        };
        if !channels.is_multiple_of(groups) {
            return Ok(None);
        }
        let sizes = [samples, groups, channels / groups, size];
        let plan = Plan { over: Over::Group, sizes, epsilon: eps, fixed: false };
        normalized(x, plan, weight, bias, None).map(|(out, _, _)| Some(out))
    }
}

fn is_plain(tensor: &Tensor) -> bool {
    tensor.device().is_cpu() && tensor.is_contiguous()
}

/// The samples, channels and elements of a channel, where kernels that take runs of memory, or columns, can normalize
/// channels.
fn channel_runs(x: &Tensor, parameters: [Option<&Tensor>; 2], columns: bool) -> Option<[usize; 3]> {
    let shape = x.shape();
    let [samples, channels, places @ ..] = shape.as_slice() else { return None };
    let size: usize = places.iter().product();
    let fits = matches!(x.dtype(), DType::F32 | DType::F64)
        && is_plain(x)
        && x.numel() > 0
        && (size >= 8 || (columns && size == 1))
        && parameters.into_iter().flatten().all(|tensor| {
            is_plain(tensor) && tensor.dtype() == x.dtype() && tensor.shape().as_slice() == [*channels].as_slice()
        });
    fits.then_some([*samples, *channels, size])
}

/// The tensor normalized as `plan` says, recorded, with the means and variances that were used.
fn normalized(
    x: &Tensor,
    plan: Plan,
    weight: Option<Tensor>,
    bias: Option<Tensor>,
    given: Option<(Tensor, Tensor)>,
) -> Result<(Tensor, Tensor, Tensor)> {
    check(plan, x, [weight.as_ref(), bias.as_ref()], given.as_ref())?;
    let held = Held::new(x, weight.as_ref(), bias.as_ref())?;
    let given = given.map(|(mean, variance)| [mean, variance]);
    let [out, mean, variance] = match x.dtype() {
        DType::F64 => forward::<f64>(plan, &held, given)?,
        _ => forward::<f32>(plan, &held, given)?,
    };
    let inputs: SmallVec<[&Tensor; 3]> = [Some(x), weight.as_ref(), bias.as_ref()].into_iter().flatten().collect();
    if let Some(record) = Record::new(plan.node(), &inputs) {
        let record = record.save(x).save(&mean).save(&variance);
        // The bias is kept only because torch keeps it: to refuse a write.
        let record = [&weight, &bias].into_iter().flatten().fold(record, |record, tensor| record.save(tensor));
        let given = [weight.is_some(), bias.is_some()];
        let shape = weight.as_ref().or(bias.as_ref()).map(Tensor::shape).unwrap_or_default();
        record.finish(&out, move |c| rule(c, plan, given, &shape));
    }
    Ok((out, mean, variance))
}

/// Refuses what the kernels would read past the end of.
fn check(plan: Plan, x: &Tensor, parameters: [Option<&Tensor>; 2], given: Option<&(Tensor, Tensor)>) -> Result<()> {
    let count = plan.parameters().0.iter().product::<usize>();
    let statistics = plan.statistics().iter().product::<usize>();
    let numel = plan.sizes.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    let alike = |tensor: &Tensor, numel: usize| tensor.dtype() == x.dtype() && tensor.numel() == numel;
    let fits = numel == Some(x.numel())
        && matches!(x.dtype(), DType::F32 | DType::F64)
        && (!plan.has_rows() || plan.sizes[1] * plan.sizes[2] == 1)
        && (plan.over != Over::Batch || plan.sizes[2] == 1)
        && (plan.over == Over::Batch || given.is_none())
        && parameters.into_iter().flatten().all(|tensor| alike(tensor, count))
        && given.is_none_or(|(mean, variance)| alike(mean, statistics) && alike(variance, statistics));
    if fits { Ok(()) } else { error::runtime("_normalized: the sizes or dtypes of the tensors do not fit") }
}
