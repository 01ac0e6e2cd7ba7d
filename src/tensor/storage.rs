//! The memory under tensors: bytes on the CPU, a replaceable burn value on a GPU; aliases share one storage.

use std::alloc::{Layout, dealloc};
use std::mem::ManuallyDrop;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use burn_dispatch::DispatchTensor;
use burn_std::{AccessError, AccessPolicy, AllocationController, AllocationProperty, Bytes};
use parking_lot::Mutex;

use super::kept::{Common, Keeper, Key};
use crate::device::Device;
use crate::error::{self, Result};
use crate::kernels::{allocator, memory};

/// A storage with the version counter that detects writes to values saved for backward.
#[derive(Clone)]
pub struct Storage(Arc<Cell>);

struct Cell {
    version: AtomicU32,
    /// Made under `inference_mode`: never saved for backward, and written to only in that mode.
    inference: bool,
    data: Data,
}

#[derive(Clone)]
pub enum Data {
    Cpu(Buffer),
    Device(Arc<DeviceCell>),
    /// No memory, though it counts as so many bytes: the storage of a meta tensor.
    Meta(usize),
    /// No memory: a sparse tensor has only a shape, a dtype and a device of its own.
    Nothing(Device),
}

/// CPU memory that Flex reads through `bytes` and our kernels write through `pointer`.
pub struct Buffer {
    origin: Origin,
    pointer: *mut u8,
    length: usize,
    /// Whether it belongs to a numpy array, a DLPack capsule or several processes.
    foreign: bool,
    /// One for all clones of a buffer, made when there is something to say in it.
    common: OnceLock<Arc<Common>>,
}

/// Who allocated the memory.
enum Origin {
    /// Ours; what burn sees of it is made when burn first asks.
    Own {
        memory: Memory,
        lent: OnceLock<Arc<Bytes>>,
    },
    Burn(Arc<Bytes>),
}

/// Memory that nobody has written to yet, aligned for every element type.
#[derive(Clone)]
enum Memory {
    /// One allocation together with its count, which is what makes tiny results cheap.
    Small(Arc<[MaybeUninit<u128>]>),
    /// An allocation of its own, which may fail.
    Large(Arc<Vec<MaybeUninit<u128>>>),
}

/// Bytes up to which a result is one allocation that cannot fail gracefully.
const SMALL: usize = allocator::COUNTED - 64;

impl Clone for Buffer {
    fn clone(&self) -> Self {
        if let Some(target) = self.target() {
            return target.clone();
        }
        // Both name one `Bytes`, so that burn never takes it for unshared and writes to it.
        Self {
            origin: Origin::Burn(self.bytes().clone()),
            pointer: self.pointer,
            length: self.length,
            foreign: self.foreign,
            common: OnceLock::from(self.common().clone()),
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Origin::Own { memory: Memory::Small(_), .. } = &self.origin {
            allocator::discount(self.length);
        }
    }
}

// SAFETY: the pointer is into memory that `bytes` keeps alive; races between Python threads that write and
// read one tensor are the program's, exactly as in torch and numpy.
unsafe impl Send for Buffer {}
// SAFETY: as for Send.
unsafe impl Sync for Buffer {}

/// The value on a GPU. burn tensors are immutable, so a write replaces the whole value.
pub struct DeviceCell {
    pub device: Device,
    value: Mutex<ManuallyDrop<DispatchTensor>>,
}

impl Buffer {
    /// Takes over a burn buffer; copies when somebody else still holds it.
    pub fn adopt(bytes: Arc<Bytes>) -> Self {
        let mut bytes = bytes;
        let pointer = match Arc::get_mut(&mut bytes) {
            Some(unique) => unique.as_mut_ptr(),
            None => {
                bytes = Arc::new(Bytes::from_bytes_vec(bytes.to_vec()));
                Arc::get_mut(&mut bytes).map_or(std::ptr::null_mut(), |unique| unique.as_mut_ptr())
            }
        };
        Self { length: bytes.len(), origin: Origin::Burn(bytes), pointer, foreign: false, common: OnceLock::new() }
    }

    /// Memory for a result that is about to be written whole.
    pub fn uninit(length: usize) -> Result<Self> {
        let words = length.div_ceil(size_of::<u128>()).max(1);
        let (memory, pointer) = if length > SMALL {
            let mut memory: Vec<MaybeUninit<u128>> = Vec::new();
            if memory.try_reserve_exact(words).is_err() {
                return crate::check::no_memory(length);
            }
            let pointer = memory.as_mut_ptr().cast();
            (Memory::Large(Arc::new(memory)), pointer)
        } else {
            let mut memory = Arc::<[u128]>::new_uninit_slice(words);
            let Some(unique) = Arc::get_mut(&mut memory) else {
                return error::runtime("a fresh allocation is already shared");
            };
            let pointer = unique.as_mut_ptr().cast();
            allocator::count(length);
            (Memory::Small(memory), pointer)
        };
        let origin = Origin::Own { memory, lent: OnceLock::new() };
        Ok(Self { origin, pointer, length, foreign: false, common: OnceLock::new() })
    }

    pub fn zeroed(length: usize) -> Result<Self> {
        crate::check::allocation(length)?;
        let Some(memory) = Zeroed::new(length) else {
            return crate::check::no_memory(length);
        };
        let pointer = memory.pointer;
        let controller = Foreign { pointer, length, _owner: Box::new(memory) };
        // SAFETY: `Zeroed` has `length` initialized bytes, and lives as long as the controller.
        let bytes = unsafe { Bytes::from_controller(Box::new(controller), length) };
        Ok(Self { origin: Origin::Burn(Arc::new(bytes)), pointer, length, foreign: false, common: OnceLock::new() })
    }

    /// Memory owned by somebody else (a numpy array, a DLPack capsule); `owner` is dropped with the last alias.
    ///
    /// # Safety
    /// `pointer` is valid for reads and writes of `length` bytes until `owner` is dropped.
    pub unsafe fn foreign(pointer: *mut u8, length: usize, owner: Box<dyn std::any::Any + Send + Sync>) -> Self {
        let controller = Foreign { pointer, length, _owner: owner };
        // SAFETY: the caller vouches for `length` initialized bytes.
        let bytes = unsafe { Bytes::from_controller(Box::new(controller), length) };
        Self { origin: Origin::Burn(Arc::new(bytes)), pointer, length, foreign: true, common: OnceLock::new() }
    }

    fn common(&self) -> &Arc<Common> {
        self.common.get_or_init(Arc::default)
    }

    /// From now on somebody may write to this memory without telling.
    pub fn open(&self) {
        self.common().open();
    }

    /// What stands for this buffer since it was moved.
    fn target(&self) -> Option<&Buffer> {
        self.common.get()?.target.get()
    }

    /// Lets `target`, which has the same contents, stand for this buffer and all its clones. The old memory is kept, since
    /// kernels of other threads may still read it.
    fn move_to(&self, target: Buffer) -> Result<()> {
        if self.common().target.set(target).is_err() {
            return error::runtime("share_memory_: another thread moves the same memory");
        }
        Ok(())
    }

    pub fn bytes(&self) -> &Arc<Bytes> {
        if let Some(target) = self.target() {
            return target.bytes();
        }
        match &self.origin {
            Origin::Burn(bytes) => bytes,
            Origin::Own { memory, lent } => lent.get_or_init(|| {
                let owner: Box<dyn std::any::Any + Send + Sync> = match memory.clone() {
                    Memory::Small(memory) => Box::new(memory),
                    Memory::Large(memory) => Box::new(memory),
                };
                let controller = Foreign { pointer: self.pointer, length: self.length, _owner: owner };
                // SAFETY: the kernel that asked for the memory has written it; `owner` keeps it alive.
                Arc::new(unsafe { Bytes::from_controller(Box::new(controller), self.length) })
            }),
        }
    }

    fn is_unshared(&self) -> bool {
        if let Some(target) = self.target() {
            return target.is_unshared();
        }
        match &self.origin {
            Origin::Burn(bytes) => Arc::strong_count(bytes) == 1,
            Origin::Own { lent, .. } => lent.get().is_none_or(|bytes| Arc::strong_count(bytes) == 1),
        }
    }

    pub fn pointer(&self) -> *mut u8 {
        self.target().map_or(self.pointer, |target| target.pointer)
    }

    pub fn len(&self) -> usize {
        self.target().map_or(self.length, |target| target.length)
    }

    /// As the allocator's, of memory that it gave.
    pub fn expect_writes(&self) {
        if !self.is_foreign() {
            allocator::expect_writes(self.pointer(), self.len());
        }
    }

    fn is_foreign(&self) -> bool {
        self.target().map_or(self.foreign, |target| target.foreign)
    }
}

/// Zeroed memory, aligned for every element type. It comes from calloc: untouched pages cost nothing.
struct Zeroed {
    pointer: *mut u8,
    layout: Layout,
}

// SAFETY: the memory belongs to this object alone, which any thread may free.
unsafe impl Send for Zeroed {}
// SAFETY: as for Send.
unsafe impl Sync for Zeroed {}

impl Zeroed {
    /// None where the system has no more.
    fn new(length: usize) -> Option<Self> {
        let layout = Layout::from_size_align(length.max(1), align_of::<u128>()).ok()?;
        // SAFETY: the layout has a size above zero.
        let (pointer, zero) = unsafe { allocator::alloc_for_zeros(layout) };
        if pointer.is_null() {
            return None;
        }
        if !zero {
            // SAFETY: the memory has so many bytes, and nobody else knows of it.
            unsafe { memory::clear(pointer, layout.size(), crate::guard::has_all_threads()) };
        }
        if layout.size() < allocator::COUNTED {
            allocator::count(layout.size());
        }
        Some(Self { pointer, layout })
    }
}

impl Drop for Zeroed {
    fn drop(&mut self) {
        if self.layout.size() < allocator::COUNTED {
            allocator::discount(self.layout.size());
        }
        // SAFETY: allocated in `new` with this layout, and freed nowhere else.
        unsafe { dealloc(self.pointer, self.layout) }
    }
}

struct Foreign {
    pointer: *mut u8,
    length: usize,
    _owner: Box<dyn std::any::Any + Send + Sync>,
}

impl AllocationController for Foreign {
    fn alloc_align(&self) -> usize {
        1
    }

    fn property(&self) -> AllocationProperty {
        AllocationProperty::Other
    }

    unsafe fn memory_mut(&mut self, _policy: AccessPolicy) -> std::result::Result<&mut [MaybeUninit<u8>], AccessError> {
        // SAFETY: `Buffer::foreign` demands validity for the controller's life.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.pointer.cast(), self.length) })
    }

    fn memory(&self, _policy: AccessPolicy) -> std::result::Result<&[MaybeUninit<u8>], AccessError> {
        // SAFETY: as above.
        Ok(unsafe { std::slice::from_raw_parts(self.pointer.cast(), self.length) })
    }
}

impl DeviceCell {
    pub fn get(&self) -> DispatchTensor {
        DispatchTensor::clone(&self.value.lock())
    }

    /// Replaces the value by a function of it; concurrent writers see each other's results.
    pub fn update(&self, change: impl FnOnce(DispatchTensor) -> Result<DispatchTensor>) -> Result<()> {
        let mut value = self.value.lock();
        let new = change(DispatchTensor::clone(&value))?;
        **value = new;
        Ok(())
    }
}

impl Drop for DeviceCell {
    fn drop(&mut self) {
        // Freeing asks the device's thread, which a forked process does not have; the memory is the parent's.
        if !crate::device::is_forked() {
            // SAFETY: nobody reads the value after this, the cell being dropped.
            unsafe { ManuallyDrop::drop(self.value.get_mut()) };
        }
    }
}

impl Storage {
    pub fn cpu(buffer: Buffer) -> Self {
        Self::new(Data::Cpu(buffer))
    }

    pub fn device(device: Device, value: DispatchTensor) -> Self {
        Self::new(Data::Device(Arc::new(DeviceCell { device, value: Mutex::new(ManuallyDrop::new(value)) })))
    }

    pub fn nothing(device: Device) -> Self {
        Self::new(Data::Nothing(device))
    }

    pub fn meta(bytes: usize) -> Self {
        Self::new(Data::Meta(bytes))
    }

    fn new(data: Data) -> Self {
        Self(Arc::new(Cell { version: AtomicU32::new(0), inference: crate::autograd::inference_enabled(), data }))
    }

    /// The same memory under a fresh version counter: what `.data` gives.
    pub fn untracked(&self) -> Self {
        self.untracked_at(0)
    }

    /// The same memory under a counter that starts at `version`: what `x.data = y` gives `x`.
    pub fn untracked_at(&self, version: u32) -> Self {
        let cell = Cell { version: AtomicU32::new(version), inference: self.0.inference, data: self.0.data.clone() };
        Self(Arc::new(cell))
    }

    pub fn data(&self) -> &Data {
        &self.0.data
    }

    /// Lets the memory of `target`, which has the same contents, stand for this memory in all aliases.
    pub fn move_to(&self, target: &Self) -> Result<()> {
        match (&self.0.data, &target.0.data) {
            (Data::Cpu(from), Data::Cpu(to)) => from.move_to(to.clone()),
            _ => error::device("share_memory_: only memory of the CPU can be shared by processes; call .cpu() first"),
        }
    }

    pub fn place(&self) -> Device {
        match &self.0.data {
            Data::Cpu(_) => Device::Cpu,
            Data::Device(cell) => cell.device,
            Data::Meta(_) => Device::Meta,
            Data::Nothing(device) => *device,
        }
    }

    pub fn is_unshared(&self) -> bool {
        let sole = match &self.0.data {
            Data::Cpu(buffer) => buffer.is_unshared(),
            Data::Device(cell) => Arc::strong_count(cell) == 1,
            Data::Meta(_) => true,
            Data::Nothing(_) => false,
        };
        sole && Arc::strong_count(&self.0) == 1
    }

    /// Whether the memory is ours and seen by one tensor alone, so that it can be replaced.
    pub fn is_resizable(&self) -> bool {
        let foreign = matches!(&self.0.data, Data::Cpu(buffer) if buffer.is_foreign());
        !foreign && self.is_unshared()
    }

    pub fn is_inference(&self) -> bool {
        self.0.inference
    }

    pub fn version(&self) -> u32 {
        self.0.version.load(Ordering::Acquire)
    }

    /// Counts a write, which is over.
    pub fn bump(&self) {
        self.0.version.fetch_add(1, Ordering::AcqRel);
        if let Data::Cpu(buffer) = &self.0.data
            && let Some(common) = buffer.common.get()
        {
            common.written();
        }
    }

    /// From now on somebody may write to this memory without telling.
    pub fn open(&self) {
        if let Data::Cpu(buffer) = &self.0.data {
            buffer.open();
        }
    }

    /// The place beside this memory for what a kernel makes of it; None where writes to it may go unseen.
    pub fn keeper(&self, key: Key) -> Option<Keeper> {
        match &self.0.data {
            Data::Cpu(buffer) if !buffer.foreign && buffer.target().is_none() => Keeper::new(buffer.common(), key),
            _ => None,
        }
    }

    /// An address that is equal exactly for storages over the same memory.
    pub fn address(&self) -> usize {
        match &self.0.data {
            Data::Cpu(buffer) => buffer.pointer() as usize,
            Data::Device(cell) => Arc::as_ptr(cell) as usize,
            Data::Meta(_) | Data::Nothing(_) => Arc::as_ptr(&self.0) as usize,
        }
    }
}
