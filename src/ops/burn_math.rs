//! Functions of floats made of burn's, with what WGSL leaves to the driver settled as torch has it.
//!
//! A driver may answer anything for NaN, infinities and arguments outside a function's domain (SwiftShader: log(-2) is
//! log(2), tanh(100) is NaN), and need not know sin and cos outside [-pi, pi]. The steps here are fused into one kernel.

use burn_backend::ops::{ActivationOps, BoolTensorOps, FloatTensorOps};
use burn_backend::{Backend, TensorMetadata};
use burn_dispatch::{Dispatch, DispatchTensor};
use burn_std::{BoolStore, DType, Scalar};

use crate::dtype::Kind;
use crate::tensor::prim;

/// The boolean representation beside this value.
fn store(x: &DispatchTensor) -> BoolStore {
    let device = x.device();
    [BoolStore::Native, BoolStore::U8]
        .into_iter()
        .find(|&store| Dispatch::supports_dtype(&device, DType::Bool(store)))
        .unwrap_or(BoolStore::U32)
}

fn times(x: DispatchTensor, by: f64) -> DispatchTensor {
    Dispatch::float_mul_scalar(x, Scalar::Float(by))
}

fn plus(x: DispatchTensor, number: f64) -> DispatchTensor {
    Dispatch::float_add_scalar(x, Scalar::Float(number))
}

fn fill(x: DispatchTensor, mask: DispatchTensor, value: f64) -> DispatchTensor {
    Dispatch::float_mask_fill(x, mask, Scalar::Float(value))
}

fn equals(x: &DispatchTensor, value: f64) -> DispatchTensor {
    Dispatch::float_equal_elem(x.clone(), Scalar::Float(value), store(x))
}

fn at_least(x: &DispatchTensor, value: f64) -> DispatchTensor {
    Dispatch::float_greater_equal_elem(x.clone(), Scalar::Float(value), store(x))
}

fn above(x: &DispatchTensor, value: f64) -> DispatchTensor {
    Dispatch::float_greater_elem(x.clone(), Scalar::Float(value), store(x))
}

fn is_nan(x: &DispatchTensor) -> DispatchTensor {
    Dispatch::float_is_nan(x.clone(), store(x))
}

/// `y`, but NaN where `x` is.
pub fn keep_nan(x: &DispatchTensor, y: DispatchTensor) -> DispatchTensor {
    fill(y, is_nan(x), f64::NAN)
}

/// `y` where `inside` holds, else NaN. No comparison holds for NaN.
fn within(inside: DispatchTensor, y: DispatchTensor) -> DispatchTensor {
    fill(y, Dispatch::bool_not(inside), f64::NAN)
}

/// `y` where the mask holds, else `x`.
fn choose(mask: DispatchTensor, y: DispatchTensor, x: DispatchTensor) -> DispatchTensor {
    Dispatch::float_mask_where(x, mask, y)
}

fn negative(x: &DispatchTensor) -> DispatchTensor {
    Dispatch::float_lower_elem(x.clone(), Scalar::Float(0.0), store(x))
}

pub fn exp(x: DispatchTensor) -> DispatchTensor {
    keep_nan(&x, Dispatch::float_exp(x.clone()))
}

pub fn log(x: DispatchTensor) -> DispatchTensor {
    let y = near_one(plus(x.clone(), -1.0), Dispatch::float_log(x.clone()));
    within(at_least(&x, 0.0), fill(y, equals(&x, 0.0), f64::NEG_INFINITY))
}

pub fn log1p(x: DispatchTensor) -> DispatchTensor {
    let y = near_one(x.clone(), Dispatch::float_log(plus(x.clone(), 1.0)));
    within(at_least(&x, -1.0), fill(y, equals(&x, -1.0), f64::NEG_INFINITY))
}

/// `y`, but `log(1 + x)` by its series where that is near 0: a driver's logarithm may be off by 2^-21 there.
fn near_one(x: DispatchTensor, y: DispatchTensor) -> DispatchTensor {
    let ratio = Dispatch::float_div(x.clone(), plus(x.clone(), 2.0));
    let square = Dispatch::float_mul(ratio.clone(), ratio.clone());
    let ninth = times(square.clone(), 1.0 / 9.0);
    let third = [1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0]
        .into_iter()
        .fold(ninth, |sum, term| Dispatch::float_mul(plus(sum, term), square.clone()));
    let near = times(Dispatch::float_mul(plus(third, 1.0), ratio), 2.0);
    let small = Dispatch::float_lower_elem(Dispatch::float_abs(x.clone()), Scalar::Float(0.25), store(&x));
    choose(small, near, y)
}

/// `log(1 + exp(-|x|))`, which never overflows.
pub fn log1p_exp_neg_abs(x: DispatchTensor) -> DispatchTensor {
    log1p(exp(Dispatch::float_neg(Dispatch::float_abs(x))))
}

pub fn sigmoid(x: DispatchTensor) -> DispatchTensor {
    keep_nan(&x, Dispatch::sigmoid(x.clone()))
}

/// Beyond 15 the result is 1 in float32, and drivers divide infinities.
pub fn tanh(x: DispatchTensor) -> DispatchTensor {
    let bounded = Dispatch::float_clamp(x.clone(), Scalar::Float(-15.0), Scalar::Float(15.0));
    keep_nan(&x, Dispatch::float_tanh(bounded))
}

/// `x` where `z` is above the threshold, else `y`.
pub fn identity_above(threshold: f64, z: DispatchTensor, x: DispatchTensor, y: DispatchTensor) -> DispatchTensor {
    choose(above(&z, threshold), x, y)
}

pub fn cosh(x: DispatchTensor) -> DispatchTensor {
    keep_nan(&x, Dispatch::float_cosh(x.clone()))
}

/// Squares overflow above this, and the sum inside a logarithm is twice its argument long before.
const LARGE: f64 = 1e9;

pub fn asinh(x: DispatchTensor) -> DispatchTensor {
    let size = Dispatch::float_abs(x.clone());
    let square = Dispatch::float_mul(size.clone(), size.clone());
    let root = Dispatch::float_sqrt(plus(square.clone(), 1.0));
    let near = log1p(Dispatch::float_add(size.clone(), Dispatch::float_div(square, plus(root, 1.0))));
    let far = plus(Dispatch::float_log(size.clone()), std::f64::consts::LN_2);
    let y = choose(above(&size, LARGE), far, near);
    keep_nan(&x, choose(negative(&x), Dispatch::float_neg(y.clone()), y))
}

pub fn acosh(x: DispatchTensor) -> DispatchTensor {
    let less = plus(x.clone(), -1.0);
    let root = Dispatch::float_sqrt(Dispatch::float_mul(less.clone(), plus(less.clone(), 2.0)));
    let near = log1p(Dispatch::float_add(less, root));
    let far = plus(Dispatch::float_log(x.clone()), std::f64::consts::LN_2);
    within(at_least(&x, 1.0), choose(above(&x, LARGE), far, near))
}

fn unit(x: &DispatchTensor) -> DispatchTensor {
    Dispatch::float_lower_equal_elem(Dispatch::float_abs(x.clone()), Scalar::Float(1.0), store(x))
}

pub fn atanh(x: DispatchTensor) -> DispatchTensor {
    let rest = plus(Dispatch::float_neg(x.clone()), 1.0);
    within(unit(&x), times(log1p(Dispatch::float_div(times(x, 2.0), rest)), 0.5))
}

pub fn asin(x: DispatchTensor) -> DispatchTensor {
    within(unit(&x), Dispatch::float_asin(x))
}

/// By the half angle, whose sine loses no digits near 1.
pub fn acos(x: DispatchTensor) -> DispatchTensor {
    let size = Dispatch::float_abs(x.clone());
    let half = Dispatch::float_sqrt(times(plus(Dispatch::float_neg(size), 1.0), 0.5));
    let angle = times(Dispatch::float_asin(half), 2.0);
    let other = plus(Dispatch::float_neg(angle.clone()), std::f64::consts::PI);
    within(unit(&x), choose(negative(&x), other, angle))
}

/// pi / 2 in three parts, the first two so short that their products with small whole numbers are exact.
const HALF_PI: [f64; 3] = [1.570_312_5, 4.837_512_969_970_703e-4, 7.549_789_948_768_648e-8];

/// Sine and cosine of the rest of `x` after whole quarter turns, and the number of these.
fn quarters(x: &DispatchTensor) -> [DispatchTensor; 3] {
    let turns = Dispatch::float_round(times(x.clone(), std::f64::consts::FRAC_2_PI));
    let rest = HALF_PI.iter().fold(x.clone(), |rest, &part| Dispatch::float_sub(rest, times(turns.clone(), part)));
    let rest = Dispatch::float_clamp(rest, Scalar::Float(-0.8), Scalar::Float(0.8));
    let square = Dispatch::float_mul(rest.clone(), rest.clone());
    let series = |numbers: [f64; 3]| {
        let inner = plus(times(square.clone(), numbers[0]), numbers[1]);
        Dispatch::float_mul(plus(Dispatch::float_mul(inner, square.clone()), numbers[2]), square.clone())
    };
    let sine =
        Dispatch::float_mul(series([-1.951_529_589_1e-4, 8.332_160_873_6e-3, -1.666_665_461_1e-1]), rest.clone());
    let bend = series([2.443_315_711_8e-5, -1.388_731_625_493_765e-3, 4.166_664_568_298_827e-2]);
    let cosine = Dispatch::float_sub(Dispatch::float_mul(bend, square.clone()), times(square.clone(), 0.5));
    [Dispatch::float_add(sine, rest), plus(cosine, 1.0), turns]
}

/// The sine `shift` quarter turns further on.
fn wave(x: DispatchTensor, shift: f64) -> DispatchTensor {
    let [sine, cosine, turns] = quarters(&x);
    let turns = plus(turns, shift);
    let halves = Dispatch::float_floor(times(turns.clone(), 0.5));
    let odd = above(&Dispatch::float_sub(turns, times(halves.clone(), 2.0)), 0.5);
    let back = Dispatch::float_sub(halves.clone(), times(Dispatch::float_floor(times(halves, 0.5)), 2.0));
    let y = choose(odd, cosine, sine);
    let y = choose(above(&back, 0.5), Dispatch::float_neg(y.clone()), y);
    finite_only(&x, y)
}

fn finite_only(x: &DispatchTensor, y: DispatchTensor) -> DispatchTensor {
    let size = Dispatch::float_abs(x.clone());
    within(Dispatch::float_lower_elem(size, Scalar::Float(f64::INFINITY), store(x)), y)
}

pub fn sin(x: DispatchTensor) -> DispatchTensor {
    if x.dtype() == DType::F16 { Dispatch::float_sin(x) } else { wave(x, 0.0) }
}

pub fn cos(x: DispatchTensor) -> DispatchTensor {
    if x.dtype() == DType::F16 { Dispatch::float_cos(x) } else { wave(x, 1.0) }
}

pub fn tan(x: DispatchTensor) -> DispatchTensor {
    if x.dtype() == DType::F16 {
        return Dispatch::float_tan(x);
    }
    let [sine, cosine, turns] = quarters(&x);
    let halves = Dispatch::float_floor(times(turns.clone(), 0.5));
    let odd = above(&Dispatch::float_sub(turns, times(halves, 2.0)), 0.5);
    let above_line = choose(odd.clone(), Dispatch::float_neg(cosine.clone()), sine.clone());
    finite_only(&x, Dispatch::float_div(above_line, choose(odd, sine, cosine)))
}

/// `a` to the power of `b`, with C's answers for NaN, zero exponents and roots of negative numbers.
pub fn pow(a: DispatchTensor, b: DispatchTensor) -> DispatchTensor {
    let power = Dispatch::float_powf(a.clone(), b.clone());
    let shape = power.shape();
    let full = |x: DispatchTensor| Dispatch::float_expand(x, shape.clone());
    let (a, b) = (full(a), full(b));
    let broken = Dispatch::float_not_equal(b.clone(), Dispatch::float_floor(b.clone()), store(&b));
    let root = Dispatch::bool_and(Dispatch::bool_and(negative(&a), broken), above(&a, f64::NEG_INFINITY));
    let bad = Dispatch::bool_or(Dispatch::bool_or(is_nan(&a), is_nan(&b)), root);
    let one = Dispatch::bool_or(equals(&b, 0.0), equals(&a, 1.0));
    fill(fill(power, bad, f64::NAN), one, 1.0)
}

/// The softmax along `dim`, or its logarithm.
pub fn softmax(x: DispatchTensor, dim: usize, log_of_it: bool) -> DispatchTensor {
    let peak = prim::along(Kind::Float, x.clone(), dim, Dispatch::float_max_dim);
    let apart = Dispatch::float_sub(x, peak);
    let powers = exp(apart.clone());
    let total = prim::along(Kind::Float, powers.clone(), dim, Dispatch::float_sum_dim);
    if log_of_it { Dispatch::float_sub(apart, log(total)) } else { Dispatch::float_div(powers, total) }
}
