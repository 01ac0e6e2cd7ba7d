//! Comparisons: booleans from pairs of elements, without gradients.

use super::burn_pointwise as burn;
use super::pointwise::{Arg, Call, beside_number, common_type, evaluate};
use crate::dtype::DType;
use crate::error::Result;
use crate::kernels::binary::{self as kernel, Compare, Places};
use crate::kernels::memory::Memory;
use crate::kernels::reducers::Fold;
use crate::kernels::same;
use crate::tensor::Tensor;

fn compare(op: Compare, name: &'static str, a: Arg<'_>, b: Arg<'_>) -> Result<Tensor> {
    let dtype = common_type([a, b]);
    if let Some((x, number, left)) = beside_number(a, b, dtype) {
        let answers = burn::compare_number(op, x.prim()?, number, left, x.device())?;
        return Tensor::from_prim_shaped(answers, DType::Bool, x.device(), &x.shape());
    }
    evaluate(
        Call { name, args: [a, b], dtypes: [dtype; 2], out: DType::Bool, into: None },
        |shape, out, [a, b]| kernel::compare(op, name, dtype, Places { shape, out, a, b }),
        |values, device| burn::compare(op, dtype, values, device),
    )
}

macro_rules! comparisons {
    ($($name:ident => $op:ident;)+) => {
        $(pub fn $name<'a>(a: impl Into<Arg<'a>>, b: impl Into<Arg<'a>>) -> Result<Tensor> {
            compare(Compare::$op, stringify!($name), a.into(), b.into())
        })+
    };
}

comparisons! {
    eq => Eq;
    ne => Ne;
    lt => Lt;
    le => Le;
    gt => Gt;
    ge => Ge;
}

/// Answers that are worth a fold of their own.
const MANY: usize = 1 << 12;

/// Whether two tensors have the same shape and the same elements.
pub fn equal(a: &Tensor, b: &Tensor) -> Result<bool> {
    crate::check::same_device("equal", &[a, b])?;
    if a.shape() != b.shape() {
        return Ok(false);
    }
    if a.device().is_cpu() && a.dtype() == b.dtype() && a.numel() > 0 {
        let (one, other) = (a.contiguous_data()?, b.contiguous_data()?);
        let (from, to, count, dtype) = (Memory::first(&one)?, Memory::first(&other)?, a.numel(), a.dtype());
        // SAFETY: both are row-major, and of one shape and dtype.
        if let Some(same) = crate::guard::spread("equal", count, || unsafe { same::are(from, to, count, dtype) })? {
            return Ok(same);
        }
    }
    let mut same = eq(a, b)?;
    if same.numel() > MANY && same.device().is_cpu() {
        let dims: Vec<usize> = (0..same.rank()).collect();
        same = super::fold::fold("equal", Fold::All, &same, &dims, false)?;
    }
    Ok(same.to_bytes()?.iter().all(|&byte| byte != 0))
}
