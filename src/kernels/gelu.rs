//! `x` times the normal distribution's probability of less than `x`, and its slope, for float32 (benchmarks/cases.py:
//! large_gelu).
//!
//! The tail is `erfc(z) = t exp(P(t) - z^2)` with `t = 1 / (1 + z / 2)`; P is a Chebyshev fit of degree 9, good to 5e-8.
//! Unlike `1 + erf`, this keeps its relative precision far out on the negative side.

use rten_simd::ops::{BitOps, FloatOps, NumOps};
use rten_simd::{Isa, SimdUnaryOp};
use rten_vecmath::Exp;

const FIT: [f32; 10] = [
    0.140_507_13,
    -0.656_615_8,
    1.099_438_5,
    -0.619_523_3,
    -0.144_173_5,
    0.035_467_863,
    0.022_874_143,
    0.389_117_15,
    0.998_341_45,
    -1.265_433_5,
];

/// One over the root of twice pi.
const DENSITY: f32 = 0.398_942_3;

/// The probability of less than `x`.
#[inline(always)]
fn below<I: Isa>(isa: I, x: I::F32) -> I::F32 {
    let ops = isa.f32();
    let z = ops.mul(ops.abs(x), ops.splat(std::f32::consts::FRAC_1_SQRT_2));
    let t = ops.div(ops.one(), ops.mul_add(z, ops.splat(0.5), ops.one()));
    let mut fit = ops.splat(0.0);
    for coefficient in FIT {
        fit = ops.mul_add(fit, t, ops.splat(coefficient));
    }
    let power = Exp::default().eval(isa, ops.sub(fit, ops.mul(z, z)));
    let tail = ops.mul(ops.mul(t, power), ops.splat(0.5));
    ops.select(ops.sub(ops.one(), tail), tail, ops.gt(x, ops.splat(0.0)))
}

/// gelu itself.
pub struct Gelu;

impl SimdUnaryOp<f32> for Gelu {
    #[inline(always)]
    fn eval<I: Isa>(&self, isa: I, x: I::F32) -> I::F32 {
        isa.f32().mul(x, below(isa, x))
    }
}

/// Its derivative.
pub struct Slope;

impl SimdUnaryOp<f32> for Slope {
    #[inline(always)]
    fn eval<I: Isa>(&self, isa: I, x: I::F32) -> I::F32 {
        let ops = isa.f32();
        let density = Exp::default().eval(isa, ops.mul(ops.mul(x, x), ops.splat(-0.5)));
        ops.mul_add(ops.mul(x, ops.splat(DENSITY)), density, below(isa, x))
    }
}
