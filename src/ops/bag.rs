//! Sums of rows of a table that bags of indices name.

use pyo3::prelude::*;
use smallvec::SmallVec;

use super::{arithmetic, creation, indexing, movement, ranges, reduce};
use crate::autograd::{Record, grad_enabled, grads};
use crate::dtype::DType;
use crate::error::Result;
use crate::guard;
use crate::kernels::bag::{self, Bags};
use crate::kernels::memory::{Elements, Numbers};
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;

/// Which rows of a table each bag names, and how they count.
struct Named {
    numbers: Numbers,
    starts: SmallVec<[usize; 16]>,
    padding: Option<i64>,
    mean: bool,
}

impl Named {
    /// None where an index or an offset is not what it should be, or the number of bags is not known.
    fn new(rows: usize, indices: &Tensor, offsets: Option<&Tensor>, last: bool) -> Result<Option<Self>> {
        let whole = |x: &Tensor| matches!(x.dtype(), DType::I64 | DType::I32) && x.device().is_cpu();
        if !whole(indices) || !offsets.is_none_or(whole) {
            return Ok(None);
        }
        let numbers = Numbers::of(&indices.converted(DType::I64)?)?;
        if numbers.get().iter().any(|&number| number as u64 >= rows as u64) {
            return Ok(None);
        }
        let starts: SmallVec<[usize; 16]> = match (indices.shape().as_slice(), offsets) {
            (&[bags, length], None) => (0..=bags).map(|bag| bag * length).collect(),
            (&[count], Some(offsets)) if offsets.rank() == 1 => {
                let offsets = Numbers::of(&offsets.converted(DType::I64)?)?;
                let given = offsets.get();
                let in_order = given.is_sorted() && given.last().is_none_or(|&end| end <= count as i64);
                let ends_there = !last || given.last() == Some(&(count as i64));
                if given.first() != Some(&0) || !in_order || !ends_there {
                    return Ok(None);
                }
                let ends = (!last).then_some(count);
                given.iter().map(|&start| start as usize).chain(ends).collect()
            }
            _ => return Ok(None),
        };
        Ok(Some(Self { numbers, starts, padding: None, mean: false }))
    }

    fn bags<'a>(&'a self, factors: Option<&'a Elements>) -> Bags<'a> {
        // SAFETY: factors are contiguous float32, as many as numbers.
        let factors = factors.map(|factors| unsafe { factors.slice() });
        Bags { numbers: self.numbers.get(), starts: &self.starts, factors, padding: self.padding, mean: self.mean }
    }

    /// For each number its bag, and how much it counts besides its own factor.
    fn shares(&self, dtype: DType) -> Result<(Tensor, Tensor)> {
        let (numbers, mut bags, mut shares) = (self.numbers.get(), Vec::new(), Vec::new());
        for (bag, ends) in self.starts.windows(2).enumerate() {
            let named = &numbers[ends[0]..ends[1]];
            let count = named.iter().filter(|&&number| Some(number) != self.padding).count();
            let share = if self.mean { 1.0 / count.max(1) as f64 } else { 1.0 };
            for &number in named {
                bags.push(bag as i64);
                shares.push(if Some(number) == self.padding { 0.0 } else { share });
            }
        }
        let (count, shape) = (bags.len(), [shares.len(), 1]);
        Ok((
            ranges::from_vec(bags, &[count], DType::I64)?,
            ranges::from_vec(shares, &shape, DType::F64)?.converted(dtype)?,
        ))
    }
}

fn elements(x: Option<&Tensor>) -> Result<Option<Elements>> {
    x.map(Elements::contiguous).transpose()
}

/// The sums of a table's rows.
fn sums(weight: &Tensor, named: &Named, factors: Option<&Tensor>) -> Result<Tensor> {
    let width = weight.size(1);
    let (out, _) = Tensor::uninit_with_pointer(&[named.starts.len().saturating_sub(1), width], DType::F32)?;
    let (table, factors, to) = (Elements::contiguous(weight)?, elements(factors)?, Elements::of(&out)?);
    let bags = named.bags(factors.as_ref());
    if out.numel() > 0 {
        // SAFETY: both are contiguous float32, and the result is new.
        guard::spread("embedding_bag", bags.numbers.len() * width, || unsafe {
            bag::sums(bags, table.slice(), width, to.slice_mut());
        })?;
    }
    Ok(out)
}

/// What a gradient is asked for: the size of the table, the factors, the table where the factors need a gradient, and
/// whether it needs one itself.
struct Asked<'a> {
    size: (usize, usize),
    factors: Option<&'a Tensor>,
    table: Option<&'a Tensor>,
    needed: bool,
}

/// The gradients of the table and of the factors in one pass each.
fn slopes(named: &Named, grad: &Tensor, asked: &Asked<'_>) -> Result<[Option<Tensor>; 2]> {
    let (rows, width) = asked.size;
    let grad = Elements::contiguous(grad)?;
    let factors = elements(asked.factors)?;
    let bags = named.bags(factors.as_ref());
    let work = bags.numbers.len() * width;
    let mut out = [None, None];
    if asked.needed {
        let result = Tensor::zeroed(&[rows, width], DType::F32)?;
        let to = Elements::of(&result)?;
        if result.numel() > 0 {
            // SAFETY: all are contiguous float32, and the result is new.
            guard::spread("embedding_bag", work, || unsafe {
                bag::table_grad(bags, grad.slice(), width, to.slice_mut());
            })?;
        }
        out[0] = Some(result);
    }
    if let (Some(factors), Some(table)) = (asked.factors, asked.table) {
        let result = Tensor::zeroed(&factors.shape(), DType::F32)?;
        let (table, to) = (Elements::contiguous(table)?, Elements::of(&result)?);
        // SAFETY: as above.
        guard::spread("embedding_bag", work, || unsafe {
            bag::factors_grad(bags, table.slice(), grad.slice(), width, to.slice_mut());
        })?;
        out[1] = Some(result);
    }
    Ok(out)
}

/// The same of recorded ops.
fn recorded(named: &Named, grad: &Tensor, asked: &Asked<'_>) -> Result<[Option<Tensor>; 2]> {
    let count = named.numbers.get().len();
    let numbers = ranges::from_vec(named.numbers.get().to_vec(), &[count], DType::I64)?;
    let (bags, shares) = named.shares(grad.dtype())?;
    let spread = arithmetic::mul(&indexing::index_select(grad, 0, &bags)?, &shares)?;
    let mut out = [None, None];
    if asked.needed {
        let scaled = match asked.factors {
            Some(factors) => arithmetic::mul(&spread, &movement::reshape(factors, &[count, 1])?)?,
            None => spread.clone(),
        };
        let zeros = creation::zeros(&[asked.size.0, asked.size.1], grad.dtype(), grad.device())?;
        out[0] = Some(indexing::index_add(&zeros, 0, &numbers, &scaled, None)?);
    }
    if let (Some(factors), Some(table)) = (asked.factors, asked.table) {
        let products = arithmetic::mul(&indexing::index_select(table, 0, &numbers)?, &spread)?;
        out[1] = Some(movement::reshape(&reduce::sum(&products, &[1], false)?, &factors.shape())?);
    }
    Ok(out)
}

#[pymethods]
impl PyTensor {
    /// The sum, or the mean, of the rows of this table that each bag of indices names; None for what this has no kernel.
    #[pyo3(signature = (indices, offsets, factors, mean, padding, last))]
    fn _bag_sums(
        &self,
        indices: Tensor,
        offsets: Option<Tensor>,
        factors: Option<Tensor>,
        mean: bool,
        padding: Option<i64>,
        last: bool,
    ) -> Result<Option<Tensor>> {
        let weight = &self.tensor;
        let plain = |x: &Tensor| x.dtype() == DType::F32 && x.device().is_cpu();
        let fits = factors.as_ref().is_none_or(|factors| plain(factors) && factors.shape() == indices.shape());
        if weight.rank() != 2 || !plain(weight) || !fits {
            return Ok(None);
        }
        let size = (weight.size(0), weight.size(1));
        let Some(named) = Named::new(size.0, &indices, offsets.as_ref(), last)? else { return Ok(None) };
        if padding.is_some_and(|row| !(-(size.0 as i64)..size.0 as i64).contains(&row)) {
            return Ok(None);
        }
        let named = Named { padding: padding.map(|row| row.rem_euclid(size.0.max(1) as i64)), mean, ..named };
        let out = sums(weight, &named, factors.as_ref())?;
        let rule = move |grad: &Tensor, asked: &Asked<'_>| {
            if grad_enabled() { recorded(&named, grad, asked) } else { slopes(&named, grad, asked) }
        };
        let Some(factors) = factors else {
            if let Some(record) = Record::new("EmbeddingBagBackward0", &[weight]) {
                record.save(&indices).finish(&out, move |c| {
                    let asked = Asked { size, factors: None, table: None, needed: true };
                    let [table, _] = rule(&c.grad()?, &asked)?;
                    grads([table])
                });
            }
            return Ok(Some(out));
        };
        if let Some(record) = Record::new("EmbeddingBagBackward0", &[weight, &factors]) {
            record.save(&factors).save(&indices).save(weight).finish(&out, move |c| {
                let table = if c.needs(1) { Some(c.saved(2)?) } else { None };
                grads(rule(&c.grad()?, &Asked { size, factors: Some(c.saved(0)?), table, needed: c.needs(0) })?)
            });
        }
        Ok(Some(out))
    }
}
