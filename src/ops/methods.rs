//! The element-by-element methods of `Tensor` under their torch names, with their in-place forms.

use paste::paste;
use pyo3::prelude::*;

use super::operand::{Operand, Scalar};
use super::pointwise::Arg;
use super::{arithmetic, bitwise, compare, select, unary, update};
use crate::error::{self, Result};
use crate::kernels::unary::Unary;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;

type Own<'py> = PyResult<Bound<'py, PyTensor>>;

macro_rules! unary_methods {
    ($($name:ident = $op:ident;)+) => { paste! {
        #[pymethods]
        impl PyTensor {
            $(fn $name(&self) -> Result<Tensor> {
                unary::$name(&self.tensor)
            }

            fn [<$name _>]<'py>(slf: Bound<'py, Self>) -> Own<'py> {
                update::unary(concat!(stringify!($name), "_"), &slf.get().tensor, Unary::$op, unary::$name)?;
                Ok(slf)
            })+
        }
    } };
}

unary_methods! {
    neg = Neg;
    abs = Abs;
    sign = Sign;
    square = Square;
    sqrt = Sqrt;
    rsqrt = Rsqrt;
    reciprocal = Reciprocal;
    ceil = Ceil;
    floor = Floor;
    trunc = Trunc;
    frac = Frac;
    exp = Exp;
    exp2 = Exp2;
    expm1 = Expm1;
    log = Log;
    log2 = Log2;
    log10 = Log10;
    log1p = Log1p;
    sin = Sin;
    cos = Cos;
    tan = Tan;
    asin = Asin;
    acos = Acos;
    atan = Atan;
    sinh = Sinh;
    cosh = Cosh;
    tanh = Tanh;
    asinh = Asinh;
    acosh = Acosh;
    atanh = Atanh;
    erf = Erf;
    erfc = Erfc;
    erfinv = Erfinv;
    lgamma = Lgamma;
    digamma = Digamma;
    sinc = Sinc;
    sigmoid = Sigmoid;
    relu = Relu;
}

macro_rules! binary_methods {
    ($($name:ident => $compute:ident;)+) => { paste! {
        #[pymethods]
        impl PyTensor {
            $(fn $name(&self, other: Operand) -> Result<Tensor> {
                arithmetic::$compute(Arg::Tensor(&self.tensor), Arg::from(&other))
            }

            fn [<$name _>]<'py>(slf: Bound<'py, Self>, other: Operand) -> Own<'py> {
                update::$name(&slf.get().tensor, Arg::from(&other))?;
                Ok(slf)
            })+
        }
    } };
}

binary_methods! {
    mul => mul_args;
    floor_divide => floor_divide_args;
    remainder => remainder_args;
    fmod => fmod_args;
    atan2 => atan2_args;
    hypot => hypot_args;
    copysign => copysign_args;
    nextafter => nextafter_args;
    xlogy => xlogy_args;
}

macro_rules! pure_methods {
    ($($name:ident => $compute:path;)+) => {
        #[pymethods]
        impl PyTensor {
            $(fn $name(&self, other: Operand) -> Result<Tensor> {
                $compute(Arg::Tensor(&self.tensor), Arg::from(&other))
            })+
        }
    };
}

pure_methods! {
    maximum => arithmetic::maximum_args;
    minimum => arithmetic::minimum_args;
    fmax => arithmetic::fmax_args;
    fmin => arithmetic::fmin_args;
    logaddexp => arithmetic::logaddexp_args;
    logaddexp2 => arithmetic::logaddexp2_args;
    _xlog1py => arithmetic::xlog1py_args;
    bitwise_and => bitwise::bitwise_and;
    bitwise_or => bitwise::bitwise_or;
    bitwise_xor => bitwise::bitwise_xor;
    bitwise_left_shift => bitwise::bitwise_left_shift;
    bitwise_right_shift => bitwise::bitwise_right_shift;
    gcd => bitwise::gcd;
    lcm => bitwise::lcm;
    logical_and => bitwise::logical_and;
    logical_or => bitwise::logical_or;
    logical_xor => bitwise::logical_xor;
    eq => compare::eq;
    ne => compare::ne;
    lt => compare::lt;
    le => compare::le;
    gt => compare::gt;
    ge => compare::ge;
}

/// How a quotient is rounded: `rounding_mode` of `div`.
fn divided(a: Arg<'_>, b: Arg<'_>, mode: Option<&str>) -> Result<Tensor> {
    match mode {
        None => arithmetic::div_args(a, b),
        Some("floor") => arithmetic::floor_divide_args(a, b),
        Some("trunc") => arithmetic::trunc_divide_args(a, b),
        Some(other) => error::runtime(format!(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{other}'"
        )),
    }
}

#[pymethods]
impl PyTensor {
    #[pyo3(signature = (other, *, alpha=None))]
    fn add(&self, other: Operand, alpha: Option<Scalar>) -> Result<Tensor> {
        arithmetic::add_alpha(Arg::Tensor(&self.tensor), Arg::from(&other), alpha)
    }

    #[pyo3(signature = (other, *, alpha=None))]
    fn add_<'py>(slf: Bound<'py, Self>, other: Operand, alpha: Option<Scalar>) -> Own<'py> {
        update::add_alpha(&slf.get().tensor, Arg::from(&other), alpha)?;
        Ok(slf)
    }

    #[pyo3(signature = (other, *, alpha=None))]
    fn sub(&self, other: Operand, alpha: Option<Scalar>) -> Result<Tensor> {
        arithmetic::sub_alpha(Arg::Tensor(&self.tensor), Arg::from(&other), alpha)
    }

    #[pyo3(signature = (other, *, alpha=None))]
    fn sub_<'py>(slf: Bound<'py, Self>, other: Operand, alpha: Option<Scalar>) -> Own<'py> {
        update::sub_alpha(&slf.get().tensor, Arg::from(&other), alpha)?;
        Ok(slf)
    }

    /// `other - alpha * self`.
    #[pyo3(signature = (other, *, alpha=None))]
    fn rsub(&self, other: Operand, alpha: Option<Scalar>) -> Result<Tensor> {
        arithmetic::sub_alpha(Arg::from(&other), Arg::Tensor(&self.tensor), alpha)
    }

    #[pyo3(signature = (other, *, rounding_mode=None))]
    fn div(&self, other: Operand, rounding_mode: Option<&str>) -> Result<Tensor> {
        divided(Arg::Tensor(&self.tensor), Arg::from(&other), rounding_mode)
    }

    #[pyo3(signature = (other, *, rounding_mode=None))]
    fn div_<'py>(slf: Bound<'py, Self>, other: Operand, rounding_mode: Option<&str>) -> Own<'py> {
        let (target, other) = (&slf.get().tensor, Arg::from(&other));
        match rounding_mode {
            None => update::div(target, other)?,
            Some("floor") => update::floor_divide(target, other)?,
            Some("trunc") => update::trunc_divide(target, other)?,
            mode => drop(divided(Arg::Tensor(target), other, mode)?),
        }
        Ok(slf)
    }

    fn pow(&self, exponent: Operand) -> Result<Tensor> {
        arithmetic::pow_args(Arg::Tensor(&self.tensor), Arg::from(&exponent))
    }

    fn pow_<'py>(slf: Bound<'py, Self>, exponent: Operand) -> Own<'py> {
        update::pow(&slf.get().tensor, Arg::from(&exponent))?;
        Ok(slf)
    }

    fn heaviside(&self, values: Tensor) -> Result<Tensor> {
        arithmetic::heaviside_args(Arg::Tensor(&self.tensor), Arg::Tensor(&values))
    }

    fn heaviside_<'py>(slf: Bound<'py, Self>, values: Tensor) -> Own<'py> {
        update::heaviside(&slf.get().tensor, Arg::Tensor(&values))?;
        Ok(slf)
    }

    #[pyo3(signature = (*, decimals=0))]
    fn round(&self, decimals: i32) -> Result<Tensor> {
        unary::round_to(&self.tensor, decimals)
    }

    fn polygamma(&self, n: u32) -> Result<Tensor> {
        unary::polygamma(n, &self.tensor)
    }

    fn logical_not(&self) -> Result<Tensor> {
        bitwise::logical_not(&self.tensor)
    }

    fn bitwise_not(&self) -> Result<Tensor> {
        bitwise::bitwise_not(&self.tensor)
    }

    /// Whether both have the same shape and elements.
    fn equal(&self, other: Tensor) -> Result<bool> {
        compare::equal(&self.tensor, &other)
    }

    /// This tensor where the condition holds, `other` elsewhere.
    #[pyo3(name = "where")]
    fn where_method(&self, condition: Tensor, other: Operand) -> Result<Tensor> {
        select::select(&condition, Arg::Tensor(&self.tensor), Arg::from(&other))
    }

    /// Mantissa and exponent of each element.
    fn _frexp(&self) -> Result<(Tensor, Tensor)> {
        unary::frexp(&self.tensor)
    }

    #[pyo3(signature = (min=None, max=None))]
    fn clamp(&self, min: Option<Operand>, max: Option<Operand>) -> Result<Tensor> {
        select::clamp(&self.tensor, min.as_ref().map(Arg::from), max.as_ref().map(Arg::from))
    }
}

/// `other` where the condition holds, `otherwise` elsewhere.
#[pyfunction]
fn _where(condition: Tensor, other: Operand, otherwise: Operand) -> Result<Tensor> {
    select::select(&condition, Arg::from(&other), Arg::from(&otherwise))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_where, module)?)
}
