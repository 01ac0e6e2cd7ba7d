//! burn's movement functions by kind: the one place that chooses between `float_`, `int_` and `bool_`.

use burn_backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn_backend::{Backend, TensorMetadata};
use burn_dispatch::{Dispatch, DispatchTensor};
use burn_std::{BoolStore, DType, IndexingUpdateOp, IntDType, Scalar, Shape, Slice};
use paste::paste;

use crate::dtype::Kind;

macro_rules! for_each_kind {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*);)+) => { paste! { $(
        $(#[$doc])*
        pub fn $name(kind: Kind, tensor: DispatchTensor $(, $arg: $type)*) -> DispatchTensor {
            match kind {
                Kind::Float | Kind::Complex => Dispatch::[<float_ $name>](tensor $(, $arg)*),
                Kind::Int => Dispatch::[<int_ $name>](tensor $(, $arg)*),
                Kind::Bool => Dispatch::[<bool_ $name>](tensor $(, $arg)*),
            }
        }
    )+ } };
}

for_each_kind! {
    fn permute(axes: &[usize]);
    fn slice(slices: &[Slice]);
    fn slice_assign(slices: &[Slice], value: DispatchTensor);
    fn expand(shape: Shape);
    fn flip(axes: &[usize]);
    fn repeat_dim(dim: usize, times: usize);
    fn mask_where(mask: DispatchTensor, value: DispatchTensor);
}

/// The value in another shape.
///
/// burn 0.22 gives a new dimension of size 1 of a permuted value the stride of a neighbour, and its fused kernels then
/// read beside the elements of such a value where they may write to it. One dimension has no such strides: to make it is
/// free for what lies in order, and a copy of what does not.
pub fn reshape(kind: Kind, tensor: DispatchTensor, shape: Shape) -> DispatchTensor {
    let before = tensor.shape();
    let only_in_front = shape.as_slice().strip_suffix(before.as_slice()).is_some();
    if only_in_front || before.num_dims() == 1 || !shape.as_slice().contains(&1) {
        return reshape_at_once(kind, tensor, shape);
    }
    let length = before.num_elements();
    reshape_at_once(kind, reshape_at_once(kind, tensor, Shape::from([length])), shape)
}

/// The result of a convolution, which is a permuted view of its memory, where dimensions of size 1 need other strides.
pub fn settled(kind: Kind, tensor: DispatchTensor) -> DispatchTensor {
    let shape = tensor.shape();
    if !shape.as_slice().iter().skip(1).any(|&size| size == 1) {
        return tensor;
    }
    let length = shape.num_elements();
    reshape_at_once(kind, reshape_at_once(kind, tensor, Shape::from([length])), shape)
}

fn reshape_at_once(kind: Kind, tensor: DispatchTensor, shape: Shape) -> DispatchTensor {
    match kind {
        Kind::Float | Kind::Complex => Dispatch::float_reshape(tensor, shape),
        Kind::Int => Dispatch::int_reshape(tensor, shape),
        Kind::Bool => Dispatch::bool_reshape(tensor, shape),
    }
}

/// Runs `call` as a kernel of its own.
///
/// burn-fusion 0.22 merges selects, gathers and joins with neighbours of another shape, and then reads beside dimensions
/// of size 1 or fails: what waits is sent to the device before, and the call itself after, without waiting for results.
fn apart(near: &DispatchTensor, call: impl FnOnce() -> DispatchTensor) -> DispatchTensor {
    let device = near.device();
    // A failure here is reported where the value is read.
    drop(Dispatch::flush(&device));
    let out = call();
    drop(Dispatch::flush(&device));
    out
}

pub fn select(kind: Kind, tensor: DispatchTensor, dim: usize, indices: DispatchTensor) -> DispatchTensor {
    apart(&tensor.clone(), || match kind {
        Kind::Float | Kind::Complex => Dispatch::float_select(tensor, dim, indices),
        Kind::Int => Dispatch::int_select(tensor, dim, indices),
        Kind::Bool => Dispatch::bool_select(tensor, dim, indices),
    })
}

pub fn gather(kind: Kind, dim: usize, tensor: DispatchTensor, indices: DispatchTensor) -> DispatchTensor {
    apart(&tensor.clone(), || match kind {
        Kind::Float | Kind::Complex => Dispatch::float_gather(dim, tensor, indices),
        Kind::Int => Dispatch::int_gather(dim, tensor, indices),
        Kind::Bool => Dispatch::bool_gather(dim, tensor, indices),
    })
}

/// How many values one kernel joins. A device may bind no more than 8 buffers to one, the result and the sizes among them,
/// and burn-fusion does not count them here.
const JOINED_AT_ONCE: usize = 6;

pub fn cat(kind: Kind, mut tensors: Vec<DispatchTensor>, dim: usize) -> DispatchTensor {
    while tensors.len() > JOINED_AT_ONCE {
        tensors = tensors.chunks(JOINED_AT_ONCE).map(|group| cat_at_once(kind, group.to_vec(), dim)).collect();
    }
    cat_at_once(kind, tensors, dim)
}

fn cat_at_once(kind: Kind, mut tensors: Vec<DispatchTensor>, dim: usize) -> DispatchTensor {
    if tensors.len() == 1 {
        return tensors.swap_remove(0);
    }
    let join = |tensors: Vec<DispatchTensor>| match kind {
        Kind::Float | Kind::Complex => Dispatch::float_cat(tensors, dim),
        Kind::Int => Dispatch::int_cat(tensors, dim),
        Kind::Bool => Dispatch::bool_cat(tensors, dim),
    };
    match tensors.first().cloned() {
        Some(first) => apart(&first, || join(tensors)),
        None => join(tensors),
    }
}

/// Replaces the elements at `indices` of a flat tensor.
pub fn put_flat(kind: Kind, tensor: DispatchTensor, indices: DispatchTensor, value: DispatchTensor) -> DispatchTensor {
    let update = IndexingUpdateOp::Assign;
    match kind {
        Kind::Float | Kind::Complex => Dispatch::float_select_assign(tensor, 0, indices, value, update),
        Kind::Int => Dispatch::int_select_assign(tensor, 0, indices, value, update),
        // burn only offers "or" for booleans, so the assignment is made on integers.
        Kind::Bool => {
            let store = match tensor.dtype() {
                DType::Bool(store) => store,
                _ => BoolStore::Native,
            };
            let integers = |tensor| Dispatch::bool_into_int(tensor, IntDType::I32);
            let put = Dispatch::int_select_assign(integers(tensor), 0, indices, integers(value), update);
            Dispatch::int_not_equal_elem(put, Scalar::Int(0), store)
        }
    }
}

/// The value with `dim` in the middle of three dimensions, where it has more than three, and its place there. cubek 0.3
/// mixes up the elements of some permuted layouts when it reduces four or more: it takes axes for contiguous that stand
/// at the same place of two sorted lists, also where the heads of the lists differ.
pub fn in_three(kind: Kind, value: DispatchTensor, dim: usize) -> (DispatchTensor, usize) {
    let shape = value.shape();
    let sizes = shape.as_slice();
    if sizes.len() <= 3 {
        return (value, dim);
    }
    let before: usize = sizes.iter().take(dim).product();
    let after: usize = sizes.iter().skip(dim + 1).product();
    let size = sizes.get(dim).copied().unwrap_or(1);
    (reshape(kind, value, Shape::from([before, size, after])), 1)
}

/// `reduce(value, dim)`, a result of the same kind with size 1 at `dim`, for any rank and layout.
pub fn along(
    kind: Kind,
    value: DispatchTensor,
    dim: usize,
    reduce: impl FnOnce(DispatchTensor, usize) -> DispatchTensor,
) -> DispatchTensor {
    let mut kept = value.shape().as_slice().to_vec();
    let (value, place) = in_three(kind, value, dim);
    let out = reduce(value, place);
    if kept.len() <= 3 {
        return out;
    }
    if let Some(size) = kept.get_mut(dim) {
        *size = 1;
    }
    reshape(kind, out, Shape::from(kept))
}
