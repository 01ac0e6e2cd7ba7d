//! Tensors whose neighbours are not neighbours in the result, tile by tile (benchmarks/bars.py: add transposed): element by
//! element, each would come from a line of memory of its own.

use smallvec::SmallVec;

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::pointwise::Strided;
use super::scratch::{Shared, with_scratch};
use super::simd::Simd;
use super::vector::{self, Lanes};
use super::widest::{self, Work};
use crate::tensor::geometry::Geometry;

/// Elements from which on tiles are worth it, and along each side of one: a line of memory of the smaller types.
const LEAST: usize = 1 << 10;
const SIDE: usize = 16;
/// Columns of a task: several tiles side by side.
const WIDE: usize = 16 * SIDE;

/// The dimension along which neighbours lie, if it is long enough.
fn beside(shape: &[usize], strides: &[usize]) -> Option<usize> {
    strides.iter().zip(shape).position(|(&stride, &size)| stride == 1 && size >= SIDE / 2)
}

/// Matrices of results: `height` rows of `width` neighbours, and all that lie along the other dimensions.
struct Walk<const N: usize> {
    width: usize,
    height: usize,
    others: SmallVec<[(usize, [usize; N]); 4]>,
    offsets: [usize; N],
}

impl<const N: usize> Walk<N> {
    fn new(shape: &[usize], [across, down]: [usize; 2], views: [&[usize]; N], offsets: [usize; N]) -> Self {
        let others = (0..shape.len())
            .filter(|&dim| dim != across && dim != down && shape[dim] != 1)
            .map(|dim| (shape[dim], views.map(|strides| strides[dim])))
            .collect();
        Self { width: shape[across], height: shape[down], others, offsets }
    }

    /// Calls `strip(offsets, row, column, count)` for strips of at most `SIDE` rows and `WIDE` columns: where the matrix
    /// begins in each view, the first row and column of the strip, and its columns.
    fn run(&self, strip: &(dyn Fn([usize; N], usize, usize, usize) + Sync)) {
        let matrices: usize = self.others.iter().map(|&(size, _)| size).product();
        let (down, across) = (self.height.div_ceil(SIDE), self.width.div_ceil(WIDE));
        let some = |task: usize| {
            let (mut at, mut index) = (self.offsets, task / (down * across));
            for &(size, steps) in self.others.iter().rev() {
                for view in 0..N {
                    at[view] += index % size * steps[view];
                }
                index /= size;
            }
            let column = task % across * WIDE;
            strip(at, task / across % down * SIDE, column, WIDE.min(self.width - column));
        };
        let tasks = matrices * down * across;
        if matrices * self.width * self.height < PARALLEL_ABOVE {
            (0..tasks).for_each(some);
        } else {
            spread_over(tasks, 1, &some);
        }
    }
}

/// A copy of matrices whose rows lie in the source as their columns do in the target.
pub struct Matrices {
    walk: Walk<2>,
    source_step: usize,
    target_step: usize,
}

impl Matrices {
    pub fn of(target: &Geometry, source: &Geometry) -> Option<Self> {
        if target.numel() < LEAST {
            return None;
        }
        let across = beside(&target.shape, &target.strides)?;
        let down = beside(&source.shape, &source.strides).filter(|&down| down != across)?;
        let views = [target.strides.as_slice(), source.strides.as_slice()];
        let walk = Walk::new(&target.shape, [across, down], views, [target.offset, source.offset]);
        Some(Self { walk, source_step: source.strides[across], target_step: target.strides[down] })
    }

    /// # Safety
    /// The geometries lie inside the memories, which hold `T`, and the target does not overlap itself or the source.
    pub unsafe fn copy<T: Copy>(&self, to: *mut T, from: *const T) {
        let (to, from) = (Shared(to.cast::<u8>()), Shared(from.cast_mut().cast::<u8>()));
        self.walk.run(&|[target, source], row, column, count| {
            let from = from.at(0).cast::<T>().wrapping_add(source + column * self.source_step + row);
            let to = to.at(0).cast::<T>().wrapping_add(target + row * self.target_step + column);
            let rows = SIDE.min(self.walk.height - row);
            widest::run(Strip { from, from_step: self.source_step, to, to_step: self.target_step, count, rows });
        });
    }
}

/// `to[p][i] = from[i][p]` for `count` values of `i` and `rows` of `p`.
struct Strip<T> {
    from: *const T,
    from_step: usize,
    to: *mut T,
    to_step: usize,
    count: usize,
    rows: usize,
}

impl<T: Copy> Work for Strip<T> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { from, from_step, to, to_step, count, rows } = self;
        // SAFETY: whoever makes a strip vouches for it; elements of four bytes are moved as such.
        unsafe {
            if size_of::<T>() != 4 || !from.is_aligned() || !to.is_aligned() {
                for i in 0..count {
                    for p in 0..rows {
                        to.add(p * to_step + i).write_unaligned(from.add(i * from_step + p).read_unaligned());
                    }
                }
                return;
            }
            for i in (0..count).step_by(S::LANES) {
                for p in (0..rows).step_by(S::LANES) {
                    let from = (from.add(i * from_step + p).cast(), from_step);
                    let to = (to.add(p * to_step + i).cast(), to_step);
                    S::transpose(from, to, S::LANES.min(count - i), S::LANES.min(rows - p));
                }
            }
        }
    }
}

/// A function of float32 some of whose operands lie turned; the first view is the result.
pub struct Plan<'a, const M: usize> {
    walk: Walk<M>,
    views: [Strided<'a>; M],
    across: usize,
    down: usize,
    turned: [bool; M],
}

impl<'a, const M: usize> Plan<'a, M> {
    pub fn new(shape: &[usize], views: [Strided<'a>; M]) -> Option<Self> {
        if shape.len() < 2 || shape.iter().product::<usize>() < LEAST {
            return None;
        }
        let (out, inputs) = views.split_first()?;
        let across = beside(shape, out.strides)?;
        let down = inputs.iter().find_map(|input| beside(shape, input.strides).filter(|&down| down != across))?;
        let turned = views.map(|view| view.strides[down] == 1 && view.strides[across] > 1);
        // What is overwritten is read row by row.
        let apart = inputs.iter().all(|input| input.pointer != out.pointer && input.pointer.cast::<f32>().is_aligned());
        if turned[0] || !turned.contains(&true) || !apart {
            return None;
        }
        let walk = Walk::new(shape, [across, down], views.map(|view| view.strides), views.map(|view| view.offset));
        Some(Self { walk, views, across, down, turned })
    }

    /// `N` is one less than `M`.
    pub fn run<const N: usize>(&self, f: &impl Lanes<N>) {
        self.walk.run(&|at, row, column, count| {
            let rows = SIDE.min(self.walk.height - row);
            // SAFETY: a strip lies inside the geometries.
            let start = |view: usize| unsafe {
                let strides = self.views[view].strides;
                self.views[view].at::<f32>(at[view] + row * strides[self.down] + column * strides[self.across])
            };
            with_scratch(N * SIDE * WIDE, |memory| {
                let mut parts = memory.chunks_exact_mut(SIDE * WIDE);
                let lines: [(*const f32, usize, usize); N] = std::array::from_fn(|index| {
                    let (from, strides) = (start(index + 1).cast_const(), self.views[index + 1].strides);
                    match parts.next() {
                        Some(part) if self.turned[index + 1] => {
                            let (to, from_step) = (part.as_mut_ptr(), strides[self.across]);
                            widest::run(Strip { from, from_step, to, to_step: WIDE, count, rows });
                            (to.cast_const(), WIDE, 1)
                        }
                        _ => (from, strides[self.down], strides[self.across]),
                    }
                });
                for p in 0..rows {
                    let from = lines.map(|(first, step, stride)| (first.wrapping_add(p * step), stride));
                    let to = start(0).wrapping_add(p * self.views[0].strides[self.down]);
                    // SAFETY: as above; every strip has results of its own.
                    unsafe { vector::row(f, (to, 1), from, count, false) };
                }
            });
        });
    }
}
