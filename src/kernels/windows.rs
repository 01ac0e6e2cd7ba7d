//! Maxima over windows of up to three dimensions with their places, as torch breaks ties and treats NaN
//! (benchmarks/cases.py: max_pool2d).

use rayon::prelude::*;

/// The windows of one dimension: `first..end` by `step`, cut to the input.
#[derive(Clone, Debug)]
pub struct Windows {
    pub size: usize,
    pub step: usize,
    pub ranges: Vec<(usize, usize)>,
}

pub trait Ordered: Copy + Send + Sync + Default + PartialOrd {
    fn is_nan(self) -> bool;
}

impl Ordered for f32 {
    fn is_nan(self) -> bool {
        self.is_nan()
    }
}

impl Ordered for f64 {
    fn is_nan(self) -> bool {
        self.is_nan()
    }
}

impl Ordered for i64 {
    fn is_nan(self) -> bool {
        false
    }
}

/// For each plane `[D, H, W]` of `input`: the maxima of all windows, and their flat places in the plane.
pub fn maxima<T: Ordered>(input: &[T], values: &mut [T], places: &mut [i64], windows: &[Windows; 3]) {
    let from: usize = windows.iter().map(|window| window.size).product();
    let to: usize = windows.iter().map(|window| window.ranges.len()).product();
    if from == 0 || to == 0 {
        return;
    }
    let plane = |((input, values), places): ((&[T], &mut [T]), &mut [i64])| one(input, values, places, windows);
    if input.len() < super::iterate::PARALLEL_ABOVE / 4 {
        input.chunks_exact(from).zip(values.chunks_exact_mut(to)).zip(places.chunks_exact_mut(to)).for_each(plane);
    } else {
        input
            .par_chunks_exact(from)
            .zip(values.par_chunks_exact_mut(to))
            .zip(places.par_chunks_exact_mut(to))
            .for_each(plane);
    }
}

fn one<T: Ordered>(input: &[T], values: &mut [T], places: &mut [i64], [depth, height, width]: &[Windows; 3]) {
    let mut slots = values.iter_mut().zip(places.iter_mut());
    for &(d0, d1) in &depth.ranges {
        for &(h0, h1) in &height.ranges {
            for &(w0, w1) in &width.ranges {
                let Some((value, place)) = slots.next() else { return };
                let mut best_at = (d0 * height.size + h0) * width.size + w0;
                let mut best = input[best_at];
                for d in (d0..d1).step_by(depth.step) {
                    for h in (h0..h1).step_by(height.step) {
                        let row = (d * height.size + h) * width.size;
                        for w in (w0..w1).step_by(width.step) {
                            let candidate = input[row + w];
                            if candidate > best || candidate.is_nan() {
                                best = candidate;
                                best_at = row + w;
                            }
                        }
                    }
                }
                *value = best;
                *place = best_at as i64;
            }
        }
    }
}

/// `output[r, i] = input[r, places[r, i]]` for rows of `from` inputs and `to` outputs.
pub fn take<T: Copy>(input: &[T], output: &mut [T], places: &[i64], from: usize, to: usize) {
    if from == 0 || to == 0 {
        return;
    }
    for ((input, output), places) in input.chunks_exact(from).zip(output.chunks_exact_mut(to)).zip(places.chunks(to)) {
        for (slot, &place) in output.iter_mut().zip(places) {
            if let Some(&value) = input.get(place as usize) {
                *slot = value;
            }
        }
    }
}

/// `output[r, places[r, i]] += input[r, i]`.
pub fn put<T: Copy + std::ops::AddAssign>(input: &[T], output: &mut [T], places: &[i64], from: usize, to: usize) {
    if from == 0 || to == 0 {
        return;
    }
    let rows = input.chunks_exact(from).zip(output.chunks_exact_mut(to)).zip(places.chunks(from));
    for ((input, output), places) in rows {
        for (&value, &place) in input.iter().zip(places) {
            if let Some(slot) = output.get_mut(place as usize) {
                *slot += value;
            }
        }
    }
}
