//! Complex tensors: their parts as views, conjugates, sizes and angles, and the rule of complex gradients.
//!
//! As in torch the gradient of a real loss by z = x + iy is dx + i dy, the conjugate of Wirtinger's derivative: what
//! points uphill. A function with derivative f' hands `grad * conj(f')` on.

use pyo3::prelude::*;
use rustfft::num_complex::Complex64;

use super::arithmetic::{div, mul, sub};
use super::operand::Scalar;
use super::pointwise::{Arg, Call, evaluate};
use super::select::select;
use super::{compare, creation, movement};
use crate::autograd::view::{Origin, mark};
use crate::autograd::{Context, Grads, Record, grads};
use crate::dtype::DType;
use crate::error::{self, Result};
use crate::kernels::binary::Binary;
use crate::kernels::complex as kernel;
use crate::kernels::pointwise::map2;
use crate::tensor::Tensor;
use crate::tensor::class::PyTensor;
use crate::tensor::geometry::Geometry;

/// The geometry of a complex tensor in elements of half its size, with the two parts as a last dimension.
pub fn real_geometry(geometry: &Geometry) -> Geometry {
    let mut out = geometry.clone();
    out.shape.push(2);
    out.strides.iter_mut().for_each(|stride| *stride *= 2);
    out.strides.push(1);
    out.offset *= 2;
    out
}

/// The memory of a complex tensor as real numbers, outside the graph.
pub fn parts(x: &Tensor) -> Tensor {
    let core = x.core();
    Tensor::new(core.storage.clone(), real_geometry(&core.geometry), core.dtype.real())
}

/// The memory of pairs in row-major order as complex numbers, outside the graph.
pub fn from_parts(x: &Tensor) -> Tensor {
    let core = x.core();
    let mut geometry = core.geometry.clone();
    geometry.shape.pop();
    geometry.strides.pop();
    geometry.strides.iter_mut().for_each(|stride| *stride /= 2);
    geometry.offset /= 2;
    Tensor::new(core.storage.clone(), geometry, core.dtype.complex())
}

/// The parts of each element as a last dimension of two, over the same memory.
pub fn view_as_real(x: &Tensor) -> Result<Tensor> {
    if !x.dtype().is_complex() {
        return error::runtime("view_as_real is only supported for complex tensors");
    }
    let out = parts(x);
    mark(&out, x, Origin::Ordinary);
    if let Some(record) = Record::new("ViewAsRealBackward0", &[x]) {
        record.finish(&out, |c| grads([Some(view_as_complex(&creation::contiguous(&c.grad()?)?)?)]));
    }
    Ok(out)
}

/// Pairs along the last dimension as complex numbers, over the same memory.
pub fn view_as_complex(x: &Tensor) -> Result<Tensor> {
    let geometry = x.geometry();
    let even = |number: &usize| number.is_multiple_of(2);
    if !matches!(x.dtype(), crate::dtype::DType::F32 | crate::dtype::DType::F64) {
        return error::runtime(format!(
            "view_as_complex is only supported for float and double tensors, but got a tensor of scalar type: {}",
            x.dtype().name()
        ));
    }
    if !x.device().is_cpu() && !x.is_meta() {
        return error::dtype(format!(
            "view_as_complex: complex numbers are on the CPU only, this tensor is on {}; use .cpu() first",
            x.device().name()
        ));
    }
    match (geometry.shape.last(), geometry.strides.split_last()) {
        (None, _) | (_, None) => return error::runtime("Input tensor must have one or more dimensions"),
        (Some(&size), _) if size != 2 => return error::runtime("Tensor must have a last dimension of size 2"),
        (_, Some((&last, _))) if last != 1 => {
            return error::runtime("Tensor must have a last dimension with stride 1");
        }
        (_, Some((_, others))) if !others.iter().all(even) => {
            return error::runtime("Tensor must have a stride divisible by 2 for all but last dimension");
        }
        _ if !even(&geometry.offset) => return error::runtime("Tensor must have a storage_offset divisible by 2"),
        _ => {}
    }
    let out = from_parts(x);
    mark(&out, x, Origin::Ordinary);
    if let Some(record) = Record::new("ViewAsComplexBackward0", &[x]) {
        record.finish(&out, |c| grads([Some(view_as_real(&c.grad()?)?)]));
    }
    Ok(out)
}

/// The real parts as a view; a real tensor itself.
pub fn real(x: &Tensor) -> Result<Tensor> {
    if !x.dtype().is_complex() {
        return Ok(x.clone());
    }
    movement::select(&view_as_real(x)?, x.rank(), 0)
}

/// The imaginary parts as a view.
pub fn imag(x: &Tensor) -> Result<Tensor> {
    if !x.dtype().is_complex() {
        return error::runtime("imag is not implemented for tensors with non-complex dtypes.");
    }
    movement::select(&view_as_real(x)?, x.rank(), 1)
}

fn mapped(name: &'static str, x: &Tensor, function: impl Fn(Complex64) -> Complex64 + Sync + Copy) -> Result<Tensor> {
    let dtype = x.dtype();
    evaluate(
        Call { name, args: [Arg::Tensor(x)], dtypes: [dtype], out: dtype, into: None },
        |shape, out, [x]| kernel::map(dtype, name, shape, out, x, function),
        |_, _| Ok(None),
    )
}

fn measured(name: &'static str, x: &Tensor, function: impl Fn(Complex64) -> f64 + Sync + Copy) -> Result<Tensor> {
    let dtype = x.dtype();
    evaluate(
        Call { name, args: [Arg::Tensor(x)], dtypes: [dtype], out: dtype.real(), into: None },
        |shape, out, [x]| kernel::map_real(dtype, name, shape, out, x, function),
        |_, _| Ok(None),
    )
}

/// The conjugate, in memory of its own; a real tensor itself.
pub fn conj(x: &Tensor) -> Result<Tensor> {
    if !x.dtype().is_complex() {
        return Ok(x.clone());
    }
    let out = mapped("conj", x, |z| z.conj())?;
    if let Some(record) = Record::new("ConjBackward0", &[x]) {
        record.finish(&out, |c| grads([Some(conj(&c.grad()?)?)]));
    }
    Ok(out)
}

/// The gradient that a rule written for real numbers is given: conjugated where it is complex.
pub fn turned_grad(c: &Context<'_>) -> Result<Tensor> {
    conj(&c.grad()?)
}

/// What such a rule gives, as a gradient.
pub fn unturned(slope: Tensor) -> Result<Tensor> {
    conj(&slope)
}

/// The gradient of a function with a complex derivative from its real rule `grad * f'(x)`: the same rule between two
/// conjugations, since `conj(conj(grad) * f')` is `grad * conj(f')`.
pub fn holomorphic(c: &Context<'_>, rule: &dyn Fn(&Tensor) -> Result<Tensor>) -> Result<Grads> {
    let grad = turned_grad(c)?;
    let slope = rule(&grad)?;
    grads([Some(if grad.dtype().is_complex() { unturned(slope)? } else { slope })])
}

/// The sizes of complex numbers.
pub fn abs(x: &Tensor) -> Result<Tensor> {
    let out = if x.dtype() == DType::C64 {
        // Squares of float32 are finite in float64.
        measured("abs", x, |z| {
            let (endless, size) = (f64::INFINITY, (z.re * z.re + z.im * z.im).sqrt());
            if (z.re.abs() == endless) | (z.im.abs() == endless) { endless } else { size }
        })?
    } else {
        measured("abs", x, |z| z.re.hypot(z.im))?
    };
    if let Some(record) = Record::new("AbsBackward0", &[x]) {
        record.save(x).finish(&out, |c| grads([Some(mul(&c.grad()?, &sgn(c.saved(0)?)?)?)]));
    }
    Ok(out)
}

/// The angles of complex numbers.
pub fn angle(x: &Tensor) -> Result<Tensor> {
    let out = if x.dtype().is_complex() && x.device().is_cpu() {
        let plain = x.detached();
        let (up, along) = (imag(&plain)?, real(&plain)?);
        super::arithmetic::raw(Binary::Atan2, "angle", Arg::Tensor(&up), Arg::Tensor(&along), x.dtype().real(), None)?
    } else {
        measured("angle", x, |z| z.im.atan2(z.re))?
    };
    if let Some(record) = Record::new("AngleBackward0", &[x]) {
        record.save(x).finish(&out, |c| {
            let x = c.saved(0)?;
            let slope = super::arithmetic::div_args(Arg::Scalar(Scalar::Complex(0.0, 1.0)), Arg::Tensor(&conj(x)?))?;
            let zero = compare::eq(x, Arg::from(0))?;
            let slope = select(&zero, Arg::from(0), Arg::Tensor(&slope))?;
            grads([Some(mul(&c.grad()?, &slope)?)])
        });
    }
    Ok(out)
}

/// Complex numbers brought to size one; zero stays.
pub fn sgn(x: &Tensor) -> Result<Tensor> {
    let out = if x.dtype() == DType::C64 {
        mapped("sgn", x, kernel::near_direction)?
    } else {
        mapped("sgn", x, kernel::direction)?
    };
    if let Some(record) = Record::new("SgnBackward0", &[x]) {
        record.save(x).save_outputs().finish(&out, |c| {
            let (x, out, grad) = (c.saved(0)?, c.saved(1)?, c.grad()?);
            let size = abs(x)?;
            // Along its own direction a number may move without changing it.
            let along = real(&mul(&grad, &conj(out)?)?)?;
            let across = div(&sub(&grad, &mul(out, &along)?)?, &size)?;
            grads([Some(select(&compare::eq(&size, Arg::from(0))?, Arg::from(0), Arg::Tensor(&across))?)])
        });
    }
    Ok(out)
}

/// Complex numbers from their parts, which have one float dtype and broadcast.
pub fn join(re: &Tensor, im: &Tensor) -> Result<Tensor> {
    crate::check::same_device("complex", &[re, im])?;
    if !re.device().is_cpu() && !re.is_meta() {
        return error::dtype(format!("complex: complex numbers are on the CPU only, not on {}", re.device().name()));
    }
    if re.dtype() != im.dtype() {
        return error::dtype(format!(
            "Expected object of scalar type {} but got scalar type {} for second argument",
            re.dtype().name(),
            im.dtype().name()
        ));
    }
    if !matches!(re.dtype(), crate::dtype::DType::F32 | crate::dtype::DType::F64) {
        return error::dtype(format!(
            "Expected both inputs to be Half, Float or Double tensors but got {} and {}",
            re.dtype().name(),
            im.dtype().name()
        ));
    }
    let dtype = re.dtype();
    let out = evaluate(
        Call { name: "complex", args: [re, im].map(Arg::Tensor), dtypes: [dtype; 2], out: dtype.complex(), into: None },
        |shape, out, [re, im]| {
            match dtype {
                DType::F32 => map2::<f32, f32, [f32; 2]>(shape, out, re, im, |re, im| [re, im]),
                _ => map2::<f64, f64, [f64; 2]>(shape, out, re, im, |re, im| [re, im]),
            }
            Ok(())
        },
        |_, _| Ok(None),
    )?;
    if let Some(record) = Record::new("ComplexBackward0", &[re, im]) {
        record.finish(&out, |c| {
            let grad = c.grad()?;
            grads([c.when(0, || real(&grad))?, c.when(1, || imag(&grad))?])
        });
    }
    Ok(out)
}

/// One of the two parts of every element, outside the graph.
pub fn part(x: &Tensor, index: usize) -> Tensor {
    let views = parts(x);
    let geometry = views.geometry().select(x.rank(), index);
    views.alias(geometry)
}

/// A view of each element's two parts, as a last dimension.
#[pyfunction(name = "view_as_real")]
fn py_view_as_real(input: Tensor) -> Result<Tensor> {
    view_as_real(&input)
}

/// A view of pairs along the last dimension as complex numbers.
#[pyfunction(name = "view_as_complex")]
fn py_view_as_complex(input: Tensor) -> Result<Tensor> {
    view_as_complex(&input)
}

/// Complex numbers from their real and imaginary parts.
#[pyfunction]
fn _complex(real: Tensor, imag: Tensor) -> Result<Tensor> {
    join(&real, &imag)
}

#[pymethods]
impl PyTensor {
    /// The real parts, as a view; a real tensor itself.
    #[getter]
    fn real<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyTensor>> {
        let out = real(&slf.get().tensor)?;
        super::convert::same_or_new(slf, out)
    }

    #[setter]
    fn set_real(&self, value: Tensor) -> Result<()> {
        super::inplace::copy(&real(&self.tensor)?, &value)
    }

    /// The imaginary parts, as a view.
    #[getter]
    fn imag(&self) -> Result<Tensor> {
        imag(&self.tensor)
    }

    #[setter]
    fn set_imag(&self, value: Tensor) -> Result<()> {
        super::inplace::copy(&imag(&self.tensor)?, &value)
    }

    /// The conjugate; a real tensor itself.
    fn conj<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, PyTensor>> {
        let out = conj(&slf.get().tensor)?;
        super::convert::same_or_new(slf, out)
    }

    fn _angle(&self) -> Result<Tensor> {
        angle(&self.tensor)
    }

    fn _sgn(&self) -> Result<Tensor> {
        sgn(&self.tensor)
    }
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(py_view_as_real, module)?)?;
    module.add_function(wrap_pyfunction!(py_view_as_complex, module)?)?;
    module.add_function(wrap_pyfunction!(_complex, module)?)
}
