//! The order in which torch's CPU sort, top-k and k-th value leave equal elements (benchmarks/cases.py: large_sort).
//!
//! They call C++'s `std::sort`, `std::nth_element` and `std::partial_sort`, whose steps in GNU's library depend on the
//! comparisons alone: introsort with the median of three as pivot, a heap below it, insertion into short runs. Programs
//! that order by a key with equal values (edges by target, tokens by expert) see these steps in their numbers.

use crate::guard;

/// Runs up to this length are left to insertion.
pub const SHORT: usize = 16;

/// Elements whose places are noted at a time.
const BLOCK: usize = 64;

/// Elements of a part that is worth a thread.
const APART: usize = 1 << 13;

/// Puts all elements in order as `std::sort` does.
pub fn sort<K: Copy + Send>(keys: &mut [K], less: impl Fn(&K, &K) -> bool + Copy + Send + Sync) {
    let depth = depth(keys.len());
    parts(keys, depth, guard::threads() > 1, less);
}

/// Whether torch's top-k finds the first `count` by a heap.
pub fn by_heap(count: usize, length: usize) -> bool {
    count.saturating_mul(64) <= length
}

/// Puts the first `count` in order in front as torch's top-k does; unless `in_order`, as the selection leaves them.
pub fn top<K: Copy + Send>(
    keys: &mut [K],
    count: usize,
    in_order: bool,
    less: impl Fn(&K, &K) -> bool + Copy + Send + Sync,
) {
    if count == 0 {
        return;
    }
    if by_heap(count, keys.len()) {
        heap_front(keys, count, less);
        heap_to_order(&mut keys[..count], less);
    } else {
        select(keys, count - 1, less);
        if in_order {
            sort(&mut keys[..count - 1], less);
        }
    }
}

/// The element that has `place` before it, chosen among equals as torch's `kthvalue` does.
pub fn nth<K: Copy>(keys: &mut [K], place: usize, less: impl Fn(&K, &K) -> bool + Copy) -> K {
    let (mut left, mut right) = (0, keys.len() - 1);
    while left + 1 < right {
        keys.swap(left + (right - left) / 2, left + 1);
        for (low, high) in [(left + 1, right), (left, right), (left + 1, left)] {
            if less(&keys[high], &keys[low]) {
                keys.swap(low, high);
            }
        }
        let (pivot, mut from, mut to) = (keys[left], left + 1, right);
        loop {
            from += 1;
            while less(&keys[from], &pivot) {
                from += 1;
            }
            to -= 1;
            while less(&pivot, &keys[to]) {
                to -= 1;
            }
            if to < from {
                break;
            }
            keys.swap(from, to);
        }
        keys.swap(left, to);
        if to <= place {
            left = from;
        }
        if to >= place {
            right = to.saturating_sub(1);
        }
    }
    if left + 1 == right && less(&keys[right], &keys[left]) {
        keys.swap(left, right);
    }
    keys[place]
}

/// How often a range may be cut before a heap takes over.
fn depth(length: usize) -> u32 {
    length.checked_ilog2().unwrap_or(0) * 2
}

/// Cuts until every part is short, and puts those in order: nothing moves from one part to another, so that each is
/// finished while it is near, on whichever thread.
fn parts<K: Copy + Send>(
    mut keys: &mut [K],
    mut depth: u32,
    parallel: bool,
    less: impl Fn(&K, &K) -> bool + Copy + Send + Sync,
) {
    while keys.len() > SHORT {
        if depth == 0 {
            heap_front(keys, keys.len(), less);
            heap_to_order(keys, less);
            return;
        }
        depth -= 1;
        let cut = partition(keys, less);
        let (front, back) = keys.split_at_mut(cut);
        if parallel && front.len().min(back.len()) >= APART {
            rayon::join(|| parts(front, depth, parallel, less), || parts(back, depth, parallel, less));
            return;
        }
        parts(back, depth, parallel, less);
        keys = front;
    }
    insert(keys, less);
}

/// Cuts on one side until `place` holds its element, nothing before it is greater and nothing after it less.
fn select<K: Copy>(mut keys: &mut [K], mut place: usize, less: impl Fn(&K, &K) -> bool + Copy) {
    let mut depth = depth(keys.len());
    while keys.len() > 3 {
        if depth == 0 {
            heap_front(keys, place + 1, less);
            keys.swap(0, place);
            return;
        }
        depth -= 1;
        let cut = partition(keys, less);
        let (front, back) = keys.split_at_mut(cut);
        if cut <= place {
            (keys, place) = (back, place - cut);
        } else {
            keys = front;
        }
    }
    insert(keys, less);
}

/// Moves the median of the second, the middle and the last to the front and splits the rest around it.
fn partition<K: Copy>(keys: &mut [K], less: impl Fn(&K, &K) -> bool + Copy) -> usize {
    let (a, b, c) = (1, keys.len() / 2, keys.len() - 1);
    let below = |one: usize, other: usize| less(&keys[one], &keys[other]);
    let median = match below(a, b) {
        true if below(b, c) => b,
        true if below(a, c) => c,
        true => a,
        false if below(a, c) => a,
        false if below(b, c) => c,
        false => b,
    };
    keys.swap(0, median);
    let pivot = keys[0];
    let (mut from, mut to) = exchange(keys, pivot, less);
    loop {
        while less(&keys[from], &pivot) {
            from += 1;
        }
        to -= 1;
        while less(&pivot, &keys[to]) {
            to -= 1;
        }
        if from >= to {
            return from;
        }
        keys.swap(from, to);
        from += 1;
    }
}

/// The places of a block, counted from its outer end, whose elements have to leave their side.
struct Leaving {
    places: [u8; BLOCK],
    next: usize,
    end: usize,
}

impl Leaving {
    const NONE: Self = Self { places: [0; BLOCK], next: 0, end: 0 };

    #[inline(always)]
    fn note(&mut self, leaves: impl Fn(usize) -> bool) {
        (self.next, self.end) = (0, 0);
        for place in 0..BLOCK {
            self.places[self.end % BLOCK] = place as u8;
            self.end += usize::from(leaves(place));
        }
    }

    fn left(&self) -> usize {
        self.end - self.next
    }

    fn at(&self, index: usize) -> usize {
        usize::from(self.places[(self.next + index) % BLOCK])
    }
}

/// Exchanges what stands on the wrong side, the first from the left with the first from the right and so on, until the
/// sides are near each other; gives where looking goes on. Noting places first costs no mispredicted branches: random
/// elements would cost one each.
fn exchange<K: Copy>(keys: &mut [K], pivot: K, less: impl Fn(&K, &K) -> bool + Copy) -> (usize, usize) {
    let (mut from, mut to) = (1, keys.len());
    let (mut front, mut back) = (Leaving::NONE, Leaving::NONE);
    while to - from >= 2 * BLOCK {
        if front.left() == 0 {
            let block = &keys[from..from + BLOCK];
            front.note(|place| !less(&block[place], &pivot));
        }
        if back.left() == 0 {
            let block = &keys[to - BLOCK..to];
            back.note(|place| !less(&pivot, &block[BLOCK - 1 - place]));
        }
        let both = front.left().min(back.left());
        for index in 0..both {
            keys.swap(from + front.at(index), to - 1 - back.at(index));
        }
        (front.next, back.next) = (front.next + both, back.next + both);
        from += if front.left() == 0 { BLOCK } else { 0 };
        to -= if back.left() == 0 { BLOCK } else { 0 };
    }
    let first = |side: &Leaving| if side.left() > 0 { side.at(0) } else { 0 };
    (from + first(&front), to - first(&back))
}

fn insert<K: Copy>(keys: &mut [K], less: impl Fn(&K, &K) -> bool + Copy) {
    for index in 1..keys.len() {
        let (key, mut at) = (keys[index], index);
        while at > 0 && less(&key, &keys[at - 1]) {
            keys[at] = keys[at - 1];
            at -= 1;
        }
        keys[at] = key;
    }
}

/// Makes the first `count` a heap of the least ones, the greatest of them in front.
fn heap_front<K: Copy>(keys: &mut [K], count: usize, less: impl Fn(&K, &K) -> bool + Copy) {
    let (heap, rest) = keys.split_at_mut(count);
    heaped(heap, less);
    for key in rest {
        if less(key, &heap[0]) {
            let fresh = std::mem::replace(key, heap[0]);
            sift(heap, 0, fresh, less);
        }
    }
}

/// Makes a heap of the keys, the greatest in front.
pub fn heaped<K: Copy>(heap: &mut [K], less: impl Fn(&K, &K) -> bool + Copy) {
    for hole in (0..heap.len() / 2).rev() {
        sift(heap, hole, heap[hole], less);
    }
}

/// Puts a key into the heap in place of the greatest, and gives the greatest of now.
pub fn replaced<K: Copy>(heap: &mut [K], key: K, less: impl Fn(&K, &K) -> bool + Copy) -> K {
    sift(heap, 0, key, less);
    heap[0]
}

/// A heap's keys in order.
pub fn heap_to_order<K: Copy>(mut heap: &mut [K], less: impl Fn(&K, &K) -> bool + Copy) {
    while let [front @ .., last] = heap {
        if front.is_empty() {
            return;
        }
        let fresh = std::mem::replace(last, front[0]);
        sift(front, 0, fresh, less);
        heap = front;
    }
}

/// Fills `hole` with the greater children down to a leaf, then lets `key` rise from there.
fn sift<K: Copy>(heap: &mut [K], top: usize, key: K, less: impl Fn(&K, &K) -> bool + Copy) {
    let mut hole = top;
    while 2 * hole + 2 < heap.len() {
        let right = 2 * hole + 2;
        let child = if less(&heap[right], &heap[right - 1]) { right - 1 } else { right };
        heap[hole] = heap[child];
        hole = child;
    }
    if 2 * hole + 2 == heap.len() {
        heap[hole] = heap[2 * hole + 1];
        hole = 2 * hole + 1;
    }
    while hole > top && less(&heap[(hole - 1) / 2], &key) {
        heap[hole] = heap[(hole - 1) / 2];
        hole = (hole - 1) / 2;
    }
    heap[hole] = key;
}
