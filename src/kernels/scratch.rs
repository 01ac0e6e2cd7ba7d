//! Memory that a kernel needs for a while and its tasks share (benchmarks/bars.py: convolutions).

use std::cell::Cell;
use std::mem::MaybeUninit;

use super::allocator::HUGE_PAGE;

thread_local! {
    static SCRATCH: Cell<Vec<f32>> = const { Cell::new(Vec::new()) };
}

/// Floats of scratch memory that a thread keeps from one call to the next.
const KEPT: usize = 1 << 20;

/// Lends memory of this thread's; what stands in it is of no meaning.
pub fn with_scratch<T>(length: usize, use_it: impl FnOnce(&mut [f32]) -> T) -> T {
    let mut memory = SCRATCH.take();
    if memory.len() < length {
        memory = roomy(length);
    }
    let out = use_it(&mut memory[..length]);
    if memory.len() <= KEPT {
        SCRATCH.set(memory);
    }
    out
}

/// Floats from which scratch memory is worth huge pages, and floats of one of these.
const LARGE: usize = 1 << 16;
const HUGE: usize = HUGE_PAGE / size_of::<f32>();

/// Scratch memory of at least so many elements, in whole huge pages where they are many: what convolutions read of it lies
/// on more pages than a processor remembers (128-256 3x3 /2 at 28: 5 % less time).
fn roomy(length: usize) -> Vec<f32> {
    written(if length < LARGE { length } else { length.next_multiple_of(HUGE) })
}

/// So many zeros that were not asked for as such, which the allocator gives in small pages, however many.
pub fn written(length: usize) -> Vec<f32> {
    let mut memory = Vec::with_capacity(length);
    std::hint::black_box(&mut memory).resize(length, 0.0);
    memory
}

/// Memory in which nothing stands before it is written: to clear a block takes as long as to fill it.
pub struct Room(Box<[MaybeUninit<f32>]>);

impl Room {
    pub fn new(length: usize) -> Self {
        Self(Box::new_uninit_slice(length))
    }

    pub fn shared(&mut self) -> Shared {
        Shared(self.0.as_mut_ptr().cast())
    }

    /// # Safety
    /// Every element has been written.
    pub unsafe fn filled(self) -> Vec<f32> {
        // SAFETY: the caller's.
        unsafe { self.0.assume_init() }.into_vec()
    }
}

/// Memory that several tasks write, each to places of its own.
pub struct Shared<T = f32>(pub *mut T);

// SAFETY: tasks write to different places, and the owner outlives them.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as for Send.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<T> {}

impl<T> Shared<T> {
    pub fn of(memory: &mut [T]) -> Self {
        Self(memory.as_mut_ptr())
    }

    /// Memory that is only read.
    pub fn of_read(memory: &[T]) -> Self {
        Self(memory.as_ptr().cast_mut())
    }

    pub fn at_offset(self, index: usize) -> Self {
        Self(self.at(index))
    }

    pub fn at(self, index: usize) -> *mut T {
        self.0.wrapping_add(index)
    }

    /// # Safety
    /// These elements lie there, and no other task uses them now.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    pub unsafe fn slice(&self, from: usize, length: usize) -> &mut [T] {
        // SAFETY: the caller's.
        unsafe { std::slice::from_raw_parts_mut(self.at(from), length) }
    }
}
