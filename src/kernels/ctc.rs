//! The loss of connectionist temporal classification and its slope, one sample to a task (benchmarks/bars.py: ctc_loss).
//!
//! Logarithms are kept in float64; for float32 their powers, which are of numbers from zero to one, are taken in float32.

use super::iterate::spread_over;
use super::math;
use super::real::Real;
use super::scratch::Shared;
use super::vector::{Task, dispatch};

/// Stands for log(0): finite, as the difference of two true infinities would be NaN.
const NEVER: f64 = -1e30;

/// Powers and logarithms as exact as a type needs them.
pub trait Powers: Real + Into<f64> {
    /// Of what is not positive but for rounding.
    fn power_down<const FMA: bool>(x: f64) -> f64;
    /// Of what lies from one to three.
    fn log_near<const FMA: bool>(x: f64) -> f64;
}

impl Powers for f32 {
    #[inline(always)]
    fn power_down<const FMA: bool>(x: f64) -> f64 {
        f64::from(math::exp_down::<FMA>(x as f32))
    }
    #[inline(always)]
    fn log_near<const FMA: bool>(x: f64) -> f64 {
        f64::from(math::usual_log::<FMA>(x as f32))
    }
}

impl Powers for f64 {
    #[inline(always)]
    fn power_down<const FMA: bool>(x: f64) -> f64 {
        x.exp()
    }
    #[inline(always)]
    fn log_near<const FMA: bool>(x: f64) -> f64 {
        x.ln()
    }
}

/// Log-probabilities (T, N, C), with a target and a number of times for each sample.
pub struct Batch<'a, T> {
    pub log_probs: &'a [T],
    pub samples: usize,
    pub classes: usize,
    pub blank: usize,
    /// Labels, all of them classes.
    pub targets: &'a [Vec<usize>],
    /// At most T each.
    pub times: &'a [usize],
    /// Whether what cannot be has a loss of 0 and no slope.
    pub forgiving: bool,
}

/// The losses; `slopes` (T, N, C), zeros before, receive their slopes as if the log-probabilities were those of a softmax.
///
/// # Safety
/// `losses` has room for the samples and `slopes` for the log-probabilities, and nobody else uses them.
pub unsafe fn losses<T: Powers>(batch: &Batch<'_, T>, losses: Shared<T>, slopes: Option<Shared<T>>) {
    spread_over(batch.samples, 1, &|sample| {
        let mut loss = 0.0;
        dispatch(Sample { batch, sample, slopes, loss: &mut loss });
        // SAFETY: each sample has a place of its own.
        unsafe { losses.slice(sample, 1)[0] = T::of(loss) };
    });
}

struct Sample<'a, T> {
    batch: &'a Batch<'a, T>,
    sample: usize,
    slopes: Option<Shared<T>>,
    loss: &'a mut f64,
}

#[inline(always)]
fn higher(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

#[inline(always)]
fn log_sum<T: Powers, const FMA: bool>(a: f64, b: f64, c: f64) -> f64 {
    let top = higher(higher(a, b), c);
    let power = T::power_down::<FMA>;
    top + T::log_near::<FMA>(power(a - top) + power(b - top) + power(c - top))
}

/// `to[s]` from the three ways to stand at `s`: `from[s]`, `from[s + step]` and, unless barred, `from[s + 2 step]`; lines
/// have two places more than labels, where nobody stands, in front or behind.
#[inline(always)]
fn moved<T: Powers, const FMA: bool>(to: &mut [f64], ways: [&[f64]; 3], barred: &[f64], emitted: &[f64]) {
    let [stay, next, jump] = ways.map(|way| &way[..to.len()]);
    let (barred, emitted) = (&barred[..to.len()], &emitted[..to.len()]);
    for s in 0..to.len() {
        to[s] = log_sum::<T, FMA>(stay[s], next[s], jump[s] + barred[s]) + emitted[s];
    }
}

impl<T: Powers> Sample<'_, T> {
    /// The log-probabilities of all classes at a time.
    #[inline(always)]
    fn scores(&self, time: usize) -> &[T] {
        let Batch { log_probs, samples, classes, .. } = *self.batch;
        &log_probs[(time * samples + self.sample) * classes..][..classes]
    }

    #[inline(always)]
    fn emit(&self, time: usize, labels: &[usize], emitted: &mut [f64]) {
        let scores = self.scores(time);
        for (slot, &label) in emitted.iter_mut().zip(labels) {
            let score: f64 = scores[label].into();
            *slot = if score < NEVER { NEVER } else { score };
        }
    }

    /// The lines of all times, or the last two alone, of logarithms of the probability to stand at each label.
    #[inline(always)]
    fn ahead<const FMA: bool>(&self, labels: &[usize], barred: &[f64], keep: bool) -> (Vec<f64>, usize) {
        let (size, times) = (labels.len(), self.batch.times[self.sample]);
        let width = size + 2;
        let mut lines = vec![NEVER; width * if keep { times } else { times.min(2) }];
        let mut emitted = vec![0.0; size];
        self.emit(0, labels, &mut emitted);
        lines[2..].iter_mut().zip(&emitted).take(2.min(size)).for_each(|(slot, &score)| *slot = score);
        let place = |time: usize| if keep { time * width } else { time % 2 * width };
        for time in 1..times {
            self.emit(time, labels, &mut emitted);
            let (low, high) = lines.split_at_mut(place(time).max(place(time - 1)));
            let (before, now) =
                if place(time) > place(time - 1) { (&low[place(time - 1)..], high) } else { (&*high, low) };
            moved::<T, FMA>(&mut now[2..width], [&before[2..width], &before[1..], &before[..width]], barred, &emitted);
        }
        (lines, place(times - 1))
    }

    /// Writes the slopes, from the last time to the first.
    #[inline(always)]
    fn slope<const FMA: bool>(&self, slopes: Shared<T>, labels: &[usize], barred: &[f64], ahead: &[f64], loss: f64) {
        let (size, times) = (labels.len(), self.batch.times[self.sample]);
        let width = size + 2;
        let Batch { samples, classes, .. } = *self.batch;
        let mut emitted = vec![0.0; size];
        let (mut now, mut after) = (vec![NEVER; width], vec![NEVER; width]);
        // A jump from `s` leads to `s + 2`.
        let leads: Vec<f64> = barred.iter().copied().skip(2).chain([NEVER; 2]).take(size).collect();
        let mut shares = vec![0.0; size];
        for time in (0..times).rev() {
            self.emit(time, labels, &mut emitted);
            if time + 1 == times {
                let last = size.saturating_sub(2)..size;
                now[last.clone()].copy_from_slice(&emitted[last]);
            } else {
                moved::<T, FMA>(&mut now[..size], [&after, &after[1..], &after[2..]], &leads, &emitted);
            }
            let line = &ahead[time * width + 2..(time + 1) * width];
            for s in 0..size {
                shares[s] = T::power_down::<FMA>(line[s] + now[s] - emitted[s] + loss);
            }
            // SAFETY: each sample has places of its own.
            let to = unsafe { slopes.slice((time * samples + self.sample) * classes, classes) };
            for (slot, &score) in to.iter_mut().zip(self.scores(time)) {
                *slot = score.power::<FMA>();
            }
            for (&share, &label) in shares.iter().zip(labels) {
                to[label] = to[label] - T::of(share);
            }
            std::mem::swap(&mut now, &mut after);
        }
    }

    /// Every slope of a sample that no way leads through.
    fn lost(&self, slopes: Shared<T>) {
        let Batch { samples, classes, .. } = *self.batch;
        for time in 0..self.batch.times[self.sample] {
            // SAFETY: each sample has places of its own.
            unsafe { slopes.slice((time * samples + self.sample) * classes, classes) }.fill(T::of(f64::NAN));
        }
    }
}

impl<T: Powers> Task for Sample<'_, T> {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (target, blank) = (&self.batch.targets[self.sample], self.batch.blank);
        let lost = if self.batch.forgiving { 0.0 } else { f64::INFINITY };
        if self.batch.times[self.sample] == 0 {
            *self.loss = if target.is_empty() { 0.0 } else { lost };
            return;
        }
        // Blanks stand before, between and after the labels; one between two different labels may be jumped over.
        let labels: Vec<usize> = target.iter().flat_map(|&label| [blank, label]).chain([blank]).collect();
        let can = |s: usize| s >= 2 && labels[s] != blank && labels[s] != labels[s - 2];
        let barred: Vec<f64> = (0..labels.len()).map(|s| if can(s) { 0.0 } else { NEVER }).collect();
        let (ahead, last) = self.ahead::<FMA>(&labels, &barred, self.slopes.is_some());
        let line = &ahead[last..last + labels.len() + 2];
        let loss = -log_sum::<T, FMA>(line[labels.len() + 1], line[labels.len()], NEVER);
        let possible = loss.is_nan() || loss <= -NEVER / 2.0;
        *self.loss = if possible { loss } else { lost };
        match self.slopes {
            Some(slopes) if possible => self.slope::<FMA>(slopes, &labels, &barred, &ahead, loss),
            Some(slopes) if !self.batch.forgiving => self.lost(slopes),
            _ => {}
        }
    }
}
