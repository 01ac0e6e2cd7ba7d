//! The gradients of attention, from the logarithms that the way there has kept (benchmarks/bars.py: attention).

use super::attention::{Attention, Bits, Block, PAD, View, add_mask, lying, turned, turned_room};
use super::iterate::spread_over;
use super::math;
use super::memory::Elements;
use super::micro::{Finish, Isa};
use super::product::with_scratch;
use super::softmax::fold;
use super::vector::{Task, dispatch};

/// Queries and keys of one block.
const BLOCK: usize = 128;

/// What the way there has left, the gradient of its result, and room for the three gradients.
pub struct Gradients {
    pub out: Elements,
    pub logs: Elements,
    pub grad: Elements,
    pub query: Elements,
    pub key: Elements,
    pub value: Elements,
}

/// Scores become weights, and the gradients of weights those of scores.
struct Unweigh<'a> {
    scores: View,
    slopes: View,
    queries: usize,
    keys: usize,
    seen: &'a dyn Fn(usize) -> usize,
    mask: Option<View>,
    kept: Option<Bits>,
    logs: View,
    /// For each query: the product of result and gradient.
    common: &'a [f32],
    scale: f32,
}

impl Task for Unweigh<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        for query in 0..self.queries {
            let seen = (self.seen)(query).min(self.keys);
            // SAFETY: both blocks have so many rows of at least so many elements.
            let (row, slope) = unsafe {
                (
                    std::slice::from_raw_parts_mut(self.scores.row(query), self.keys),
                    std::slice::from_raw_parts_mut(self.slopes.row(query), self.keys),
                )
            };
            let ((row, hidden), (slope, beyond)) = (row.split_at_mut(seen), slope.split_at_mut(seen));
            hidden.fill(0.0);
            beyond.fill(0.0);
            // SAFETY: a mask has the scores' shape, and each query a logarithm.
            let log = unsafe {
                add_mask(row, self.mask, query);
                *self.logs.row(query)
            };
            if let Some(kept) = self.kept {
                // SAFETY: there is a bit for each score.
                unsafe { kept.multiply(query, slope) };
            }
            let common = self.common[query];
            for (x, slope) in row.iter_mut().zip(slope) {
                let weight = math::exp_down::<FMA>(*x - log);
                *x = weight;
                *slope = weight * (*slope - common) * self.scale;
            }
            if let Some(kept) = self.kept {
                // SAFETY: as above.
                unsafe { kept.multiply(query, row) };
            }
        }
    }
}

/// For each row the sum of products of two matrices' elements.
struct Common<'a> {
    a: View,
    b: View,
    width: usize,
    to: &'a mut [f32],
}

impl Task for Common<'_> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let mut products = vec![0.0_f32; self.width];
        for (row, to) in self.to.iter_mut().enumerate() {
            for (column, product) in products.iter_mut().enumerate() {
                // SAFETY: who made it has so many rows of so many elements.
                *product = unsafe { *self.a.row(row).add(column) * *self.b.row(row).add(column) };
            }
            *to = fold(&products, 0.0, |x| x, |sum, x| sum + x);
        }
    }
}

/// One head's matrices.
struct Head {
    query: View,
    key: View,
    value: View,
    grad: View,
    logs: View,
    mask: Option<View>,
    kept: Option<Bits>,
    /// Gradients of query, key and value.
    to: [View; 3],
    /// For each query, as in `Unweigh`.
    common: Vec<f32>,
}

/// Memory of one task: scores, their gradients, turned keys and values, and four tails.
struct Room {
    scores: View,
    slopes: View,
    keys: *mut f32,
    values: *mut f32,
    tails: [*mut f32; 3],
}

impl Attention {
    /// Writes the gradients of query, key and value.
    ///
    /// # Safety
    /// As `forward`, whose results are given; the gradients are fresh.
    pub unsafe fn backward(&self, all: &Gradients) {
        let [heads, ..] = self.sizes();
        // SAFETY: the caller's; every task has a head of its own.
        let one = |head: usize| unsafe { self.backward_head(head, all) };
        if self.is_shared() { spread_over(heads, 1, &one) } else { (0..heads).for_each(one) }
    }

    unsafe fn backward_head(&self, head: usize, all: &Gradients) {
        let isa = Isa::current();
        let [_, queries, keys, size, width] = self.sizes();
        let mut common = vec![0.0; queries];
        let grad = View::of(&all.grad, head);
        dispatch(Common { a: View::of(&all.out, head), b: grad, width, to: &mut common });
        let parts = Head {
            query: View::of(&self.query, head),
            key: View::of(&self.key, head),
            value: View::of(&self.value, head),
            grad,
            logs: View::of(&all.logs, head),
            mask: self.mask.as_ref().map(|mask| View::of(mask, head)),
            kept: self.bits(head),
            to: [&all.query, &all.key, &all.value].map(|to| View::of(to, head)),
            common,
        };
        let pitch = BLOCK + PAD;
        let room = [
            BLOCK * pitch,
            BLOCK * pitch,
            turned_room(isa, BLOCK, size),
            turned_room(isa, BLOCK, width),
            isa.width() * BLOCK,
            isa.width() * BLOCK,
            isa.width() * BLOCK,
        ];
        with_scratch(room.iter().sum(), |memory| {
            let at = |part: usize| memory.wrapping_add(room[..part].iter().sum());
            let block = |part: usize| View { at: at(part), row: pitch, column: 1 };
            let room =
                Room { scores: block(0), slopes: block(1), keys: at(2), values: at(3), tails: [at(4), at(5), at(6)] };
            for first in (0..keys).step_by(BLOCK) {
                // SAFETY: the caller's.
                unsafe { self.backward_keys(isa, &parts, &room, first, BLOCK.min(keys - first)) };
            }
        });
    }

    /// All that one block of keys adds to the gradients.
    unsafe fn backward_keys(&self, isa: &'static Isa, head: &Head, room: &Room, first: usize, held: usize) {
        let [_, queries, _, size, width] = self.sizes();
        let start = if self.causal { first / BLOCK * BLOCK } else { 0 };
        // SAFETY: the caller's; the memory has room for the largest block.
        unsafe {
            let keys = turned(isa, head.key.after(first), held, size, room.keys);
            let values = turned(isa, head.value.after(first), held, width, room.values);
            let lying_keys = lying(isa, head.key.after(first), size, held, room.tails[0]);
            let [to_query, to_key, to_value] = head.to;
            let (to_key, to_value) = (to_key.after(first), to_value.after(first));
            if start >= queries {
                for row in 0..held {
                    std::slice::from_raw_parts_mut(to_key.row(row), size).fill(0.0);
                    std::slice::from_raw_parts_mut(to_value.row(row), width).fill(0.0);
                }
            }
            for query in (start..queries).step_by(BLOCK) {
                let count = BLOCK.min(queries - query);
                let seen = |row: usize| self.seen(query + row, first);
                let (q, grad) = (head.query.after(query), head.grad.after(query));
                let side = |view: View| (view.at.cast_const(), view.row, 1);
                let block =
                    |rows, columns, left, right, out, finish| Block { isa, rows, columns, left, right, out, finish };
                let finish = Finish { scale: self.scale, ..Finish::PLAIN };
                let some = |rows: std::ops::Range<usize>, keys: std::ops::Range<usize>, depth| {
                    if keys.start < seen(rows.end - 1) { 0..depth } else { 0..0 }
                };
                block(count, held, side(q), keys, room.scores, finish).run(|rows, keys| some(rows, keys, size));
                block(count, held, side(grad), values, room.slopes, Finish::PLAIN)
                    .run(|rows, keys| some(rows, keys, width));
                let mask = head.mask.map(|mask| {
                    let mask = mask.after(query);
                    View { at: mask.at.wrapping_add(first * mask.column), ..mask }
                });
                dispatch(Unweigh {
                    scores: room.scores,
                    slopes: room.slopes,
                    queries: count,
                    keys: held,
                    seen: &seen,
                    mask,
                    kept: head.kept.map(|kept| kept.after(query, first)),
                    logs: head.logs.after(query),
                    common: &head.common[query..query + count],
                    scale: self.scale,
                });
                let finish = Finish { add: first > 0, ..Finish::PLAIN };
                let slopes = side(room.slopes);
                block(count, size, slopes, lying_keys, to_query.after(query), finish)
                    .run(|rows, _| 0..held.min(seen(rows.end - 1)));
                // Of the keys of a tile the first is seen by the query of its own number.
                let since = |keys: std::ops::Range<usize>| {
                    if self.causal {
                        (first + keys.start).saturating_sub(query).min(count - 1)..count
                    } else {
                        0..count
                    }
                };
                let finish = Finish { add: query > start, ..Finish::PLAIN };
                let across = |view: View| (view.at.cast_const(), 1, view.row);
                let right = lying(isa, q, size, count, room.tails[1]);
                block(held, size, across(room.slopes), right, to_key, finish).run(|keys, _| since(keys));
                let right = lying(isa, grad, width, count, room.tails[2]);
                block(held, width, across(room.scores), right, to_value, finish).run(|keys, _| since(keys));
            }
        }
    }
}
