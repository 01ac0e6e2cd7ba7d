//! Products of matrices and vectors.

use burn_backend::ops::{FloatTensorOps, IntTensorOps};
use burn_dispatch::Dispatch;
use pyo3::prelude::*;
use smallvec::SmallVec;

use super::complex::conj;
use super::{elementwise, movement, reduce};
use crate::autograd::{Record, grads, needs_grad};
use crate::check;
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::dot_sum;
use crate::kernels::gemm;
use crate::kernels::memory::Elements;
use crate::kernels::micro::{Finish, Start};
use crate::kernels::product::{self, Matrix, Out, Product};
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::{Dims, broadcast};
use crate::tensor::storage::{Buffer, Data};

/// The type that products of `dtype` are computed in on the CPU: half types as float32, integers as int64.
fn wide(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::F32 | DType::F64 | DType::C64 | DType::C128 => dtype,
        _ => DType::I64,
    }
}

fn as_type(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype { Ok(x.clone()) } else { x.converted(dtype) }
}

/// Refuses pairs that no product exists for.
fn check_pair(op: &str, a: &Tensor, b: &Tensor) -> Result<()> {
    check::same_device(op, &[a, b])?;
    if a.dtype() != b.dtype() {
        let (one, other) = (a.dtype(), b.dtype());
        let text = match op {
            "linear" => format!(
                "mat1 and mat2 must have the same dtype, but got {} and {}",
                one.scalar_type(),
                other.scalar_type()
            ),
            "bmm" | "matmul" if a.rank() > 2 || b.rank() > 2 => {
                format!("expected scalar type {} but found {}", one.scalar_type(), other.scalar_type())
            }
            _ => format!("expected m1 and m2 to have the same dtype, but got: {} != {}", one.c_type(), other.c_type()),
        };
        return error::dtype(format!("{op}: {text}; convert one of them with .to(...)"));
    }
    check::kind(op, a.dtype(), &[Kind::Int, Kind::Float, Kind::Complex])?;
    if matches!(a.dtype(), DType::U16 | DType::U32 | DType::U64) {
        return error::dtype(format!(
            "{op}: not implemented for '{}'; convert with .long() first",
            a.dtype().scalar_type()
        ));
    }
    Ok(())
}

fn mismatch<T>(op: &str, a: &[usize], b: &[usize]) -> Result<T> {
    error::shape(format!(
        "{op}: mat1 and mat2 shapes cannot be multiplied ({} and {}): the last size of the first must be the last \
         but one of the second; transpose or reshape one of them",
        text(a),
        text(b)
    ))
}

fn text(shape: &[usize]) -> String {
    shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}

/// The two last dimensions exchanged.
fn transposed(x: &Tensor) -> Result<Tensor> {
    let rank = x.rank();
    movement::transpose(x, rank - 2, rank - 1)
}

/// `x` outside the graph, with its leading dimensions broadcast to `batch`.
fn with_batch(x: &Tensor, batch: &[usize]) -> Tensor {
    let geometry = x.geometry();
    let mut shape: Dims = batch.iter().copied().collect();
    shape.extend(geometry.shape[geometry.rank() - 2..].iter().copied());
    x.alias(geometry.expand(&shape))
}

/// `out = a @ b` (or `out += a @ b`) by four products of real and imaginary parts, in place where they lie.
fn complex_product(op: &str, work: usize, out: &Tensor, a: &Tensor, b: &Tensor, add: bool) -> Result<()> {
    let part = |x: &Tensor, index| Elements::of(&super::complex::part(x, index));
    let [to_re, to_im] = [part(out, 0)?, part(out, 1)?];
    let [a_re, a_im, b_re, b_im] = [part(a, 0)?, part(a, 1)?, part(b, 0)?, part(b, 1)?];
    guard::heavy(op, work.saturating_mul(4), move || {
        gemm::multiply(&to_re, &a_re, &b_re, gemm::Sign::of(add));
        gemm::multiply(&to_re, &a_im, &b_im, gemm::Sign::Minus);
        gemm::multiply(&to_im, &a_re, &b_im, gemm::Sign::of(add));
        gemm::multiply(&to_im, &a_im, &b_re, gemm::Sign::Plus);
    })
}

/// Multiplications of a product.
fn checked_work(shape: &[usize], depth: usize) -> usize {
    shape.iter().fold(depth, |work, &size| work.saturating_mul(size))
}

/// `raw_product` in float32, with `start` added and what is below zero cut off as results are written. The factors are
/// float32 or narrower.
fn single_product(
    op: &str,
    [a, b]: [&Tensor; 2],
    shape: &[usize],
    (start, relu): (Option<&Tensor>, bool),
    work: usize,
) -> Result<Tensor> {
    let (out, _) = Tensor::uninit_with_pointer(shape, DType::F32)?;
    let start = match start {
        Some(start) => {
            let start = as_type(start, DType::F32)?;
            Some(Elements::of(&start.alias(start.geometry().expand(shape)))?)
        }
        None => None,
    };
    let (batch, matrix) = shape.split_at(shape.len() - 2);
    let shared = product::shared(batch.iter().product(), [matrix[0], matrix[1], a.size(a.rank() - 1)]);
    let (to, x, y) = (Elements::of(&out)?, Elements::of(a)?, Elements::of(b)?);
    let call = move || gemm::singles([&to, &x, &y], Finish { relu, ..Finish::PLAIN }, start.as_ref());
    if shared {
        guard::spread(op, work, call)?
    } else {
        guard::alone(op, work, call)?
    }
    Ok(out)
}

/// `a @ b` of CPU matrices in float32, where `b` is int8 and `a` int8 or a float of at most four bytes.
fn int8_product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let op = "int8_product";
    need_ranks(op, a, 2, b, 2)?;
    if b.dtype() != DType::I8 || !matches!(a.dtype(), DType::I8 | DType::F32 | DType::F16 | DType::BF16) {
        return error::dtype(format!(
            "{op}: expected floats or int8 and int8, got {} and {}",
            a.dtype().name(),
            b.dtype().name()
        ));
    }
    let (left, right) = (a.shape(), b.shape());
    if left[1] != right[0] {
        return mismatch(op, &left, &right);
    }
    let shape = [left[0], right[1]];
    single_product(op, [a, b], &shape, (None, false), checked_work(&shape, left[1]))
}

/// `a @ b` over the last two dimensions plus `start` (which broadcasts), on the values alone.
fn raw_product(op: &str, a: &Tensor, b: &Tensor, start: Option<&Tensor>) -> Result<Tensor> {
    let (left, right) = (a.shape(), b.shape());
    let (left_batch, left_matrix) = left.split_at(left.len() - 2);
    let (right_batch, right_matrix) = right.split_at(right.len() - 2);
    if left_matrix[1] != right_matrix[0] {
        return mismatch(op, &left, &right);
    }
    let batch = broadcast(op, left_batch, right_batch)?;
    let mut shape = batch.clone();
    shape.extend([left_matrix[0], right_matrix[1]]);
    let dtype = a.dtype();
    let (a, b) = (with_batch(a, &batch), with_batch(b, &batch));
    if a.is_meta() {
        return Tensor::meta_of(&shape, dtype);
    }
    if a.device().is_cpu() {
        let wide = wide(dtype);
        let work = checked_work(&shape, left_matrix[1]);
        if wide == DType::F32 {
            return as_type(&single_product(op, [&a, &b], &shape, (start, false), work)?, dtype);
        }
        let out = Tensor::zeroed(&shape, wide)?;
        if let Some(start) = start {
            out.write(start)?;
        }
        let (x, y) = (as_type(&a, wide)?, as_type(&b, wide)?);
        let add = start.is_some();
        if dtype.is_complex() {
            complex_product(op, work, &out, &x, &y, add)?;
            return Ok(out);
        }
        let (to, x, y) = (Elements::of(&out)?, Elements::of(&x)?, Elements::of(&y)?);
        guard::heavy(op, work, move || gemm::multiply(&to, &x, &y, gemm::Sign::of(add)))?;
        return as_type(&out, dtype);
    }
    let product = if shape.contains(&0) || left_matrix[1] == 0 {
        super::creation::zeros(&shape, dtype, a.device())?
    } else {
        Tensor::compute(op, &[&a, &b], dtype, move |mut values| {
            let right = values.swap_remove(1);
            let left = values.swap_remove(0);
            if dtype.is_float() { Dispatch::float_matmul(left, right) } else { Dispatch::int_matmul(left, right) }
        })?
    };
    match start {
        Some(start) => elementwise::add(&product, &start.detached()),
        None => Ok(product),
    }
}

/// Multiplications of a product that is not worth more than one look at its factors.
const SMALL: usize = 1 << 14;

/// `raw_product` of small float32 matrices on the CPU, the second one `turned`; None where they are something else.
fn small_product(a: &Tensor, b: &Tensor, turned: bool, start: Option<&Tensor>) -> Result<Option<Tensor>> {
    let (x, y, z) = (a.core(), b.core(), start.map(Tensor::core));
    let (Data::Cpu(left), Data::Cpu(right)) = (x.storage.data(), y.storage.data()) else { return Ok(None) };
    if x.dtype != DType::F32 || y.dtype != DType::F32 {
        return Ok(None);
    }
    let (&[rows, depth], &[a_row, a_column]) = (x.geometry.shape.as_slice(), x.geometry.strides.as_slice()) else {
        return Ok(None);
    };
    let (&[first, second], &[b_first, b_second]) = (y.geometry.shape.as_slice(), y.geometry.strides.as_slice()) else {
        return Ok(None);
    };
    let (columns, deep, across, along) =
        if turned { (first, second, b_first, b_second) } else { (second, first, b_second, b_first) };
    let work = rows.saturating_mul(columns).saturating_mul(depth);
    if deep != depth || work == 0 || work > SMALL {
        return Ok(None);
    }
    let start = match &z {
        None => None,
        Some(z) => match (z.storage.data(), z.geometry.shape.as_slice()) {
            (Data::Cpu(buffer), &[size]) if z.dtype == DType::F32 && size == columns => {
                let from = buffer.pointer().cast::<f32>().wrapping_add(z.geometry.offset).cast_const();
                Some(Start { from, row: 0, column: z.geometry.strides[0] })
            }
            _ => return Ok(None),
        },
    };
    let (out, to) = Tensor::uninit_with_pointer(&[rows, columns], DType::F32)?;
    let at = |buffer: &Buffer, offset: usize| buffer.pointer().cast::<f32>().wrapping_add(offset).cast_const();
    let product = Product {
        rows,
        columns,
        depth,
        a: Matrix::new(at(left, x.geometry.offset), a_row, a_column),
        b: Matrix::new(at(right, y.geometry.offset), across, along),
        out: Out { to: to.cast(), row: columns, column: 1 },
        finish: Finish { start, ..Finish::PLAIN },
    };
    // SAFETY: sizes and strides are those of the geometries, which lie inside their storages; `out` is new.
    unsafe { product::multiply_each(1, |_| product) };
    Ok(Some(out))
}

/// What the gradients of a product need: each factor only for the other's. As in torch, a factor whose partner is frozen
/// may be written to after the product; the partner, kept anyway, stands in its place.
fn needed<'a>(a: &'a Tensor, b: &'a Tensor) -> (&'a Tensor, &'a Tensor) {
    (if b.requires_grad() { a } else { b }, if a.requires_grad() { b } else { a })
}

/// `a @ b` over the last two dimensions, the others broadcast.
pub fn product(op: &str, a: &Tensor, b: &Tensor) -> Result<Tensor> {
    check_pair(op, a, b)?;
    let out = match small_product(a, b, false, None)? {
        Some(out) => out,
        None => raw_product(op, a, b, None)?,
    };
    let name = if out.rank() == 2 { "MmBackward0" } else { "BmmBackward0" };
    if let Some(record) = Record::new(name, &[a, b]) {
        let (first, second) = needed(a, b);
        record.save(first).save(second).finish(&out, |c| {
            let grad = c.grad()?;
            grads([
                c.when(0, || product("matmul", &grad, &transposed(&conj(c.saved(1)?)?)?))?,
                c.when(1, || product("matmul", &transposed(&conj(c.saved(0)?)?)?, &grad))?,
            ])
        });
    }
    Ok(out)
}

/// torch's `matmul`: vectors are rows on the left and columns on the right, leading dimensions broadcast.
pub fn matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    check_pair("matmul", a, b)?;
    let (left, right) = (a.shape(), b.shape());
    match (left.len(), right.len()) {
        (0, _) | (_, 0) => error::runtime(format!(
            "matmul: both arguments to matmul need to be at least 1D, but they are {}D and {}D",
            left.len(),
            right.len()
        )),
        (1, 1) => dot(a, b),
        (2, 2) => product("matmul", a, b),
        (1, _) => {
            if left[0] != right[right.len() - 2] {
                return mismatch("matmul", &left, &right);
            }
            let out = matmul(&movement::unsqueeze(a, 0)?, b)?;
            let rank = out.rank();
            movement::squeeze(&out, &[rank - 2])
        }
        (_, 1) => {
            if left[left.len() - 1] != right[0] {
                return mismatch("matmul", &left, &right);
            }
            let out = matmul(a, &movement::unsqueeze(b, 1)?)?;
            let rank = out.rank();
            movement::squeeze(&out, &[rank - 1])
        }
        (_, 2) => match folded(a)? {
            // One tall product: its gradient for `b` needs no sum over the batch.
            Some(tall) => {
                if left[left.len() - 1] != right[0] {
                    return mismatch("matmul", &left, &right);
                }
                let mut shape = left.clone();
                if let Some(last) = shape.last_mut() {
                    *last = right[1];
                }
                movement::reshape(&product("matmul", &tall, b)?, &shape)
            }
            None => product("matmul", a, b),
        },
        _ => product("matmul", a, b),
    }
}

/// All leading dimensions as one, where that needs no copy.
fn folded(x: &Tensor) -> Result<Option<Tensor>> {
    let shape = x.shape();
    let Some((&last, leading)) = shape.split_last() else { return Ok(None) };
    movement::try_view(x, &[leading.iter().product(), last])
}

pub fn dot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    check_pair("dot", a, b)?;
    let (left, right) = (a.shape(), b.shape());
    if left.len() != 1 || right.len() != 1 {
        return error::runtime(format!(
            "dot: 1D tensors expected, but got {}D and {}D tensors; use matmul",
            left.len(),
            right.len()
        ));
    }
    if left != right {
        return error::shape(format!(
            "dot: inconsistent tensor size, expected tensor [{}] and src [{}] to have the same number of elements",
            left[0], right[0]
        ));
    }
    let plain = |x: &Tensor| x.numel() > 0 && x.device().is_cpu() && x.is_contiguous();
    if matches!(a.dtype(), DType::F32 | DType::F64) && plain(a) && plain(b) {
        return plain_dot(a, b);
    }
    let out = product("dot", &movement::unsqueeze(a, 0)?, &movement::unsqueeze(b, 1)?)?;
    movement::reshape(&out, &[])
}

/// `dot` of contiguous CPU vectors of one length and float dtype.
fn plain_dot(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let (left, right) = (Elements::of(a)?, Elements::of(b)?);
    let (out, to) = Tensor::uninit_with_pointer(&[], a.dtype())?;
    let to = crate::kernels::scratch::Shared(to);
    // SAFETY: both are contiguous and of these dtypes, and the result is fresh.
    guard::spread("dot", a.numel(), move || unsafe {
        match left.dtype {
            DType::F64 => to.at(0).cast::<f64>().write(dot_sum::dot(left.slice(), right.slice())),
            _ => to.at(0).cast::<f32>().write(dot_sum::dot(left.slice(), right.slice())),
        }
    })?;
    if let Some(record) = Record::new("DotBackward0", &[a, b]) {
        let (first, second) = needed(a, b);
        record.save(first).save(second).finish(&out, |c| {
            let grad = c.grad()?;
            grads([
                c.when(0, || elementwise::mul(&grad, c.saved(1)?))?,
                c.when(1, || elementwise::mul(&grad, c.saved(0)?))?,
            ])
        });
    }
    Ok(out)
}

/// Both arguments have exactly `rank` and `other` dimensions.
fn need_ranks(op: &str, a: &Tensor, rank: usize, b: &Tensor, other: usize) -> Result<()> {
    if a.rank() == rank && b.rank() == other {
        return Ok(());
    }
    let [first, second] = if op == "bmm" { ["batch1", "batch2"] } else { ["self", "mat2"] };
    let (name, wanted) = if a.rank() == rank { (second, other) } else { (first, rank) };
    error::shape(format!(
        "{op}: {name} must be a {wanted}D tensor, got shapes {:?} and {:?}; matmul broadcasts",
        a.shape().as_slice(),
        b.shape().as_slice()
    ))
}

pub fn bmm(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    need_ranks("bmm", a, 3, b, 3)?;
    if a.size(0) != b.size(0) {
        return error::shape(format!(
            "bmm: batch1 and batch2 must have same number of batches, got {} and {}; matmul broadcasts",
            a.size(0),
            b.size(0)
        ));
    }
    if a.size(2) != b.size(1) {
        return error::shape(format!(
            "bmm: Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}].",
            a.size(0),
            a.size(2),
            b.size(0),
            b.size(1)
        ));
    }
    product("bmm", a, b)
}

/// Names the matrices that torch would multiply: the rows of the input, and the transposed weight.
fn linear_mismatch<T>(shape: &[usize], sizes: &[usize]) -> Result<T> {
    let rows = shape.iter().rev().skip(1).product::<usize>();
    let (given, needed) = (shape.last().unwrap_or(&0), sizes.last().unwrap_or(&0));
    let weight: Vec<usize> = sizes.iter().rev().copied().collect();
    error::shape(format!(
        "linear: input has shape {shape:?} but weight {sizes:?} needs a last dimension of {needed} (mat1 and mat2 \
         shapes cannot be multiplied ({rows}x{given} and {})); pass in_features={given} or reshape the input",
        text(&weight)
    ))
}

/// `x @ weight.T + bias` over the last dimension.
pub fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    check_pair("linear", x, weight)?;
    let (shape, sizes) = (x.shape(), weight.shape());
    if shape.is_empty() || !matches!(sizes.len(), 1 | 2) || shape.last() != sizes.last() {
        return linear_mismatch(&shape, &sizes);
    }
    if let Some(bias) = bias {
        check_pair("linear", x, bias)?;
        let features = if sizes.len() == 2 { sizes[0] } else { 1 };
        if bias.rank() > 1 || !(bias.numel() == features || bias.numel() == 1) {
            return error::shape(format!(
                "linear: bias has shape {:?} but weight {:?} needs [{features}]",
                bias.shape().as_slice(),
                sizes.as_slice()
            ));
        }
    }
    if sizes.len() == 1 {
        let out = matmul(x, weight)?;
        return bias.map_or(Ok(out.clone()), |bias| elementwise::add(&out, bias));
    }
    if shape.len() == 2 {
        return affine(x, weight, bias);
    }
    let rows: usize = shape[..shape.len() - 1].iter().product();
    let out = affine(&movement::reshape(x, &[rows, sizes[1]])?, weight, bias)?;
    let mut target = shape.clone();
    if let Some(last) = target.last_mut() {
        *last = sizes[0];
    }
    movement::reshape(&out, &target)
}

/// `linear` of matrices as one product that starts from the bias.
fn affine(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    let out = match small_product(x, weight, true, bias)? {
        Some(out) => out,
        None => raw_product("linear", x, &weight.alias(weight.geometry().transpose(0, 1)), bias)?,
    };
    let inputs: SmallVec<[&Tensor; 3]> = [x, weight].into_iter().chain(bias).collect();
    if let Some(record) = Record::new("AddmmBackward0", &inputs) {
        let biased = bias.is_some();
        let (first, second) = needed(x, weight);
        record.save(first).save(second).finish(&out, move |c| {
            let grad = c.grad()?;
            let mut out = crate::autograd::Grads::new();
            out.push(c.when(0, || product("linear", &grad, &conj(c.saved(1)?)?))?);
            out.push(c.when(1, || product("linear", &transposed(&grad)?, &conj(c.saved(0)?)?))?);
            if biased {
                out.push(c.when(2, || reduce::sum(&grad, &[0], false))?);
            }
            Ok(out)
        });
    }
    Ok(out)
}

/// `relu(x @ weight.T + bias)` of matrices, as one pass where nothing is recorded; `bias` broadcasts.
fn linear_relu(x: &Tensor, weight: &Tensor, bias: &Tensor) -> Result<Tensor> {
    let ready = [x, weight, bias].iter().all(|part| part.device().is_cpu() && part.dtype() == DType::F32);
    let fits = x.rank() == 2 && weight.rank() == 2 && bias.rank() == 1 && x.size(1) == weight.size(1);
    let bias_fits = bias.numel() == 1 || bias.numel() == weight.size(0);
    if !ready || !fits || !bias_fits || needs_grad(&[x, weight, bias]) {
        return super::unary::relu(&linear(x, weight, Some(bias))?);
    }
    let turned = weight.alias(weight.geometry().transpose(0, 1));
    let shape = [x.size(0), weight.size(0)];
    let work = checked_work(&shape, x.size(1));
    single_product("linear", [&x.detached(), &turned], &shape, (Some(bias), true), work)
}

#[pymethods]
impl PyTensor {
    /// The matrix product, with torch's rules for vectors and leading dimensions.
    fn matmul(&self, other: Tensor) -> Result<Tensor> {
        matmul(&self.tensor, &other)
    }

    fn __matmul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        match other.extract::<Tensor>() {
            Ok(other) => Ok(matmul(&self.tensor, &other)?.into_pyobject(py)?.into_any().unbind()),
            Err(_) => Ok(py.NotImplemented()),
        }
    }

    fn __rmatmul__<'py>(&self, py: Python<'py>, other: &Bound<'py, PyAny>) -> PyResult<Py<PyAny>> {
        match other.extract::<Tensor>() {
            Ok(other) => Ok(matmul(&other, &self.tensor)?.into_pyobject(py)?.into_any().unbind()),
            Err(_) => Ok(py.NotImplemented()),
        }
    }

    /// The product of two matrices.
    fn mm(&self, mat2: Tensor) -> Result<Tensor> {
        need_ranks("mm", &self.tensor, 2, &mat2, 2)?;
        product("mm", &self.tensor, &mat2)
    }

    /// The products of matrices, pair by pair.
    fn bmm(&self, mat2: Tensor) -> Result<Tensor> {
        bmm(&self.tensor, &mat2)
    }

    /// The product of a matrix and a vector.
    fn mv(&self, vec: Tensor) -> Result<Tensor> {
        need_ranks("mv", &self.tensor, 2, &vec, 1)?;
        matmul(&self.tensor, &vec)
    }

    /// The sum of the products of two vectors' elements.
    fn dot(&self, tensor: Tensor) -> Result<Tensor> {
        dot(&self.tensor, &tensor)
    }
}

#[pyfunction(name = "linear")]
#[pyo3(signature = (input, weight, bias=None))]
fn py_linear(input: Tensor, weight: Tensor, bias: Option<Tensor>) -> Result<Tensor> {
    linear(&input, &weight, bias.as_ref())
}

/// `linear` of matrices with a bias, and zero where that is below zero.
#[pyfunction(name = "_linear_relu")]
fn py_linear_relu(input: Tensor, weight: Tensor, bias: Tensor) -> Result<Tensor> {
    linear_relu(&input, &weight, &bias)
}

/// The product of a matrix of floats or int8 and one of int8, in float32.
#[pyfunction(name = "int8_product")]
fn py_int8_product(input: Tensor, mat2: Tensor) -> Result<Tensor> {
    int8_product(&input, &mat2)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(py_linear, module)?)?;
    module.add_function(wrap_pyfunction!(py_linear_relu, module)?)?;
    module.add_function(wrap_pyfunction!(py_int8_product, module)?)
}
