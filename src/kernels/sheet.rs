//! The input of a convolution laid out so that each element of a window is one shift of the whole image
//! (benchmarks/bars.py: convolutions).
//!
//! Rows stand one after the other, with zeros between them where the padding is, so that "the result at column `i`" reads
//! element `i + offset` of the sheet, with an offset for each window element. A stride of `s` deals the elements out to `s`
//! sheets per dimension first. Zeros at the end of a row are those at the beginning of the next one. Between the rows of
//! results lie columns that mean nothing.

use super::depthwise::Reach;
use super::simd::Simd;

/// The windows along one dimension: result `o` reads `o * stride + shift` for each tap, zero outside the source.
#[derive(Clone, Debug)]
pub struct Axis {
    pub source: usize,
    pub outputs: usize,
    pub stride: usize,
    /// The number of each window element, and where the first result reads it.
    pub taps: Vec<(usize, isize)>,
}

impl Axis {
    fn low(&self) -> isize {
        self.taps.iter().map(|&(_, shift)| shift).min().unwrap_or(0)
    }

    /// Elements from the first that is read to the last.
    fn reach(&self) -> usize {
        let spread = self.taps.iter().map(|&(_, shift)| shift.abs_diff(self.low())).max().unwrap_or(0);
        (self.outputs - 1) * self.stride + spread + 1
    }

    /// Elements of one dealt-out row: what is inside, and of the zeros only those that the next row does not begin with.
    fn pitch(&self) -> usize {
        let (low, reach) = (self.low(), self.reach());
        let inside = usize::try_from(self.source as isize - low).unwrap_or(0).min(reach);
        let zeros = usize::try_from(-low).unwrap_or(0);
        inside.max(reach.saturating_sub(zeros)).div_ceil(self.stride).max(self.outputs)
    }
}

/// Where everything stands on the sheet; spatial numbers in the order depth, height, width.
#[derive(Clone, Debug)]
pub struct Sheet {
    pub source: [usize; 3],
    stride: [usize; 3],
    low: [isize; 3],
    pub outputs: [usize; 3],
    /// Rows per plane and columns per row.
    pub rows: usize,
    pub pitch: usize,
    planes: usize,
    /// The phases that some tap reads, and the length of each one's sheet.
    phases: Vec<[usize; 3]>,
    /// Whether the even and the odd columns of the same rows follow each other, two phases at a time.
    paired: bool,
    length: usize,
    /// The flat number of each window element, and its offset.
    pub taps: Vec<(usize, usize)>,
    /// Columns from the first result to the last.
    pub columns: usize,
}

impl Sheet {
    /// None where there is no tap at all; `kernel` are the sizes that tap numbers are counted in.
    pub fn new(axes: [Axis; 3], kernel: [usize; 3]) -> Option<Self> {
        if axes.iter().any(|axis| axis.taps.is_empty() || axis.outputs == 0) {
            return None;
        }
        let [planes, rows, pitch] = [axes[0].reach().div_ceil(axes[0].stride), axes[1].pitch(), axes[2].pitch()];
        let outputs = axes.each_ref().map(|axis| axis.outputs);
        let stride = axes.each_ref().map(|axis| axis.stride);
        let low = axes.each_ref().map(Axis::low);
        let columns = ((outputs[0] - 1) * rows + outputs[1] - 1) * pitch + outputs[2];
        let mut phases = Vec::new();
        let mut places = Vec::new();
        for &(d, d_shift) in &axes[0].taps {
            for &(h, h_shift) in &axes[1].taps {
                for &(w, w_shift) in &axes[2].taps {
                    let from = [d_shift, h_shift, w_shift];
                    let far: [usize; 3] = std::array::from_fn(|dim| from[dim].abs_diff(low[dim]));
                    let phase: [usize; 3] = std::array::from_fn(|dim| far[dim] % stride[dim]);
                    let step: [usize; 3] = std::array::from_fn(|dim| far[dim] / stride[dim]);
                    let slot = phases.iter().position(|&known| known == phase).unwrap_or_else(|| {
                        phases.push(phase);
                        phases.len() - 1
                    });
                    let number = (d * kernel[1] + h) * kernel[2] + w;
                    places.push((number, slot, (step[0] * rows + step[1]) * pitch + step[2]));
                }
            }
        }
        let last = places.iter().map(|&(_, _, offset)| offset).max().unwrap_or(0);
        let length = (last + columns).max(planes * rows * pitch);
        let taps = places.into_iter().map(|(number, slot, offset)| (number, slot * length + offset)).collect();
        let source = axes.each_ref().map(|axis| axis.source);
        let pairs = phases.as_chunks::<2>();
        let paired = pairs.1.is_empty() && pairs.0.iter().all(|[a, b]| [a[0], a[1], 0] == *a && [a[0], a[1], 1] == *b);
        let paired = paired && stride[2] == 2 && planes == 1 && source[0] == 1;
        Some(Self { source, stride, low, outputs, rows, pitch, planes, phases, paired, length, taps, columns })
    }

    /// Where the window of a result begins.
    #[inline(always)]
    pub fn column_of(&self, place: usize) -> usize {
        let [_, height, width] = self.outputs;
        let (line, w) = (place / width, place % width);
        (line / height * self.rows + line % height) * self.pitch + w
    }

    /// Elements of the sheets of one channel.
    pub fn channel(&self) -> usize {
        self.phases.len() * self.length
    }

    pub fn is_strided(&self) -> bool {
        self.stride != [1; 3]
    }

    /// Whether the source itself is the sheet.
    pub fn is_source(&self) -> bool {
        self.stride == [1; 3]
            && self.low == [0; 3]
            && [self.rows, self.pitch] == self.source[1..]
            && self.channel() == self.source.iter().product::<usize>()
    }

    /// Parts of equal length of the sheets of a channel that can be laid out apart from each other.
    pub fn shares(&self) -> usize {
        if self.paired { self.phases.len() / 2 } else { self.phases.len() }
    }

    /// Lays out one of the shares of a channel.
    ///
    /// # Safety
    /// The processor has the instructions of `S`.
    #[inline(always)]
    pub unsafe fn fill<S: Simd>(&self, share: usize, source: &[f32], sheet: &mut [f32]) {
        if self.paired {
            // SAFETY: the caller's.
            return unsafe { self.fill_pair::<S>(self.phases[2 * share][1], source, sheet) };
        }
        let ([_, height, width], phase) = (self.source, self.phases[share]);
        let (first, end) = self.inside(2, phase[2], self.pitch);
        let start = (first * self.stride[2] + phase[2]).wrapping_add_signed(self.low[2]);
        let mut done = 0;
        for plane in 0..self.planes {
            let Some(d) = self.at(0, plane, phase[0]) else { continue };
            for row in 0..self.rows {
                let Some(h) = self.at(1, row, phase[1]).filter(|_| first < end) else { continue };
                let to = (plane * self.rows + row) * self.pitch;
                clear(&mut sheet[done..to + first]);
                done = to + end;
                let from = &source[(d * height + h) * width + start..];
                // SAFETY: the caller's.
                unsafe { deal::<S>(&mut sheet[to + first..], end - first, from, self.stride[2]) };
            }
        }
        clear(&mut sheet[done..]);
    }

    /// Lays out the even and the odd columns of every second row.
    ///
    /// # Safety
    /// The processor has the instructions of `S`.
    #[inline(always)]
    unsafe fn fill_pair<S: Simd>(&self, phase: usize, source: &[f32], sheets: &mut [f32]) {
        let width = self.source[2];
        let (even, odd) = sheets.split_at_mut(self.length);
        for row in 0..self.rows {
            let to = row * self.pitch..(row + 1) * self.pitch;
            let Some(h) = self.at(1, row, phase) else {
                even[to.clone()].fill(0.0);
                odd[to].fill(0.0);
                continue;
            };
            let from = source[h * width..][..width].as_ptr();
            for first in (0..self.pitch).step_by(S::LANES) {
                // SAFETY: the caller's; both sheets have the row.
                unsafe {
                    let at = 2 * first as isize + self.low[2];
                    let (low, high) = (Reach::<S>::new(at, width), Reach::<S>::new(at + S::LANES as isize, width));
                    let dealt = S::dealt(low.load(from), high.load(from));
                    let place = Reach::<S>::new(first as isize, self.pitch);
                    place.store(even.as_mut_ptr().add(to.start), dealt[0]);
                    place.store(odd.as_mut_ptr().add(to.start), dealt[1]);
                }
            }
        }
        even[self.rows * self.pitch..].fill(0.0);
        odd[self.rows * self.pitch..].fill(0.0);
    }

    /// The source index of a stored element, where there is one.
    fn at(&self, dim: usize, index: usize, phase: usize) -> Option<usize> {
        let place = (index * self.stride[dim] + phase) as isize + self.low[dim];
        usize::try_from(place).ok().filter(|&place| place < self.source[dim])
    }

    /// The stored elements of a row that come from the source.
    fn inside(&self, dim: usize, phase: usize, most: usize) -> (usize, usize) {
        let stride = self.stride[dim];
        let begins = usize::try_from(-self.low[dim] - phase as isize).unwrap_or(0).div_ceil(stride);
        let room = self.source[dim] as isize - self.low[dim] - phase as isize;
        (begins, usize::try_from(room).unwrap_or(0).div_ceil(stride).min(most))
    }

    /// The runs of results among the columns `from..to`.
    #[inline(always)]
    pub fn pieces(&self, from: usize, to: usize) -> Pieces<'_> {
        let line = if from == 0 { 0 } else { from / self.pitch };
        Pieces { sheet: self, line, begin: line * self.pitch, from, to }
    }
}

/// Goes through runs of results.
pub struct Pieces<'a> {
    sheet: &'a Sheet,
    line: usize,
    begin: usize,
    from: usize,
    to: usize,
}

impl Iterator for Pieces<'_> {
    type Item = Piece;

    #[inline(always)]
    fn next(&mut self) -> Option<Piece> {
        let sheet = self.sheet;
        while self.begin < self.to {
            let (line, begin) = (self.line, self.begin);
            self.line += 1;
            self.begin += sheet.pitch;
            let (d, h) = if sheet.outputs[0] == 1 { (0, line) } else { (line / sheet.rows, line % sheet.rows) };
            let (first, last) = (begin.max(self.from), (begin + sheet.outputs[2]).min(self.to));
            if h < sheet.outputs[1] && first < last {
                return Some(Piece { column: first, row: [d, h], first: first - begin, length: last - first });
            }
        }
        None
    }
}

/// Results side by side: their first column, the row they belong to, and the first of them in it.
pub struct Piece {
    pub column: usize,
    pub row: [usize; 2],
    pub first: usize,
    pub length: usize,
}

fn clear(gap: &mut [f32]) {
    if gap.len() < 8 {
        gap.iter_mut().for_each(|slot| *slot = 0.0);
    } else {
        gap.fill(0.0);
    }
}

/// Writes `count` elements; those behind them may be overwritten, since sheets are filled from their beginning.
///
/// # Safety
/// The processor has the instructions of `S`.
#[inline(always)]
unsafe fn deal<S: Simd>(to: &mut [f32], count: usize, from: &[f32], stride: usize) {
    match stride {
        1 if count.next_multiple_of(S::LANES) <= to.len().min(from.len()) => {
            for at in (0..count).step_by(S::LANES) {
                // SAFETY: the caller's; both have this many elements.
                unsafe { S::store(to.as_mut_ptr().add(at), S::load(from.as_ptr().add(at))) };
            }
        }
        // SAFETY: the caller's; both have this many elements.
        1 => unsafe { copy::<S>(from[..count].as_ptr(), to[..count].as_mut_ptr(), count) },
        // SAFETY: the caller's.
        2 => unsafe { deal_two::<S>(&mut to[..count], from) },
        _ => to[..count].iter_mut().zip(from.iter().step_by(stride)).for_each(|(slot, &value)| *slot = value),
    }
}

/// Writes every second element.
///
/// # Safety
/// The processor has the instructions of `S`.
#[inline(always)]
unsafe fn deal_two<S: Simd>(to: &mut [f32], from: &[f32]) {
    let from = &from[..2 * to.len() - 1];
    for at in (0..to.len()).step_by(S::LANES) {
        let (count, left) = ((to.len() - at).min(S::LANES), from.len() - 2 * at);
        // SAFETY: the caller's; parts stay inside both.
        unsafe {
            let first = S::load_part(from.as_ptr().add(2 * at), S::part(left.min(S::LANES)));
            let rest = left.saturating_sub(S::LANES).min(S::LANES);
            let second = S::load_part(from.as_ptr().wrapping_add(2 * at + S::LANES), S::part(rest));
            S::store_part(to.as_mut_ptr().add(at), S::part(count), S::dealt(first, second)[0]);
        }
    }
}

/// Copies a row, whose length a call of `memcpy` would hardly be worth.
///
/// # Safety
/// Both have `length` elements and do not overlap; the processor has the instructions of `S`.
#[inline(always)]
pub unsafe fn copy<S: Simd>(from: *const f32, to: *mut f32, length: usize) {
    // SAFETY: the caller's.
    unsafe {
        let mut at = 0;
        while at + S::LANES <= length {
            S::store(to.add(at), S::load(from.add(at)));
            at += S::LANES;
        }
        if at < length {
            let part = S::part(length - at);
            S::store_part(to.add(at), part, S::load_part(from.add(at), part));
        }
    }
}
