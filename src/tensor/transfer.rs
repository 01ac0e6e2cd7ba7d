//! Moves values between devices.

use burn_backend::TensorData;
use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_dispatch::{Dispatch, DispatchTensor};
use burn_std::reader::try_read_sync;
use burn_std::{Bytes, DType as BurnDType};

use super::geometry::Geometry;
use super::storage::{Buffer, Data, Storage};
use super::{Tensor, device_view};
use crate::device::Device;
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::guard;
use crate::ops::operand::Scalar;

impl Tensor {
    /// The value on another device, outside the graph.
    pub fn moved(&self, device: Device) -> Result<Self> {
        if self.device() == device {
            return Ok(self.clone());
        }
        if device.is_meta() {
            return Self::meta_as(&self.shape(), &crate::ops::creation::preserved(self), self.dtype());
        }
        device.burn()?;
        if self.is_meta() {
            // For functions that only the CPU has: what they give is brought back, and has a shape alone.
            return Self::zeroed(&self.shape(), self.dtype())?.moved(device);
        }
        if self.device().is_cpu() {
            self.upload(device)
        } else if device.is_cpu() {
            self.download()
        } else {
            self.download()?.upload(device)
        }
    }

    /// A GPU tensor without elements: one unused element stands for its memory.
    pub fn empty_on(device: Device, shape: &[usize], dtype: DType) -> Result<Self> {
        let one = crate::ops::creation::full(&[1], Scalar::Int(0), dtype, device)?;
        Ok(one.alias(Geometry::contiguous(shape)))
    }

    fn upload(&self, device: Device) -> Result<Self> {
        let dtype = self.dtype();
        if self.numel() == 0 {
            return Self::empty_on(device, &self.shape(), dtype);
        }
        device.check_size(self.numel(), dtype)?;
        let stored = device_view::stored_as(dtype, device)?;
        if matches!(dtype, DType::I64) {
            self.check_fits_int32(device)?;
        }
        let physical = match stored {
            BurnDType::Bool(burn_std::BoolStore::U32) => DType::U32,
            BurnDType::Bool(_) => DType::Bool,
            other => DType::from_burn(other)?,
        };
        let host = self.converted(physical)?;
        let shape = device_view::stored_shape(&self.shape());
        let bytes = host.to_bytes()?;
        let burn = device.burn()?;
        let value = guard::detached(|| {
            guard::run("to", || {
                let data = TensorData::from_bytes_vec(bytes, shape, stored);
                match dtype.kind() {
                    Kind::Bool => Dispatch::bool_from_data(data, &burn),
                    Kind::Int => Dispatch::int_from_data(data, &burn),
                    _ => Dispatch::float_from_data(data, &burn),
                }
            })
        })?;
        Self::from_prim_shaped(value, dtype, device, &self.shape())
    }

    fn check_fits_int32(&self, device: Device) -> Result<()> {
        let bytes = self.to_bytes()?;
        let outside = bytes
            .chunks_exact(8)
            .filter_map(|chunk| chunk.try_into().ok().map(i64::from_le_bytes))
            .find(|value| i32::try_from(*value).is_err());
        match outside {
            None => Ok(()),
            Some(value) => error::runtime(format!(
                "to: {value} does not fit: {} stores int64 as int32; keep this tensor on the CPU",
                device.name()
            )),
        }
    }

    fn download(&self) -> Result<Self> {
        let (dtype, shape) = (self.dtype(), self.shape());
        if self.numel() == 0 {
            return Self::zeroed(&shape, dtype);
        }
        let value = self.prim()?;
        let data = guard::detached(|| guard::run("cpu", || read(value, dtype.kind())))??;
        let found = data.dtype();
        let bytes = data.into_bytes();
        let physical = match found {
            BurnDType::Bool(burn_std::BoolStore::U32) => DType::U32,
            BurnDType::Bool(_) => DType::Bool,
            other => DType::from_burn(other)?,
        };
        let host = Self::from_bytes(bytes, &shape, physical)?;
        if physical == dtype { Ok(host) } else { host.converted(dtype) }
    }

    /// A CPU tensor over bytes in row-major order.
    pub fn from_bytes(bytes: Bytes, shape: &[usize], dtype: DType) -> Result<Self> {
        let geometry = Geometry::contiguous(shape);
        if bytes.len() < geometry.numel() * dtype.size() {
            return error::value(format!("{} bytes are too few for shape {shape:?} of {}", bytes.len(), dtype.name()));
        }
        let buffer = Buffer::adopt(std::sync::Arc::new(bytes));
        Ok(Self::new(Storage::cpu(buffer), geometry, dtype))
    }

    /// The elements in row-major order, as they lie in memory.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        self.need_values()?;
        if self.numel() == 0 {
            // An empty view may begin behind the end of its storage.
            return Ok(Vec::new());
        }
        let host = self.moved(Device::Cpu)?.contiguous_data()?;
        let core = host.core();
        let Data::Cpu(buffer) = core.storage.data() else {
            return error::device("to_bytes: the copy is not on the CPU");
        };
        let size = core.dtype.size();
        // An empty view may begin past the end.
        let start = if core.geometry.numel() == 0 { 0 } else { core.geometry.offset * size };
        let end = start + core.geometry.numel() * size;
        match buffer.bytes().get(start..end) {
            Some(bytes) => Ok(bytes.to_vec()),
            None => error::runtime("to_bytes: the view lies outside its storage"),
        }
    }
}

impl Tensor {
    /// Lends the bytes of a contiguous CPU tensor.
    pub fn with_bytes<T>(&self, read: impl FnOnce(&[u8]) -> T) -> Result<T> {
        let core = self.core().clone();
        let Data::Cpu(buffer) = core.storage.data() else {
            return error::device("the bytes of a GPU tensor cannot be lent");
        };
        let size = core.dtype.size();
        let start = core.geometry.offset * size;
        match buffer.bytes().get(start..start + core.geometry.numel() * size) {
            Some(bytes) if core.geometry.is_contiguous() => Ok(read(bytes)),
            _ => error::runtime("the view is not contiguous inside its storage"),
        }
    }
}

fn read(value: DispatchTensor, kind: Kind) -> Result<TensorData> {
    let data = match kind {
        Kind::Bool => try_read_sync(Dispatch::bool_into_data(value)),
        Kind::Int => try_read_sync(Dispatch::int_into_data(value)),
        _ => try_read_sync(Dispatch::float_into_data(value)),
    };
    match data {
        Some(Ok(data)) => Ok(data),
        Some(Err(cause)) => error::device(format!("reading from the device failed: {cause:?}")),
        None => error::device("reading from the device did not finish"),
    }
}
