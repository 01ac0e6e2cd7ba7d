//! burn's functions for element-by-element ops, composed where burn has only their parts. GPU tensors use these.

use burn_backend::ops::{ActivationOps, BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_dispatch::{Dispatch, DispatchTensor};
use burn_std::{BoolStore, IntDType, Scalar};

use super::burn_math;
use crate::device::Device;
use crate::dtype::{DType, Kind};
use crate::error::Result;
use crate::guard;
use crate::kernels::binary::{Binary, Compare};
use crate::kernels::unary::Unary;
use crate::tensor::device_view::{bool_store, stored_as};

/// `op(a, b)`, or None where burn has nothing to make it of.
pub fn binary(op: Binary, dtype: DType, values: [DispatchTensor; 2], device: Device) -> Result<Option<DispatchTensor>> {
    let store = bool_store(device)?;
    let [a, b] = values;
    guard::run("pointwise", || match dtype.kind() {
        Kind::Bool => bools(op, a, b),
        Kind::Int => ints(op, a, b, store, stored_as(dtype, device).ok()?.into()),
        Kind::Float => floats(op, a, b, store),
        Kind::Complex => None,
    })
}

/// `op(x, number)` of floats, or `op(number, x)` with `left`; None where burn wants a tensor for the number.
pub fn binary_number(op: Binary, x: DispatchTensor, number: f64, left: bool) -> Result<Option<DispatchTensor>> {
    let number = Scalar::Float(number);
    guard::run("pointwise", || {
        Some(match (op, left) {
            (Binary::Add, _) => Dispatch::float_add_scalar(x, number),
            (Binary::Mul, _) => Dispatch::float_mul_scalar(x, number),
            (Binary::Sub, false) => Dispatch::float_sub_scalar(x, number),
            (Binary::Sub, true) => Dispatch::float_add_scalar(Dispatch::float_neg(x), number),
            (Binary::Div, false) => Dispatch::float_div_scalar(x, number),
            _ => return None,
        })
    })
}

/// The answers of a comparison of floats with a number; with `left` the number is the first operand.
pub fn compare_number(
    op: Compare,
    x: DispatchTensor,
    number: f64,
    left: bool,
    device: Device,
) -> Result<DispatchTensor> {
    let store = bool_store(device)?;
    let number = Scalar::Float(number);
    guard::run("compare", || match (op, left) {
        (Compare::Eq, _) => Dispatch::float_equal_elem(x, number, store),
        (Compare::Ne, _) => Dispatch::float_not_equal_elem(x, number, store),
        (Compare::Lt, false) | (Compare::Gt, true) => Dispatch::float_lower_elem(x, number, store),
        (Compare::Le, false) | (Compare::Ge, true) => Dispatch::float_lower_equal_elem(x, number, store),
        (Compare::Gt, false) | (Compare::Lt, true) => Dispatch::float_greater_elem(x, number, store),
        (Compare::Ge, false) | (Compare::Le, true) => Dispatch::float_greater_equal_elem(x, number, store),
    })
}

fn bools(op: Binary, a: DispatchTensor, b: DispatchTensor) -> Option<DispatchTensor> {
    Some(match op {
        Binary::Add | Binary::Or | Binary::Max | Binary::Fmax => Dispatch::bool_or(a, b),
        Binary::Mul | Binary::And | Binary::Min | Binary::Fmin => Dispatch::bool_and(a, b),
        Binary::Xor => Dispatch::bool_xor(a, b),
        _ => return None,
    })
}

fn ints(op: Binary, a: DispatchTensor, b: DispatchTensor, store: BoolStore, dtype: IntDType) -> Option<DispatchTensor> {
    Some(match op {
        Binary::Add => Dispatch::int_add(a, b),
        Binary::Sub => Dispatch::int_sub(a, b),
        Binary::Mul => Dispatch::int_mul(a, b),
        Binary::Div | Binary::TruncDiv => Dispatch::int_div(a, b),
        Binary::FloorDiv => {
            let quotient = Dispatch::int_div(a.clone(), b.clone());
            let rest = Dispatch::int_sub(a, Dispatch::int_mul(quotient.clone(), b.clone()));
            let zero = Scalar::Int(0);
            let uneven = Dispatch::int_not_equal_elem(rest.clone(), zero, store);
            let signs = Dispatch::bool_xor(
                Dispatch::int_lower_elem(rest, zero, store),
                Dispatch::int_lower_elem(b, zero, store),
            );
            let less = Dispatch::bool_into_int(Dispatch::bool_and(uneven, signs), dtype);
            Dispatch::int_sub(quotient, less)
        }
        Binary::Remainder => Dispatch::int_remainder(a, b),
        Binary::Fmod => {
            let quotient = Dispatch::int_div(a.clone(), b.clone());
            Dispatch::int_sub(a, Dispatch::int_mul(quotient, b))
        }
        Binary::Pow => int_power(a, b, store, dtype),
        Binary::Max | Binary::Fmax => {
            let mask = Dispatch::int_lower(a.clone(), b.clone(), store);
            Dispatch::int_mask_where(a, mask, b)
        }
        Binary::Min | Binary::Fmin => {
            let mask = Dispatch::int_greater(a.clone(), b.clone(), store);
            Dispatch::int_mask_where(a, mask, b)
        }
        Binary::And => Dispatch::bitwise_and(a, b),
        Binary::Or => Dispatch::bitwise_or(a, b),
        Binary::Xor => Dispatch::bitwise_xor(a, b),
        Binary::Left => {
            let (places, inside) = shift_places(b, 0, store);
            Dispatch::int_mul(Dispatch::bitwise_left_shift(a, places), Dispatch::bool_into_int(inside, dtype))
        }
        Binary::Right if dtype == IntDType::U32 => {
            let (places, inside) = shift_places(b, 0, store);
            Dispatch::int_mul(Dispatch::bitwise_right_shift(a, places), Dispatch::bool_into_int(inside, dtype))
        }
        Binary::Right => Dispatch::bitwise_right_shift(a, shift_places(b, 31, store).0),
        _ => return None,
    })
}

/// `a` to the power of `b`; of a negative one 1 and -1 keep their powers and others become 0, as in torch.
fn int_power(a: DispatchTensor, b: DispatchTensor, store: BoolStore, dtype: IntDType) -> DispatchTensor {
    let negative = Dispatch::int_lower_elem(b.clone(), Scalar::Int(0), store);
    let parity = Dispatch::bitwise_and_scalar(b.clone(), Scalar::Int(1));
    let exponent = Dispatch::int_mask_where(b, negative.clone(), parity);
    let large = Dispatch::int_not_equal_elem(Dispatch::int_abs(a.clone()), Scalar::Int(1), store);
    let [negative, large] = [negative, large].map(|mask| Dispatch::bool_into_int(mask, dtype));
    let lost = Dispatch::int_mul(large, negative);
    let kept = Dispatch::int_add_scalar(Dispatch::int_neg(lost), Scalar::Int(1));
    Dispatch::int_mul(Dispatch::int_powi(a, exponent), kept)
}

/// Shifts by less than 0 or more than 31 places, which WGSL does not define, as shifts by `other`; and where there are none.
fn shift_places(by: DispatchTensor, other: i64, store: BoolStore) -> (DispatchTensor, DispatchTensor) {
    let outside = Dispatch::bool_or(
        Dispatch::int_lower_elem(by.clone(), Scalar::Int(0), store),
        Dispatch::int_greater_elem(by.clone(), Scalar::Int(31), store),
    );
    (Dispatch::int_mask_fill(by, outside.clone(), Scalar::Int(other)), Dispatch::bool_not(outside))
}

fn floats(op: Binary, a: DispatchTensor, b: DispatchTensor, store: BoolStore) -> Option<DispatchTensor> {
    let nan = |x: &DispatchTensor| Dispatch::float_is_nan(x.clone(), store);
    let choose = |a: DispatchTensor, b: DispatchTensor, other: DispatchTensor| Dispatch::float_mask_where(a, other, b);
    Some(match op {
        Binary::Add => Dispatch::float_add(a, b),
        Binary::Sub => Dispatch::float_sub(a, b),
        Binary::Mul => Dispatch::float_mul(a, b),
        Binary::Div => Dispatch::float_div(a, b),
        Binary::TruncDiv => Dispatch::float_trunc(Dispatch::float_div(a, b)),
        Binary::Pow => burn_math::pow(a, b),
        Binary::Max => {
            let other = Dispatch::bool_or(Dispatch::float_lower(a.clone(), b.clone(), store), nan(&b));
            choose(a, b, other)
        }
        Binary::Min => {
            let other = Dispatch::bool_or(Dispatch::float_greater(a.clone(), b.clone(), store), nan(&b));
            choose(a, b, other)
        }
        Binary::Fmax => {
            let other = Dispatch::bool_or(Dispatch::float_lower(a.clone(), b.clone(), store), nan(&a));
            choose(a, b, other)
        }
        Binary::Fmin => {
            let other = Dispatch::bool_or(Dispatch::float_greater(a.clone(), b.clone(), store), nan(&a));
            choose(a, b, other)
        }
        // A rounded quotient is off by one where it is nearly whole, and atan2 and hypot have no infinities.
        _ => return None,
    })
}

/// The answers of a comparison of values of `dtype`.
pub fn compare(
    op: Compare,
    dtype: DType,
    values: [DispatchTensor; 2],
    device: Device,
) -> Result<Option<DispatchTensor>> {
    let store = bool_store(device)?;
    let stored = stored_as(DType::I32, device)?.into();
    let [a, b] = values;
    guard::run("compare", || {
        Some(match dtype.kind() {
            Kind::Float => match op {
                Compare::Eq => Dispatch::float_equal(a, b, store),
                Compare::Ne => Dispatch::float_not_equal(a, b, store),
                Compare::Lt => Dispatch::float_lower(a, b, store),
                Compare::Le => Dispatch::float_lower_equal(a, b, store),
                Compare::Gt => Dispatch::float_greater(a, b, store),
                Compare::Ge => Dispatch::float_greater_equal(a, b, store),
            },
            Kind::Bool if op == Compare::Eq => Dispatch::bool_equal(a, b),
            Kind::Bool if op == Compare::Ne => Dispatch::bool_not_equal(a, b),
            Kind::Complex => return None,
            kind => {
                let number = |x| if kind == Kind::Bool { Dispatch::bool_into_int(x, stored) } else { x };
                let (a, b) = (number(a), number(b));
                match op {
                    Compare::Eq => Dispatch::int_equal(a, b, store),
                    Compare::Ne => Dispatch::int_not_equal(a, b, store),
                    Compare::Lt => Dispatch::int_lower(a, b, store),
                    Compare::Le => Dispatch::int_lower_equal(a, b, store),
                    Compare::Gt => Dispatch::int_greater(a, b, store),
                    Compare::Ge => Dispatch::int_greater_equal(a, b, store),
                }
            }
        })
    })
}

/// `op(x)`, or None where burn has nothing to make it of.
pub fn unary(op: Unary, dtype: DType, x: DispatchTensor) -> Result<Option<DispatchTensor>> {
    guard::run("pointwise", || match dtype.kind() {
        Kind::Float => float_unary(op, x),
        Kind::Int => Some(match op {
            Unary::Neg => Dispatch::int_neg(x),
            Unary::Abs => Dispatch::int_abs(x),
            Unary::Sign => Dispatch::int_sign(x),
            Unary::Square => Dispatch::int_mul(x.clone(), x),
            Unary::Relu => Dispatch::int_clamp_min(x, Scalar::Int(0)),
            Unary::Ceil | Unary::Floor | Unary::Round | Unary::Trunc => x,
            _ => return None,
        }),
        _ => None,
    })
}

fn float_unary(op: Unary, x: DispatchTensor) -> Option<DispatchTensor> {
    let scaled = |x: DispatchTensor, by: f64| Dispatch::float_mul_scalar(x, Scalar::Float(by));
    Some(match op {
        Unary::Neg => Dispatch::float_neg(x),
        Unary::Abs => Dispatch::float_abs(x),
        Unary::Sign => Dispatch::float_sign(x),
        Unary::Square => Dispatch::float_mul(x.clone(), x),
        Unary::Relu => Dispatch::relu(x),
        Unary::Sqrt => Dispatch::float_sqrt(x),
        Unary::Rsqrt => Dispatch::float_recip(Dispatch::float_sqrt(x)),
        Unary::Reciprocal => Dispatch::float_recip(x),
        Unary::Ceil => Dispatch::float_ceil(x),
        Unary::Floor => Dispatch::float_floor(x),
        Unary::Round => Dispatch::float_round(x),
        Unary::Trunc => Dispatch::float_trunc(x),
        Unary::Frac => Dispatch::float_sub(x.clone(), Dispatch::float_trunc(x)),
        Unary::Exp => burn_math::exp(x),
        Unary::Exp2 => burn_math::exp(scaled(x, std::f64::consts::LN_2)),
        Unary::Log => burn_math::log(x),
        Unary::Log2 => scaled(burn_math::log(x), std::f64::consts::LOG2_E),
        Unary::Log10 => scaled(burn_math::log(x), std::f64::consts::LOG10_E),
        Unary::Log1p => burn_math::log1p(x),
        Unary::Sin => burn_math::sin(x),
        Unary::Cos => burn_math::cos(x),
        Unary::Tan => burn_math::tan(x),
        Unary::Asin => burn_math::asin(x),
        Unary::Acos => burn_math::acos(x),
        Unary::Atan => Dispatch::float_atan(x),
        Unary::Sinh => Dispatch::float_sinh(x),
        Unary::Cosh => burn_math::cosh(x),
        Unary::Tanh => burn_math::tanh(x),
        Unary::Asinh => burn_math::asinh(x),
        Unary::Acosh => burn_math::acosh(x),
        Unary::Atanh => burn_math::atanh(x),
        Unary::Erf => Dispatch::float_erf(x),
        Unary::Sigmoid => burn_math::sigmoid(x),
        // Cancellation (1 - erf, exp - 1) would cost the digits that these functions exist for.
        Unary::Expm1 | Unary::Erfc | Unary::Erfinv | Unary::Lgamma | Unary::Digamma | Unary::Sinc | Unary::Angle => {
            return None;
        }
    })
}
