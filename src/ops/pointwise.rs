//! How element-by-element ops reach their engines: our kernels on the CPU, burn on a GPU.

use burn_dispatch::DispatchTensor;
use smallvec::SmallVec;

use super::operand::{Operand, ResultType, Scalar};
use crate::autograd::{Context, Grads, Record};
use crate::device::Device;
use crate::dtype::{DType, default_dtype};
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::number::Number;
use crate::kernels::pointwise::Strided;
use crate::tensor::geometry::{Dims, Geometry, MAX_RANK, broadcast, checked_numel, contiguous_strides, strides_like};
use crate::tensor::storage::Data;
use crate::tensor::{Core, NO_VALUES, SPARSE, Tensor};
use crate::with_number;

/// An operand inside the core: a tensor or a number.
#[derive(Clone, Copy)]
pub enum Arg<'a> {
    Tensor(&'a Tensor),
    Scalar(Scalar),
}

impl<'a> From<&'a Tensor> for Arg<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self::Tensor(tensor)
    }
}

impl From<Scalar> for Arg<'_> {
    fn from(scalar: Scalar) -> Self {
        Self::Scalar(scalar)
    }
}

impl From<f64> for Arg<'_> {
    fn from(value: f64) -> Self {
        Self::Scalar(Scalar::Float(value))
    }
}

impl From<i64> for Arg<'_> {
    fn from(value: i64) -> Self {
        Self::Scalar(Scalar::Int(value))
    }
}

impl<'a> From<&'a Operand> for Arg<'a> {
    fn from(operand: &'a Operand) -> Self {
        match operand {
            Operand::Tensor(tensor) => Self::Tensor(tensor),
            Operand::Scalar(scalar) => Self::Scalar(*scalar),
        }
    }
}

impl<'a> Arg<'a> {
    pub fn tensor(self) -> Option<&'a Tensor> {
        match self {
            Self::Tensor(tensor) => Some(tensor),
            Self::Scalar(_) => None,
        }
    }

    pub fn is_bool(self) -> bool {
        match self {
            Self::Tensor(tensor) => tensor.dtype() == DType::Bool,
            Self::Scalar(scalar) => matches!(scalar, Scalar::Bool(_)),
        }
    }
}

/// The dtype that combining these operands gives.
pub fn common_type<const N: usize>(args: [Arg<'_>; N]) -> DType {
    if let Some(dtype) = shared_type(&args) {
        return dtype;
    }
    let mut kind = ResultType::default();
    for arg in args {
        kind = match arg {
            Arg::Tensor(tensor) => kind.with_tensor(tensor),
            Arg::Scalar(scalar) => kind.with_scalar(scalar),
        };
    }
    kind.get()
}

/// The dtype that all tensors have, where the numbers among the operands cannot change it.
fn shared_type(args: &[Arg<'_>]) -> Option<DType> {
    let mut found = None;
    for tensor in args.iter().filter_map(|arg| arg.tensor()) {
        let dtype = tensor.dtype();
        if *found.get_or_insert(dtype) != dtype {
            return None;
        }
    }
    let kind = found?.kind();
    let fits = |arg: &Arg<'_>| match arg {
        Arg::Tensor(_) => true,
        Arg::Scalar(scalar) => scalar.dtype().kind() <= kind,
    };
    if args.iter().all(fits) { found } else { None }
}

/// As `common_type`, for functions whose results are floats whatever they are given.
pub fn float_type<const N: usize>(args: [Arg<'_>; N]) -> DType {
    let dtype = common_type(args);
    if dtype.is_differentiable() { dtype } else { default_dtype() }
}

/// How one op is computed.
pub struct Call<'a, const N: usize> {
    pub name: &'static str,
    pub args: [Arg<'a>; N],
    /// What each operand is converted to.
    pub dtypes: [DType; N],
    pub out: DType,
    /// A tensor to write the result to, of its shape and dtype, instead of a new one.
    pub into: Option<&'a Tensor>,
}

const UNIT: [usize; 1] = [1];
const ZEROS: [usize; MAX_RANK] = [0; MAX_RANK];

/// Bytes of the largest element.
const NUMBER: usize = 16;

/// A number as bytes of an element.
pub fn number_bytes(scalar: Scalar, dtype: DType) -> Result<[u8; NUMBER]> {
    let mut out = [0; NUMBER];
    if dtype == DType::Bool {
        out[0] = u8::from(!scalar.is_zero());
        return Ok(out);
    }
    with_number!(dtype, T => {
        let value = <T as Number>::of(scalar).to_ne_bytes();
        out[..value.len()].copy_from_slice(&value);
    }, else {
        let (re, im) = (scalar.as_f64(), scalar.imaginary());
        if dtype == DType::C64 {
            out[..4].copy_from_slice(&(re as f32).to_ne_bytes());
            out[4..8].copy_from_slice(&(im as f32).to_ne_bytes());
        } else {
            out[..8].copy_from_slice(&re.to_ne_bytes());
            out[8..].copy_from_slice(&im.to_ne_bytes());
        }
    });
    Ok(out)
}

/// Computes an op: `kernel` writes the result on the CPU; `gpu` makes it with burn, or says that burn cannot.
pub fn evaluate<const N: usize>(
    call: Call<'_, N>,
    kernel: impl Fn(&[usize], Strided<'_>, [Strided<'_>; N]) -> Result<()> + Sync,
    gpu: impl FnOnce([DispatchTensor; N], Device) -> Result<Option<DispatchTensor>>,
) -> Result<Tensor> {
    if let Some(out) = direct(&call, &kernel)? {
        return Ok(out);
    }
    let mut device = Device::Cpu;
    for tensor in call.args.iter().filter_map(|arg| arg.tensor()) {
        if !tensor.device().is_cpu() {
            device = tensor.device();
        }
    }
    match device {
        Device::Cpu => on_cpu(call, kernel),
        Device::Meta => on_meta(&call),
        _ => on_gpu(call, device, kernel, gpu),
    }
}

/// The result's shape and layout; the operands are checked as on a GPU.
fn on_meta<const N: usize>(call: &Call<'_, N>) -> Result<Tensor> {
    let shape = common_shape(call.name, &call.args)?;
    for (arg, dtype) in call.args.iter().zip(call.dtypes) {
        on_device(call.name, *arg, dtype, Device::Meta, shape.len())?;
    }
    match call.into {
        Some(target) => Ok(target.clone()),
        None => Tensor::meta_as(&shape, &layout(&call.args, &shape), call.out),
    }
}

/// The usual small case, with nothing to convert, broadcast or wait for.
fn direct<const N: usize>(
    call: &Call<'_, N>,
    kernel: &impl Fn(&[usize], Strided<'_>, [Strided<'_>; N]) -> Result<()>,
) -> Result<Option<Tensor>> {
    let cores = call.args.map(|arg| arg.tensor().map(Tensor::core));
    let Some(first) = cores.iter().flatten().next() else { return Ok(None) };
    let geometry = &first.geometry;
    let numel = geometry.numel();
    if numel > guard::DETACH_ABOVE {
        return Ok(None);
    }
    let target = call.into.map(Tensor::core);
    if let Some(target) = &target
        && !(target.dtype == call.out && target.geometry.shape == geometry.shape && target.geometry.is_contiguous())
    {
        return Ok(None);
    }
    let mut views = [Strided { pointer: std::ptr::null_mut(), strides: &UNIT, offset: 0 }; N];
    let mut numbers = [[0; 16]; N];
    for (index, core) in cores.iter().enumerate() {
        match (core, call.args[index]) {
            (Some(core), _) => {
                let Data::Cpu(buffer) = core.storage.data() else { return Ok(None) };
                let plain = core.dtype == call.dtypes[index]
                    && core.geometry.shape == geometry.shape
                    && core.geometry.is_contiguous();
                // An operand that overlaps the target elsewhere would be read half overwritten.
                let apart = target.as_ref().is_none_or(|target| {
                    target.storage.address() != core.storage.address() || target.geometry.offset == core.geometry.offset
                });
                if !plain || !apart {
                    return Ok(None);
                }
                views[index].pointer = buffer.pointer();
                views[index].offset = core.geometry.offset;
            }
            (None, Arg::Scalar(scalar)) => {
                numbers[index] = number_bytes(scalar, call.dtypes[index])?;
                views[index].strides = &ZEROS;
            }
            (None, Arg::Tensor(_)) => return Ok(None),
        }
    }
    for (index, view) in views.iter_mut().enumerate() {
        if view.pointer.is_null() && cores[index].is_none() {
            view.pointer = numbers[index].as_mut_ptr();
        }
    }
    let (out, pointer, offset) = match (call.into, &target) {
        (Some(into), Some(target)) => (into.clone(), pointer(target)?, target.geometry.offset),
        _ => {
            let (out, pointer) = Tensor::uninit_with_pointer(&geometry.shape, call.out)?;
            (out, pointer, 0)
        }
    };
    kernel(&[numel], Strided { pointer, strides: &UNIT, offset }, views)?;
    Ok(Some(out))
}

/// The commonest call of all, two small float tensors of one dtype and shape, with a single look at each.
pub fn alike(
    a: &Tensor,
    b: &Tensor,
    kernel: impl FnOnce(DType, &[usize], Strided<'_>, [Strided<'_>; 2]) -> Result<()>,
) -> Result<Option<Tensor>> {
    let (a, b) = (a.core(), b.core());
    let (Data::Cpu(left), Data::Cpu(right)) = (a.storage.data(), b.storage.data()) else { return Ok(None) };
    let geometry = &a.geometry;
    let same = a.dtype == b.dtype && a.dtype.is_float() && geometry.shape == b.geometry.shape;
    let numel = geometry.numel();
    if !same || numel > guard::DETACH_ABOVE || !geometry.is_contiguous() || !b.geometry.is_contiguous() {
        return Ok(None);
    }
    let (out, pointer) = Tensor::uninit_with_pointer(&geometry.shape, a.dtype)?;
    let view = |pointer, offset| Strided { pointer, strides: &UNIT, offset };
    let operands = [view(left.pointer(), geometry.offset), view(right.pointer(), b.geometry.offset)];
    kernel(a.dtype, &[numel], view(pointer, 0), operands)?;
    Ok(Some(out))
}

/// The shape that the tensors among the operands broadcast to.
fn common_shape(op: &str, args: &[Arg<'_>]) -> Result<Dims> {
    let mut shape: Option<Dims> = None;
    for tensor in args.iter().filter_map(|arg| arg.tensor()) {
        let next = tensor.shape();
        shape = Some(match shape {
            None => next,
            Some(shape) => broadcast(op, &shape, &next)?,
        });
    }
    Ok(shape.unwrap_or_default())
}

/// The strides of a result: as the operands lie in memory, by torch's rule.
fn layout(args: &[Arg<'_>], shape: &[usize]) -> Dims {
    let tensors: SmallVec<[Geometry; 3]> = args.iter().filter_map(|arg| arg.tensor()).map(Tensor::geometry).collect();
    let plain = |geometry: &Geometry| geometry.shape.as_slice() == shape;
    if tensors.iter().all(|geometry| plain(geometry) && geometry.is_contiguous()) {
        return contiguous_strides(shape);
    }
    if tensors.len() == args.len()
        && let Some(first) = tensors.first()
        && first.is_dense()
        && tensors.iter().all(|geometry| plain(geometry) && geometry.strides == first.strides)
    {
        return first.strides.clone();
    }
    let strides: SmallVec<[Dims; 3]> = tensors.iter().map(|geometry| geometry.expand(shape).strides).collect();
    let operands: SmallVec<[&[usize]; 3]> = strides.iter().map(|strides| strides.as_slice()).collect();
    strides_like(shape, &operands)
}

/// A pointer in the middle of being handed to a kernel.
fn pointer(core: &Core) -> Result<*mut u8> {
    match core.storage.data() {
        Data::Cpu(buffer) => Ok(buffer.pointer()),
        Data::Nothing(_) => error::missing(SPARSE),
        Data::Meta(_) => error::missing(NO_VALUES),
        Data::Device(_) => error::device("a kernel for the CPU was given a tensor on another device"),
    }
}

fn on_cpu<const N: usize>(
    call: Call<'_, N>,
    kernel: impl Fn(&[usize], Strided<'_>, [Strided<'_>; N]) -> Result<()> + Sync,
) -> Result<Tensor> {
    let shape = common_shape(call.name, &call.args)?;
    if let Some(target) = call.into
        && target.shape() != shape
    {
        return error::shape(format!(
            "{}: output with shape {:?} doesn't match the broadcast shape {:?}",
            call.name,
            target.shape().as_slice(),
            shape.as_slice()
        ));
    }
    let mut numbers = [[0; NUMBER]; N];
    let mut cores: SmallVec<[Option<Core>; 3]> = SmallVec::new();
    for (index, arg) in call.args.iter().enumerate() {
        cores.push(match arg {
            Arg::Scalar(scalar) => {
                numbers[index] = number_bytes(*scalar, call.dtypes[index])?;
                None
            }
            Arg::Tensor(tensor) => Some(readable(tensor, call.dtypes[index], call.into)?),
        });
    }
    let out = match call.into {
        Some(target) => target.clone(),
        None => Tensor::uninit_as(&shape, &layout(&call.args, &shape), call.out)?,
    };
    let target = out.core().clone();
    let strides: SmallVec<[Dims; 3]> = cores
        .iter()
        .map(|core| match core {
            Some(core) => core.geometry.expand(&shape).strides,
            None => SmallVec::from_elem(0, shape.len()),
        })
        .collect();
    let mut views = [Strided { pointer: std::ptr::null_mut(), strides: &[], offset: 0 }; N];
    for (index, view) in views.iter_mut().enumerate() {
        view.strides = &strides[index];
        match &cores[index] {
            Some(core) => {
                view.pointer = pointer(core)?;
                view.offset = core.geometry.offset;
            }
            None => view.pointer = numbers[index].as_mut_ptr(),
        }
    }
    let place =
        Strided { pointer: pointer(&target)?, strides: &target.geometry.strides, offset: target.geometry.offset };
    let numel = target.geometry.numel();
    if numel <= guard::DETACH_ABOVE {
        kernel(&shape, place, views)?;
    } else {
        guard::spread(call.name, numel, || kernel(&shape, place, views))??;
    }
    Ok(out)
}

/// The operand as the kernel reads it: of `dtype`, and not half overwritten by the result.
fn readable(tensor: &Tensor, dtype: DType, into: Option<&Tensor>) -> Result<Core> {
    if tensor.dtype() != dtype {
        if tensor.dtype().is_complex() && dtype.is_float() {
            return error::dtype(format!("this op is not implemented for '{}'", tensor.dtype().scalar_type()));
        }
        return Ok(tensor.converted(dtype)?.core().clone());
    }
    let core = tensor.core().clone();
    let Some(target) = into else { return Ok(core) };
    let target = target.core();
    let apart = core.storage.address() != target.storage.address();
    if apart || core.geometry == target.geometry {
        return Ok(core);
    }
    Ok(tensor.copied()?.core().clone())
}

/// A GPU's float32 tensor beside a number, and whether the number comes first. burn takes such a number as it is and
/// fuses the op; a tensor for it would be a kernel of its own.
pub fn beside_number<'a>(a: Arg<'a>, b: Arg<'a>, dtype: DType) -> Option<(&'a Tensor, f64, bool)> {
    let (x, number, left) = match (a, b) {
        (Arg::Tensor(x), Arg::Scalar(number)) => (x, number, false),
        (Arg::Scalar(number), Arg::Tensor(x)) => (x, number, true),
        _ => return None,
    };
    let gpu = matches!(x.device(), Device::Wgpu(_));
    let fits = dtype == DType::F32 && x.dtype() == DType::F32 && gpu && x.numel() > 0;
    fits.then(|| (x, number.as_f64(), left))
}

fn on_gpu<const N: usize>(
    call: Call<'_, N>,
    device: Device,
    kernel: impl Fn(&[usize], Strided<'_>, [Strided<'_>; N]) -> Result<()> + Sync,
    gpu: impl FnOnce([DispatchTensor; N], Device) -> Result<Option<DispatchTensor>>,
) -> Result<Tensor> {
    let shape = common_shape(call.name, &call.args)?;
    let mut values: SmallVec<[DispatchTensor; 3]> = SmallVec::new();
    // cubecl takes no empty tensors.
    if shape.contains(&0) {
        return through_cpu(&call, device, kernel);
    }
    device.check_size(checked_numel(&shape)?, call.out)?;
    for (arg, dtype) in call.args.iter().zip(call.dtypes) {
        values.push(on_device(call.name, *arg, dtype, device, shape.len())?.prim()?);
    }
    let Ok(values) = values.into_inner_array::<N>() else {
        return error::runtime(format!("{}: an operand is missing", call.name));
    };
    let out = match gpu(values, device)? {
        Some(value) => Tensor::from_prim_shaped(value, call.out, device, &shape)?,
        None => through_cpu(&call, device, kernel)?,
    };
    match call.into {
        Some(target) => {
            target.write(&out)?;
            Ok(target.clone())
        }
        None => Ok(out),
    }
}

/// For the few functions that burn lacks: computed on the CPU and moved back.
fn through_cpu<const N: usize>(
    call: &Call<'_, N>,
    device: Device,
    kernel: impl Fn(&[usize], Strided<'_>, [Strided<'_>; N]) -> Result<()> + Sync,
) -> Result<Tensor> {
    let mut moved: SmallVec<[Option<Tensor>; 3]> = SmallVec::new();
    for arg in &call.args {
        moved.push(arg.tensor().map(|tensor| tensor.moved(Device::Cpu)).transpose()?);
    }
    let mut args = call.args;
    for (arg, tensor) in args.iter_mut().zip(&moved) {
        if let Some(tensor) = tensor {
            *arg = Arg::Tensor(tensor);
        }
    }
    on_cpu(Call { name: call.name, args, dtypes: call.dtypes, out: call.out, into: None }, kernel)?.moved(device)
}

/// An operand on `device` with `rank` dimensions; a rank-0 CPU tensor follows the others there, as in torch.
fn on_device(op: &str, arg: Arg<'_>, dtype: DType, device: Device, rank: usize) -> Result<Tensor> {
    let tensor = match arg {
        Arg::Scalar(scalar) => super::creation::full(&[], scalar, dtype, device)?,
        Arg::Tensor(tensor) if tensor.device() == device => tensor.clone(),
        Arg::Tensor(tensor) if tensor.rank() == 0 && tensor.device().is_cpu() => {
            tensor.converted(dtype)?.moved(device)?
        }
        Arg::Tensor(tensor) => {
            return error::device(format!(
                "{op}: Expected all tensors to be on the same device, but found at least two devices, {} and {}! \
                 Move one of them with .to('{}')",
                device.name(),
                tensor.device().name(),
                device.name()
            ));
        }
    };
    let tensor = if tensor.dtype() == dtype { tensor } else { tensor.converted(dtype)? };
    let mut geometry = tensor.geometry();
    while geometry.rank() < rank {
        geometry = geometry.unsqueeze(0);
    }
    Ok(tensor.alias(geometry))
}

trait IntoInnerArray<T> {
    fn into_inner_array<const N: usize>(self) -> std::result::Result<[T; N], ()>;
}

impl<T> IntoInnerArray<T> for SmallVec<[T; 3]> {
    fn into_inner_array<const N: usize>(self) -> std::result::Result<[T; N], ()> {
        self.into_vec().try_into().map_err(|_| ())
    }
}

/// Both operands on one device and with one rank, ready for a burn call that broadcasts.
pub fn align(op: &str, a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let rank = common_shape(op, &[Arg::Tensor(a), Arg::Tensor(b)])?.len();
    let device = if a.device().is_cpu() && a.rank() == 0 { b.device() } else { a.device() };
    Ok((
        on_device(op, Arg::Tensor(a), a.dtype(), device, rank)?,
        on_device(op, Arg::Tensor(b), b.dtype(), device, rank)?,
    ))
}

/// What a rule needs of one operand.
#[derive(Clone, Copy)]
enum Kept {
    Nothing,
    Saved(usize),
    Number(Scalar),
}

/// The operands of a recorded op of two, of which one may be a number.
#[derive(Clone, Copy)]
pub struct Pair {
    kept: [Kept; 2],
    /// Which input of the node each operand is.
    inputs: [Option<usize>; 2],
}

impl Pair {
    /// Starts recording. `keep` says, from which operands need gradients, which values the rule will look at.
    pub fn record(
        name: &'static str,
        a: Arg<'_>,
        b: Arg<'_>,
        keep: impl FnOnce(bool, bool) -> (bool, bool),
    ) -> Option<(Record, Self)> {
        let (inputs, mut record) = match (a, b) {
            (Arg::Tensor(x), Arg::Tensor(y)) => ([Some(0), Some(1)], Record::new(name, &[x, y])?),
            (Arg::Tensor(x), Arg::Scalar(_)) => ([Some(0), None], Record::new(name, &[x])?),
            (Arg::Scalar(_), Arg::Tensor(y)) => ([None, Some(0)], Record::new(name, &[y])?),
            (Arg::Scalar(_), Arg::Scalar(_)) => return None,
        };
        let needs = inputs.map(|input| input.is_some_and(|input| record.needs(input)));
        let wanted = keep(needs[0], needs[1]);
        let mut kept = [Kept::Nothing; 2];
        let mut count = 0;
        for (slot, (arg, wanted)) in kept.iter_mut().zip([(a, wanted.0), (b, wanted.1)]) {
            *slot = match arg {
                Arg::Scalar(scalar) => Kept::Number(scalar),
                Arg::Tensor(tensor) if wanted => {
                    record = record.save(tensor);
                    count += 1;
                    Kept::Saved(count - 1)
                }
                Arg::Tensor(_) => Kept::Nothing,
            };
        }
        Some((record, Self { kept, inputs }))
    }

    fn operand<'c>(&self, c: &'c Context<'_>, side: usize) -> Result<Arg<'c>> {
        match self.kept[side] {
            Kept::Number(scalar) => Ok(Arg::Scalar(scalar)),
            Kept::Saved(index) => Ok(Arg::Tensor(c.saved(index)?)),
            Kept::Nothing => error::runtime("a rule asked for an operand that was not kept"),
        }
    }

    pub fn a<'c>(&self, c: &'c Context<'_>) -> Result<Arg<'c>> {
        self.operand(c, 0)
    }

    pub fn b<'c>(&self, c: &'c Context<'_>) -> Result<Arg<'c>> {
        self.operand(c, 1)
    }

    /// The result, where `save_outputs` kept it after the operands.
    pub fn out<'c>(&self, c: &'c Context<'_>) -> Result<&'c Tensor> {
        c.saved(self.kept.iter().filter(|kept| matches!(kept, Kept::Saved(_))).count())
    }

    /// As `grads`, for functions that are differentiable as complex functions: see `holomorphic`.
    pub fn slopes(
        &self,
        c: &Context<'_>,
        a: impl FnOnce(&Tensor) -> Result<Tensor>,
        b: impl FnOnce(&Tensor) -> Result<Tensor>,
    ) -> Result<Grads> {
        let turned = super::complex::turned_grad(c)?;
        let mut out = self.grads(c, || a(&turned), || b(&turned))?;
        if turned.dtype().is_complex() {
            for slope in out.iter_mut().flatten() {
                *slope = super::complex::conj(slope)?;
            }
        }
        Ok(out)
    }

    /// The gradients of the operands that want one.
    pub fn grads(
        &self,
        c: &Context<'_>,
        a: impl FnOnce() -> Result<Tensor>,
        b: impl FnOnce() -> Result<Tensor>,
    ) -> Result<Grads> {
        let mut out = Grads::new();
        if let Some(index) = self.inputs[0] {
            out.push(c.when(index, a)?);
        }
        if let Some(index) = self.inputs[1] {
            out.push(c.when(index, b)?);
        }
        Ok(out)
    }
}
