//! Angles in float64 without branches (benchmarks/cases.py: double_angles).

use std::f64::consts::{FRAC_PI_4, PI};

use super::double::{Double, fma, gather, polynomial};
use super::pointwise::{Strided, each_row};
use super::vector::{Task, dispatch};

/// By the square of `t`, what `atan(t)` is more than `t`, over its third power: up to 0.66 (the coefficients of Cephes).
const ABOVE: [f64; 5] = [
    -0.875_060_860_003_190_4,
    -16.157_537_187_333_652,
    -75.008_557_923_147_05,
    -122.886_668_449_013_61,
    -64.850_219_049_420_25,
];
const BELOW: [f64; 6] = [
    1.0,
    24.858_464_901_423_062,
    165.027_009_831_698_85,
    432.881_060_491_290_27,
    485.390_399_635_913_7,
    194.550_657_148_261_4,
];
/// The tangent of three eighths of a turn's half.
const STEEP: f64 = 2.414_213_562_373_095;
/// What half of pi is more than its float64.
const REST: f64 = 6.123_233_995_736_766e-17;

/// The angle of a point to the right and above, which lies neither at zero nor at infinity.
#[inline(always)]
fn quarter<const FMA: bool>(up: f64, along: f64) -> f64 {
    let (steep, middle) = (up > STEEP * along, up > 0.66 * along);
    let (above, below) = if middle { (up - along, up + along) } else { (up, along) };
    let (above, below) = if steep { (-along, up) } else { (above, below) };
    let turns = if middle { 1.0 } else { 0.0 };
    let turns = if steep { 2.0 } else { turns };
    let t = above / below;
    let square = t * t;
    let curve = polynomial::<FMA, 5>(&ABOVE, square) / polynomial::<FMA, 6>(&BELOW, square);
    fma::<FMA>(turns, FRAC_PI_4, fma::<FMA>(t * square, curve, t) + turns * (0.5 * REST))
}

pub struct Atan;

impl Double for Atan {
    #[inline(always)]
    fn at<const FMA: bool>(&self, x: f64) -> f64 {
        quarter::<FMA>(x.abs(), 1.0).copysign(x)
    }
}

#[inline(always)]
fn angle<const FMA: bool>(y: f64, x: f64) -> f64 {
    let value = quarter::<FMA>(y.abs(), x.abs());
    (if x < 0.0 { (PI - value) + 2.0 * REST } else { value }).copysign(y)
}

/// Where there is no quotient, or it overflows on the way.
#[inline(always)]
fn is_far(y: f64, x: f64) -> bool {
    let (up, along) = (y.abs(), x.abs());
    !((up < 1e300) & (along < 1e300) & (up + along > 1e-290))
}

/// Elements that are brought together before they are computed.
const BLOCK: usize = 256;

struct Row {
    out: (*mut f64, usize),
    y: (*const f64, usize),
    x: (*const f64, usize),
    length: usize,
}

impl Task for Row {
    #[inline(always)]
    fn run<const FMA: bool>(self) {
        let (to, step) = self.out;
        let (mut y, mut x, mut out) = ([1.0; BLOCK], [1.0; BLOCK], [0.0; BLOCK]);
        for start in (0..self.length).step_by(BLOCK) {
            let count = BLOCK.min(self.length - start);
            // SAFETY: rows stay inside the geometries, which lie inside their storages.
            unsafe {
                gather(self.y, start, &mut y[..count]);
                gather(self.x, start, &mut x[..count]);
            }
            let mut far = false;
            // Whole vectors, so that the loop has no end of its own; what was there before is computed once more.
            for k in 0..count.next_multiple_of(8) {
                far |= is_far(y[k], x[k]);
                out[k] = angle::<FMA>(y[k], x[k]);
            }
            if far {
                (0..count).filter(|&k| is_far(y[k], x[k])).for_each(|k| out[k] = y[k].atan2(x[k]));
            }
            // SAFETY: as above.
            (0..count).for_each(|k| unsafe { to.add((start + k) * step).write_unaligned(out[k]) });
        }
    }
}

/// `out = atan2(y, x)` of float64. `out` may be one of the others itself.
pub fn atan2(shape: &[usize], out: Strided<'_>, y: Strided<'_>, x: Strided<'_>) {
    each_row(shape, [out, y, x], &|[o, i, j], length, [so, si, sj]| {
        // SAFETY: as in `Row`.
        let (out, y, x) =
            unsafe { ((out.at(o), so), (y.at::<f64>(i).cast_const(), si), (x.at::<f64>(j).cast_const(), sj)) };
        dispatch(Row { out, y, x, length });
    });
}
