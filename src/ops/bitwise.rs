//! Logic on bits and on truth values.

use super::compare;
use super::pointwise::{Arg, common_type};
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::kernels::binary::Binary;
use crate::tensor::Tensor;

fn whole(op: Binary, name: &'static str, a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let dtype = common_type([a, b]);
    let shifts = matches!(op, Binary::Left | Binary::Right | Binary::Gcd | Binary::Lcm);
    if !(dtype.is_int() || dtype == DType::Bool && !shifts) {
        return error::dtype(format!(
            "{name}: not implemented for '{}'; it takes integer{} tensors, convert with .to(...) first",
            dtype.scalar_type(),
            if shifts { "" } else { " or bool" }
        ));
    }
    super::arithmetic::raw(op, name, a, b, dtype, None)
}

macro_rules! whole_ops {
    ($($name:ident => $op:ident;)+) => {
        $(pub fn $name(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
            whole(Binary::$op, stringify!($name), a, b)
        })+
    };
}

whole_ops! {
    bitwise_and => And;
    bitwise_or => Or;
    bitwise_xor => Xor;
    bitwise_left_shift => Left;
    bitwise_right_shift => Right;
    gcd => Gcd;
    lcm => Lcm;
}

/// All bits (a boolean: the truth value) turned over.
pub fn bitwise_not(x: &Tensor) -> Result<Tensor> {
    match x.kind() {
        Kind::Bool => bitwise_xor(Arg::Tensor(x), Arg::from(super::operand::Scalar::Bool(true))),
        Kind::Int => bitwise_xor(Arg::Tensor(x), Arg::from(-1)),
        _ => error::type_("~ (operator.invert) is only implemented on integer and Boolean-type tensors"),
    }
}

/// Whether each element differs from zero.
pub fn truth(x: Arg<'_>) -> Result<Tensor> {
    match x {
        Arg::Tensor(x) if x.dtype() == DType::Bool => Ok(x.detached()),
        Arg::Tensor(x) => compare::ne(x, Arg::from(0)),
        Arg::Scalar(x) => super::creation::full(&[], (!x.is_zero()).into(), DType::Bool, crate::device::Device::Cpu),
    }
}

macro_rules! logical_ops {
    ($($name:ident => $op:ident;)+) => {
        $(pub fn $name(a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
            let (a, b) = (truth(a)?, truth(b)?);
            super::arithmetic::raw(Binary::$op, stringify!($name), Arg::Tensor(&a), Arg::Tensor(&b), DType::Bool, None)
        })+
    };
}

logical_ops! {
    logical_and => And;
    logical_or => Or;
    logical_xor => Xor;
}

/// Whether each element is zero.
pub fn logical_not(x: &Tensor) -> Result<Tensor> {
    compare::eq(x, Arg::from(if x.dtype() == DType::Bool { super::operand::Scalar::Bool(false) } else { 0i64.into() }))
}
