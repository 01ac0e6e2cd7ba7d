//! One pass over parameters, gradients and running values per optimizer step (benchmarks/bars.py: optimizers).
//!
//! Each rule rounds where the recorded ops of its Python form round, so that both give the same numbers.

use super::processor::asks_ahead;
use super::real::Real;
use super::vector::{Task, dispatch};

/// How one element of a parameter and of its `K` running values changes.
pub trait Rule<T, const K: usize>: Sync {
    fn at(&self, value: T, grad: T, state: [T; K]) -> (T, [T; K]);
}

/// Where the elements of one parameter lie.
#[derive(Clone, Copy)]
pub struct Places<T, const K: usize> {
    pub value: *mut T,
    pub grad: *const T,
    pub state: [*mut T; K],
    pub length: usize,
}

/// Elements that are copied to the stack, where the compiler sees that nothing overlaps.
const BLOCK: usize = 64;

/// Elements by which memory is asked for ahead.
#[cfg(target_arch = "x86_64")]
const AHEAD: usize = 1024;

/// Asks for the block that lies `AHEAD` of `from`; where nothing lies there, nothing happens.
#[inline(always)]
fn ask_ahead<T>(from: *const T) {
    #[cfg(target_arch = "x86_64")]
    for place in (0..BLOCK).step_by(64 / size_of::<T>()) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads nothing and may be given for any address.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(AHEAD + place).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = from;
}

struct Sweep<'a, T, R, const K: usize> {
    places: Places<T, K>,
    rule: &'a R,
    negate: bool,
    asks: bool,
}

impl<T: Real, R: Rule<T, K>, const K: usize> Sweep<'_, T, R, K> {
    /// Steps of `count` elements, at most `BLOCK`; inlined with a constant count, whose copies are a few vectors each.
    ///
    /// # Safety
    /// `start + count` is within the length for which `step` vouches.
    #[inline(always)]
    unsafe fn block(&self, start: usize, count: usize) {
        let zero = T::of(0.0);
        let (mut values, mut grads, mut states) = ([zero; BLOCK], [zero; BLOCK], [[zero; BLOCK]; K]);
        // SAFETY: the caller's.
        unsafe {
            std::ptr::copy_nonoverlapping(self.places.value.add(start), values.as_mut_ptr(), count);
            std::ptr::copy_nonoverlapping(self.places.grad.add(start), grads.as_mut_ptr(), count);
            for (state, from) in states.iter_mut().zip(self.places.state) {
                std::ptr::copy_nonoverlapping(from.add(start), state.as_mut_ptr(), count);
            }
        }
        for k in 0..BLOCK {
            let mut state = [zero; K];
            for (slot, states) in state.iter_mut().zip(&states) {
                *slot = states[k];
            }
            let grad = if self.negate { -grads[k] } else { grads[k] };
            let (value, state) = self.rule.at(values[k], grad, state);
            values[k] = value;
            for (states, value) in states.iter_mut().zip(state) {
                states[k] = value;
            }
        }
        // SAFETY: the caller's.
        unsafe {
            std::ptr::copy_nonoverlapping(values.as_ptr(), self.places.value.add(start), count);
            for (state, to) in states.iter().zip(self.places.state) {
                std::ptr::copy_nonoverlapping(state.as_ptr(), to.add(start), count);
            }
        }
    }
}

impl<T: Real, R: Rule<T, K>, const K: usize> Task for Sweep<'_, T, R, K> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let rest = self.places.length % BLOCK;
        let whole = self.places.length - rest;
        for start in (0..whole).step_by(BLOCK) {
            if self.asks {
                ask_ahead(self.places.value.wrapping_add(start));
                ask_ahead(self.places.grad.wrapping_add(start));
                for state in self.places.state {
                    ask_ahead(state.wrapping_add(start));
                }
            }
            // SAFETY: inside the length.
            unsafe { self.block(start, BLOCK) };
        }
        if rest > 0 {
            // SAFETY: inside the length.
            unsafe { self.block(whole, rest) };
        }
    }
}

/// Takes one step with the elements at `places`.
///
/// # Safety
/// The places are valid for their length, aligned, apart from each other, and nobody else writes to them.
pub unsafe fn step<T: Real, const K: usize>(places: Places<T, K>, rule: &impl Rule<T, K>, negate: bool) {
    dispatch(Sweep { places, rule, negate, asks: asks_ahead() });
}

/// `grad + decay * value`, where there is decay.
#[inline(always)]
fn decayed<T: Real>(grad: T, value: T, decay: T) -> T {
    if decay == T::of(0.0) { grad } else { grad + value * decay }
}

/// `weight` of the way from `start` to `end`, reckoned from the nearer one.
#[inline(always)]
fn lerp<T: Real>(start: T, end: T, weight: T) -> T {
    let back = start - end;
    if weight < T::of(0.5) { start - back * weight } else { back * (T::of(1.0) - weight) + end }
}

pub struct Sgd<T> {
    pub decay: T,
    pub rate: T,
}

impl<T: Real> Rule<T, 0> for Sgd<T> {
    #[inline(always)]
    fn at(&self, value: T, grad: T, _: [T; 0]) -> (T, [T; 0]) {
        (value - decayed(grad, value, self.decay) * self.rate, [])
    }
}

pub struct Momentum<T> {
    pub decay: T,
    pub rate: T,
    pub momentum: T,
    pub fresh: T,
    pub nesterov: bool,
}

impl<T: Real> Rule<T, 1> for Momentum<T> {
    #[inline(always)]
    fn at(&self, value: T, grad: T, [sum]: [T; 1]) -> (T, [T; 1]) {
        let grad = decayed(grad, value, self.decay);
        let sum = sum * self.momentum + grad * self.fresh;
        let ahead = grad + sum * self.momentum;
        (value - (if self.nesterov { ahead } else { sum }) * self.rate, [sum])
    }
}

pub struct Adam<T> {
    pub decay: T,
    pub shrink: T,
    pub mean_weight: T,
    pub square_kept: T,
    pub square_weight: T,
    pub root: T,
    pub epsilon: T,
    pub rate: T,
}

impl<T: Real> Adam<T> {
    #[inline(always)]
    fn moments(&self, value: T, grad: T, mean: T, square: T) -> (T, T, T) {
        let grad = decayed(grad, value, self.decay);
        let value = if self.shrink == T::of(1.0) { value } else { value * self.shrink };
        let square = square * self.square_kept + grad * grad * self.square_weight;
        (value, lerp(mean, grad, self.mean_weight), square)
    }

    #[inline(always)]
    fn moved(&self, value: T, mean: T, square: T) -> T {
        value - mean / (square.root() / self.root + self.epsilon) * self.rate
    }
}

impl<T: Real> Rule<T, 2> for Adam<T> {
    #[inline(always)]
    fn at(&self, value: T, grad: T, [mean, square]: [T; 2]) -> (T, [T; 2]) {
        let (value, mean, square) = self.moments(value, grad, mean, square);
        (self.moved(value, mean, square), [mean, square])
    }
}

impl<T: Real> Rule<T, 3> for Adam<T> {
    #[inline(always)]
    fn at(&self, value: T, grad: T, [mean, square, largest]: [T; 3]) -> (T, [T; 3]) {
        let (value, mean, square) = self.moments(value, grad, mean, square);
        // A NaN on either side wins.
        let largest = if largest >= square || largest.partial_cmp(&largest).is_none() { largest } else { square };
        (self.moved(value, mean, largest), [mean, square, largest])
    }
}

pub struct Rmsprop<T> {
    pub decay: T,
    pub kept: T,
    pub fresh: T,
    pub epsilon: T,
    pub rate: T,
    pub momentum: T,
}

impl<T: Real> Rmsprop<T> {
    #[inline(always)]
    fn direction(&self, value: T, grad: T, square: T) -> (T, T) {
        let grad = decayed(grad, value, self.decay);
        let square = square * self.kept + grad * grad * self.fresh;
        (grad / (square.root() + self.epsilon), square)
    }
}

impl<T: Real> Rule<T, 1> for Rmsprop<T> {
    #[inline(always)]
    fn at(&self, value: T, grad: T, [square]: [T; 1]) -> (T, [T; 1]) {
        let (direction, square) = self.direction(value, grad, square);
        (value - direction * self.rate, [square])
    }
}

impl<T: Real> Rule<T, 2> for Rmsprop<T> {
    #[inline(always)]
    fn at(&self, value: T, grad: T, [square, sum]: [T; 2]) -> (T, [T; 2]) {
        let (direction, square) = self.direction(value, grad, square);
        let sum = sum * self.momentum + direction;
        (value - sum * self.rate, [square, sum])
    }
}

pub struct Adagrad<T> {
    pub decay: T,
    pub epsilon: T,
    pub rate: T,
}

impl<T: Real> Rule<T, 1> for Adagrad<T> {
    #[inline(always)]
    fn at(&self, value: T, grad: T, [sum]: [T; 1]) -> (T, [T; 1]) {
        let grad = decayed(grad, value, self.decay);
        let sum = sum + grad * grad;
        (value - grad / (sum.root() + self.epsilon) * self.rate, [sum])
    }
}

pub struct Adamax<T> {
    pub decay: T,
    pub mean_weight: T,
    pub kept: T,
    pub epsilon: T,
    pub rate: T,
}

impl<T: Real> Rule<T, 2> for Adamax<T> {
    #[inline(always)]
    fn at(&self, value: T, grad: T, [mean, largest]: [T; 2]) -> (T, [T; 2]) {
        let grad = decayed(grad, value, self.decay);
        let mean = lerp(mean, grad, self.mean_weight);
        let (old, new) = (largest * self.kept, (if grad < T::of(0.0) { -grad } else { grad }) + self.epsilon);
        // A NaN on either side wins.
        let largest = if old >= new || old.partial_cmp(&old).is_none() { old } else { new };
        (value - mean / largest * self.rate, [mean, largest])
    }
}

pub struct Adadelta<T> {
    pub decay: T,
    pub kept: T,
    pub fresh: T,
    pub epsilon: T,
    pub rate: T,
}

impl<T: Real> Rule<T, 2> for Adadelta<T> {
    #[inline(always)]
    fn at(&self, value: T, grad: T, [square, sum]: [T; 2]) -> (T, [T; 2]) {
        let grad = decayed(grad, value, self.decay);
        let square = square * self.kept + grad * grad * self.fresh;
        let delta = (sum + self.epsilon).root() / (square + self.epsilon).root() * grad;
        (value - delta * self.rate, [square, sum * self.kept + delta * delta * self.fresh])
    }
}

pub struct Nadam<T> {
    pub decay: T,
    pub shrink: T,
    pub mean_weight: T,
    pub kept: T,
    pub fresh: T,
    pub share: T,
    pub epsilon: T,
    pub grad_rate: T,
    pub mean_rate: T,
}

impl<T: Real> Rule<T, 2> for Nadam<T> {
    #[inline(always)]
    fn at(&self, value: T, grad: T, [mean, square]: [T; 2]) -> (T, [T; 2]) {
        let grad = decayed(grad, value, self.decay);
        let value = if self.shrink == T::of(1.0) { value } else { value * self.shrink };
        let mean = lerp(mean, grad, self.mean_weight);
        let square = square * self.kept + grad * grad * self.fresh;
        let root = (square / self.share).root() + self.epsilon;
        (value - grad / root * self.grad_rate - mean / root * self.mean_rate, [mean, square])
    }
}

pub struct Asgd<T> {
    pub decay: T,
    pub shrink: T,
    pub rate: T,
    pub weight: T,
}

impl<T: Real> Rule<T, 1> for Asgd<T> {
    #[inline(always)]
    fn at(&self, value: T, grad: T, [average]: [T; 1]) -> (T, [T; 1]) {
        let grad = decayed(grad, value, self.decay);
        let value = value * self.shrink - grad * self.rate;
        (value, [if self.weight == T::of(1.0) { value } else { average + (value - average) * self.weight }])
    }
}

pub struct Lion<T> {
    pub shrink: T,
    pub direction_weight: T,
    pub mean_weight: T,
    pub rate: T,
}

impl<T: Real> Rule<T, 1> for Lion<T> {
    #[inline(always)]
    fn at(&self, value: T, grad: T, [mean]: [T; 1]) -> (T, [T; 1]) {
        let (zero, one) = (T::of(0.0), T::of(1.0));
        let value = if self.shrink == one { value } else { value * self.shrink };
        let ahead = lerp(mean, grad, self.direction_weight);
        let negative = if ahead < zero { -one } else { zero };
        let sign = if ahead > zero { one } else { negative };
        (value - sign * self.rate, [lerp(mean, grad, self.mean_weight)])
    }
}
