//! The tensor handle: a storage seen through a geometry, with its place in the autograd graph.

pub mod attributes;
pub mod class;
pub mod device_view;
pub mod dlpack;
pub mod geometry;
pub mod identity;
pub mod indexing;
pub mod kept;
pub mod numpy;
pub mod overrides;
pub mod prim;
pub mod shared;
pub mod storage;

mod transfer;

use std::sync::Arc;

use burn_dispatch::backends::Flex;
use burn_dispatch::{BackendTensor, DispatchAutodiffContext, DispatchTensor, DispatchTensorKind};
use burn_flex::{FlexTensor, Layout};
use burn_std::Shape;
use parking_lot::{RwLock, RwLockReadGuard};

use crate::autograd::MetaCell;
use crate::device::Device;
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::copy;
use geometry::{Dims, Geometry};
use storage::{Buffer, Data, Storage};

/// What a function answers that reads memory which a sparse tensor has not.
pub const SPARSE: &str = "this function does not take sparse tensors; call .to_dense() first";

/// What a function answers that needs the values of a meta tensor; torch's words.
pub const NO_VALUES: &str = "Cannot copy out of meta tensor; no data!";

/// A tensor as an ordinary value: cloning gives another name for the same object.
#[derive(Clone)]
pub struct Tensor(Arc<Inner>);

pub struct Inner {
    core: RwLock<Core>,
    meta: MetaCell,
    face: identity::Face,
}

/// What `x.data = y` replaces as a whole.
#[derive(Clone)]
pub struct Core {
    pub storage: Storage,
    pub geometry: Geometry,
    pub dtype: DType,
}

impl Tensor {
    pub fn new(storage: Storage, geometry: Geometry, dtype: DType) -> Self {
        Self::from_core(Core { storage, geometry, dtype })
    }

    pub fn from_core(core: Core) -> Self {
        Self(Arc::new(Inner { core: RwLock::new(core), meta: MetaCell::default(), face: identity::Face::default() }))
    }

    pub fn core(&self) -> RwLockReadGuard<'_, Core> {
        // Recursive, since one op may look at the same tensor twice.
        self.0.core.read_recursive()
    }

    /// Replaces storage, geometry and dtype: `x.data = y`, `x.t_()`.
    pub fn set_core(&self, core: Core) {
        *self.0.core.write() = core;
    }

    pub fn meta(&self) -> &MetaCell {
        &self.0.meta
    }

    /// Where the Python object of this tensor is remembered.
    pub fn face(&self) -> &identity::Face {
        &self.0.face
    }

    /// Gives the memory away: what is left is the part of a sparse tensor that every tensor has.
    pub fn seal(&self) {
        let core = self.core().clone();
        self.set_core(Core { storage: Storage::nothing(core.storage.place()), ..core });
    }

    pub fn is_sealed(&self) -> bool {
        matches!(self.core().storage.data(), Data::Nothing(_))
    }

    pub fn is_meta(&self) -> bool {
        self.device().is_meta()
    }

    /// Refuses a tensor without values.
    pub fn need_values(&self) -> Result<()> {
        if self.is_meta() { error::missing(NO_VALUES) } else { Ok(()) }
    }

    /// A tensor without values.
    pub fn meta_of(shape: &[usize], dtype: DType) -> Result<Self> {
        Self::meta_as(shape, &geometry::contiguous_strides(shape), dtype)
    }

    /// As `meta_of`, laid out as `strides` (without gaps) say.
    pub fn meta_as(shape: &[usize], strides: &[usize], dtype: DType) -> Result<Self> {
        let bytes = geometry::checked_numel(shape)?.saturating_mul(dtype.size());
        let geometry = Geometry { shape: Dims::from_slice(shape), strides: Dims::from_slice(strides), offset: 0 };
        Ok(Self::new(Storage::meta(bytes), geometry, dtype))
    }

    pub fn shape(&self) -> Dims {
        self.core().geometry.shape.clone()
    }

    pub fn geometry(&self) -> Geometry {
        self.core().geometry.clone()
    }

    pub fn rank(&self) -> usize {
        self.core().geometry.rank()
    }

    pub fn numel(&self) -> usize {
        self.core().geometry.numel()
    }

    pub fn size(&self, dim: usize) -> usize {
        self.core().geometry.shape.get(dim).copied().unwrap_or(1)
    }

    pub fn dtype(&self) -> DType {
        self.core().dtype
    }

    pub fn kind(&self) -> Kind {
        self.dtype().kind()
    }

    pub fn device(&self) -> Device {
        self.core().storage.place()
    }

    pub fn storage(&self) -> Storage {
        self.core().storage.clone()
    }

    pub fn version(&self) -> u32 {
        self.core().storage.version()
    }

    pub fn is_contiguous(&self) -> bool {
        self.core().geometry.is_contiguous()
    }

    /// Whether both names stand for one object.
    pub fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// How many handles this object has; garbage collection may only look inside when there is one.
    pub fn handles(&self) -> usize {
        Arc::strong_count(&self.0)
    }

    /// Whether this handle is the only way to reach the memory.
    pub fn is_sole_owner(&self) -> bool {
        self.handles() == 1 && self.core().storage.is_resizable()
    }

    /// Gives this tensor and all aliases of its storage the memory of `target`, which has the same contents.
    pub fn move_storage(&self, target: &Self) -> Result<()> {
        let fresh = target.core().storage.clone();
        let mut core = self.0.core.write();
        if core.storage.is_unshared() {
            let fresh = fresh.untracked_at(core.storage.version());
            let old = std::mem::replace(&mut core.storage, fresh);
            drop(core);
            // Nobody else sees the old memory; its owner may be a Python object, whose end may look at this tensor.
            drop(old);
            return Ok(());
        }
        core.storage.move_to(&fresh)
    }

    pub fn downgrade(&self) -> std::sync::Weak<Inner> {
        Arc::downgrade(&self.0)
    }

    pub fn upgrade(weak: &std::sync::Weak<Inner>) -> Option<Self> {
        weak.upgrade().map(Self)
    }

    /// The same memory through another geometry, outside the graph.
    pub fn alias(&self, geometry: Geometry) -> Self {
        let core = self.core();
        Self::new(core.storage.clone(), geometry, core.dtype)
    }

    /// A new object over the same memory and version counter, outside the graph.
    pub fn detached(&self) -> Self {
        Self::from_core(self.core().clone())
    }

    /// The value as burn sees it. On the CPU memory is lent without a copy; our own reference keeps burn from writing to it.
    pub fn prim(&self) -> Result<DispatchTensor> {
        let core = self.core();
        match core.storage.data() {
            Data::Nothing(_) => error::missing(SPARSE),
            Data::Meta(_) if core.geometry.numel() == 0 => Self::zeroed(&core.geometry.shape, core.dtype)?.prim(),
            // One zero that is seen everywhere, so that burn may tell what shape an op gives.
            Data::Meta(_) => {
                let strides = core.geometry.shape.iter().map(|_| 0).collect();
                let everywhere = Geometry { shape: core.geometry.shape.clone(), strides, offset: 0 };
                Self::zeroed(&[1], core.dtype)?.alias(everywhere).prim()
            }
            Data::Cpu(buffer) => lend(buffer, &core.geometry, core.dtype),
            // cubecl takes no empty tensors; Flex does, and `from_prim` brings its results back.
            Data::Device(_) if core.geometry.numel() == 0 => Self::zeroed(&core.geometry.shape, core.dtype)?.prim(),
            Data::Device(cell) => {
                cell.device.check_alive()?;
                // An expanded view may be larger than any memory.
                cell.device.check_size(core.geometry.numel(), core.dtype)?;
                crate::check::allocation(core.geometry.numel().saturating_mul(core.dtype.size()))?;
                device_view::read(cell.get(), &core.geometry, core.dtype.kind())
            }
        }
    }

    /// As `prim`, laid out in row-major order, for kernels that read memory by index.
    pub fn prim_contiguous(&self) -> Result<DispatchTensor> {
        self.contiguous_data()?.prim()
    }

    /// The values of several tensors for one burn call: all on the CPU where a GPU tensor is empty.
    pub fn prims(inputs: &[&Self]) -> Result<Vec<DispatchTensor>> {
        let empty = inputs.iter().any(|input| input.numel() == 0 && !input.device().is_cpu());
        inputs.iter().map(|input| if empty { input.moved(Device::Cpu)?.prim() } else { input.prim() }).collect()
    }

    /// Takes a result of burn as a new tensor of `dtype`.
    pub fn from_prim(value: DispatchTensor, dtype: DType, device: Device) -> Result<Self> {
        match value.kind {
            DispatchTensorKind::Flex(tensor) => adopt(tensor, dtype)?.moved(device),
            _ => {
                use burn_backend::TensorMetadata;
                device.check_size(value.shape().num_elements(), dtype)?;
                let value = device_view::wrap_narrow(value, dtype)?;
                let shape: Dims = value.shape().as_slice().iter().copied().collect();
                let geometry = Geometry::contiguous(&shape);
                Ok(Self::new(Storage::device(device, value), geometry, dtype))
            }
        }
    }

    /// As `from_prim`, for results whose shape the caller knows: on a GPU a scalar comes back as rank 1.
    pub fn from_prim_shaped(value: DispatchTensor, dtype: DType, device: Device, shape: &[usize]) -> Result<Self> {
        Self::from_prim(value, dtype, device)?.reshaped(shape)
    }

    /// A result in another shape with as many elements, outside the graph.
    pub fn reshaped(self, shape: &[usize]) -> Result<Self> {
        if self.shape().as_slice() == shape {
            return Ok(self);
        }
        if !self.is_contiguous() {
            return self.copied()?.reshaped(shape);
        }
        if self.numel() != shape.iter().product::<usize>() {
            return error::runtime(format!(
                "a result of shape {:?} was expected to have shape {shape:?}; please report this",
                self.shape().as_slice()
            ));
        }
        let geometry = Geometry { offset: self.geometry().offset, ..Geometry::contiguous(shape) };
        Ok(self.alias(geometry))
    }

    /// This value in row-major order of its own, or itself when it is so already; outside the graph.
    pub fn contiguous_data(&self) -> Result<Self> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        self.copied()
    }

    /// A copy in fresh row-major memory, outside the graph.
    pub fn copied(&self) -> Result<Self> {
        self.converted(self.dtype())
    }

    /// A copy whose elements lie as `strides` (without gaps) say; row-major on a GPU.
    pub fn copied_as(&self, strides: &[usize]) -> Result<Self> {
        self.converted_as(self.dtype(), strides)
    }

    /// As `copied_as`, with another element type.
    pub fn converted_as(&self, dtype: DType, strides: &[usize]) -> Result<Self> {
        if self.is_meta() {
            return Self::meta_as(&self.shape(), strides, dtype);
        }
        if !self.device().is_cpu() {
            return self.converted(dtype);
        }
        let out = Self::uninit_as(&self.shape(), strides, dtype)?;
        out.write_cpu(self)?;
        Ok(out)
    }

    /// CPU memory for a result that is about to be written whole, laid out as `strides` (without gaps) say.
    pub fn uninit_as(shape: &[usize], strides: &[usize], dtype: DType) -> Result<Self> {
        let (out, _) = Self::uninit_with_pointer(shape, dtype)?;
        if geometry::contiguous_strides(shape).as_slice() == strides {
            return Ok(out);
        }
        Ok(out.alias(Geometry { shape: Dims::from_slice(shape), strides: Dims::from_slice(strides), offset: 0 }))
    }

    /// A copy with another element type, outside the graph.
    pub fn converted(&self, dtype: DType) -> Result<Self> {
        if self.device().is_cpu() {
            let (out, _) = Self::uninit_with_pointer(&self.shape(), dtype)?;
            out.write_cpu(self)?;
            return Ok(out);
        }
        if self.is_meta() {
            return Self::meta_of(&self.shape(), dtype);
        }
        device_view::check_dtype(dtype, self.device())?;
        if self.numel() == 0 {
            return Self::empty_on(self.device(), &self.shape(), dtype);
        }
        let value = device_view::cast(self.prim()?, self.dtype(), dtype, self.device())?;
        Self::from_prim_shaped(value, dtype, self.device(), &self.shape())
    }

    /// CPU memory for a result, zero until it is written: for kernels that add to it or leave elements out.
    pub fn zeroed(shape: &[usize], dtype: DType) -> Result<Self> {
        let numel = geometry::checked_numel(shape)?;
        crate::check::allocation(numel.saturating_mul(dtype.size()))?;
        let buffer = Buffer::zeroed(numel * dtype.size())?;
        Ok(Self::new(Storage::cpu(buffer), Geometry::contiguous(shape), dtype))
    }

    /// CPU memory for a result that is about to be written whole, with the address of its first element.
    pub fn uninit_with_pointer(shape: &[usize], dtype: DType) -> Result<(Self, *mut u8)> {
        let numel = geometry::checked_numel(shape)?;
        crate::check::allocation(numel.saturating_mul(dtype.size()))?;
        let buffer = Buffer::uninit(numel * dtype.size())?;
        let pointer = buffer.pointer();
        Ok((Self::new(Storage::cpu(buffer), Geometry::contiguous(shape), dtype), pointer))
    }

    /// Says that all memory of a CPU tensor is about to be written, where that is the tensor's own and no more than it.
    pub fn expect_writes(&self) {
        let core = self.core();
        if let Data::Cpu(buffer) = core.storage.data()
            && buffer.len() == core.geometry.numel() * core.dtype.size()
        {
            buffer.expect_writes();
        }
    }

    /// Writes `value` (same shape after expansion, any dtype, same device) into this tensor's memory.
    pub fn write(&self, value: &Self) -> Result<()> {
        match self.device() {
            Device::Cpu => self.write_cpu(value),
            Device::Meta => Ok(()),
            _ => self.write_device(value),
        }
    }

    fn write_cpu(&self, value: &Self) -> Result<()> {
        // Empty storages all have the same address, so the test below would never end.
        if self.numel() == 0 {
            return Ok(());
        }
        let source = if self.core().storage.address() == value.core().storage.address() {
            // Reading and writing one storage at a time would see half-written values.
            value.copied_apart()?
        } else {
            value.clone()
        };
        let (to, from) = (self.core().clone(), source.core().clone());
        let (Data::Cpu(target), Data::Cpu(origin)) = (to.storage.data(), from.storage.data()) else {
            return error::device("copy: both tensors must be on the CPU");
        };
        let expanded = from.geometry.expand(&to.geometry.shape);
        let (target, origin) = (Raw(target.pointer()), Raw(origin.pointer()));
        let work = to.geometry.numel();
        guard::spread("copy", work, move || {
            let (target, origin) = (&target, &origin);
            copy::copy(
                &copy::View { pointer: target.0, dtype: to.dtype, geometry: &to.geometry },
                &copy::View { pointer: origin.0, dtype: from.dtype, geometry: &expanded },
            );
        })
    }

    /// Writes one element, given as its bytes, everywhere in this tensor of the CPU.
    pub fn fill_cpu(&self, element: [u8; 16]) -> Result<()> {
        let to = self.core().clone();
        let Data::Cpu(target) = to.storage.data() else {
            return error::device("fill: the tensor must be on the CPU");
        };
        let geometry = Geometry {
            shape: to.geometry.shape.clone(),
            strides: to.geometry.shape.iter().map(|_| 0).collect(),
            offset: 0,
        };
        let target = Raw(target.pointer());
        guard::spread("fill", to.geometry.numel(), || {
            let (target, mut element) = (&target, element);
            copy::copy(
                &copy::View { pointer: target.0, dtype: to.dtype, geometry: &to.geometry },
                &copy::View { pointer: element.as_mut_ptr(), dtype: to.dtype, geometry: &geometry },
            );
        })
    }

    /// A copy that is made even when source and target are the same memory.
    fn copied_apart(&self) -> Result<Self> {
        let (out, _) = Self::uninit_with_pointer(&self.shape(), self.dtype())?;
        out.write_cpu(self)?;
        Ok(out)
    }

    fn write_device(&self, value: &Self) -> Result<()> {
        if self.numel() == 0 {
            return Ok(());
        }
        let core = self.core().clone();
        let Data::Device(cell) = core.storage.data() else {
            return error::device("copy: the target is not on a GPU");
        };
        let device = cell.device;
        device.check_alive()?;
        let cast = device_view::cast(value.prim()?, value.dtype(), core.dtype, device)?;
        let shape = device_view::stored_shape(&core.geometry.shape);
        let kind = core.dtype.kind();
        let full = guard::run("copy", || prim::expand(kind, cast, shape))?;
        cell.update(|base| device_view::write(base, &core.geometry, kind, full))
    }

    /// Refuses a geometry that reaches outside the storage.
    pub fn check_inside(&self, geometry: &Geometry) -> Result<()> {
        let core = self.core();
        let size = core.dtype.size();
        let length = match core.storage.data() {
            Data::Nothing(_) => 0,
            Data::Meta(bytes) => bytes / size,
            Data::Cpu(buffer) => buffer.len() / size,
            Data::Device(cell) => {
                use burn_backend::TensorMetadata;
                cell.get().shape().num_elements()
            }
        };
        let reach =
            geometry.shape.iter().zip(&geometry.strides).try_fold(geometry.offset, |reach, (&extent, &stride)| {
                reach.checked_add(extent.saturating_sub(1).checked_mul(stride)?)
            });
        let inside = geometry.numel() == 0 || reach.is_some_and(|reach| reach < length);
        if inside {
            return Ok(());
        }
        error::runtime(format!(
            "sizes {:?}, strides {:?} and offset {} reach outside the storage of {length} elements",
            geometry.shape.as_slice(),
            geometry.strides.as_slice(),
            geometry.offset
        ))
    }

    /// Runs a burn function over the lent values of `inputs` and takes its result.
    pub fn compute(
        op: &str,
        inputs: &[&Self],
        dtype: DType,
        call: impl FnOnce(Vec<DispatchTensor>) -> DispatchTensor + Send,
    ) -> Result<Self> {
        let device = crate::check::same_device(op, inputs)?;
        let values = Self::prims(inputs)?;
        let work = inputs.iter().map(|input| input.numel()).sum();
        let value = guard::heavy(op, work, move || call(values))?;
        let out = Self::from_prim(value, dtype, device)?;
        // What is made of scalars alone is a scalar, though a GPU gives it rank 1.
        let scalars = !device.is_cpu() && inputs.iter().all(|input| input.rank() == 0);
        if scalars && out.shape().as_slice() == [1] { out.reshaped(&[]) } else { Ok(out) }
    }
}

/// Carries a pointer into detached work; the tensors that own the memory outlive it.
struct Raw(*mut u8);
// SAFETY: see above.
unsafe impl Send for Raw {}
// SAFETY: as for Send.
unsafe impl Sync for Raw {}

fn lend(buffer: &Buffer, geometry: &Geometry, dtype: DType) -> Result<DispatchTensor> {
    let layout = Layout::new(
        Shape::from(geometry.shape.to_vec()),
        geometry.strides.iter().map(|&stride| stride as isize).collect(),
        geometry.offset,
    );
    let tensor = FlexTensor::from_arc(buffer.bytes().clone(), layout, dtype.burn()?);
    Ok(flex(tensor, dtype.kind()))
}

/// Wraps a Flex tensor for burn's run-time dispatch.
pub fn flex(tensor: FlexTensor, kind: Kind) -> DispatchTensor {
    let tensor: BackendTensor<Flex> = match kind {
        Kind::Float | Kind::Complex => BackendTensor::Float(tensor),
        Kind::Int => BackendTensor::Int(tensor),
        Kind::Bool => BackendTensor::Bool(tensor),
    };
    DispatchTensor { kind: DispatchTensorKind::Flex(tensor), autodiff: DispatchAutodiffContext::Disabled }
}

fn adopt(tensor: BackendTensor<Flex>, dtype: DType) -> Result<Tensor> {
    let tensor = match tensor {
        BackendTensor::Float(tensor) | BackendTensor::Int(tensor) | BackendTensor::Bool(tensor) => tensor,
        BackendTensor::Quantized(_) => return error::dtype("a quantized result is not a tensor"),
    };
    let found = DType::from_burn(tensor.dtype())?;
    let whole = tensor.is_contiguous()
        && tensor.layout().start_offset() == 0
        && tensor.bytes().len() == tensor.layout().num_elements() * found.size();
    let tensor = if whole { tensor } else { tensor.to_contiguous() };
    let shape: Dims = tensor.layout().shape().as_slice().iter().copied().collect();
    let bytes = tensor.data_arc();
    drop(tensor);
    let out = Tensor::new(Storage::cpu(Buffer::adopt(bytes)), Geometry::contiguous(&shape), found);
    if found == dtype { Ok(out) } else { out.converted(dtype) }
}
