//! Activations of float64 and their slopes without branches (benchmarks/cases.py: double_softplus).
//!
//! `FMA` is as in `math`; the ones of float32 are in `curves`.

use std::f64::consts::FRAC_1_SQRT_2;

use super::double::{Double, erfc, exp, expm1, fma, log1p, sigmoid, tanh};

/// 1 / sqrt(2 pi), the normal distribution's density at zero.
const DENSITY: f64 = 0.398_942_280_401_432_7;
/// sqrt(2 / pi), and the cubic coefficient of the tanh form.
const TANH_SCALE: f64 = 2.0 * DENSITY;
const TANH_CUBIC: f64 = 0.044_715;

/// `log(1 + exp(x))`.
#[inline(always)]
fn softplus<const FMA: bool>(x: f64) -> f64 {
    (if x < 0.0 { 0.0 } else { x }) + log1p::<FMA>(exp::<FMA>(-x.abs()))
}

/// `tanh(softplus(x))`, a quotient of polynomials of `exp(-|x|)`.
#[inline(always)]
fn tanh_softplus<const FMA: bool>(x: f64) -> f64 {
    let decay = exp::<FMA>(-x.abs());
    let positive = fma::<FMA>(decay, 2.0, 1.0);
    let negative = decay * (decay + 2.0);
    let (above, rest) = if x > 0.0 { (positive, 2.0 * decay * decay) } else { (negative, 2.0) };
    above / (above + rest)
}

/// The normal distribution's probability of less than `x`.
#[inline(always)]
fn below<const FMA: bool>(x: f64) -> f64 {
    0.5 * erfc::<FMA>(-x * FRAC_1_SQRT_2)
}

/// The tanh that takes the place of the normal distribution, by `x` and its square.
#[inline(always)]
fn inner<const FMA: bool>(x: f64, square: f64) -> f64 {
    tanh::<FMA>(TANH_SCALE * (x + TANH_CUBIC * square * x))
}

macro_rules! gates {
    ($($name:ident { $($setting:ident),* }, $fma:ident, |$x:ident| $value:expr;)+) => {
        $(#[derive(Clone, Copy)]
        pub struct $name {
            $(pub $setting: f64,)*
        }

        impl Double for $name {
            #[inline(always)]
            fn at<const $fma: bool>(&self, $x: f64) -> f64 {
                let Self { $($setting),* } = *self;
                $value
            }
        })+
    };
}

gates! {
    Silu {}, F, |x| x / (1.0 + exp::<F>(-x));
    SiluSlope {}, F, |x| {
        let gate = sigmoid::<F>(x);
        gate * (1.0 + x * (1.0 - gate))
    };
    GateSlope {}, F, |x| {
        let gate = sigmoid::<F>(x);
        gate * (1.0 - gate)
    };
    Softplus { beta, threshold }, F, |x| {
        let z = x * beta;
        let soft = softplus::<F>(z) / beta;
        if z > threshold { x } else { soft }
    };
    SoftplusSlope { beta, threshold }, F, |x| {
        let soft = sigmoid::<F>(x * beta);
        if x * beta > threshold { 1.0 } else { soft }
    };
    Mish {}, F, |x| x * tanh_softplus::<F>(x);
    MishSlope {}, F, |x| {
        let tanh = tanh_softplus::<F>(x);
        tanh + x * sigmoid::<F>(x) * (1.0 - tanh * tanh)
    };
    LogSigmoid {}, F, |x| 0.0 - softplus::<F>(-x);
    LogSigmoidSlope {}, F, |x| sigmoid::<F>(-x);
    Elu { below, scale, input_scale }, F, |x| {
        let curve = below * expm1::<F>(x * input_scale);
        if x > 0.0 { x * scale } else { curve }
    };
    EluSlope { below, scale, input_scale }, F, |x| {
        let curve = exp::<F>(x * input_scale) * below * input_scale;
        if x > 0.0 { scale } else { curve }
    };
    Gelu {}, F, |x| x * below::<F>(x);
    GeluSlope {}, F, |x| fma::<F>(x * DENSITY, exp::<F>(x * x * -0.5), below::<F>(x));
    GeluTanh {}, F, |x| 0.5 * x * (1.0 + inner::<F>(x, x * x));
    GeluTanhSlope {}, F, |x| {
        let square = x * x;
        let tanh = inner::<F>(x, square);
        let bend = (1.0 - tanh * tanh) * (TANH_SCALE * (1.0 + 3.0 * TANH_CUBIC * square));
        0.5 * (1.0 + tanh + x * bend)
    };
}
