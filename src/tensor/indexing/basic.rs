//! The items that make views: numbers, slices, new dimensions. Index tensors are left for `advanced`.

use super::items::Item;
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::ops::{creation, movement, rows};
use crate::tensor::Tensor;

/// Index tensors by dimension; None where a dimension is kept whole.
pub type Indices = Vec<Option<Tensor>>;

/// How many dimensions an item uses up.
fn consumed(item: &Item) -> usize {
    match item {
        Item::Int(_) | Item::Slice(..) => 1,
        Item::Ellipsis | Item::NewAxis | Item::Flag(_) => 0,
        Item::Tensor(tensor) if is_mask(tensor) => tensor.rank(),
        Item::Tensor(_) => 1,
    }
}

pub fn is_mask(tensor: &Tensor) -> bool {
    matches!(tensor.dtype(), DType::Bool | DType::U8)
}

/// Applies the basic items as views and collects the index tensors for the dimensions that remain.
pub fn apply(x: &Tensor, items: Vec<Item>) -> Result<(Tensor, Indices)> {
    let rank = x.rank();
    let used: usize = items.iter().map(consumed).sum();
    if used > rank {
        return error::index(format!("too many indices for tensor of dimension {rank}"));
    }
    let mut view = x.clone();
    let mut indices: Indices = Vec::new();
    // `dim` is where the next item acts on the view, `origin` the dimension of x it stands for.
    let (mut dim, mut origin) = (0, 0);
    let record = |indices: &mut Indices, dim: usize, tensor: Tensor| {
        indices.resize(dim + 1, None);
        if let Some(slot) = indices.get_mut(dim) {
            *slot = Some(tensor);
        }
    };
    for item in items {
        match item {
            Item::Int(index) => {
                view = select(&view, dim, index, origin)?;
                origin += 1;
            }
            Item::Slice(start, stop, step) => {
                view = slice(&view, dim, start, stop, step)?;
                dim += 1;
                origin += 1;
            }
            Item::Ellipsis => {
                // A second ellipsis stands for as many dimensions again, as in torch: what follows it has no place.
                dim += rank - used;
                origin += rank - used;
            }
            Item::NewAxis => {
                need_place(&view, dim)?;
                view = movement::unsqueeze(&view, dim)?;
                dim += 1;
            }
            Item::Flag(flag) => {
                need_place(&view, dim)?;
                view = movement::unsqueeze(&view, dim)?;
                record(&mut indices, dim, flag_index(flag, x)?);
                dim += 1;
            }
            Item::Tensor(tensor) if tensor.rank() == 0 && is_mask(&tensor) => {
                need_place(&view, dim)?;
                view = movement::unsqueeze(&view, dim)?;
                let flag = rows::integers(&tensor)?.first().is_some_and(|&value| value != 0);
                record(&mut indices, dim, flag_index(flag, x)?);
                dim += 1;
            }
            Item::Tensor(tensor) if tensor.rank() == 0 && tensor.dtype().is_int() => {
                let index = rows::integers(&tensor)?.first().copied().unwrap_or(0);
                view = select(&view, dim, index, origin)?;
                origin += 1;
            }
            Item::Tensor(tensor) => {
                let span = if is_mask(&tensor) { tensor.rank() } else { 1 };
                need_dim(&view, dim + span - 1)?;
                record(&mut indices, dim, tensor);
                // A mask stands for as many dimensions as it has, but is one entry of the list.
                indices.extend(std::iter::repeat_n(None, span - 1).map(|none: Option<Tensor>| none));
                dim += span;
                origin += span;
            }
        }
    }
    Ok((view, indices))
}

/// `True` keeps the new dimension, `False` empties it.
fn flag_index(flag: bool, like: &Tensor) -> Result<Tensor> {
    creation::zeros(&[usize::from(flag)], DType::I64, like.device())
}

fn need_dim(x: &Tensor, dim: usize) -> Result<()> {
    if dim < x.rank() {
        return Ok(());
    }
    error::index(format!("too many indices for tensor of dimension {}", x.rank()))
}

/// A new dimension may also stand behind the last one.
fn need_place(x: &Tensor, dim: usize) -> Result<()> {
    if dim <= x.rank() {
        return Ok(());
    }
    let rank = x.rank() as isize;
    error::index(format!("Dimension out of range (expected to be in range of [{}, {rank}], but got {dim})", -rank - 1))
}

fn select(x: &Tensor, dim: usize, index: i64, origin: usize) -> Result<Tensor> {
    need_dim(x, dim)?;
    let size = x.size(dim) as i64;
    if index < -size || index >= size {
        return error::index(format!("index {index} is out of bounds for dimension {origin} with size {size}"));
    }
    movement::select(x, dim, if index < 0 { index + size } else { index } as usize)
}

fn slice(x: &Tensor, dim: usize, start: Option<i64>, stop: Option<i64>, step: i64) -> Result<Tensor> {
    need_dim(x, dim)?;
    let size = x.size(dim) as i64;
    let clamp = |bound: i64| if bound < 0 { bound.saturating_add(size) } else { bound }.clamp(0, size);
    let (start, stop) = (start.map_or(0, clamp), stop.map_or(size, clamp));
    if start == 0 && stop == size && step == 1 {
        return Ok(x.clone());
    }
    let length = (stop - start).max(0) as usize;
    movement::slice(x, dim, start as usize, length.div_ceil(step as usize), step as usize)
}
