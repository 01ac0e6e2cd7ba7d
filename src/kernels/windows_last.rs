//! Maxima over windows of images whose channels lie side by side, and the way back to where they stood
//! (benchmarks/cases.py: last_max_pool).

use std::ops::AddAssign;

use super::iterate::{PARALLEL_ABOVE, spread_over};
use super::scratch::Shared;
use super::simd::Simd;
use super::widest::{self, Work};
use super::windows::{Ordered, Windows};

/// Channels whose best stay in registers while a window is gone through.
const TOGETHER: usize = 16;

/// Channels of which one task takes gradients back.
const CHANNELS: usize = 32;

/// The maxima of `[N, H, W, C]` over windows of the two middle dimensions, and their flat places among these.
pub fn maxima<T: Ordered>(input: &[T], values: &mut [T], places: &mut [i64], windows: [&Windows; 2], channels: usize) {
    let [height, width] = windows;
    let (image, line) = (height.size * width.size * channels, width.ranges.len() * channels);
    if image == 0 || line == 0 || values.is_empty() {
        return;
    }
    let (rows, lines) = (height.ranges.len(), values.len() / line);
    let (placed, values, places) = (!places.is_empty(), Shared::of(values), Shared::of(places));
    let work = input.len() / lines + line;
    let least = if input.len() < PARALLEL_ABOVE / 4 { lines } else { (PARALLEL_ABOVE / 32 / work).max(1) };
    spread_over(lines, least, &|index| {
        // SAFETY: each line of windows has results of its own.
        let (values, places) = unsafe {
            let places = if placed { places.slice(index * line, line) } else { &mut [] };
            (values.slice(index * line, line), places)
        };
        let input = &input[index / rows * image..][..image];
        let range = height.ranges[index % rows];
        if placed {
            widest::run(Line::<_, true> { input, values, places, windows, range, channels });
        } else {
            widest::run(Line::<_, false> { input, values, places, windows, range, channels });
        }
    });
}

/// One line of windows, which begin and end in the rows of `range`.
struct Line<'a, T, const PLACES: bool> {
    input: &'a [T],
    values: &'a mut [T],
    places: &'a mut [i64],
    windows: [&'a Windows; 2],
    range: (usize, usize),
    channels: usize,
}

impl<T: Ordered, const PLACES: bool> Work for Line<'_, T, PLACES> {
    #[inline(always)]
    unsafe fn run<S: Simd>(self) {
        let Self { input, values, places, windows: [height, width], range: (h0, h1), channels } = self;
        let mut places = places.chunks_exact_mut(channels);
        for (&(w0, w1), values) in width.ranges.iter().zip(values.chunks_exact_mut(channels)) {
            let mut none = [];
            let places = if PLACES { places.next().unwrap_or(&mut none) } else { &mut none };
            let window = Window { width: width.size, rows: (h0, h1, height.step), columns: (w0, w1, width.step) };
            let (whole, rest) = values.as_chunks_mut::<TOGETHER>();
            for (number, slots) in whole.iter_mut().enumerate() {
                let first = number * TOGETHER;
                let (best, at) = window.greatest::<T, TOGETHER, PLACES>(&input[first..], channels);
                *slots = best;
                if PLACES {
                    places[first..first + TOGETHER].iter_mut().zip(at).for_each(|(slot, at)| *slot = i64::from(at));
                }
            }
            let done = whole.len() * TOGETHER;
            for (channel, slot) in (done..).zip(rest) {
                let ([best], [at]) = window.greatest::<T, 1, PLACES>(&input[channel..], channels);
                *slot = best;
                if PLACES {
                    places[channel] = i64::from(at);
                }
            }
        }
    }
}

/// Rows and columns of a window: from, to, step.
struct Window {
    width: usize,
    rows: (usize, usize, usize),
    columns: (usize, usize, usize),
}

impl Window {
    /// The greatest of the first `N` channels and where they stand: the first of the greatest, or the last NaN.
    #[inline(always)]
    fn greatest<T: Ordered, const N: usize, const PLACES: bool>(
        &self,
        input: &[T],
        channels: usize,
    ) -> ([T; N], [i32; N]) {
        let ((h0, h1, down), (w0, w1, along)) = (self.rows, self.columns);
        let first = h0 * self.width + w0;
        let mut best = *input[first * channels..].first_chunk::<N>().unwrap_or(&[T::LOWEST; N]);
        let mut best_at = [first as i32; N];
        for h in (h0..h1).step_by(down) {
            for place in (h * self.width + w0..h * self.width + w1).step_by(along) {
                let Some(candidates) = input[place * channels..].first_chunk::<N>() else { continue };
                for k in 0..N {
                    let take = candidates[k] > best[k] || candidates[k].is_nan();
                    best[k] = if take { candidates[k] } else { best[k] };
                    if PLACES {
                        best_at[k] = if take { place as i32 } else { best_at[k] };
                    }
                }
            }
        }
        (best, best_at)
    }
}

/// `output[n, places[n, i, c], c] += input[n, i, c]` for images of `from` inputs and `to` outputs of `channels` each;
/// places outside are passed over.
pub fn put<T: Copy + Send + Sync + AddAssign>(
    input: &[T],
    output: &mut [T],
    places: &[i64],
    [from, to, channels]: [usize; 3],
) {
    if from == 0 || to == 0 || channels == 0 {
        return;
    }
    let (images, blocks) = (input.len() / (from * channels), channels.div_ceil(CHANNELS));
    let work = (from + to) * channels.min(CHANNELS);
    let least =
        if input.len() + output.len() < PARALLEL_ABOVE { images * blocks } else { (PARALLEL_ABOVE / 4 / work).max(1) };
    let output = Shared::of(output);
    spread_over(images * blocks, least, &|index| {
        let (image, first) = (index / blocks, index % blocks * CHANNELS);
        let width = CHANNELS.min(channels - first);
        for line in image * from..(image + 1) * from {
            let at = line * channels + first;
            for (k, (&value, &place)) in input[at..at + width].iter().zip(&places[at..at + width]).enumerate() {
                if (place as usize) < to {
                    let at = (image * to + place as usize) * channels + first + k;
                    // SAFETY: inside of this image, of which no other task has these channels.
                    unsafe { output.slice(at, 1)[0] += value };
                }
            }
        }
    });
}
