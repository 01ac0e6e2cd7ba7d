//! Pooling: maxima and averages over windows of one to three dimensions.

use std::sync::Arc;

use burn_backend::TensorData;
use burn_backend::ops::{FloatTensorOps, IntTensorOps, ModuleOps};
use burn_dispatch::{Dispatch, DispatchTensor};
use burn_std::{BoolStore, IndexingUpdateOp, Scalar, Shape};
use pyo3::prelude::*;

use super::convert::laid_out;
use super::{creation, elementwise, movement, pool_last, reduce, resize};
use crate::autograd::{Record, grad_enabled, grads};
use crate::check;
use crate::device::Device;
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::guard;
use crate::kernels::memory::Elements;
use crate::kernels::taps::Taps;
use crate::kernels::windows::{self, Windows};
use crate::tensor::device_view::{bool_store, stored_as};
use crate::tensor::geometry::Dims;
use crate::tensor::{Tensor, prim};

/// How regular windows move; one number for each pooled dimension.
struct Moves {
    kernel: Dims,
    stride: Dims,
    padding: Dims,
    dilation: Dims,
    ceil: bool,
}

impl Moves {
    fn new(op: &str, numbers: [Vec<isize>; 4], ceil: bool) -> Result<Self> {
        let mut parts = numbers.into_iter().zip(["kernel_size", "stride", "padding", "dilation"]).map(
            |(values, name)| -> Result<Dims> {
                let least = isize::from(name != "padding");
                match values.iter().find(|&&value| value < least) {
                    Some(bad) => error::runtime(format!("{op}: {name} must be at least {least}, got {bad}")),
                    None => Ok(values.iter().map(|&value| value as usize).collect()),
                }
            },
        );
        let mut next = || parts.next().unwrap_or_else(|| Ok(Dims::new()));
        let out = Self { kernel: next()?, stride: next()?, padding: next()?, dilation: next()?, ceil };
        for dim in 0..out.kernel.len() {
            let extent = out.extent(dim);
            if out.padding[dim] > extent / 2 {
                return error::runtime(format!(
                    "{op}: pad should be at most half of effective kernel size, but got pad={}, kernel_size={} and \
                     dilation={}",
                    out.padding[dim], out.kernel[dim], out.dilation[dim]
                ));
            }
        }
        Ok(out)
    }

    fn extent(&self, dim: usize) -> usize {
        (self.kernel[dim] - 1).saturating_mul(self.dilation[dim]).saturating_add(1)
    }

    /// How many windows there are along a dimension of `size` elements.
    fn count(&self, op: &str, dim: usize, size: usize) -> Result<usize> {
        let (stride, padding) = (self.stride[dim], self.padding[dim]);
        let slack = if self.ceil { stride - 1 } else { 0 };
        let padded = padding.saturating_mul(2).saturating_add(size);
        let room = padded.saturating_add(slack).checked_sub(self.extent(dim));
        let count = room.map_or(0, |room| {
            let count = room / stride + 1;
            // The last window must start inside the input or its left padding.
            let last = (count - 1).saturating_mul(stride);
            if self.ceil && last >= size.saturating_add(padding) { count - 1 } else { count }
        });
        if count == 0 {
            return error::shape(format!(
                "{op}: dimension of size {size} is smaller than kernel_size={} with padding={padding} and dilation={}: \
                 Output size is too small",
                self.kernel[dim], self.dilation[dim]
            ));
        }
        Ok(count)
    }

    /// The elements of each window that lie inside the input.
    fn windows(&self, op: &str, dim: usize, size: usize) -> Result<Windows> {
        let (step, count) = (self.dilation[dim], self.count(op, dim, size)?);
        check_windows(count)?;
        let ranges = (0..count)
            .map(|window| {
                let start = window * self.stride[dim];
                let end = start.saturating_add(self.extent(dim)).saturating_sub(self.padding[dim]).min(size);
                let missing = self.padding[dim].saturating_sub(start).div_ceil(step).saturating_mul(step);
                let first = start.saturating_add(missing).saturating_sub(self.padding[dim]);
                if first < end { Ok((first, end)) } else { error::shape(format!("{op}: a window has no elements")) }
            })
            .collect::<Result<_>>()?;
        let regular = Some([self.kernel[dim], self.stride[dim], self.padding[dim]]);
        Ok(Windows { size, step, ranges, regular })
    }

    /// The number of elements that each window of an average counts when padding counts too.
    fn padded_counts(&self, dim: usize, size: usize, windows: usize) -> Vec<usize> {
        let most = self.padding[dim].saturating_mul(2).saturating_add(size);
        (0..windows)
            .map(|window| window * self.stride[dim])
            .map(|start| start.saturating_add(self.kernel[dim]).min(most) - start)
            .collect()
    }
}

/// Refuses more windows than the tables of them have room for.
fn check_windows(count: usize) -> Result<()> {
    check::allocation(count.saturating_mul(128))
}

/// Windows that share `size` elements out among `count` outputs.
fn adaptive_windows(size: usize, count: usize) -> Result<Windows> {
    check_windows(count)?;
    let ranges = (0..count).map(|at| (at * size / count, ((at + 1) * size).div_ceil(count))).collect();
    Ok(Windows { size, step: 1, ranges, regular: None })
}

/// Refuses a result that does not fit in memory before anything of its size is made.
fn check_result(leading: &[usize], windows: &[Windows], dtype: DType) -> Result<()> {
    let sizes = leading.iter().copied().chain(windows.iter().map(|window| window.ranges.len()));
    let numel = sizes.fold(1usize, usize::saturating_mul);
    check::allocation(numel.saturating_mul(dtype.size().max(8)))
}

/// The leading sizes and the pooled sizes of an input with or without a batch dimension.
fn split(op: &str, x: &Tensor, spatial: usize) -> Result<(Dims, Dims)> {
    check::rank(op, "input", x, &[spatial + 1, spatial + 2])?;
    let shape = x.shape();
    let (leading, pooled) = shape.split_at(shape.len() - spatial);
    if pooled.contains(&0) || leading.last() == Some(&0) {
        return error::shape(format!(
            "{op}: Expected input's non-batch dimensions to have non-zero size, but got shape {:?}",
            shape.as_slice()
        ));
    }
    Ok((leading.iter().copied().collect(), pooled.iter().copied().collect()))
}

fn joined(leading: &[usize], rest: impl IntoIterator<Item = usize>) -> Dims {
    leading.iter().copied().chain(rest).collect()
}

/// The maxima of all windows, and their flat places among the pooled dimensions; of those none where nobody asks for them.
fn max_pool(
    op: &str,
    x: &Tensor,
    windows: Vec<Windows>,
    moves: Option<&Moves>,
    placed: bool,
) -> Result<(Tensor, Tensor)> {
    check::kind(op, x.dtype(), &[Kind::Float, Kind::Int])?;
    let spatial = windows.len();
    let (leading, pooled) = split(op, x, spatial)?;
    check_result(&leading, &windows, x.dtype())?;
    let shape = joined(&leading, windows.iter().map(|window| window.ranges.len()));
    let plane: usize = pooled.iter().product();
    let rows: usize = leading.iter().product();
    let placed = placed || !x.device().is_cpu() || grad_enabled() && x.requires_grad();
    if pool_last::suits(x, &windows) {
        return pool_last::max_pool(op, x, &windows, placed);
    }
    if !placed {
        let none = [0];
        let (values, places) = max_on_cpu(op, &x.detached(), windows, &shape, &none)?;
        return Ok((laid_out(values, &[x])?, places));
    }
    let (values, places) = if x.is_meta() {
        (Tensor::meta_of(&shape, x.dtype())?, Tensor::meta_of(&shape, DType::I64)?)
    } else if x.device().is_cpu() || !x.dtype().is_float() {
        // burn pools floats only.
        let (values, places) = max_on_cpu(op, &x.detached().moved(Device::Cpu)?, windows, &shape, &shape)?;
        (values.moved(x.device())?, places.moved(x.device())?)
    } else {
        let flat = movement::reshape(&x.detached(), &[rows, plane])?;
        let places = places_on_device(op, &flat, &pooled, &windows, moves)?;
        let values = movement::reshape(&raw_take(&flat, &places)?, &shape)?;
        (values, movement::reshape(&places, &shape)?)
    };
    let (values, places) = (laid_out(values, &[x])?, laid_out(places, &[x])?);
    if let Some(record) = Record::new("MaxPoolBackward0", &[x]) {
        let old = x.shape();
        record.save(&places).save(x).finish(&values, move |c| {
            let grad = c.grad()?;
            let flat = [rows, grad.numel() / rows.max(1)];
            let places = movement::reshape(c.saved(0)?, &flat)?;
            let spread = put(&movement::reshape(&grad, &flat)?, &places, plane)?;
            grads([Some(movement::reshape(&spread, &old)?)])
        });
    }
    Ok((values, places))
}

/// A type that the CPU kernels compute maxima in without loss.
pub fn ordered(dtype: DType) -> DType {
    match dtype {
        DType::F16 | DType::BF16 => DType::F32,
        DType::F32 | DType::F64 => dtype,
        _ => DType::I64,
    }
}

pub fn as_type(x: &Tensor, dtype: DType) -> Result<Tensor> {
    if x.dtype() == dtype { Ok(x.clone()) } else { x.converted(dtype) }
}

fn max_on_cpu(
    op: &str,
    x: &Tensor,
    windows: Vec<Windows>,
    shape: &[usize],
    places: &[usize],
) -> Result<(Tensor, Tensor)> {
    let wide = ordered(x.dtype());
    let (values, _) = Tensor::uninit_with_pointer(shape, wide)?;
    let (places, _) = Tensor::uninit_with_pointer(places, DType::I64)?;
    let mut padded: Vec<Windows> =
        vec![Windows { size: 1, step: 1, ranges: vec![(0, 1)], regular: None }; 3 - windows.len()];
    padded.extend(windows);
    let Ok(three) = <[Windows; 3]>::try_from(padded) else {
        return error::shape(format!("{op}: at most three dimensions are pooled"));
    };
    let (from, to, at) = (Elements::contiguous(&as_type(x, wide)?)?, Elements::of(&values)?, Elements::of(&places)?);
    guard::spread(op, x.numel(), move || {
        // SAFETY: all are contiguous, of the dtype matched on, and the results are new.
        unsafe {
            match wide {
                DType::F32 => windows::maxima::<f32>(from.slice(), to.slice_mut(), at.slice_mut(), &three),
                DType::F64 => windows::maxima::<f64>(from.slice(), to.slice_mut(), at.slice_mut(), &three),
                _ => windows::maxima::<i64>(from.slice(), to.slice_mut(), at.slice_mut(), &three),
            }
        }
    })?;
    Ok((as_type(&values, x.dtype())?, places))
}

/// Keys in torch's order for the engine, which starts from -inf and skips NaN: NaN on top, everything else finite.
fn comparable(x: DispatchTensor, store: BoolStore) -> DispatchTensor {
    let most = f64::from(f32::MAX);
    let nan = Dispatch::float_is_nan(x.clone(), store);
    let finite = Dispatch::float_clamp(x, Scalar::Float(-most), Scalar::Float(most));
    Dispatch::float_mask_fill(finite, nan, Scalar::Float(f64::INFINITY))
}

/// Flat places of the maxima on a GPU, from `[rows, plane]`.
fn places_on_device(
    op: &str,
    flat: &Tensor,
    pooled: &[usize],
    windows: &[Windows],
    moves: Option<&Moves>,
) -> Result<Tensor> {
    let rows = flat.size(0);
    let outputs: usize = windows.iter().map(|window| window.ranges.len()).product();
    if rows == 0 {
        return creation::zeros(&[0, outputs], DType::I64, flat.device());
    }
    let int = stored_as(DType::I64, flat.device())?;
    let store = bool_store(flat.device())?;
    let pooled = pooled.to_vec();
    if let (Some(moves), 2) = (moves, windows.len()) {
        let pair = |values: &Dims| [values[0], values[1]];
        let (kernel, stride) = (pair(&moves.kernel), pair(&moves.stride));
        let (padding, dilation, ceil) = (pair(&moves.padding), pair(&moves.dilation), moves.ceil);
        return Tensor::compute(op, &[flat], DType::I64, move |mut values| {
            let keys = comparable(values.swap_remove(0), store);
            let image = prim::reshape(Kind::Float, keys, Shape::from([rows, 1, pooled[0], pooled[1]]));
            let both = Dispatch::max_pool2d_with_indices(image, kernel, stride, padding, dilation, ceil, int.into());
            prim::reshape(Kind::Int, both.indices, Shape::from([rows, outputs]))
        });
    }
    let windows = windows.to_vec();
    Tensor::compute(op, &[flat], DType::I64, move |mut values| {
        let flat = values.swap_remove(0);
        let table = place_table(&windows);
        let width = table.len() / outputs;
        let device = burn_backend::TensorMetadata::device(&flat);
        let index = |values: Vec<i32>, shape: Shape| -> DispatchTensor {
            Dispatch::int_from_data(TensorData::new(values, shape), &device)
        };
        let count = table.len();
        let picked = prim::select(Kind::Float, flat, 1, index(table.clone(), Shape::from([count])));
        let picked = prim::reshape(Kind::Float, picked, Shape::from([rows, outputs, width]));
        let best = Dispatch::float_argmax(picked, 2, int.into());
        let table =
            Dispatch::int_expand(index(table, Shape::from([1, outputs, width])), Shape::from([rows, outputs, width]));
        prim::reshape(Kind::Int, prim::gather(Kind::Int, 2, table, best), Shape::from([rows, outputs]))
    })
}

/// For each output the flat places of its window, shorter windows filled up with their last place.
fn place_table(windows: &[Windows]) -> Vec<i32> {
    let lists: Vec<Vec<Vec<usize>>> = windows
        .iter()
        .map(|window| window.ranges.iter().map(|&(first, end)| (first..end).step_by(window.step).collect()).collect())
        .collect();
    let mut table: Vec<Vec<usize>> = vec![vec![0]];
    for (window, lists) in windows.iter().zip(&lists) {
        let longest = lists.iter().map(Vec::len).max().unwrap_or(0);
        table = table
            .iter()
            .flat_map(|before| {
                lists.iter().map(move |list| {
                    before
                        .iter()
                        .flat_map(|&place| {
                            (0..longest).map(move |at| place * window.size + list[at.min(list.len() - 1)])
                        })
                        .collect::<Vec<usize>>()
                })
            })
            .collect();
    }
    table.into_iter().flatten().map(|place| place as i32).collect()
}

fn raw_take(x: &Tensor, places: &Tensor) -> Result<Tensor> {
    if !x.device().is_cpu() {
        return Tensor::compute("gather", &[x, places], x.dtype(), |mut values| {
            let places = values.swap_remove(1);
            prim::gather(Kind::Float, 1, values.swap_remove(0), places)
        });
    }
    let (from, to) = (x.size(1), places.size(1));
    by_rows(x, places, to, move |wide, input, output, places| {
        // SAFETY: the caller gives contiguous memory of these types, `output` new.
        unsafe {
            match wide {
                DType::F32 => windows::take::<f32>(input.slice(), output.slice_mut(), places.slice(), from, to),
                _ => windows::take::<f64>(input.slice(), output.slice_mut(), places.slice(), from, to),
            }
        }
    })
}

/// Runs a CPU kernel over rows of values and places into rows of `length`, in float32 or float64.
fn by_rows(
    x: &Tensor,
    places: &Tensor,
    length: usize,
    kernel: impl FnOnce(DType, &Elements, &Elements, &Elements) + Send,
) -> Result<Tensor> {
    let wide = if x.dtype() == DType::F64 { DType::F64 } else { DType::F32 };
    let out = Tensor::zeroed(&[x.size(0), length], wide)?;
    let (input, output) = (Elements::contiguous(&as_type(x, wide)?)?, Elements::of(&out)?);
    let places = Elements::contiguous(places)?;
    guard::spread("gather", x.numel().max(out.numel()), move || kernel(wide, &input, &output, &places))?;
    as_type(&out, x.dtype())
}

/// `x[r, places[r, i]]`.
fn take(x: &Tensor, places: &Tensor) -> Result<Tensor> {
    let out = raw_take(x, places)?;
    if let Some(record) = Record::new("GatherBackward0", &[x]) {
        let length = x.size(1);
        record.save(places).finish(&out, move |c| grads([Some(put(&c.grad()?, c.saved(0)?, length)?)]));
    }
    Ok(out)
}

/// Zeros of `[rows, length]` with `x[r, i]` added at `places[r, i]`.
pub fn put(x: &Tensor, places: &Tensor, length: usize) -> Result<Tensor> {
    let out = if x.device().is_cpu() {
        let from = x.size(1);
        by_rows(x, places, length, move |wide, input, output, places| {
            // SAFETY: as in `raw_take`.
            unsafe {
                match wide {
                    DType::F32 => windows::put::<f32>(input.slice(), output.slice_mut(), places.slice(), from, length),
                    _ => windows::put::<f64>(input.slice(), output.slice_mut(), places.slice(), from, length),
                }
            }
        })?
    } else {
        let zeros = creation::zeros(&[x.size(0), length], x.dtype(), x.device())?;
        if x.numel() == 0 {
            return Ok(zeros);
        }
        Tensor::compute("scatter_add", &[&zeros, places, x], x.dtype(), |mut values| {
            let (value, places) = (values.swap_remove(2), values.swap_remove(1));
            Dispatch::float_scatter(1, values.swap_remove(0), places, value, IndexingUpdateOp::Add)
        })?
    };
    if let Some(record) = Record::new("ScatterAddBackward0", &[x]) {
        record.save(places).finish(&out, |c| grads([Some(take(&c.grad()?, c.saved(0)?)?)]));
    }
    Ok(out)
}

/// As `averages`, for int64 too, whose quotients torch cuts off; such a sum is exact in float64.
fn whole_averages(x: &Tensor, windows: &[Windows], counts: &[Vec<usize>], divisor: Option<isize>) -> Result<Tensor> {
    if x.dtype().is_float() {
        return averages(x, windows, counts, divisor);
    }
    let wide = x.moved(Device::Cpu)?.converted(DType::F64)?;
    averages(&wide, windows, counts, divisor)?.converted(x.dtype())?.moved(x.device())
}

/// Averages exist for floats, and in torch for int64.
fn check_averaged(op: &str, x: &Tensor) -> Result<()> {
    if x.dtype() == DType::I64 { Ok(()) } else { check::kind(op, x.dtype(), &[Kind::Float]) }
}

/// The sums over windows, one dimension after the other, divided by `counts` (one list for each dimension).
fn averages(x: &Tensor, windows: &[Windows], counts: &[Vec<usize>], divisor: Option<isize>) -> Result<Tensor> {
    let dtype = x.dtype();
    let wide = if matches!(dtype, DType::F16 | DType::BF16) && x.device().is_cpu() { DType::F32 } else { dtype };
    let first = x.rank() - windows.len();
    check_result(&x.shape()[..first], windows, dtype)?;
    let whole = windows.iter().map(|window| window.size).product::<usize>();
    let alone = windows.iter().all(|window| window.ranges == [(0, window.size)]);
    let counted = divisor.map_or_else(
        || counts.iter().flatten().product::<usize>() == whole,
        |divisor| usize::try_from(divisor) == Ok(whole),
    );
    if alone && counted && x.numel() > 0 && x.device().is_cpu() && x.is_contiguous() {
        return reduce::mean(x, &(first..x.rank()).collect::<Vec<_>>(), true);
    }
    // Divided by a power of two each summand gives the same; a window of padding alone has a sum of zero, whatever it is
    // divided by.
    let same = |list: &Vec<usize>| list.iter().all(|count| Some(count) == list.first());
    let all = counts.iter().map(|list| list.first().map_or(1.0, |&count| count.max(1) as f64)).product::<f64>();
    let all = divisor.map(|divisor| divisor as f64).or_else(|| counts.iter().all(same).then_some(all));
    let factor = all.map(f64::recip).filter(|&factor| factor > 0.0 && factor.log2().fract() == 0.0 && factor > 1e-9);
    // Windows of one element each change nothing.
    let last = (0..windows.len()).rfind(|&dim| !windows[dim].is_whole()).unwrap_or(windows.len() - 1);
    let mut steps = Vec::with_capacity(windows.len());
    for (dim, window) in windows.iter().enumerate() {
        if dim != last && window.is_whole() {
            continue;
        }
        let rows: Vec<Vec<(usize, f64)>> =
            window.ranges.iter().map(|&(start, end)| (start..end).map(|at| (at, 1.0)).collect()).collect();
        let Some(taps) = Taps::new(window.size, &rows) else {
            return error::shape("avg_pool: a window reaches outside the input");
        };
        let taps = if dim == last { taps.scaled(factor.unwrap_or(1.0)) } else { taps };
        steps.push((first + dim, Arc::new(taps)));
    }
    let out = resize::resample_all(&creation::to_dtype(x, wide)?, &steps)?;
    if factor.is_some() {
        return creation::to_dtype(&out, dtype);
    }
    let mut table = vec![1.0];
    for list in counts {
        table = table.iter().flat_map(|&before| list.iter().map(move |&count| before * count.max(1) as f64)).collect();
    }
    if let Some(divisor) = divisor {
        table = vec![divisor as f64];
    }
    let constant = table.iter().all(|value| Some(value) == table.first());
    let sizes: Dims = windows.iter().map(|window| window.ranges.len()).collect();
    let (shape, kept): (&[usize], usize) = if constant { (&[], 1) } else { (&sizes, table.len()) };
    if table.is_empty() {
        return creation::to_dtype(&out, dtype);
    }
    let bytes: Vec<u8> = table.iter().take(kept).flat_map(|value| value.to_ne_bytes()).collect();
    let below = Tensor::from_bytes(burn_std::Bytes::from_bytes_vec(bytes), shape, DType::F64)?.converted(wide)?;
    let below = creation::to_device(&below, x.device())?;
    creation::to_dtype(&elementwise::div(&out, &below)?, dtype)
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn _max_pool(
    op: &str,
    input: Tensor,
    kernel_size: Vec<isize>,
    stride: Vec<isize>,
    padding: Vec<isize>,
    dilation: Vec<isize>,
    ceil_mode: bool,
    placed: bool,
) -> Result<(Tensor, Tensor)> {
    let moves = Moves::new(op, [kernel_size, stride, padding, dilation], ceil_mode)?;
    let (_, pooled) = split(op, &input, moves.kernel.len())?;
    let windows =
        pooled.iter().enumerate().map(|(dim, &size)| moves.windows(op, dim, size)).collect::<Result<Vec<_>>>()?;
    max_pool(op, &input, windows, Some(&moves), placed)
}

#[pyfunction]
#[allow(clippy::too_many_arguments)]
fn _avg_pool(
    op: &str,
    input: Tensor,
    kernel_size: Vec<isize>,
    stride: Vec<isize>,
    padding: Vec<isize>,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: Option<isize>,
) -> Result<Tensor> {
    check_averaged(op, &input)?;
    if divisor_override == Some(0) {
        return error::runtime(format!("{op}: divisor must be not zero"));
    }
    let ones = vec![1; kernel_size.len()];
    let moves = Moves::new(op, [kernel_size, stride, padding, ones], ceil_mode)?;
    let (_, pooled) = split(op, &input, moves.kernel.len())?;
    let windows =
        pooled.iter().enumerate().map(|(dim, &size)| moves.windows(op, dim, size)).collect::<Result<Vec<_>>>()?;
    let counts: Vec<Vec<usize>> = windows
        .iter()
        .enumerate()
        .map(|(dim, window)| {
            if count_include_pad {
                moves.padded_counts(dim, window.size, window.ranges.len())
            } else {
                window.ranges.iter().map(|&(first, end)| end - first).collect()
            }
        })
        .collect();
    whole_averages(&input, &windows, &counts, divisor_override)
}

/// Windows of adaptive pooling; a missing size keeps the input's.
fn adaptive(op: &str, input: &Tensor, output_size: &[Option<isize>]) -> Result<Vec<Windows>> {
    let (_, pooled) = split(op, input, output_size.len())?;
    pooled
        .iter()
        .zip(output_size)
        .map(|(&size, &wanted)| match wanted {
            None => adaptive_windows(size, size),
            Some(count) if count >= 0 => adaptive_windows(size, count as usize),
            Some(bad) => error::runtime(format!("{op}: output_size must be non-negative, got {bad}")),
        })
        .collect()
}

#[pyfunction]
fn _adaptive_avg_pool(op: &str, input: Tensor, output_size: Vec<Option<isize>>) -> Result<Tensor> {
    check::kind(op, input.dtype(), &[Kind::Float])?;
    let windows = adaptive(op, &input, &output_size)?;
    let counts: Vec<Vec<usize>> =
        windows.iter().map(|window| window.ranges.iter().map(|&(first, end)| end - first).collect()).collect();
    averages(&input, &windows, &counts, None)
}

#[pyfunction]
fn _adaptive_max_pool(op: &str, input: Tensor, output_size: Vec<Option<isize>>) -> Result<(Tensor, Tensor)> {
    let windows = adaptive(op, &input, &output_size)?;
    max_pool(op, &input, windows, None, true)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(_max_pool, module)?)?;
    module.add_function(wrap_pyfunction!(_avg_pool, module)?)?;
    module.add_function(wrap_pyfunction!(_adaptive_avg_pool, module)?)?;
    module.add_function(wrap_pyfunction!(_adaptive_max_pool, module)?)
}
