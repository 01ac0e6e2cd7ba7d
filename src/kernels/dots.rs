//! Products of a few rows with a matrix whose columns lie along the depth, as dot products: nothing is packed
//! (benchmarks/bars.py: products, inference).

use super::micro::Finish;
use super::narrow::Source;
use super::simd::Simd;

/// `out[i][j] = sum over p of x[i * x_row + p] * w[j * w_row + p]`, finished.
#[derive(Clone, Copy)]
pub struct Dots {
    pub depth: usize,
    pub x: *const f32,
    pub x_row: usize,
    /// Elements of any kind.
    pub w: *const u8,
    pub w_row: usize,
    pub out: *mut f32,
    pub out_row: usize,
    pub out_column: usize,
    /// Columns that are computed.
    pub columns: usize,
    pub finish: Finish,
}

/// Columns side by side.
const WIDE: usize = 4;

/// The body for each row `I` of `$height` and each of four columns `J`, written out, as in `micro`.
macro_rules! each {
    ($height:ident, $body:block) => {
        each!($height, $body, 0 1 2 3)
    };
    ($height:ident, $body:block, $($row:literal)*) => {
        $(if $row < $height {
            const I: usize = $row;
            { const J: usize = 0; $body }
            { const J: usize = 1; $body }
            { const J: usize = 2; $body }
            { const J: usize = 3; $body }
        })*
    };
}

/// Computes `M` rows.
///
/// # Safety
/// The memory exists, results overlap nothing that is read, and the processor has the instructions.
#[inline(always)]
pub unsafe fn dots<S: Simd, T: Source, const M: usize>(d: &Dots) {
    for column in (0..d.columns).step_by(WIDE) {
        let last = d.columns - 1;
        // SAFETY: the caller's; columns beyond the last are the last again, and not written.
        unsafe {
            let w: [*const T; WIDE] = std::array::from_fn(|j| d.w.cast::<T>().add((column + j).min(last) * d.w_row));
            let mut sums = [[S::splat(0.0); WIDE]; 4];
            let whole = d.depth / S::LANES * S::LANES;
            let mut p = 0;
            while p < whole {
                let lanes = [
                    T::load::<S>(w[0].add(p), S::LANES),
                    T::load::<S>(w[1].add(p), S::LANES),
                    T::load::<S>(w[2].add(p), S::LANES),
                    T::load::<S>(w[3].add(p), S::LANES),
                ];
                each!(M, {
                    sums[I][J] = S::fma(S::load(d.x.add(I * d.x_row + p)), lanes[J], sums[I][J]);
                });
                p += S::LANES;
            }
            if whole < d.depth {
                let part = S::part(d.depth - whole);
                let lanes = [
                    T::load::<S>(w[0].add(p), d.depth - whole),
                    T::load::<S>(w[1].add(p), d.depth - whole),
                    T::load::<S>(w[2].add(p), d.depth - whole),
                    T::load::<S>(w[3].add(p), d.depth - whole),
                ];
                each!(M, {
                    let x = S::load_part(d.x.add(I * d.x_row + p), part);
                    sums[I][J] = S::fma(x, lanes[J], sums[I][J]);
                });
            }
            each!(M, {
                if column + J <= last {
                    finish(d, I, column + J, S::sum(sums[I][J]));
                }
            });
        }
    }
}

/// # Safety
/// As `dots`.
#[inline(always)]
unsafe fn finish(d: &Dots, row: usize, column: usize, sum: f32) {
    let mut sum = sum * d.finish.scale;
    // SAFETY: the caller's.
    unsafe {
        let out = d.out.add(row * d.out_row + column * d.out_column);
        if let Some(start) = d.finish.start {
            sum += *start.from.add(row * start.row + column * start.column);
        }
        if d.finish.add {
            sum += *out;
        }
        *out = if d.finish.relu && sum < 0.0 { 0.0 } else { sum };
    }
}
