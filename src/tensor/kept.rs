//! What kernels keep beside the memory of a weight that stays as it is: its values in an order of their own.
//!
//! Every write through a tensor, whichever alias it is, counts here, and what was made before it is dropped. Memory that
//! somebody else may write to without telling (an array, a capsule, who asked for the address) has nothing kept beside it.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::storage::Buffer;

/// Bytes that all weights together may have beside them.
const MOST: usize = 1 << 28;

/// Weights over one memory that are remembered.
const ENTRIES: usize = 256;

static HELD: AtomicUsize = AtomicUsize::new(0);

/// What all names of one memory have in common.
#[derive(Default)]
pub struct Common {
    /// Where the contents went, once `share_memory_` has moved them.
    pub target: OnceLock<Buffer>,
    writes: AtomicU32,
    open: AtomicBool,
    /// Whether some entry holds values.
    holds: AtomicBool,
    entries: Mutex<Vec<Entry>>,
}

/// Which elements the values were made of: offset, filters, channels, and the step from one channel to the next.
pub type Key = [usize; 4];

/// The order that a kernel has given to the values.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    Winograd,
    Panels,
    Rows,
    /// As a tensor's elements lie unless it says otherwise.
    RowMajor,
}

struct Entry {
    key: Key,
    order: Order,
    writes: u32,
    /// None where the weight has only been seen.
    values: Option<Arc<Values>>,
}

/// Values in a kernel's order, counted as long as they live.
pub struct Values(Vec<f32>);

impl Values {
    pub fn get(&self) -> &[f32] {
        &self.0
    }
}

impl Drop for Values {
    fn drop(&mut self) {
        HELD.fetch_sub(self.0.len() * size_of::<f32>(), Ordering::Relaxed);
    }
}

impl Common {
    /// Something was written, and the write is over.
    pub fn written(&self) {
        self.writes.fetch_add(1, Ordering::AcqRel);
        if self.holds.load(Ordering::Acquire) {
            self.clear();
        }
    }

    /// From now on somebody may write without telling.
    pub fn open(&self) {
        self.open.store(true, Ordering::Release);
        self.clear();
    }

    /// Frees what is kept. Nobody waits: a forked child may find the lock taken for ever, and the counter says enough.
    fn clear(&self) {
        let old = self.entries.try_lock().map(|mut entries| {
            self.holds.store(false, Ordering::Release);
            std::mem::take(&mut *entries)
        });
        drop(old);
    }
}

/// The place beside the memory of one weight, as it was when a call began.
#[derive(Clone)]
pub struct Keeper {
    common: Arc<Common>,
    key: Key,
    order: Order,
    writes: u32,
}

/// What is known of a weight.
pub enum Found {
    Values(Arc<Values>),
    /// It was used before, and has not been written to since.
    Again,
    New,
}

impl Keeper {
    /// None where the memory is open.
    pub fn new(common: &Arc<Common>, key: Key) -> Option<Self> {
        let writes = common.writes.load(Ordering::Acquire);
        let open = common.open.load(Ordering::Acquire);
        (!open).then(|| Self { common: common.clone(), key, order: Order::Winograd, writes })
    }

    /// The place for values in this order.
    pub fn of(&self, order: Order) -> Self {
        Self { order, ..self.clone() }
    }

    /// What is kept; a weight without anything is remembered.
    pub fn find(&self) -> Found {
        let Some(mut entries) = self.common.entries.try_lock() else { return Found::New };
        if let Some(found) = entries.iter().find(|entry| self.is_of(entry)) {
            return found.values.clone().map_or(Found::Again, Found::Values);
        }
        self.put(&mut entries, None);
        Found::New
    }

    /// So many values that were kept, or are from now on, the second time that the weight is seen.
    pub fn seen_again(&self, length: usize, make: impl FnOnce() -> Vec<f32>) -> Option<Arc<Values>> {
        match self.find() {
            Found::Values(values) => Some(values).filter(|values| values.get().len() == length),
            Found::Again if self.has_room(length) => Some(self.keep(make())),
            _ => None,
        }
    }

    fn is_of(&self, entry: &Entry) -> bool {
        (entry.key, entry.order) == (self.key, self.order) && entry.writes == self.writes
    }

    /// Adds an entry; those of before the last write are dropped.
    fn put(&self, entries: &mut Vec<Entry>, values: Option<Arc<Values>>) {
        entries.retain(|entry| entry.writes == self.writes && (entry.key, entry.order) != (self.key, self.order));
        if entries.len() < ENTRIES {
            entries.push(Entry { key: self.key, order: self.order, writes: self.writes, values });
        }
        self.common.holds.store(entries.iter().any(|entry| entry.values.is_some()), Ordering::Release);
    }

    /// Whether so many floats may still be kept.
    pub fn has_room(&self, length: usize) -> bool {
        HELD.load(Ordering::Relaxed) + length * size_of::<f32>() <= MOST
    }

    /// Keeps the values, where nothing has been written since the call began.
    pub fn keep(&self, values: Vec<f32>) -> Arc<Values> {
        HELD.fetch_add(values.len() * size_of::<f32>(), Ordering::Relaxed);
        let values = Arc::new(Values(values));
        if let Some(mut entries) = self.common.entries.try_lock()
            && !self.common.open.load(Ordering::Acquire)
        {
            self.put(&mut entries, Some(values.clone()));
        }
        values
    }
}
