//! Convolutions: three bilinear ops (convolve, its transpose, its weight gradient) whose rules are each other.

use std::sync::Arc;

use burn_backend::ops::{ConvOptions, ConvTransposeOptions, ModuleOps};
use burn_dispatch::{Dispatch, DispatchTensor};
use pyo3::prelude::*;

use super::convert::{Format, common_format, contiguous_as, laid_out};
use super::{conv_last, creation, elementwise, movement, reduce};
use crate::autograd::{Grads, Record, grad_enabled, grads};
use crate::check;
use crate::device::Device;
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::conv::{self, Problem};
use crate::kernels::memory::Elements;
use crate::kernels::{conv_point, conv_rows, conv_weight, convolve, depthwise, depthwise_large, winograd};
use crate::tensor::geometry::{Dims, Geometry};
use crate::tensor::kept::{Found, Keeper, Order, Values};
use crate::tensor::{Tensor, prim};

/// How the window moves; one number for each of the 1 to 3 spatial dimensions.
#[derive(Clone, Debug)]
pub struct Options {
    pub stride: Dims,
    pub padding: Dims,
    pub dilation: Dims,
    pub groups: usize,
}

/// As many numbers as the engine wants; missing leading ones are `missing`.
fn array<const N: usize>(values: &[usize], missing: usize) -> [usize; N] {
    std::array::from_fn(|dim| (dim + values.len()).checked_sub(N).map_or(missing, |at| values[at]))
}

impl Options {
    fn spatial(&self) -> usize {
        self.stride.len()
    }

    fn plain<const N: usize>(&self) -> ConvOptions<N> {
        let padding: [usize; N] = array(&self.padding, 0);
        ConvOptions::new(array(&self.stride, 1), padding, array(&self.dilation, 1), self.groups)
    }

    fn turned<const N: usize>(&self, extra: &[usize]) -> ConvTransposeOptions<N> {
        ConvTransposeOptions::new(
            array(&self.stride, 1),
            array(&self.padding, 0),
            array(extra, 0),
            array(&self.dilation, 1),
            self.groups,
        )
    }

    /// How far one window reaches along a dimension.
    fn extent(&self, dim: usize, kernel: usize) -> usize {
        self.dilation[dim] * (kernel - 1) + 1
    }

    /// The sizes that a convolution gives; None where the window is larger than the padded input.
    fn forward_sizes(&self, input: &[usize], kernel: &[usize]) -> Option<Dims> {
        (0..self.spatial())
            .map(|dim| {
                let room = (input[dim] + 2 * self.padding[dim]).checked_sub(self.extent(dim, kernel[dim]))?;
                Some(room / self.stride[dim] + 1)
            })
            .collect()
    }

    /// How far the windows of a convolution with results of sizes `output` reach, padding included.
    fn reach(&self, output: &[usize], kernel: &[usize]) -> Dims {
        (0..self.spatial())
            .map(|dim| output[dim].saturating_sub(1) * self.stride[dim] + self.extent(dim, kernel[dim]))
            .collect()
    }
}

/// Half types and integers are computed in a wider float type.
fn working(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::F32 | DType::F64 => dtype,
        _ => DType::F64,
    }
}

impl Options {
    /// The sizes of a convolution between these spatial sizes.
    fn problem(&self, weight: &[usize], input: &[usize], output: &[usize]) -> Problem {
        Problem {
            groups: self.groups,
            channels: weight[1],
            filters: weight[0] / self.groups,
            input: array(input, 1),
            kernel: array(&weight[2..], 1),
            output: array(output, 1),
            stride: array(&self.stride, 1),
            padding: array(&self.padding, 0),
            dilation: array(&self.dilation, 1),
        }
    }
}

/// Which of the three tensors of a convolution the kernel computes from the two others.
#[derive(Clone, Copy)]
enum Kernel {
    Forward,
    Input,
    Weight,
}

/// What a convolution has beside its two factors.
#[derive(Default)]
struct Beside {
    /// Of the working type.
    bias: Option<Tensor>,
    /// The place for what is made of a weight that stays as it is.
    keeper: Option<Keeper>,
}

/// Runs a CPU kernel in the working type: `a` is the input (or the output's gradient), `b` the other factor.
fn on_cpu(
    op: &str,
    kernel: Kernel,
    problem: Problem,
    [a, b]: [&Tensor; 2],
    beside: Beside,
    shape: &[usize],
) -> Result<Tensor> {
    let (device, a, b) = (a.device(), &a.detached().moved(Device::Cpu)?, &b.detached().moved(Device::Cpu)?);
    let (dtype, wide) = (a.dtype(), working(a.dtype()));
    let out =
        if wide == DType::F32 { Tensor::uninit_with_pointer(shape, wide)?.0 } else { Tensor::zeroed(shape, wide)? };
    let ready =
        |x: &Tensor| if x.dtype() == wide { Elements::contiguous(x) } else { Elements::of(&x.converted(wide)?) };
    let kept = kept_rows(b, beside.keeper.as_ref())?;
    let (a, to) = (ready(a)?, Elements::of(&out)?);
    let b = if kept.is_some() { Elements::of(b)? } else { ready(b)? };
    let bias = beside.bias.as_ref().map(Elements::contiguous).transpose()?;
    let work = out.numel().saturating_mul(16);
    // SAFETY: all are contiguous and of the type matched on, and `out` is new.
    unsafe {
        let bias = bias.as_ref().map(|bias| bias.slice::<f32>());
        let keeper = beside.keeper.as_ref();
        let sides = || [a.slice(), kept.as_ref().map_or_else(|| b.slice(), |kept| kept.get())];
        if wide != DType::F32 {
            guard::heavy(op, work, || compute::<f64>(kernel, &problem, a.slice(), b.slice(), to.slice_mut()))?;
        } else if !guard::spread(op, work, || in_tiles(kernel, &problem, sides(), bias, keeper, to.slice_mut()))? {
            guard::heavy(op, work, || in_general(kernel, &problem, sides(), bias, to.slice_mut()))?;
        }
    }
    let out = if wide == dtype { out } else { out.converted(dtype)? };
    out.moved(device)
}

/// Whether our own kernel computes: on the CPU, and for integers, which the engine does not convolve.
fn is_ours(x: &Tensor) -> bool {
    x.device().is_cpu() || !x.dtype().is_float()
}

/// float32; false, with nothing done, for sizes beyond 32 bits.
fn in_tiles(
    kernel: Kernel,
    problem: &Problem,
    [a, b]: [&[f32]; 2],
    bias: Option<&[f32]>,
    keeper: Option<&Keeper>,
    out: &mut [f32],
) -> bool {
    let problem = &problem.folded();
    match kernel {
        Kernel::Forward => {
            depthwise::forward(problem, a, b, bias, out)
                || depthwise_large::forward(problem, a, b, bias, out)
                || conv_point::forward(problem, a, b, bias, out)
                || winograd::forward(problem, a, b, bias, keeper, out)
                || convolve::forward(problem, a, b, bias, keeper, out)
        }
        Kernel::Input => {
            depthwise::input_gradient(problem, a, b, out)
                || depthwise_large::input_gradient(problem, a, b, out)
                || conv_point::input_gradient(problem, a, b, out)
                || conv_rows::input_gradient(problem, a, b, out)
                || winograd::input_gradient(problem, a, b, out)
                || convolve::input_gradient(problem, a, b, out)
        }
        Kernel::Weight => {
            depthwise::weight_gradient(problem, a, b, out)
                || conv_point::weight_gradient(problem, a, b, out)
                || conv_weight::weight_gradient(problem, a, b, out)
        }
    }
}

/// float32 of any size.
fn in_general(kernel: Kernel, problem: &Problem, [a, b]: [&[f32]; 2], bias: Option<&[f32]>, out: &mut [f32]) {
    out.fill(0.0);
    compute(kernel, problem, a, b, out);
    if let Some(bias) = bias {
        let places: usize = problem.output.iter().product();
        for (plane, &summand) in out.chunks_exact_mut(places).zip(bias.iter().cycle()) {
            plane.iter_mut().for_each(|slot| *slot += summand);
        }
    }
}

fn compute<T: conv::Float>(kernel: Kernel, problem: &Problem, a: &[T], b: &[T], out: &mut [T]) {
    match kernel {
        Kernel::Forward => conv::forward(problem, a, b, out),
        Kernel::Input => conv::input_gradient(problem, a, b, out),
        Kernel::Weight => conv::weight_gradient(problem, a, b, out),
    }
}

/// Runs an engine call; one spatial dimension goes as two, since the engine's weight gradient of one is wrong with groups
/// where the stride leaves a rest.
fn engine<const N: usize>(
    op: &str,
    options: &Options,
    inputs: [&Tensor; N],
    call: impl FnOnce([DispatchTensor; N]) -> DispatchTensor + Send,
) -> Result<Tensor> {
    let device = check::same_device(op, &inputs)?;
    let dtype = inputs.first().map_or(DType::F32, |first| first.dtype());
    check::kind(op, dtype, &[Kind::Float])?;
    let flat = options.spatial() == 1;
    let mut values = Vec::with_capacity(N);
    for input in inputs {
        let input = if flat { input.alias(input.geometry().unsqueeze(2)) } else { input.clone() };
        values.push(input.prim()?);
    }
    let Ok(values) = <[DispatchTensor; N]>::try_from(values) else {
        return error::runtime(format!("{op}: an input was lost"));
    };
    let out = Tensor::from_prim(
        guard::heavy(op, usize::MAX, move || prim::settled(Kind::Float, call(values)))?,
        dtype,
        device,
    )?;
    if flat { movement::squeeze(&out, &[2]) } else { Ok(out) }
}

/// The place beside a weight that is used as it is and gets no gradient here.
fn keeper(x: &Tensor, weight: &Tensor) -> Option<Keeper> {
    let dense = weight.is_contiguous() || common_format(&[weight]) != Format::Contiguous;
    let lasting = x.dtype() == DType::F32 && dense && !(grad_enabled() && weight.requires_grad());
    let core = weight.core();
    let Geometry { shape, strides, offset } = &core.geometry;
    core.storage.keeper([*offset, shape[0], shape[1], strides[1]]).filter(|_| lasting)
}

/// The rows of a weight whose channels lie side by side, from the second time on that it is seen.
fn kept_rows(weight: &Tensor, keeper: Option<&Keeper>) -> Result<Option<Arc<Values>>> {
    let Some(keeper) = keeper.filter(|_| !weight.is_contiguous()).map(|keeper| keeper.of(Order::RowMajor)) else {
        return Ok(None);
    };
    Ok(match keeper.find() {
        Found::Values(values) => Some(values),
        Found::Again if keeper.has_room(weight.numel()) => {
            // SAFETY: contiguous, and there is a keeper for float32 only.
            Some(keeper.keep(unsafe { Elements::contiguous(weight)?.slice().to_vec() }))
        }
        _ => None,
    })
}

/// `x` (N, C, ...) with `weight` (O, C / groups, ...), and a summand for each filter.
pub fn convolve(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>, options: &Options) -> Result<Tensor> {
    convolve_keeping(x, weight, bias, options, None)
}

/// As `convolve`, with a place for what is made of the weight.
fn convolve_keeping(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    options: &Options,
    keeper: Option<Keeper>,
) -> Result<Tensor> {
    if let Some(bias) = bias
        && !(x.device().is_cpu() && x.dtype() == DType::F32 && x.numel() > 0 && weight.numel() > 0)
    {
        return with_bias(&convolve_keeping(x, weight, None, options, keeper)?, bias);
    }
    let (shape, sizes) = (x.shape(), weight.shape());
    let Some(spatial) = options.forward_sizes(&shape[2..], &sizes[2..]) else {
        return too_small("conv", &shape, &sizes, options);
    };
    let mut target: Dims = [shape[0], sizes[0]].into_iter().collect();
    target.extend(spatial);
    let problem = options.problem(&sizes, &shape[2..], &target[2..]);
    let out = if target.contains(&0) || x.numel() == 0 || weight.numel() == 0 || x.is_meta() {
        creation::zeros(&target, x.dtype(), x.device())?
    } else if let Some(out) = conv_last::forward(x, weight, bias, &problem)? {
        out
    } else if is_ours(x) {
        let beside = Beside { bias: bias.map(Tensor::detached), keeper };
        on_cpu("conv", Kernel::Forward, problem, [x, weight], beside, &target)?
    } else {
        let o = options.clone();
        engine("conv", options, [x, weight], move |[x, w]| match o.spatial() {
            3 => Dispatch::conv3d(x, w, None, o.plain()),
            _ => Dispatch::conv2d(x, w, None, o.plain()),
        })?
    };
    let out = laid_out(out, &[x, weight])?;
    let inputs: Vec<&Tensor> = [x, weight].into_iter().chain(bias).collect();
    if let Some(record) = Record::new("ConvolutionBackward0", &inputs) {
        let (o, biased) = (options.clone(), bias.is_some());
        record.save(x).save(weight).finish(&out, move |c| {
            let (grad, x, weight) = (c.grad()?, c.saved(0)?, c.saved(1)?);
            let mut out = Grads::new();
            out.push(c.when(0, || convolve_back(&grad, weight, &o, &x.shape()[2..]))?);
            let laid =
                || contiguous_as(&weight_gradient(x, &grad, &o, &weight.shape()[2..])?, common_format(&[weight]));
            out.push(c.when(1, laid)?);
            if biased {
                out.push(c.when(2, || summed_up(&grad))?);
            }
            Ok(out)
        });
    }
    Ok(out)
}

/// The transpose of `convolve` with respect to its input, whose spatial sizes are `spatial`.
pub fn convolve_back(grad: &Tensor, weight: &Tensor, options: &Options, spatial: &[usize]) -> Result<Tensor> {
    let (shape, sizes) = (grad.shape(), weight.shape());
    let mut target: Dims = [shape[0], sizes[1] * options.groups].into_iter().collect();
    target.extend(spatial.iter().copied());
    let problem = options.problem(&sizes, spatial, &shape[2..]);
    let out = if target.contains(&0) || grad.numel() == 0 || weight.numel() == 0 || grad.is_meta() {
        creation::zeros(&target, grad.dtype(), grad.device())?
    } else if let Some(out) = conv_last::input_gradient(grad, weight, &problem)? {
        out
    } else if is_ours(grad) {
        on_cpu("conv_transpose", Kernel::Input, problem, [grad, weight], Beside::default(), &target)?
    } else {
        let reach = options.reach(&shape[2..], &sizes[2..]);
        let extra: Dims = (0..spatial.len())
            .map(|dim| (spatial[dim] + 2 * options.padding[dim]).saturating_sub(reach[dim]))
            .collect();
        let o = options.clone();
        engine("conv_transpose", options, [grad, weight], move |[x, w]| match o.spatial() {
            3 => Dispatch::conv_transpose3d(x, w, None, o.turned(&extra)),
            _ => Dispatch::conv_transpose2d(x, w, None, o.turned(&extra)),
        })?
    };
    let out = laid_out(out, &[grad, weight])?;
    if let Some(record) = Record::new("ConvolutionBackward0", &[grad, weight]) {
        let o = options.clone();
        record.save(grad).save(weight).finish(&out, move |c| {
            let (x, weight) = (c.saved(0)?, c.saved(1)?);
            let grad = c.grad()?;
            grads([
                c.when(0, || cut(&convolve(&grad, weight, None, &o)?, &x.shape()[2..]))?,
                c.when(1, || weight_gradient(&grad, x, &o, &weight.shape()[2..]))?,
            ])
        });
    }
    Ok(out)
}

/// Cut to the spatial sizes `wanted`; an output_padding of a whole stride makes a convolution give more.
fn cut(x: &Tensor, wanted: &[usize]) -> Result<Tensor> {
    let mut out = x.clone();
    for (dim, &size) in wanted.iter().enumerate() {
        if x.size(dim + 2) > size {
            out = movement::slice(&out, dim + 2, 0, size, 1)?;
        }
    }
    Ok(out)
}

/// `grad` with zeros at its end, of the sizes that a convolution of `x` gives.
fn filled_up(x: &Tensor, grad: &Tensor, options: &Options, kernel: &[usize]) -> Result<Tensor> {
    let shape = grad.shape();
    let Some(full) = options.forward_sizes(&x.shape()[2..], kernel) else { return Ok(grad.clone()) };
    if full.as_slice() == &shape[2..] {
        return Ok(grad.clone());
    }
    let mut target: Dims = shape[..2].iter().copied().collect();
    target.extend(full);
    let out = creation::zeros(&target, grad.dtype(), grad.device())?;
    out.alias(Geometry { shape, ..out.geometry() }).write(grad)?;
    Ok(out)
}

/// The gradient of `convolve` with respect to its weight, whose spatial sizes are `kernel`.
pub fn weight_gradient(x: &Tensor, grad: &Tensor, options: &Options, kernel: &[usize]) -> Result<Tensor> {
    let mut target: Dims = [grad.size(1), x.size(1) / options.groups.max(1)].into_iter().collect();
    target.extend(kernel.iter().copied());
    let problem = options.problem(&target, &x.shape()[2..], &grad.shape()[2..]);
    let out = if x.numel() == 0 || grad.numel() == 0 || x.is_meta() {
        creation::zeros(&target, x.dtype(), x.device())?
    } else if let Some(out) = conv_last::weight_gradient(x, grad, &problem)? {
        out
    } else if is_ours(x) {
        on_cpu("conv_weight", Kernel::Weight, problem, [x, grad], Beside::default(), &target)?
    } else {
        let o = options.clone();
        let grad = &filled_up(x, grad, options, kernel)?;
        // The engine reads only the shape of the weight.
        let like = creation::zeros(&target, x.dtype(), x.device())?;
        engine("conv_weight", options, [x, &like, grad], move |[x, w, g]| match o.spatial() {
            3 => Dispatch::conv3d_weight_backward(x, w, g, o.plain()),
            _ => Dispatch::conv2d_weight_backward(x, w, g, o.plain()),
        })?
    };
    if let Some(record) = Record::new("ConvolutionBackward0", &[x, grad]) {
        let o = options.clone();
        record.save(x).save(grad).finish(&out, move |c| {
            let (weight, x, grad) = (c.grad()?, c.saved(0)?, c.saved(1)?);
            grads([
                c.when(0, || convolve_back(grad, &weight, &o, &x.shape()[2..]))?,
                c.when(1, || cut(&convolve(x, &weight, None, &o)?, &grad.shape()[2..]))?,
            ])
        });
    }
    Ok(out)
}

fn too_small<T>(op: &str, shape: &[usize], weight: &[usize], options: &Options) -> Result<T> {
    error::shape(format!(
        "{op}: Calculated output size is too small: input {shape:?} with kernel {:?}, padding {:?} and dilation {:?}. \
         Kernel size can't be greater than actual input size; pad the input or use a smaller kernel",
        &weight[2..],
        options.padding.as_slice(),
        options.dilation.as_slice()
    ))
}

/// The arguments of a convolution as Python gives them, already one number for each dimension.
struct Call<'a> {
    op: &'a str,
    x: &'a Tensor,
    weight: &'a Tensor,
    bias: Option<&'a Tensor>,
    options: Options,
    transposed: bool,
}

impl Call<'_> {
    fn check(&self) -> Result<()> {
        let (op, o) = (self.op, &self.options);
        let spatial = o.spatial();
        check::rank(op, "weight", self.weight, &[spatial + 2])?;
        if self.x.rank() != spatial + 1 && self.x.rank() != spatial + 2 {
            return error::shape(format!(
                "{op}: Expected {}D (unbatched) or {}D (batched) input to {op}, but got input of size: {:?}",
                spatial + 1,
                spatial + 2,
                self.x.shape().as_slice()
            ));
        }
        check::kind(op, self.x.dtype(), &[Kind::Float, Kind::Int])?;
        let inputs: Vec<&Tensor> = [self.x, self.weight].into_iter().chain(self.bias).collect();
        check::same_device(op, &inputs)?;
        for other in inputs[1..].iter().rev() {
            if other.dtype() != self.x.dtype() {
                let name = if std::ptr::eq(*other, self.weight) { "weight" } else { "bias" };
                return error::dtype(format!(
                    "{op}: Input type ({}) and {name} type ({}) should be the same: expected scalar type {} but found \
                     {}; convert one of them with .to(...)",
                    self.x.dtype().c_type(),
                    other.dtype().c_type(),
                    self.x.dtype().scalar_type(),
                    other.dtype().scalar_type()
                ));
            }
        }
        if o.stride.contains(&0) || o.dilation.contains(&0) || o.groups == 0 {
            return error::runtime(format!("{op}: stride, dilation and groups must be greater than zero"));
        }
        let sizes = self.weight.shape();
        if sizes[2..].contains(&0) {
            return error::runtime(format!("{op}: kernel size must be greater than zero, got {:?}", &sizes[2..]));
        }
        self.check_channels(&sizes)
    }

    fn check_channels(&self, sizes: &[usize]) -> Result<()> {
        let (op, groups) = (self.op, self.options.groups);
        let channels = self.x.size(self.x.rank() - self.options.spatial() - 1);
        let (expected, outputs) =
            if self.transposed { (sizes[0], sizes[1] * groups) } else { (sizes[1] * groups, sizes[0]) };
        if !sizes[0].is_multiple_of(groups) {
            return error::shape(format!(
                "{op}: weight of shape {sizes:?} cannot be split into groups={groups}; its first size must be \
                 divisible by groups"
            ));
        }
        if channels != expected {
            return error::shape(format!(
                "{op}: Given {}={}, weight of size {sizes:?}, expected input{:?} to have {expected} channels, but got \
                 {channels} channels instead",
                if self.transposed { "transposed" } else { "groups" },
                if self.transposed { 1 } else { groups },
                self.x.shape().as_slice()
            ));
        }
        if let Some(bias) = self.bias
            && bias.shape().as_slice() != [outputs]
        {
            return error::shape(format!(
                "{op}: Given weight of size {sizes:?}, expected bias to be 1-dimensional with {outputs} elements, but \
                 got bias of size {:?} instead",
                bias.shape().as_slice()
            ));
        }
        Ok(())
    }

    fn run(&self, output_padding: &[usize]) -> Result<Tensor> {
        self.check()?;
        let o = &self.options;
        let unbatched = self.x.rank() == o.spatial() + 1;
        let x = if unbatched { movement::unsqueeze(self.x, 0)? } else { self.x.clone() };
        let out = if self.transposed {
            let (shape, sizes) = (x.shape(), self.weight.shape());
            for (dim, &extra) in output_padding.iter().enumerate() {
                if extra >= o.stride[dim].max(o.dilation[dim]) {
                    return error::runtime(format!(
                        "{}: output padding must be smaller than either stride or dilation, but got {extra}",
                        self.op
                    ));
                }
            }
            // torch's formula, where padding may eat what output_padding gives back.
            let reach = o.reach(&shape[2..], &sizes[2..]);
            let spatial: Option<Dims> = (0..o.spatial())
                .map(|dim| (reach[dim] + output_padding[dim]).checked_sub(2 * o.padding[dim]))
                .collect();
            match spatial {
                Some(spatial) if !spatial.contains(&0) => {
                    let out = convolve_back(&x, self.weight, o, &spatial)?;
                    self.bias.map_or(Ok(out.clone()), |bias| with_bias(&out, bias))?
                }
                _ => return too_small(self.op, &shape, &sizes, o),
            }
        } else {
            convolve_keeping(&x, self.weight, self.bias, o, keeper(&x, self.weight))?
        };
        if unbatched { movement::squeeze(&out, &[0]) } else { Ok(out) }
    }
}

/// One summand for each channel, as one node of the graph.
fn with_bias(x: &Tensor, bias: &Tensor) -> Result<Tensor> {
    let mut shape: Dims = x.shape().iter().map(|_| 1).collect();
    shape[1] = bias.numel();
    let column = movement::reshape(&bias.detached(), &shape)?;
    let out = elementwise::add(&x.detached(), &column)?;
    if let Some(record) = Record::new("AddBackward0", &[x, bias]) {
        record.finish(&out, |c| {
            let grad = c.grad()?;
            let mut out = Grads::new();
            out.push(Some(grad.clone()));
            out.push(c.when(1, || summed_up(&grad))?);
            Ok(out)
        });
    }
    Ok(out)
}

/// The gradient of a summand for each channel.
fn summed_up(grad: &Tensor) -> Result<Tensor> {
    let others: Vec<usize> = (0..grad.rank()).filter(|&dim| dim != 1).collect();
    reduce::sum(grad, &others, false)
}

/// Numbers from Python, refused when negative.
fn counts(op: &str, name: &str, values: &[isize]) -> Result<Dims> {
    values
        .iter()
        .map(|&value| match usize::try_from(value) {
            Ok(value) => Ok(value),
            Err(_) => error::runtime(format!("{op}: negative {name} is not supported, got {value}")),
        })
        .collect()
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn _convolution(
    op: &str,
    input: Tensor,
    weight: Tensor,
    bias: Option<Tensor>,
    stride: Vec<isize>,
    padding: Vec<isize>,
    dilation: Vec<isize>,
    transposed: bool,
    output_padding: Vec<isize>,
    groups: isize,
) -> Result<Tensor> {
    let options = Options {
        stride: counts(op, "stride", &stride)?,
        padding: counts(op, "padding", &padding)?,
        dilation: counts(op, "dilation", &dilation)?,
        groups: counts(op, "groups", &[groups])?[0],
    };
    let call = Call { op, x: &input, weight: &weight, bias: bias.as_ref(), options, transposed };
    call.run(&counts(op, "output_padding", &output_padding)?)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_convolution, module)?)
}
