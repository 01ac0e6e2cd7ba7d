//! The element-by-element families under one name.

pub use super::arithmetic::{
    add, add_alpha, add_args, add_scalar, div, div_args, floor_divide_args, maximum, minimum, mul, mul_args,
    mul_scalar, pow, pow_args, remainder_args, sub, sub_args,
};
pub use super::bitwise::{logical_and, logical_not, logical_or};
pub use super::compare::{eq, equal, ge, gt, le, lt, ne};
pub use super::operators::operator;
pub use super::pointwise::{Arg, align};
pub use super::select::{clamp, select};
pub use super::unary::{
    abs, exp, has_nan, log, log1p, neg, reciprocal, relu, rsqrt, sigmoid, sign, sqrt, square, tanh,
};
