//! Keeps the memory of large results for the next ones of their size (benchmarks/bars.py: add 16M, training): the page
//! faults of fresh memory cost more than the arithmetic. Counts what is in use.
//!
//! Freed blocks lie on shelves by size. What is kept and what is in use together never pass the most that was ever in use
//! at once, so that keeping costs no resident memory at the peak; where that proves wrong, since blocks are asked for whose
//! like had to go, it may come to somewhat more: a step of training wants blocks of other sizes at its end than at its
//! beginning. Shelves that nobody asks are emptied. Nobody waits for the lock: who finds it taken asks the system, also in a
//! child that was forked while another thread had it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// The allocator of everything that this library allocates, scratch memory of kernels and results of burn included.
pub struct Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

/// Bytes from which an allocation is counted and lies on a cache line of its own.
pub const COUNTED: usize = 1 << 12;
/// Bytes from which freed memory is kept.
const KEPT: usize = 1 << 16;
/// Bytes from which memory is mapped, not taken from the heap, so that it can be given back.
const MAPPED: usize = 1 << 20;
/// Bytes from which memory is asked for in huge pages.
const HUGE: usize = 1 << 21;
pub const HUGE_PAGE: usize = 1 << 21;
/// Mapped blocks begin at one of four places of their first page, in turn: of several that begin at the same place, elements
/// with the same number fall on the same lines of the cache, and loops over all of them wait for each other (x * y of four
/// megabytes each on Zen 3: 171 us, 157 with this).
const PAGE: usize = 1 << 12;
const PLACE: usize = PAGE / 4;
/// Bytes up to which kept memory is worth clearing; untouched fresh memory is zero for free.
const CLEARED: usize = 1 << 25;
/// The alignment of whatever is counted: a cache line, and the widest vector.
const ALIGNMENT: usize = 64;
/// Bytes that may be kept however little is in use.
const SPARE: usize = 1 << 28;
/// Bytes that kept and used memory may come to, however little was ever in use.
const FLOOR: usize = 1 << 25;
/// Eight shelves for each power of two from `KEPT` to a terabyte.
const SHELVES: usize = 200;
/// Requests after which a shelf that served none is emptied, and between two looks at all shelves.
const IDLE: u64 = 1 << 14;
const LOOK: u64 = 1 << 11;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);
static REUSED: AtomicUsize = AtomicUsize::new(0);
/// Bytes of blocks handed out, the most that they were, and bytes of blocks on the shelves.
static HELD: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static CACHED: AtomicUsize = AtomicUsize::new(0);
/// Bytes of blocks that went to the system and were asked for again.
static MISSED: AtomicUsize = AtomicUsize::new(0);
/// Blocks that were mapped.
#[cfg(target_os = "linux")]
static PLACES: AtomicUsize = AtomicUsize::new(0);
static CACHE: Locked = Locked { taken: AtomicBool::new(false), cache: UnsafeCell::new(Cache::new()) };

/// What is known of the memory of results.
pub struct Stats {
    pub live: usize,
    pub peak: usize,
    pub cached: usize,
    pub allocations: usize,
    pub reused: usize,
}

pub fn stats() -> Stats {
    let live = LIVE.load(Relaxed);
    Stats {
        live,
        peak: PEAK.load(Relaxed).max(live),
        cached: CACHED.load(Relaxed),
        allocations: ALLOCATIONS.load(Relaxed),
        reused: REUSED.load(Relaxed),
    }
}

/// Lets the peak begin anew at what is in use now.
pub fn reset_peak() {
    PEAK.store(LIVE.load(Relaxed), Relaxed);
}

/// Counts an allocation of so many bytes.
pub fn count(bytes: usize) {
    ALLOCATIONS.fetch_add(1, Relaxed);
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    if live > PEAK.load(Relaxed) {
        PEAK.fetch_max(live, Relaxed);
    }
}

/// Counts that so many bytes are free again.
pub fn discount(bytes: usize) {
    LIVE.fetch_sub(bytes, Relaxed);
}

/// Gives kept memory and free pages of the heap back to the system.
pub fn give_back() {
    CACHE.with(Cache::empty).unwrap_or(Chain(null_mut())).unmap();
    MISSED.store(0, Relaxed);
    MOST.store(HELD.load(Relaxed), Relaxed);
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: malloc_trim takes no pointers and may be called at any time from any thread.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// A block on a shelf, written into its own first bytes.
struct Free {
    next: *mut Free,
    bytes: usize,
}

/// Blocks on their way to the system.
struct Chain(*mut Free);

impl Chain {
    fn unmap(self) {
        let mut block = self.0;
        while !block.is_null() {
            // SAFETY: blocks of a chain are free, begin with a `Free`, and are on no shelf any more.
            unsafe {
                let Free { next, bytes } = block.read();
                unmap(block.cast(), bytes);
                block = next;
            }
        }
    }
}

#[derive(Clone, Copy)]
struct Shelf {
    first: *mut Free,
    /// The number of the request that last took from or put onto it.
    used: u64,
    /// Blocks that went to the system.
    gone: usize,
}

struct Cache {
    shelves: [Shelf; SHELVES],
    requests: u64,
}

impl Cache {
    const fn new() -> Self {
        Self { shelves: [Shelf { first: null_mut(), used: 0, gone: 0 }; SHELVES], requests: 0 }
    }

    fn take(&mut self, number: usize, bytes: usize) -> Option<*mut u8> {
        self.requests += 1;
        let shelf = self.shelves.get_mut(number)?;
        shelf.used = self.requests;
        let block = shelf.first;
        if block.is_null() {
            if shelf.gone > 0 {
                shelf.gone -= 1;
                MISSED.fetch_add(bytes, Relaxed);
            }
            return None;
        }
        // SAFETY: whatever lies on a shelf begins with a `Free`, and nobody else uses it.
        let Free { next, bytes } = unsafe { block.read() };
        shelf.first = next;
        CACHED.fetch_sub(bytes, Relaxed);
        Some(block.cast())
    }

    /// Puts a block onto its shelf; what there is no room for any more comes back.
    ///
    /// # Safety
    /// The block has `bytes` bytes, is aligned, and nobody uses it.
    unsafe fn put(&mut self, number: usize, block: *mut u8, bytes: usize) -> Chain {
        let Some(shelf) = self.shelves.get_mut(number) else { return Chain(null_mut()) };
        let block = block.cast::<Free>();
        // SAFETY: the caller vouches for the block, which is larger than a `Free`.
        unsafe { block.write(Free { next: shelf.first, bytes }) };
        *shelf = Shelf { first: block, used: self.requests, ..*shelf };
        CACHED.fetch_add(bytes, Relaxed);
        let limit = HELD.load(Relaxed).max(SPARE);
        let now = self.requests;
        let look = now.is_multiple_of(LOOK);
        self.remove_while(|used| CACHED.load(Relaxed) > limit || (look && used + IDLE < now))
    }

    /// Takes all blocks from the shelves, and forgets which were ever there.
    fn empty(&mut self) -> Chain {
        let chain = self.remove_while(|_| true);
        self.shelves.iter_mut().for_each(|shelf| shelf.gone = 0);
        chain
    }

    /// Takes blocks from the shelves, the longest unused first, while `wanted`, which is told when a shelf was used.
    fn remove_while(&mut self, wanted: impl Fn(u64) -> bool) -> Chain {
        let mut chain = Chain(null_mut());
        while CACHED.load(Relaxed) > 0 {
            let full = self.shelves.iter_mut().filter(|shelf| !shelf.first.is_null());
            let Some(shelf) = full.min_by_key(|shelf| shelf.used) else { break };
            if !wanted(shelf.used) {
                break;
            }
            let block = shelf.first;
            // SAFETY: as in `take`.
            unsafe {
                shelf.first = (*block).next;
                shelf.gone += 1;
                CACHED.fetch_sub((*block).bytes, Relaxed);
                (*block).next = chain.0;
            }
            chain = Chain(block);
        }
        chain
    }
}

struct Locked {
    taken: AtomicBool,
    cache: UnsafeCell<Cache>,
}

// SAFETY: `with` gives the cache to one thread at a time.
unsafe impl Sync for Locked {}

impl Locked {
    /// None where another thread has the cache for longer than a moment.
    fn with<R>(&self, work: impl FnOnce(&mut Cache) -> R) -> Option<R> {
        let mut tries = 0;
        while self.taken.compare_exchange_weak(false, true, Acquire, Relaxed).is_err() {
            tries += 1;
            if tries > 200 {
                return None;
            }
            std::hint::spin_loop();
        }
        // SAFETY: this thread has set `taken`, and `work` cannot come back here: it allocates nothing.
        let result = work(unsafe { &mut *self.cache.get() });
        self.taken.store(false, Release);
        Some(result)
    }
}

/// The shelf for so many bytes, at least `KEPT`, and the size of the blocks on it.
fn shelf(size: usize) -> (usize, usize) {
    let power = (size - 1).ilog2();
    let step = 1usize << (power - 3);
    let bytes = size.div_ceil(step) * step;
    (((power - 15) as usize) * 8 + (bytes - (1 << power)) / step - 1, bytes)
}

/// A block of at least `size` bytes, null where the system has no more, and whether it is zero: where that is `wanted`,
/// fresh memory is.
fn request(size: usize, wanted: bool) -> (*mut u8, bool) {
    let (number, bytes) = shelf(size);
    let kept = if wanted && size > CLEARED { None } else { CACHE.with(|cache| cache.take(number, bytes)).flatten() };
    let (block, zero) = match kept {
        Some(block) => {
            REUSED.fetch_add(1, Relaxed);
            (block, false)
        }
        None => (fresh(bytes, wanted), wanted),
    };
    if !block.is_null() {
        count(size);
        let held = HELD.fetch_add(bytes, Relaxed) + bytes;
        if held > MOST.load(Relaxed) {
            MOST.fetch_max(held, Relaxed);
        }
    }
    (block, zero)
}

/// Memory for a tensor of zeros, null where the system has no more, and whether it is zero already: kept memory is not,
/// and its owner can clear it on several threads.
///
/// # Safety
/// As `GlobalAlloc::alloc`.
pub unsafe fn alloc_for_zeros(layout: Layout) -> (*mut u8, bool) {
    match server(layout) {
        Server::Shelves => request(layout.size(), true),
        // SAFETY: the caller's.
        _ => (unsafe { ALLOCATOR.alloc_zeroed(layout) }, true),
    }
}

/// Memory from the system, for which kept memory makes room.
fn fresh(bytes: usize, cleared: bool) -> *mut u8 {
    let held = HELD.load(Relaxed).saturating_add(bytes);
    let most = MOST.load(Relaxed).max(FLOOR).max(held);
    // At most half as much again (a step of a network for Atari in a process of its own: 11.5 ms without this, 6.8 with it).
    let limit = most.saturating_add(MISSED.load(Relaxed).min(most / 2 + FLOOR));
    if held.saturating_add(CACHED.load(Relaxed)) > limit {
        let room = CACHE.with(|cache| cache.remove_while(|_| held.saturating_add(CACHED.load(Relaxed)) > limit));
        room.unwrap_or(Chain(null_mut())).unmap();
    }
    let block = map(bytes, cleared);
    if !block.is_null() {
        return block;
    }
    give_back();
    map(bytes, cleared)
}

/// Takes a block back.
///
/// # Safety
/// The block came from `request(size, _)`, and nobody uses it any more.
unsafe fn release(block: *mut u8, size: usize) {
    let (number, bytes) = shelf(size);
    discount(size);
    HELD.fetch_sub(bytes, Relaxed);
    let keep = number < SHELVES && bytes <= HELD.load(Relaxed).max(SPARE);
    // SAFETY: the caller vouches for the block.
    let put = keep.then(|| CACHE.with(|cache| unsafe { cache.put(number, block, bytes) })).flatten();
    match put {
        Some(rest) => rest.unmap(),
        // SAFETY: as above.
        None => unsafe { unmap(block, bytes) },
    }
}

fn heap_layout(bytes: usize) -> Layout {
    // SAFETY: the alignment is a power of two, and no caller has bytes beyond half of the address space.
    unsafe { Layout::from_size_align_unchecked(bytes, ALIGNMENT) }
}

#[cfg(target_os = "linux")]
fn map(bytes: usize, cleared: bool) -> *mut u8 {
    use libc::{MAP_ANONYMOUS, MAP_FAILED, MAP_PRIVATE, PROT_READ, PROT_WRITE, madvise, mmap, munmap};
    if bytes < MAPPED {
        return from_heap(bytes, cleared);
    }
    // Huge pages begin at multiples of their size; what lies before the first is given back.
    let before = if bytes >= HUGE { HUGE_PAGE } else { 0 };
    let Some(length) = bytes.checked_add(before + PAGE) else { return null_mut() };
    let place = PLACES.fetch_add(1, Relaxed) % (PAGE / PLACE) * PLACE;
    // SAFETY: new private memory, at no address that anybody uses; only parts of it are unmapped.
    unsafe {
        let start = mmap(null_mut(), length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if start == MAP_FAILED {
            return null_mut();
        }
        let start = start.cast::<u8>();
        if before == 0 {
            return start.add(place);
        }
        let lead = start.align_offset(HUGE_PAGE).min(before);
        if lead > 0 {
            munmap(start.cast(), lead);
        }
        let block = start.add(lead);
        if lead < before {
            munmap(block.add(bytes + PAGE).cast(), before - lead);
        }
        // Of zeros often only a few are ever written.
        if !cleared {
            madvise(block.cast(), bytes, libc::MADV_HUGEPAGE);
        }
        block.add(place)
    }
}

/// Asks for huge pages for memory that was asked for as zeros, and of which all is about to be written (SGD with ResNet-18:
/// 2.5 ms in small pages).
pub fn expect_writes(memory: *mut u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    if bytes >= HUGE {
        let before = memory.addr() % PAGE;
        // SAFETY: advice, which changes no byte, and is refused where nothing is mapped.
        unsafe {
            libc::madvise(memory.wrapping_sub(before).cast(), bytes + before, libc::MADV_HUGEPAGE);
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (memory, bytes);
}

#[cfg(not(target_os = "linux"))]
fn map(bytes: usize, cleared: bool) -> *mut u8 {
    from_heap(bytes, cleared)
}

fn from_heap(bytes: usize, cleared: bool) -> *mut u8 {
    // SAFETY: the layout has a size above zero.
    unsafe { if cleared { System.alloc_zeroed(heap_layout(bytes)) } else { System.alloc(heap_layout(bytes)) } }
}

/// # Safety
/// The block came from `map(bytes, _)`, and nobody uses it any more.
unsafe fn unmap(block: *mut u8, bytes: usize) {
    // SAFETY: the caller vouches for the block.
    unsafe {
        #[cfg(target_os = "linux")]
        if bytes >= MAPPED {
            libc::munmap(block.wrapping_sub(block.addr() % PAGE).cast(), bytes + PAGE);
            return;
        }
        System.dealloc(block, heap_layout(bytes));
    }
}

/// Who serves a layout; asked with the same layout when it is freed.
enum Server {
    System,
    /// The system, on a cache line of its own.
    Counted(Layout),
    Shelves,
}

fn server(layout: Layout) -> Server {
    if layout.size() < COUNTED || layout.align() > ALIGNMENT {
        Server::System
    } else if layout.size() < KEPT {
        Server::Counted(heap_layout(layout.size()))
    } else {
        Server::Shelves
    }
}

// SAFETY: blocks are as large and aligned as asked, belong to one owner until they are freed, and go back to where they
// came from, which the layout tells.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe {
            match server(layout) {
                Server::System => System.alloc(layout),
                Server::Counted(layout) => {
                    count(layout.size());
                    System.alloc(layout)
                }
                Server::Shelves => request(layout.size(), false).0,
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        unsafe {
            match server(layout) {
                Server::System => System.alloc_zeroed(layout),
                Server::Counted(layout) => {
                    count(layout.size());
                    System.alloc_zeroed(layout)
                }
                Server::Shelves => {
                    let (block, zero) = request(layout.size(), true);
                    if !zero && !block.is_null() {
                        block.write_bytes(0, layout.size());
                    }
                    block
                }
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe {
            match server(layout) {
                Server::System => System.dealloc(block, layout),
                Server::Counted(layout) => {
                    discount(layout.size());
                    System.dealloc(block, layout);
                }
                Server::Shelves => release(block, layout.size()),
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller vouches that `size` is no larger than a layout may be.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        // SAFETY: as above; the old block is freed once its contents are copied.
        unsafe {
            match (server(layout), server(wanted)) {
                (Server::System, Server::System) => return System.realloc(block, layout, size),
                (Server::Shelves, Server::Shelves) if shelf(layout.size()) == shelf(size) => {
                    discount(layout.size());
                    count(size);
                    return block;
                }
                _ => {}
            }
            let moved = self.alloc(wanted);
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shelves_follow_each_other_and_waste_an_eighth_at_most() {
        let (mut last, mut bytes_of_last) = (None, 0);
        for size in (KEPT..1 << 22).step_by(1000).chain([KEPT + 1, (1 << 40) - 1]) {
            let (number, bytes) = shelf(size);
            assert!(bytes >= size && bytes - size <= size / 8 && number < SHELVES);
            assert_eq!(shelf(bytes), (number, bytes));
            if size < 1 << 22 && last.is_some_and(|last| number < last) {
                assert!(size < bytes_of_last);
            }
            (last, bytes_of_last) = (Some(number), bytes);
        }
    }

    #[test]
    fn a_freed_block_serves_the_next_request_and_zeros_are_zeros() {
        let layout = Layout::from_size_align(3 << 20, 16).unwrap_or(Layout::new::<u8>());
        // SAFETY: the layouts are those of the allocations, and the bytes lie inside.
        unsafe {
            let first = ALLOCATOR.alloc(layout);
            first.write_bytes(7, layout.size());
            ALLOCATOR.dealloc(first, layout);
            let second = ALLOCATOR.alloc_zeroed(layout);
            assert!(second.is_aligned_to_line());
            assert!((0..layout.size()).all(|place| *second.add(place) == 0));
            ALLOCATOR.dealloc(second, layout);
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn mapped_blocks_begin_at_different_places_of_a_page() {
        let layout = Layout::from_size_align(5 << 20, 16).unwrap_or(Layout::new::<u8>());
        // SAFETY: the layout is that of the allocations, and the bytes lie inside.
        unsafe {
            let blocks = [0; 4].map(|_| ALLOCATOR.alloc(layout));
            for block in blocks {
                assert!(block.is_aligned_to_line());
                block.write_bytes(1, layout.size());
            }
            assert!(blocks.iter().any(|block| block.addr() % PAGE != blocks[0].addr() % PAGE));
            blocks.into_iter().for_each(|block| ALLOCATOR.dealloc(block, layout));
        }
    }

    trait Line {
        fn is_aligned_to_line(self) -> bool;
    }

    impl Line for *mut u8 {
        fn is_aligned_to_line(self) -> bool {
            (self as usize).is_multiple_of(ALIGNMENT)
        }
    }
}
