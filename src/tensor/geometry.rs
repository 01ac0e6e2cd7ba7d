//! Shape, strides and offset of a view over a storage; every view op is a function from geometry to geometry.

use smallvec::SmallVec;

use crate::error::{self, Result};

pub type Dims = SmallVec<[usize; 6]>;

/// Where the elements of a tensor lie in its storage, counted in elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    pub shape: Dims,
    pub strides: Dims,
    pub offset: usize,
}

/// The strides of a result that torch's loop over these operands allocates; None for the row-major ones.
///
/// Dimensions are sorted by the steps of the first operand that has one in both of two, the smallest innermost.
pub fn loop_strides(shape: &[usize], operands: &[Dims]) -> Option<Dims> {
    let rank = shape.len();
    let at = |values: &[usize], dim: usize| values.get(dim).copied().unwrap_or(0);
    // Whether `inner` must stand outside of `outer`: Some(true) to swap, None for doubt.
    let swapped = |inner: usize, outer: usize| -> Option<bool> {
        for strides in operands {
            let (one, other) = (at(strides, inner), at(strides, outer));
            if one == 0 || other == 0 {
                continue;
            }
            if one != other {
                return Some(one > other);
            }
            if at(shape, inner) > at(shape, outer) {
                return Some(true);
            }
        }
        None
    };
    let mut order: Dims = (0..rank).rev().collect();
    for start in 1..rank {
        let mut place = start;
        for below in (0..start).rev() {
            match swapped(at(&order, below), at(&order, place)) {
                Some(true) => {
                    order.swap(below, place);
                    place = below;
                }
                Some(false) => break,
                None => {}
            }
        }
    }
    if order.iter().enumerate().all(|(place, &dim)| dim == rank - place - 1) {
        return None;
    }
    let mut strides: Dims = shape.iter().map(|_| 1).collect();
    let mut step = 1;
    for &dim in &order {
        if let Some(slot) = strides.get_mut(dim) {
            *slot = step;
        }
        step *= at(shape, dim).max(1);
    }
    Some(strides)
}

/// The highest rank that burn's kernels and our tests cover.
pub const MAX_RANK: usize = 8;

pub fn contiguous_strides(shape: &[usize]) -> Dims {
    let mut strides: Dims = SmallVec::from_elem(1, shape.len());
    let mut step = 1usize;
    for (stride, &size) in strides.iter_mut().zip(shape).rev() {
        *stride = step;
        step = step.saturating_mul(size.max(1));
    }
    strides
}

/// The number of elements, or an error where it does not fit in memory's address space.
pub fn checked_numel(shape: &[usize]) -> Result<usize> {
    let product = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
    // Zero sizes make a huge sibling harmless, as in torch.
    match product {
        Some(numel) if numel <= isize::MAX as usize / 16 => Ok(numel),
        _ if shape.contains(&0) => Ok(0),
        _ => error::runtime(format!("shape {shape:?} needs more elements than memory can hold; use smaller sizes")),
    }
}

/// `dim` counted from the front; negative values count from the end. Rank 0 counts as rank 1, as in torch.
pub fn wrap_dim(op: &str, dim: isize, rank: usize) -> Result<usize> {
    let span = rank.max(1) as isize;
    if dim < -span || dim >= span {
        return error::dim(format!(
            "{op}: Dimension out of range (expected to be in range of [{}, {}], but got {dim})",
            -span,
            span - 1
        ));
    }
    Ok(if dim < 0 { dim + span } else { dim } as usize)
}

impl Geometry {
    pub fn contiguous(shape: &[usize]) -> Self {
        Self { shape: SmallVec::from_slice(shape), strides: contiguous_strides(shape), offset: 0 }
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    pub fn numel(&self) -> usize {
        self.shape.iter().product()
    }

    pub fn is_contiguous(&self) -> bool {
        if self.shape.contains(&0) {
            return true;
        }
        let mut expected = 1;
        for (&size, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if size != 1 {
                if stride != expected {
                    return false;
                }
                expected *= size;
            }
        }
        true
    }

    /// One past the highest element index that the view touches.
    pub fn end(&self) -> usize {
        if self.numel() == 0 {
            return self.offset;
        }
        let span: usize = self.shape.iter().zip(&self.strides).map(|(&size, &stride)| (size - 1) * stride).sum();
        self.offset + span + 1
    }

    /// Whether one memory location stands for several elements, which makes writing ambiguous.
    pub fn overlaps_itself(&self) -> bool {
        if self.is_contiguous() {
            return false;
        }
        let mut dims: SmallVec<[(usize, usize); 6]> = self
            .strides
            .iter()
            .zip(&self.shape)
            .filter(|&(_, &size)| size > 1)
            .map(|(&stride, &size)| (stride, size))
            .collect();
        dims.sort_unstable();
        let mut reach = 0;
        for (stride, size) in dims {
            if stride <= reach {
                return true;
            }
            reach += stride * (size - 1);
        }
        false
    }

    /// Whether the elements fill one stretch of memory, each at its own place, in whatever order.
    pub fn is_dense(&self) -> bool {
        let mut dims: SmallVec<[(usize, usize); 6]> =
            self.strides.iter().copied().zip(self.shape.iter().copied()).filter(|&(_, size)| size > 1).collect();
        dims.sort_unstable();
        let mut expected = 1;
        dims.into_iter().all(|(stride, size)| {
            let fits = stride == expected;
            expected *= size;
            fits
        })
    }

    /// The dimensions from the outermost in memory to the innermost.
    pub fn memory_order(&self) -> Dims {
        let strides = strides_like(&self.shape, &[&self.strides]);
        let mut order: Dims = (0..self.rank()).collect();
        order.sort_by_key(|&dim| std::cmp::Reverse((strides[dim], self.shape[dim])));
        order
    }

    pub fn permute(&self, axes: &[usize]) -> Self {
        Self {
            shape: axes.iter().map(|&axis| self.shape[axis]).collect(),
            strides: axes.iter().map(|&axis| self.strides[axis]).collect(),
            offset: self.offset,
        }
    }

    pub fn transpose(&self, a: usize, b: usize) -> Self {
        let mut out = self.clone();
        if a < out.rank() && b < out.rank() {
            out.shape.swap(a, b);
            out.strides.swap(a, b);
        }
        out
    }

    /// Elements `start, start + step, ...` (`length` of them) along `dim`; bounds are the caller's duty.
    pub fn slice(&self, dim: usize, start: usize, length: usize, step: usize) -> Self {
        let mut out = self.clone();
        if length > 0 {
            out.offset += start * out.strides[dim];
        }
        out.shape[dim] = length;
        out.strides[dim] *= step;
        out
    }

    pub fn select(&self, dim: usize, index: usize) -> Self {
        let mut out = self.slice(dim, index, 1, 1);
        out.shape.remove(dim);
        out.strides.remove(dim);
        out
    }

    pub fn unsqueeze(&self, dim: usize) -> Self {
        let mut out = self.clone();
        let stride = if dim < self.rank() { self.shape[dim].max(1) * self.strides[dim] } else { 1 };
        out.shape.insert(dim, 1);
        out.strides.insert(dim, stride);
        out
    }

    /// Drops the dimensions of size 1 among `dims`.
    pub fn squeeze(&self, dims: &[usize]) -> Self {
        let keep: Dims = (0..self.rank()).filter(|&dim| !(dims.contains(&dim) && self.shape[dim] == 1)).collect();
        self.permute(&keep)
    }

    /// Broadcasts to `shape`, whose compatibility the caller has checked.
    pub fn expand(&self, shape: &[usize]) -> Self {
        let extra = shape.len() - self.rank();
        let mut strides: Dims = SmallVec::from_elem(0, shape.len());
        for dim in extra..shape.len() {
            let (size, stride) = (self.shape[dim - extra], self.strides[dim - extra]);
            strides[dim] = if size == 1 && shape[dim] != 1 { 0 } else { stride };
        }
        Self { shape: SmallVec::from_slice(shape), strides, offset: self.offset }
    }

    /// The strides that show the same memory as `shape`, or None where a copy is needed (torch's rule).
    pub fn view(&self, shape: &[usize]) -> Option<Self> {
        let numel = self.numel();
        if numel == 0 || self.is_contiguous() {
            return Some(Self {
                shape: SmallVec::from_slice(shape),
                strides: contiguous_strides(shape),
                offset: self.offset,
            });
        }
        let mut strides: Dims = SmallVec::from_elem(0, shape.len());
        let mut view_dim = shape.len();
        let mut chunk_base = *self.strides.last().unwrap_or(&1);
        let (mut tensor_numel, mut view_numel) = (1usize, 1usize);
        for dim in (0..self.rank()).rev() {
            tensor_numel *= self.shape[dim];
            let chunk_ends =
                dim == 0 || (self.shape[dim - 1] != 1 && self.strides[dim - 1] != tensor_numel * chunk_base);
            if !chunk_ends {
                continue;
            }
            while view_dim > 0 && (view_numel < tensor_numel || shape[view_dim - 1] == 1) {
                view_dim -= 1;
                strides[view_dim] = view_numel * chunk_base;
                view_numel *= shape[view_dim];
            }
            if view_numel != tensor_numel {
                return None;
            }
            if dim > 0 {
                chunk_base = self.strides[dim - 1];
                tensor_numel = 1;
                view_numel = 1;
            }
        }
        (view_dim == 0).then(|| Self { shape: SmallVec::from_slice(shape), strides, offset: self.offset })
    }

    pub fn diagonal(&self, offset: isize, dim1: usize, dim2: usize) -> Self {
        let (rows, columns) = (self.shape[dim1], self.shape[dim2]);
        let (skip, length, stride) = if offset >= 0 {
            let offset = offset as usize;
            (offset, rows.min(columns.saturating_sub(offset)), self.strides[dim2])
        } else {
            let offset = offset.unsigned_abs();
            (offset, columns.min(rows.saturating_sub(offset)), self.strides[dim1])
        };
        let mut out = self.clone();
        if length > 0 {
            out.offset += skip * stride;
        }
        let step = self.strides[dim1] + self.strides[dim2];
        let (first, second) = (dim1.min(dim2), dim1.max(dim2));
        for dim in [second, first] {
            out.shape.remove(dim);
            out.strides.remove(dim);
        }
        out.shape.push(length);
        out.strides.push(step);
        out
    }

    /// Windows of `size` elements every `step` along `dim`, the window as a new last dimension.
    pub fn unfold(&self, dim: usize, size: usize, step: usize) -> Self {
        let mut out = self.clone();
        if self.rank() == 0 {
            out.shape.push(size);
            out.strides.push(1);
            return out;
        }
        let stride = self.strides[dim];
        out.shape[dim] = (self.shape[dim] - size) / step + 1;
        out.strides[dim] = stride * step;
        out.shape.push(size);
        out.strides.push(stride);
        out
    }
}

/// The strides of a new tensor of `shape` whose dimensions lie in memory in the order in which those of the operands do
/// (torch's TensorIterator: the first operand that tells two dimensions apart decides); `operands` are strides of `shape`.
pub fn strides_like(shape: &[usize], operands: &[&[usize]]) -> Dims {
    // Above zero: `a` must lie further out than `b`; zero: no operand says.
    let compare = |a: usize, b: usize| -> i8 {
        for strides in operands {
            let (first, second) = (strides[a], strides[b]);
            if first == 0 || second == 0 {
                continue;
            }
            if first != second {
                return if first < second { -1 } else { 1 };
            }
            if shape[a] > shape[b] {
                return 1;
            }
        }
        0
    };
    // Innermost first. An insertion sort, since "no operand says" is not an order that a library sort accepts.
    let mut order: Dims = (0..shape.len()).rev().collect();
    for start in 1..order.len() {
        let mut moving = start;
        for place in (0..start).rev() {
            match compare(order[place], order[moving]) {
                1 => {
                    order.swap(place, moving);
                    moving = place;
                }
                -1 => break,
                _ => {}
            }
        }
    }
    let mut strides: Dims = SmallVec::from_elem(1, shape.len());
    let mut step = 1;
    for dim in order {
        strides[dim] = step;
        step *= shape[dim].max(1);
    }
    strides
}

/// The shape that two shapes broadcast to.
pub fn broadcast(op: &str, a: &[usize], b: &[usize]) -> Result<Dims> {
    if a == b {
        return Ok(SmallVec::from_slice(a));
    }
    let rank = a.len().max(b.len());
    let mut out: Dims = SmallVec::from_elem(1, rank);
    for (dim, size) in out.iter_mut().enumerate() {
        let at = |shape: &[usize]| (dim + shape.len()).checked_sub(rank).map_or(1, |index| shape[index]);
        let (left, right) = (at(a), at(b));
        *size = match (left, right) {
            (x, y) if x == y => x,
            (1, y) => y,
            (x, 1) => x,
            (x, y) => {
                return error::shape(format!(
                    "{op}: The size of tensor a ({x}) must match the size of tensor b ({y}) at \
                     non-singleton dimension {dim}; shapes {a:?} and {b:?} do not broadcast"
                ));
            }
        };
    }
    Ok(out)
}
