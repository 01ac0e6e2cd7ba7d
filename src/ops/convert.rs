//! Moves between dtypes, devices and memory layouts: `to` and its short forms.

use pyo3::exceptions::{PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyString, PyTuple, PyType};

use super::{creation, movement};
use crate::device::{Device, DeviceArg};
use crate::dtype::{DType, DTypeArg, PyDType, library};
use crate::error::{self, Result};
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::{Dims, Geometry, contiguous_strides};

/// A `memory_format=` argument.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Preserve,
    Contiguous,
    ChannelsLast,
    ChannelsLast3d,
}

impl<'a, 'py> FromPyObject<'a, 'py> for Format {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let name = object.getattr("name").and_then(|name| name.extract::<String>()).unwrap_or_default();
        match name.as_str() {
            "preserve_format" => Ok(Self::Preserve),
            "contiguous_format" => Ok(Self::Contiguous),
            "channels_last" => Ok(Self::ChannelsLast),
            "channels_last_3d" => Ok(Self::ChannelsLast3d),
            _ => Err(PyTypeError::new_err(format!(
                "memory_format must be a pyburn.memory_format such as pyburn.channels_last, got {}",
                object.get_type().name()?
            ))),
        }
    }
}

impl Format {
    /// The dimensions in the order in which they lie in memory, where that is not row-major.
    fn order(self, rank: usize) -> Result<Option<&'static [usize]>> {
        match (self, rank) {
            (Self::Preserve | Self::Contiguous, _) => Ok(None),
            (Self::ChannelsLast, 4) => Ok(Some(&[0, 2, 3, 1])),
            (Self::ChannelsLast3d, 5) => Ok(Some(&[0, 2, 3, 4, 1])),
            (Self::ChannelsLast, _) => error::runtime("required rank 4 tensor to use channels_last format"),
            (Self::ChannelsLast3d, _) => error::runtime("required rank 5 tensor to use channels_last_3d format"),
        }
    }

    /// The strides of a new tensor of this format.
    pub fn strides(self, shape: &[usize]) -> Result<Dims> {
        Ok(match self.order(shape.len())? {
            None => contiguous_strides(shape),
            Some(order) => {
                let moved: Dims = order.iter().filter_map(|&dim| shape.get(dim).copied()).collect();
                Geometry::contiguous(&moved).permute(&inverse(order)).strides
            }
        })
    }
}

/// The permutation that undoes `order`.
pub fn inverse(order: &[usize]) -> Vec<usize> {
    let mut back = vec![0; order.len()];
    for (place, &dim) in order.iter().enumerate() {
        if let Some(slot) = back.get_mut(dim) {
            *slot = place;
        }
    }
    back
}

/// Whether the elements lie in memory in this order.
pub fn is_formatted(x: &Tensor, format: Format) -> bool {
    match format.order(x.rank()) {
        Ok(Some(order)) => x.geometry().permute(order).is_contiguous(),
        Ok(None) => x.is_contiguous(),
        Err(_) => false,
    }
}

/// Channels last where all tensors are so and not row-major as well, else contiguous.
pub fn common_format(tensors: &[&Tensor]) -> Format {
    let format = match tensors.first().map(|tensor| tensor.rank()) {
        Some(4) => Format::ChannelsLast,
        Some(5) => Format::ChannelsLast3d,
        _ => return Format::Contiguous,
    };
    if tensors.iter().all(|tensor| has_channels_last(tensor)) { format } else { Format::Contiguous }
}

/// Whether the strides say so. As in torch those of dimensions of size 1 count: `image[None]` of an image with channels
/// last says nothing, and what is made of it is row-major.
fn has_channels_last(x: &Tensor) -> bool {
    let geometry = x.geometry();
    let (sizes, strides) = (&geometry.shape, &geometry.strides);
    let Some(&channel) = strides.get(1) else { return false };
    if channel == 0 || x.is_contiguous() {
        return false;
    }
    let mut least = 0;
    std::iter::once(1).chain((2..sizes.len()).rev()).chain([0]).all(|dim| {
        let (size, stride) = (sizes[dim], strides[dim]);
        let fits = size > 0 && stride >= least && !(dim == 0 && least == channel);
        least = stride * size.max(1);
        fits
    })
}

/// A result of the CPU in the order in which one of its operands lies: channels last where one is so.
pub fn laid_out(out: Tensor, like: &[&Tensor]) -> Result<Tensor> {
    let format = like.iter().map(|tensor| common_format(&[tensor])).find(|&format| format != Format::Contiguous);
    match format {
        Some(format) if out.rank() >= 4 && !matches!(out.device(), Device::Wgpu(_)) => {
            let strides = format.strides(&out.shape())?;
            if out.geometry().strides == strides { Ok(out) } else { out.copied_as(&strides) }
        }
        _ => Ok(out),
    }
}

/// A copy with the elements in the given order.
pub fn clone_as(x: &Tensor, format: Format) -> Result<Tensor> {
    match format.order(x.rank())? {
        None if format == Format::Preserve => creation::clone_like(x),
        None => creation::clone(x),
        Some(order) => {
            let moved = creation::clone(&movement::permute(x, order)?)?;
            movement::permute(&moved, &inverse(order))
        }
    }
}

/// The tensor itself when its elements lie in the given order, else a copy.
pub fn contiguous_as(x: &Tensor, format: Format) -> Result<Tensor> {
    if is_formatted(x, format) { Ok(x.clone()) } else { clone_as(x, format) }
}

/// The same values with another dtype and on another device.
pub fn convert(x: &Tensor, dtype: DType, device: Device) -> Result<Tensor> {
    if device.is_cpu() {
        // A GPU may not have the dtype that the CPU is asked for.
        return creation::to_dtype(&creation::to_device(x, device)?, dtype);
    }
    creation::to_device(&creation::to_dtype(x, dtype)?, device)
}

/// The Python object itself when nothing changed, as `x.to(x.dtype) is x` in torch.
pub fn same_or_new<'py>(slf: Bound<'py, PyTensor>, out: Tensor) -> PyResult<Bound<'py, PyTensor>> {
    if out.is(&slf.get().tensor) { Ok(slf) } else { out.into_pyobject(slf.py()) }
}

/// What the arguments of `to` ask for.
#[derive(Default)]
struct Wanted {
    dtype: Option<DType>,
    device: Option<Device>,
    copy: bool,
}

impl Wanted {
    fn parse(args: &Bound<'_, PyTuple>) -> PyResult<Self> {
        let mut wanted = Self::default();
        let mut flags = 0;
        for (place, arg) in args.iter().enumerate() {
            if arg.is_none() {
                continue;
            }
            if let Ok(other) = arg.cast::<PyTensor>() {
                let other = &other.get().tensor;
                wanted.dtype = Some(other.dtype());
                wanted.device = Some(other.device());
            } else if arg.is_instance_of::<PyDType>() || arg.is_instance_of::<PyType>() {
                wanted.dtype = Some(arg.extract::<DTypeArg>()?.0);
            } else if arg.is_instance_of::<PyBool>() {
                // First non_blocking, then copy.
                flags += 1;
                wanted.copy = flags == 2 && arg.is_truthy()?;
            } else if place == 0 {
                wanted.device = Some(arg.extract::<DeviceArg>()?.0);
            } else {
                return Err(PyTypeError::new_err(format!(
                    "to() received an invalid argument of type {}; write to(dtype), to(device, dtype) or to(other)",
                    arg.get_type().name()?
                )));
            }
        }
        Ok(wanted)
    }
}

/// The old name of a CPU tensor type.
fn legacy_name(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "BoolTensor",
        DType::U8 => "ByteTensor",
        DType::I8 => "CharTensor",
        DType::I16 => "ShortTensor",
        DType::I32 => "IntTensor",
        DType::I64 => "LongTensor",
        DType::F16 => "HalfTensor",
        DType::BF16 => "BFloat16Tensor",
        DType::F32 => "FloatTensor",
        DType::F64 => "DoubleTensor",
        DType::U16 => "UInt16Tensor",
        DType::U32 => "UInt32Tensor",
        DType::U64 => "UInt64Tensor",
        DType::C64 => "ComplexFloatTensor",
        DType::C128 => "ComplexDoubleTensor",
    }
}

fn type_argument(given: &Bound<'_, PyAny>) -> PyResult<DType> {
    let Ok(name) = given.cast::<PyString>() else {
        return Ok(given.extract::<DTypeArg>()?.0);
    };
    let name = name.to_string();
    let last = name.rsplit('.').next().unwrap_or_default();
    crate::dtype::ALL
        .into_iter()
        .find(|&dtype| legacy_name(dtype) == last)
        .or_else(|| DType::parse(last))
        .ok_or_else(|| PyValueError::new_err(format!("invalid type: '{name}'")))
}

type Own<'py> = PyResult<Bound<'py, PyTensor>>;

/// Says what is lost when complex numbers become real ones.
pub fn warn_of_loss(py: Python<'_>, from: DType, to: DType) -> PyResult<()> {
    if !from.is_complex() || to.is_complex() || to == DType::Bool {
        return Ok(());
    }
    PyErr::warn(
        py,
        &py.get_type::<PyUserWarning>(),
        c"Casting complex values to real discards the imaginary part; name the part with .real, or use .abs()",
        1,
    )
}

fn to_dtype<'py>(slf: Bound<'py, PyTensor>, dtype: DType, format: Option<Format>) -> Own<'py> {
    warn_of_loss(slf.py(), slf.get().tensor.dtype(), dtype)?;
    let out = creation::to_dtype(&slf.get().tensor, dtype)?;
    let out = apply_format(out, format)?;
    same_or_new(slf, out)
}

fn apply_format(x: Tensor, format: Option<Format>) -> Result<Tensor> {
    match format {
        None | Some(Format::Preserve) => Ok(x),
        Some(format) => contiguous_as(&x, format),
    }
}

macro_rules! short_forms {
    ($($(#[$doc:meta])* $name:ident => $dtype:ident),+ $(,)?) => {
        #[pymethods]
        impl PyTensor {
            $($(#[$doc])*
            #[pyo3(signature = (memory_format=None))]
            fn $name<'py>(slf: Bound<'py, Self>, memory_format: Option<Format>) -> Own<'py> {
                to_dtype(slf, DType::$dtype, memory_format)
            })+
        }
    };
}

short_forms! {
    /// The values as float32.
    float => F32,
    /// The values as float64.
    double => F64,
    /// The values as float16.
    half => F16,
    /// The values as bfloat16.
    bfloat16 => BF16,
    /// The values as int64.
    long => I64,
    /// The values as int32.
    int => I32,
    /// The values as int16.
    short => I16,
    /// The values as int8.
    char => I8,
    /// The values as uint8.
    byte => U8,
    /// The values as bool.
    bool => Bool,
    /// The values as complex64.
    cfloat => C64,
    /// The values as complex128.
    cdouble => C128,
}

#[pymethods]
impl PyTensor {
    /// The values with another dtype or on another device: `to(dtype)`, `to(device, dtype)`, `to(other)`.
    #[pyo3(signature = (*args, device=None, dtype=None, non_blocking=false, copy=false, memory_format=None, other=None))]
    fn to<'py>(
        slf: Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        device: Option<DeviceArg>,
        dtype: Option<DTypeArg>,
        non_blocking: bool,
        copy: bool,
        memory_format: Option<Format>,
        other: Option<Tensor>,
    ) -> Own<'py> {
        // Transfers are complete when they return.
        let _ = non_blocking;
        let wanted = Wanted::parse(args)?;
        if (dtype.is_some() && wanted.dtype.is_some()) || (device.is_some() && wanted.device.is_some()) {
            return Err(PyTypeError::new_err("to: got a dtype or device both by position and by name; give one"));
        }
        let x = slf.get().tensor.clone();
        let dtype = dtype
            .map(|dtype| dtype.0)
            .or(wanted.dtype)
            .or_else(|| other.as_ref().map(Tensor::dtype))
            .unwrap_or_else(|| x.dtype());
        let device = device
            .map(|device| device.0)
            .or(wanted.device)
            .or_else(|| other.as_ref().map(Tensor::device))
            .unwrap_or_else(|| x.device());
        warn_of_loss(slf.py(), x.dtype(), dtype)?;
        let mut out = apply_format(convert(&x, dtype, device)?, memory_format)?;
        if (copy || wanted.copy) && out.is(&x) {
            out = clone_as(&x, memory_format.unwrap_or_default())?;
        }
        same_or_new(slf, out)
    }

    /// The values on the CPU.
    #[pyo3(signature = (memory_format=None))]
    fn cpu<'py>(slf: Bound<'py, Self>, memory_format: Option<Format>) -> Own<'py> {
        let out = apply_format(creation::to_device(&slf.get().tensor, Device::Cpu)?, memory_format)?;
        same_or_new(slf, out)
    }

    /// The values on a GPU: wgpu stands in for CUDA.
    #[pyo3(signature = (device=None, non_blocking=false, memory_format=None))]
    fn cuda<'py>(
        slf: Bound<'py, Self>,
        device: Option<DeviceArg>,
        non_blocking: bool,
        memory_format: Option<Format>,
    ) -> Own<'py> {
        let _ = non_blocking;
        let device = device.map_or_else(|| Device::parse("cuda"), |device| Ok(device.0))?;
        let out = apply_format(creation::to_device(&slf.get().tensor, device)?, memory_format)?;
        same_or_new(slf, out)
    }

    /// The tensor type's name, or the values as another type.
    #[pyo3(signature = (dtype=None, non_blocking=false))]
    fn r#type<'py>(
        slf: Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        non_blocking: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = non_blocking;
        let Some(dtype) = dtype else {
            let tensor = &slf.get().tensor;
            let place = match tensor.device() {
                Device::Cpu => "",
                Device::Meta => ".meta",
                _ => ".wgpu",
            };
            let name = format!("{}{place}.{}", library(), legacy_name(tensor.dtype()));
            return Ok(name.into_pyobject(slf.py())?.into_any());
        };
        Ok(to_dtype(slf, type_argument(&dtype)?, None)?.into_any())
    }

    /// The values with the dtype and on the device of `other`.
    fn type_as<'py>(slf: Bound<'py, Self>, other: Tensor) -> Own<'py> {
        warn_of_loss(slf.py(), slf.get().tensor.dtype(), other.dtype())?;
        let out = convert(&slf.get().tensor, other.dtype(), other.device())?;
        same_or_new(slf, out)
    }

    /// A copy in memory of its own; gradients pass through.
    #[pyo3(signature = (*, memory_format=None))]
    fn clone(&self, memory_format: Option<Format>) -> Result<Tensor> {
        clone_as(&self.tensor, memory_format.unwrap_or_default())
    }

    /// The tensor itself when its elements lie in the given order, else a copy in which they do.
    #[pyo3(signature = (memory_format=None))]
    fn contiguous<'py>(slf: Bound<'py, Self>, memory_format: Option<Format>) -> Own<'py> {
        let out = contiguous_as(&slf.get().tensor, memory_format.unwrap_or(Format::Contiguous))?;
        same_or_new(slf, out)
    }

    /// Whether the elements lie in memory in row-major order, or in that of `memory_format`.
    #[pyo3(signature = (memory_format=None))]
    fn is_contiguous(&self, memory_format: Option<Format>) -> bool {
        is_formatted(&self.tensor, memory_format.unwrap_or(Format::Contiguous))
    }

    /// By identity: equal values do not make equal keys, as in torch.
    fn __hash__(&self) -> usize {
        self.tensor.downgrade().as_ptr() as usize
    }
}
