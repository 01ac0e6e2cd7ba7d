//! In-place arithmetic: one pass over the target where nothing is recorded, else the op and a recorded write.

use super::arithmetic::{self as ops, Recipe};
use super::operand::Scalar;
use super::pointwise::Arg;
use super::{activation, bitwise, combine, select};
use crate::autograd::grad_enabled;
use crate::autograd::inplace::{assign, check, check_apart};
use crate::dtype::DType;
use crate::error::Result;
use crate::tensor::Tensor;

/// Whether a write to `target` that depends on `other` leaves a trace in the graph.
fn is_recorded(target: &Tensor, other: Arg<'_>) -> bool {
    grad_enabled()
        && target.dtype().is_differentiable()
        && (target.requires_grad()
            || other.tensor().is_some_and(Tensor::requires_grad)
            || target.base().is_some_and(|base| base.requires_grad()))
}

/// torch's refusals of a write to `target` that reads `other`.
fn checked(op: &str, target: &Tensor, other: Arg<'_>) -> Result<()> {
    check(op, target)?;
    other.tensor().map_or(Ok(()), |other| check_apart(op, target, other, false))
}

/// Writes `target op other` into `target`.
fn apply(
    op: &'static str,
    target: &Tensor,
    other: Arg<'_>,
    recipe: &Recipe,
    recorded: fn(Arg<'_>, Arg<'_>) -> Result<Tensor>,
) -> Result<()> {
    checked(op, target, other)?;
    let this = Arg::Tensor(target);
    let dtype = (recipe.dtype)(this, other)?;
    let fits = dtype == target.dtype() && other.tensor().is_none_or(|other| other.rank() <= target.rank());
    if !fits || is_recorded(target, other) {
        return assign(op, target, &recorded(this, other)?);
    }
    ops::raw(recipe.op, recipe.name, this, other, dtype, Some(target))?;
    target.core().storage.bump();
    Ok(())
}

macro_rules! updates {
    ($($name:ident = $written:literal, $recipe:ident, $recorded:ident;)+) => {
        $(pub fn $name(target: &Tensor, other: Arg<'_>) -> Result<()> {
            apply($written, target, other, &ops::$recipe, ops::$recorded)
        })+
    };
}

updates! {
    add = "add_", ADD, add_args;
    sub = "sub_", SUB, sub_args;
    mul = "mul_", MUL, mul_args;
    div = "div_", DIV, div_args;
    floor_divide = "floor_divide_", FLOOR_DIVIDE, floor_divide_args;
    floor_quotient = "div_", FLOOR_DIVIDE, floor_quotient_args;
    trunc_divide = "div_", TRUNC_DIVIDE, trunc_divide_args;
    remainder = "remainder_", REMAINDER, remainder_args;
    fmod = "fmod_", FMOD, fmod_args;
    pow = "pow_", POW, pow_args;
    atan2 = "atan2_", ATAN2, atan2_args;
    hypot = "hypot_", HYPOT, hypot_args;
    copysign = "copysign_", COPYSIGN, copysign_args;
    nextafter = "nextafter_", NEXTAFTER, nextafter_args;
    xlogy = "xlogy_", XLOGY, xlogy_args;
    heaviside = "heaviside_", HEAVISIDE, heaviside_args;
}

macro_rules! whole_updates {
    ($($name:ident = $written:literal;)+) => {
        $(pub fn $name(target: &Tensor, other: Arg<'_>) -> Result<()> {
            checked($written, target, other)?;
            assign($written, target, &bitwise::$name(Arg::Tensor(target), other)?)
        })+
    };
}

whole_updates! {
    bitwise_and = "bitwise_and_";
    bitwise_or = "bitwise_or_";
    bitwise_xor = "bitwise_xor_";
    bitwise_left_shift = "bitwise_left_shift_";
    bitwise_right_shift = "bitwise_right_shift_";
}

/// `target += alpha * other`.
pub fn add_alpha(target: &Tensor, other: Arg<'_>, alpha: Option<Scalar>) -> Result<()> {
    if alpha.is_none() {
        return add(target, other);
    }
    checked("add_", target, other)?;
    if let (Some(alpha), Arg::Tensor(other)) = (alpha, other)
        && combine::added(target, other, alpha, true)?.is_some()
    {
        return Ok(());
    }
    assign("add_", target, &ops::add_alpha(Arg::Tensor(target), other, alpha)?)
}

/// `target -= alpha * other`.
pub fn sub_alpha(target: &Tensor, other: Arg<'_>, alpha: Option<Scalar>) -> Result<()> {
    if alpha.is_none() {
        return sub(target, other);
    }
    checked("sub_", target, other)?;
    if let (Some(alpha), Arg::Tensor(other)) = (alpha, other)
        && combine::added(target, other, ops::negative(alpha), true)?.is_some()
    {
        return Ok(());
    }
    assign("sub_", target, &ops::sub_alpha(Arg::Tensor(target), other, alpha)?)
}

/// Writes a function of `target` into `target`.
pub fn unary(
    op: &'static str,
    target: &Tensor,
    function: crate::kernels::unary::Unary,
    recorded: fn(&Tensor) -> Result<Tensor>,
) -> Result<()> {
    check(op, target)?;
    if target.dtype().is_complex() && function == crate::kernels::unary::Unary::Abs {
        return crate::error::runtime("In-place abs is not supported for complex tensors.");
    }
    if !target.dtype().is_float() || is_recorded(target, Arg::Tensor(target)) {
        return assign(op, target, &recorded(target)?);
    }
    super::unary::raw(function, op, target, target.dtype(), Some(target))?;
    target.core().storage.bump();
    Ok(())
}

/// Brings `target` inside of its bounds.
pub fn clamp(target: &Tensor, min: Option<Arg<'_>>, max: Option<Arg<'_>>) -> Result<()> {
    check("clamp_", target)?;
    for bound in [min, max].into_iter().flatten().filter_map(Arg::tensor) {
        check_apart("clamp_", target, bound, false)?;
    }
    if is_recorded(target, Arg::Tensor(target)) || !select::clamp_here(target, min, max)? {
        return assign("clamp_", target, &select::clamp(target, min, max)?);
    }
    target.core().storage.bump();
    Ok(())
}

/// Whether `out` can take a result straight away: all are plain floats of one type and shape, in memory of their own, and
/// nobody differentiates them.
fn takes(out: &Tensor, read: &[&Tensor]) -> bool {
    let (core, traced) = (out.core(), |x: &Tensor| grad_enabled() && (x.requires_grad() || x.base().is_some()));
    let like = |x: &Tensor| {
        let other = x.core();
        other.dtype == core.dtype
            && other.geometry.shape == core.geometry.shape
            && other.geometry.is_contiguous()
            && other.storage.address() != core.storage.address()
    };
    matches!(core.dtype, DType::F32 | DType::F64)
        && core.geometry.is_contiguous()
        && out.device().is_cpu()
        && !traced(out)
        && read.iter().all(|x| x.device().is_cpu() && like(x) && !(grad_enabled() && x.requires_grad()))
}

/// Writes a function of `x` into `out`; false, with nothing done, where that takes more than one pass.
pub fn unary_out(name: &'static str, function: crate::kernels::unary::Unary, x: &Tensor, out: &Tensor) -> Result<bool> {
    if !takes(out, &[x]) {
        return Ok(false);
    }
    check("out", out)?;
    super::unary::raw(function, name, x, x.dtype(), Some(out))?;
    out.core().storage.bump();
    Ok(true)
}

/// As `unary_out`, for `a op b`.
pub fn binary_out(name: &str, a: &Tensor, b: Arg<'_>, out: &Tensor) -> Result<bool> {
    let recipe = match name {
        "add" => &ops::ADD,
        "sub" => &ops::SUB,
        "mul" => &ops::MUL,
        "div" => &ops::DIV,
        _ => return Ok(false),
    };
    let fits = match b {
        Arg::Tensor(b) => takes(out, &[a, b]),
        Arg::Scalar(_) => takes(out, &[a]),
    };
    if !fits || (recipe.dtype)(Arg::Tensor(a), b)? != out.dtype() {
        return Ok(false);
    }
    check("out", out)?;
    ops::raw(recipe.op, recipe.name, Arg::Tensor(a), b, out.dtype(), Some(out))?;
    out.core().storage.bump();
    Ok(true)
}

/// Clips `target` to a range.
pub fn hardtanh(op: &str, target: &Tensor, low: f64, high: f64) -> Result<()> {
    check(op, target)?;
    if !activation::fits_lanes(target) || is_recorded(target, Arg::Tensor(target)) {
        return assign(op, target, &activation::hardtanh(target, low, high)?);
    }
    activation::within(target, low, high, Some(target))?;
    target.core().storage.bump();
    Ok(())
}
