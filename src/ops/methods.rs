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
    ($($(#[$doc:meta])+ $name:ident = $op:ident;)+) => { paste! {
        #[pymethods]
        impl PyTensor {
            $($(#[$doc])+
            fn $name(&self) -> Result<Tensor> {
                unary::$name(&self.tensor)
            }

            #[doc = concat!("This tensor, into which the result of `", stringify!($name), "` was written.")]
            fn [<$name _>]<'py>(slf: Bound<'py, Self>) -> Own<'py> {
                update::unary(concat!(stringify!($name), "_"), &slf.get().tensor, Unary::$op, unary::$name)?;
                Ok(slf)
            })+
        }

        /// The function of this name, with a name that lives on.
        fn unary_named(name: &str) -> Option<(&'static str, Unary)> {
            match name {
                $(stringify!($name) => Some((stringify!($name), Unary::$op)),)+
                _ => None,
            }
        }
    } };
}

unary_methods! {
    /// The negative of each element.
    neg = Neg;
    /// The absolute value of each element.
    abs = Abs;
    /// The sign of each element: -1, 0 or 1.
    sign = Sign;
    /// The square of each element.
    square = Square;
    /// The square root of each element.
    sqrt = Sqrt;
    /// One over the square root of each element.
    rsqrt = Rsqrt;
    /// One over each element.
    reciprocal = Reciprocal;
    /// The least integer that is not below each element.
    ceil = Ceil;
    /// The greatest integer that is not above each element.
    floor = Floor;
    /// Each element without its fraction.
    trunc = Trunc;
    /// The fraction of each element.
    frac = Frac;
    /// The exponential of each element.
    exp = Exp;
    /// Two to the power of each element.
    exp2 = Exp2;
    /// The exponential of each element minus one, exact near zero.
    expm1 = Expm1;
    /// The natural logarithm of each element.
    log = Log;
    /// The logarithm to base 2 of each element.
    log2 = Log2;
    /// The logarithm to base 10 of each element.
    log10 = Log10;
    /// The logarithm of one plus each element, exact near zero.
    log1p = Log1p;
    /// The sine of each element.
    sin = Sin;
    /// The cosine of each element.
    cos = Cos;
    /// The tangent of each element.
    tan = Tan;
    /// The angle whose sine each element is.
    asin = Asin;
    /// The angle whose cosine each element is.
    acos = Acos;
    /// The angle whose tangent each element is.
    atan = Atan;
    /// The hyperbolic sine of each element.
    sinh = Sinh;
    /// The hyperbolic cosine of each element.
    cosh = Cosh;
    /// The hyperbolic tangent of each element.
    tanh = Tanh;
    /// The inverse hyperbolic sine of each element.
    asinh = Asinh;
    /// The inverse hyperbolic cosine of each element.
    acosh = Acosh;
    /// The inverse hyperbolic tangent of each element.
    atanh = Atanh;
    /// The error function of each element.
    erf = Erf;
    /// One minus the error function of each element.
    erfc = Erfc;
    /// The inverse of the error function of each element.
    erfinv = Erfinv;
    /// The logarithm of the absolute gamma function of each element.
    lgamma = Lgamma;
    /// The derivative of lgamma at each element.
    digamma = Digamma;
    /// The sine of pi times each element, divided by that; 1 at zero.
    sinc = Sinc;
    /// One over one plus the exponential of the negative of each element.
    sigmoid = Sigmoid;
    /// Each element, or zero where it is negative.
    relu = Relu;
}

macro_rules! binary_methods {
    ($($(#[$doc:meta])+ $name:ident => $compute:ident;)+) => { paste! {
        #[pymethods]
        impl PyTensor {
            $($(#[$doc])+
            fn $name(&self, other: Operand) -> Result<Tensor> {
                arithmetic::$compute(Arg::Tensor(&self.tensor), Arg::from(&other))
            }

            #[doc = concat!("This tensor, into which the result of `", stringify!($name), "` was written.")]
            fn [<$name _>]<'py>(slf: Bound<'py, Self>, other: Operand) -> Own<'py> {
                update::$name(&slf.get().tensor, Arg::from(&other))?;
                Ok(slf)
            })+
        }
    } };
}

binary_methods! {
    /// The products of elements.
    mul => mul_args;
    /// The quotients of elements, rounded down.
    floor_divide => floor_divide_args;
    /// The remainders of elements, with the sign of the divisor.
    remainder => remainder_args;
    /// The remainders of elements, with the sign of the dividend.
    fmod => fmod_args;
    /// The angles of the points (other, self).
    atan2 => atan2_args;
    /// The lengths of the vectors (self, other).
    hypot => hypot_args;
    /// The magnitudes of this tensor with the signs of `other`.
    copysign => copysign_args;
    /// The next number after each element in the direction of `other`.
    nextafter => nextafter_args;
    /// Elements times the logarithm of `other`, and 0 where they are 0.
    xlogy => xlogy_args;
}

macro_rules! pure_methods {
    ($($(#[$doc:meta])+ $name:ident => $compute:path;)+) => {
        #[pymethods]
        impl PyTensor {
            $($(#[$doc])+
            fn $name(&self, other: Operand) -> Result<Tensor> {
                $compute(Arg::Tensor(&self.tensor), Arg::from(&other))
            })+
        }
    };
}

pure_methods! {
    /// The larger of each pair of elements; NaN where one is NaN.
    maximum => arithmetic::maximum_args;
    /// The smaller of each pair of elements; NaN where one is NaN.
    minimum => arithmetic::minimum_args;
    /// The larger of each pair of elements; the other one where one is NaN.
    fmax => arithmetic::fmax_args;
    /// The smaller of each pair of elements; the other one where one is NaN.
    fmin => arithmetic::fmin_args;
    /// The logarithm of the sum of the exponentials of two elements.
    logaddexp => arithmetic::logaddexp_args;
    /// The same for base 2.
    logaddexp2 => arithmetic::logaddexp2_args;
    /// Elements times the logarithm of one plus `other`.
    _xlog1py => arithmetic::xlog1py_args;
    /// The bits that both elements have.
    bitwise_and => bitwise::bitwise_and;
    /// The bits that one of the elements has.
    bitwise_or => bitwise::bitwise_or;
    /// The bits that exactly one of the elements has.
    bitwise_xor => bitwise::bitwise_xor;
    /// The bits of each element, moved left by `other`.
    bitwise_left_shift => bitwise::bitwise_left_shift;
    /// The bits of each element, moved right by `other`.
    bitwise_right_shift => bitwise::bitwise_right_shift;
    /// The greatest common divisors of elements.
    gcd => bitwise::gcd;
    /// The least common multiples of elements.
    lcm => bitwise::lcm;
    /// Whether both elements are true.
    logical_and => bitwise::logical_and;
    /// Whether one of the elements is true.
    logical_or => bitwise::logical_or;
    /// Whether exactly one of the elements is true.
    logical_xor => bitwise::logical_xor;
    /// Whether elements are equal.
    eq => compare::eq;
    /// Whether elements differ.
    ne => compare::ne;
    /// Whether elements are below those of `other`.
    lt => compare::lt;
    /// Whether elements are not above those of `other`.
    le => compare::le;
    /// Whether elements are above those of `other`.
    gt => compare::gt;
    /// Whether elements are not below those of `other`.
    ge => compare::ge;
}

/// How a quotient is rounded: `rounding_mode` of `div`.
fn divided(a: Arg<'_>, b: Arg<'_>, mode: Option<&str>) -> Result<Tensor> {
    match mode {
        None => arithmetic::div_args(a, b),
        Some("floor") => arithmetic::floor_quotient_args(a, b),
        Some("trunc") => arithmetic::trunc_divide_args(a, b),
        Some(other) => error::runtime(format!(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{other}'"
        )),
    }
}

#[pymethods]
impl PyTensor {
    /// `self + alpha * other`.
    #[pyo3(signature = (other, *, alpha=None))]
    fn add(&self, other: Operand, alpha: Option<Scalar>) -> Result<Tensor> {
        arithmetic::add_alpha(Arg::Tensor(&self.tensor), Arg::from(&other), alpha)
    }

    /// This tensor, to which `alpha * other` was added.
    #[pyo3(signature = (other, *, alpha=None))]
    fn add_<'py>(slf: Bound<'py, Self>, other: Operand, alpha: Option<Scalar>) -> Own<'py> {
        update::add_alpha(&slf.get().tensor, Arg::from(&other), alpha)?;
        Ok(slf)
    }

    /// `self - alpha * other`.
    #[pyo3(signature = (other, *, alpha=None))]
    fn sub(&self, other: Operand, alpha: Option<Scalar>) -> Result<Tensor> {
        arithmetic::sub_alpha(Arg::Tensor(&self.tensor), Arg::from(&other), alpha)
    }

    /// This tensor, from which `alpha * other` was subtracted.
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

    /// The quotients of elements, exact or rounded by `rounding_mode`.
    #[pyo3(signature = (other, *, rounding_mode=None))]
    fn div(&self, other: Operand, rounding_mode: Option<&str>) -> Result<Tensor> {
        divided(Arg::Tensor(&self.tensor), Arg::from(&other), rounding_mode)
    }

    /// This tensor, divided by `other`.
    #[pyo3(signature = (other, *, rounding_mode=None))]
    fn div_<'py>(slf: Bound<'py, Self>, other: Operand, rounding_mode: Option<&str>) -> Own<'py> {
        let (target, other) = (&slf.get().tensor, Arg::from(&other));
        match rounding_mode {
            None => update::div(target, other)?,
            Some("floor") => update::floor_quotient(target, other)?,
            Some("trunc") => update::trunc_divide(target, other)?,
            mode => drop(divided(Arg::Tensor(target), other, mode)?),
        }
        Ok(slf)
    }

    /// Each element to the power of `exponent`.
    fn pow(&self, exponent: Operand) -> Result<Tensor> {
        arithmetic::pow_args(Arg::Tensor(&self.tensor), Arg::from(&exponent))
    }

    /// This tensor, raised to the power of `exponent`.
    fn pow_<'py>(slf: Bound<'py, Self>, exponent: Operand) -> Own<'py> {
        update::pow(&slf.get().tensor, Arg::from(&exponent))?;
        Ok(slf)
    }

    /// 0 for negative elements, 1 for positive ones, `values` for zeros.
    fn heaviside(&self, values: Tensor) -> Result<Tensor> {
        arithmetic::heaviside_args(Arg::Tensor(&self.tensor), Arg::Tensor(&values))
    }

    /// This tensor, into which the result of `heaviside` was written.
    fn heaviside_<'py>(slf: Bound<'py, Self>, values: Tensor) -> Own<'py> {
        update::heaviside(&slf.get().tensor, Arg::Tensor(&values))?;
        Ok(slf)
    }

    /// Each element rounded to `decimals` places, halves to even.
    #[pyo3(signature = (*, decimals=0))]
    fn round(&self, decimals: i32) -> Result<Tensor> {
        unary::round_to(&self.tensor, decimals)
    }

    /// The derivative of order `n` of the digamma function at each element.
    fn polygamma(&self, n: u32) -> Result<Tensor> {
        unary::polygamma(n, &self.tensor)
    }

    /// The number below which a normal one lies with each probability, in float64.
    fn _ndtri(&self) -> Result<Tensor> {
        unary::ndtri(&self.tensor)
    }

    /// The angle of each real number as a complex one: zero or pi.
    fn _real_angle(&self) -> Result<Tensor> {
        unary::angle(&self.tensor)
    }

    /// The sum of Chebyshev polynomials with these coefficients at each element, in float64, outside the graph.
    fn _clenshaw(&self, coefficients: Vec<f64>) -> Result<Tensor> {
        unary::clenshaw(&self.tensor, &coefficients)
    }

    /// The regularised incomplete gamma function of these shapes up to `x`, or from there on, outside the graph.
    fn _incomplete_gamma(&self, x: Tensor, upper: bool) -> Result<Tensor> {
        arithmetic::incomplete_gamma(&self.tensor, &x, upper)
    }

    /// Whether each element is false.
    fn logical_not(&self) -> Result<Tensor> {
        bitwise::logical_not(&self.tensor)
    }

    /// The bits that each element has not.
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

    /// Each element, or the bound that it is beyond.
    #[pyo3(signature = (min=None, max=None))]
    fn clamp(&self, min: Option<Operand>, max: Option<Operand>) -> Result<Tensor> {
        select::clamp(&self.tensor, min.as_ref().map(Arg::from), max.as_ref().map(Arg::from))
    }

    /// This tensor, each of whose elements is the bound now that it was beyond.
    #[pyo3(signature = (min=None, max=None))]
    fn clamp_<'py>(slf: Bound<'py, Self>, min: Option<Operand>, max: Option<Operand>) -> Own<'py> {
        update::clamp(&slf.get().tensor, min.as_ref().map(Arg::from), max.as_ref().map(Arg::from))?;
        Ok(slf)
    }
}

/// `other` where the condition holds, `otherwise` elsewhere.
#[pyfunction]
fn _where(condition: Tensor, other: Operand, otherwise: Operand) -> Result<Tensor> {
    select::select(&condition, Arg::from(&other), Arg::from(&otherwise))
}

/// Writes the function of this name of `input` into `out`; False, with nothing done, where that takes more than one pass.
#[pyfunction]
fn _unary_out(name: &str, input: &Bound<'_, PyAny>, out: &Bound<'_, PyAny>) -> Result<bool> {
    let (Ok(x), Ok(out)) = (input.extract::<Tensor>(), out.extract::<Tensor>()) else { return Ok(false) };
    unary_named(name).map_or(Ok(false), |(name, op)| update::unary_out(name, op, &x, &out))
}

/// As `_unary_out`, for the sum, difference, product or quotient of two operands.
#[pyfunction]
fn _binary_out(name: &str, input: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>, out: &Bound<'_, PyAny>) -> Result<bool> {
    let (Ok(x), Ok(out)) = (input.extract::<Tensor>(), out.extract::<Tensor>()) else { return Ok(false) };
    other.extract::<Operand>().map_or(Ok(false), |other| update::binary_out(name, &x, Arg::from(&other), &out))
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_where, module)?)?;
    module.add_function(wrap_pyfunction!(_unary_out, module)?)?;
    module.add_function(wrap_pyfunction!(_binary_out, module)?)
}
