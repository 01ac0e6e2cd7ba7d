//! Element types: torch's names, burn's types and torch's promotion table.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use burn_std::{BoolStore, DType as BurnDType, FloatDType, IntDType};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::error::{self, Result};

/// An element type. The order is that of `ALL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum DType {
    Bool,
    U8,
    I8,
    I16,
    I32,
    I64,
    F16,
    BF16,
    F32,
    F64,
    U16,
    U32,
    U64,
    C64,
    C128,
}

pub const ALL: [DType; 15] = [
    DType::Bool,
    DType::U8,
    DType::I8,
    DType::I16,
    DType::I32,
    DType::I64,
    DType::F16,
    DType::BF16,
    DType::F32,
    DType::F64,
    DType::U16,
    DType::U32,
    DType::U64,
    DType::C64,
    DType::C128,
];

/// Which of burn's op traits an element type belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Bool,
    Int,
    Float,
    Complex,
}

impl DType {
    pub fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::U8 => "uint8",
            Self::I8 => "int8",
            Self::I16 => "int16",
            Self::I32 => "int32",
            Self::I64 => "int64",
            Self::F16 => "float16",
            Self::BF16 => "bfloat16",
            Self::F32 => "float32",
            Self::F64 => "float64",
            Self::U16 => "uint16",
            Self::U32 => "uint32",
            Self::U64 => "uint64",
            Self::C64 => "complex64",
            Self::C128 => "complex128",
        }
    }

    /// torch's name of it in errors, for which programs look in the text.
    pub fn scalar_type(self) -> &'static str {
        match self {
            Self::Bool => "Bool",
            Self::U8 => "Byte",
            Self::I8 => "Char",
            Self::I16 => "Short",
            Self::I32 => "Int",
            Self::I64 => "Long",
            Self::F16 => "Half",
            Self::BF16 => "BFloat16",
            Self::F32 => "Float",
            Self::F64 => "Double",
            Self::U16 => "UInt16",
            Self::U32 => "UInt32",
            Self::U64 => "UInt64",
            Self::C64 => "ComplexFloat",
            Self::C128 => "ComplexDouble",
        }
    }

    /// The name of its C++ type, which other errors of torch's have.
    pub fn c_type(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::U8 => "unsigned char",
            Self::I8 => "signed char",
            Self::I16 => "short int",
            Self::I32 => "int",
            Self::I64 => "long int",
            Self::F16 => "c10::Half",
            Self::BF16 => "c10::BFloat16",
            Self::F32 => "float",
            Self::F64 => "double",
            Self::U16 => "short unsigned int",
            Self::U32 => "unsigned int",
            Self::U64 => "long unsigned int",
            Self::C64 => "c10::complex<float>",
            Self::C128 => "c10::complex<double>",
        }
    }

    pub fn size(self) -> usize {
        match self {
            Self::Bool | Self::U8 | Self::I8 => 1,
            Self::I16 | Self::U16 | Self::F16 | Self::BF16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 | Self::C64 => 8,
            Self::C128 => 16,
        }
    }

    pub fn kind(self) -> Kind {
        match self {
            Self::Bool => Kind::Bool,
            Self::F16 | Self::BF16 | Self::F32 | Self::F64 => Kind::Float,
            Self::C64 | Self::C128 => Kind::Complex,
            _ => Kind::Int,
        }
    }

    pub fn is_float(self) -> bool {
        self.kind() == Kind::Float
    }

    pub fn is_half(self) -> bool {
        matches!(self, Self::F16 | Self::BF16)
    }

    pub fn is_int(self) -> bool {
        self.kind() == Kind::Int
    }

    pub fn is_complex(self) -> bool {
        self.kind() == Kind::Complex
    }

    /// The type of the parts of a complex type; a real type itself.
    pub fn real(self) -> Self {
        match self {
            Self::C64 => Self::F32,
            Self::C128 => Self::F64,
            other => other,
        }
    }

    /// The complex type whose parts are of this type, or can hold its values.
    pub fn complex(self) -> Self {
        match self {
            Self::F64 | Self::C128 => Self::C128,
            _ => Self::C64,
        }
    }

    /// Whether gradients can flow through values of this type.
    pub fn is_differentiable(self) -> bool {
        matches!(self.kind(), Kind::Float | Kind::Complex)
    }

    /// The lowest and highest value of an integer type (uint64's highest as far as int64 can tell).
    pub fn int_range(self) -> Option<(i64, i64)> {
        Some(match self {
            Self::U8 => (0, u8::MAX.into()),
            Self::I8 => (i8::MIN.into(), i8::MAX.into()),
            Self::I16 => (i16::MIN.into(), i16::MAX.into()),
            Self::I32 => (i32::MIN.into(), i32::MAX.into()),
            Self::I64 => (i64::MIN, i64::MAX),
            Self::U16 => (0, u16::MAX.into()),
            Self::U32 => (0, u32::MAX.into()),
            Self::U64 => (0, i64::MAX),
            _ => return None,
        })
    }

    /// The largest finite value of a floating or complex dtype.
    pub fn max_finite(self) -> f64 {
        match self.real() {
            Self::F16 => f64::from(half::f16::MAX),
            Self::BF16 => f64::from(half::bf16::MAX),
            Self::F32 => f64::from(f32::MAX),
            _ => f64::MAX,
        }
    }

    pub fn is_signed(self) -> bool {
        !matches!(self, Self::Bool | Self::U8 | Self::U16 | Self::U32 | Self::U64)
    }

    /// burn's name for the type as the CPU stores it.
    pub fn burn(self) -> Result<BurnDType> {
        // The one place that says what burn may see of the CPU's memory.
        Ok(match self {
            Self::Bool => BurnDType::Bool(BoolStore::Native),
            Self::U8 => BurnDType::U8,
            Self::I8 => BurnDType::I8,
            Self::I16 => BurnDType::I16,
            Self::I32 => BurnDType::I32,
            Self::I64 => BurnDType::I64,
            Self::F16 => BurnDType::F16,
            Self::BF16 => BurnDType::BF16,
            Self::F32 => BurnDType::F32,
            Self::F64 => BurnDType::F64,
            Self::U16 => BurnDType::U16,
            Self::U32 => BurnDType::U32,
            Self::U64 => BurnDType::U64,
            Self::C64 | Self::C128 => {
                return error::dtype(format!("this op is not implemented for '{}'", self.scalar_type()));
            }
        })
    }

    pub fn from_burn(dtype: BurnDType) -> Result<Self> {
        Ok(match dtype {
            BurnDType::Bool(_) => Self::Bool,
            BurnDType::U8 => Self::U8,
            BurnDType::I8 => Self::I8,
            BurnDType::I16 => Self::I16,
            BurnDType::I32 => Self::I32,
            BurnDType::I64 => Self::I64,
            BurnDType::F16 => Self::F16,
            BurnDType::BF16 => Self::BF16,
            BurnDType::F32 | BurnDType::Flex32 => Self::F32,
            BurnDType::F64 => Self::F64,
            BurnDType::U16 => Self::U16,
            BurnDType::U32 => Self::U32,
            BurnDType::U64 => Self::U64,
            BurnDType::QFloat(_) => return error::dtype("quantized tensors are not readable here"),
        })
    }

    pub fn parse(name: &str) -> Option<Self> {
        let name = name.rsplit('.').next().unwrap_or(name);
        Some(match name {
            "float" => Self::F32,
            "double" => Self::F64,
            "half" => Self::F16,
            "long" => Self::I64,
            "int" => Self::I32,
            "short" => Self::I16,
            "cfloat" => Self::C64,
            "cdouble" => Self::C128,
            _ => return ALL.into_iter().find(|dtype| dtype.name() == name),
        })
    }

    /// The type that results from combining two tensors of these types (torch's table).
    pub fn promote(self, other: Self) -> Self {
        if self == other {
            return self;
        }
        let (low, high) = if self.kind() <= other.kind() { (self, other) } else { (other, self) };
        match (low.kind(), high.kind()) {
            (Kind::Bool, _) => high,
            (Kind::Int, Kind::Int) => promote_ints(low, high),
            (Kind::Int, _) => high,
            (Kind::Float, Kind::Float) => match (low, high) {
                (Self::F64, _) | (_, Self::F64) => Self::F64,
                _ => Self::F32,
            },
            (Kind::Float, Kind::Complex) if low == Self::F64 => Self::C128,
            (Kind::Complex, Kind::Complex) => Self::C128,
            _ => high,
        }
    }

    /// Whether a result of this type may be written into a tensor of type `to` (torch's `can_cast`).
    pub fn can_cast(self, to: Self) -> bool {
        self.kind() <= to.kind()
    }
}

fn promote_ints(a: DType, b: DType) -> DType {
    let (unsigned, signed) = match (a.is_signed(), b.is_signed()) {
        (true, true) | (false, false) => return if a.size() >= b.size() { a } else { b },
        (false, true) => (a, b),
        (true, false) => (b, a),
    };
    if unsigned.size() < signed.size() {
        return signed;
    }
    match unsigned.size() {
        1 => DType::I16,
        2 => DType::I32,
        _ => DType::I64,
    }
}

impl DType {
    pub fn float_burn(self) -> Result<FloatDType> {
        Ok(match self {
            Self::F16 => FloatDType::F16,
            Self::BF16 => FloatDType::BF16,
            Self::F32 => FloatDType::F32,
            Self::F64 => FloatDType::F64,
            _ => return error::dtype(format!("expected a float dtype, got {}", self.name())),
        })
    }

    pub fn int_burn(self) -> Result<IntDType> {
        Ok(match self {
            Self::U8 => IntDType::U8,
            Self::I8 => IntDType::I8,
            Self::I16 => IntDType::I16,
            Self::I32 => IntDType::I32,
            Self::I64 => IntDType::I64,
            Self::U16 => IntDType::U16,
            Self::U32 => IntDType::U32,
            Self::U64 => IntDType::U64,
            _ => return error::dtype(format!("expected an integer dtype, got {}", self.name())),
        })
    }
}

/// `pyburn.dtype`: its instances are the names `pyburn.float32`, `pyburn.long` and so on.
#[pyclass(name = "dtype", module = "pyburn", frozen, eq, hash, from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PyDType(pub DType);

/// Whether this process runs programs written for torch: then dtypes and types call themselves torch's.
static ALIASED: AtomicBool = AtomicBool::new(false);

/// The name of the library as dtypes and tensor types show it.
pub fn library() -> &'static str {
    if ALIASED.load(Ordering::Relaxed) { "torch" } else { "pyburn" }
}

/// Sets under which name dtypes and tensor types show themselves: torch's, or pyburn's own.
#[pyfunction]
fn _set_aliased(aliased: bool) {
    ALIASED.store(aliased, Ordering::Relaxed);
}

/// The name under which dtypes and tensor types show themselves.
#[pyfunction]
fn _library() -> &'static str {
    library()
}

static OBJECTS: PyOnceLock<Vec<Py<PyDType>>> = PyOnceLock::new();

/// The one object of each type, so that `x.dtype is pyburn.float32` holds as in torch.
pub fn object(py: Python<'_>, dtype: DType) -> PyResult<Bound<'_, PyDType>> {
    let objects = OBJECTS.get_or_try_init(py, || {
        ALL.into_iter().map(|dtype| Py::new(py, PyDType(dtype))).collect::<PyResult<Vec<_>>>()
    })?;
    match objects.get(dtype as usize) {
        Some(found) => Ok(found.bind(py).clone()),
        None => Bound::new(py, PyDType(dtype)),
    }
}

#[pymethods]
impl PyDType {
    fn __repr__(&self) -> String {
        format!("{}.{}", library(), self.0.name())
    }

    fn __reduce__(&self) -> String {
        self.0.name().to_string()
    }

    #[getter]
    fn is_floating_point(&self) -> bool {
        self.0.is_float()
    }

    #[getter]
    fn is_complex(&self) -> bool {
        self.0.is_complex()
    }

    #[getter]
    fn is_signed(&self) -> bool {
        self.0.is_signed()
    }

    #[getter]
    fn itemsize(&self) -> usize {
        self.0.size()
    }

    /// The dtype of the real and imaginary parts.
    fn to_real<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDType>> {
        object(py, self.0.real())
    }

    /// The complex dtype whose parts are of this one.
    fn to_complex<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDType>> {
        object(py, self.0.complex())
    }
}

/// A `dtype=` argument: a `pyburn.dtype`, or Python's `float`, `int`, `bool`.
#[derive(Clone, Copy)]
pub struct DTypeArg(pub DType);

impl<'a, 'py> FromPyObject<'a, 'py> for DTypeArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(dtype) = object.extract::<PyDType>() {
            return Ok(Self(dtype.0));
        }
        let py = object.py();
        for (class, dtype) in [
            (py.get_type::<pyo3::types::PyBool>(), DType::Bool),
            (py.get_type::<pyo3::types::PyFloat>(), DType::F64),
            (py.get_type::<pyo3::types::PyComplex>(), DType::C128),
            (py.get_type::<pyo3::types::PyInt>(), DType::I64),
        ] {
            if object.is(&class) {
                return Ok(Self(dtype));
            }
        }
        if let Ok(name) = object.extract::<String>()
            && let Some(dtype) = DType::parse(&name)
        {
            return Ok(Self(dtype));
        }
        error::type_(format!("dtype must be a pyburn.dtype such as pyburn.float32, got {}", object.get_type().name()?))
            .map_err(PyErr::from)
    }
}

static DEFAULT: AtomicU8 = AtomicU8::new(DType::F32 as u8);

pub fn default_dtype() -> DType {
    let index = DEFAULT.load(Ordering::Relaxed) as usize;
    ALL.get(index).copied().unwrap_or(DType::F32)
}

/// The dtype that new float tensors get.
#[pyfunction]
fn get_default_dtype(py: Python<'_>) -> PyResult<Bound<'_, PyDType>> {
    object(py, default_dtype())
}

/// Sets the dtype that new float tensors get.
#[pyfunction]
#[pyo3(signature = (d, /))]
fn set_default_dtype(d: DTypeArg) -> PyResult<()> {
    if !d.0.is_float() {
        return error::type_(format!(
            "only floating-point types are supported as the default type, got {}",
            d.0.name()
        ))
        .map_err(PyErr::from);
    }
    DEFAULT.store(d.0 as u8, Ordering::Relaxed);
    Ok(())
}

/// The dtype that combining values of these two dtypes gives.
#[pyfunction]
fn promote_types<'py>(py: Python<'py>, type1: DTypeArg, type2: DTypeArg) -> PyResult<Bound<'py, PyDType>> {
    object(py, type1.0.promote(type2.0))
}

/// Whether a value of `from_` may be written where `to` stands.
#[pyfunction]
fn can_cast(from_: DTypeArg, to: DTypeArg) -> bool {
    from_.0.can_cast(to.0)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add_class::<PyDType>()?;
    for dtype in ALL {
        module.add(dtype.name(), object(py, dtype)?)?;
    }
    for (alias, dtype) in [
        ("float", DType::F32),
        ("double", DType::F64),
        ("half", DType::F16),
        ("long", DType::I64),
        ("int", DType::I32),
        ("short", DType::I16),
        ("cfloat", DType::C64),
        ("cdouble", DType::C128),
    ] {
        module.add(alias, object(py, dtype)?)?;
    }
    module.add_function(wrap_pyfunction!(_set_aliased, module)?)?;
    module.add_function(wrap_pyfunction!(_library, module)?)?;
    module.add_function(wrap_pyfunction!(get_default_dtype, module)?)?;
    module.add_function(wrap_pyfunction!(set_default_dtype, module)?)?;
    module.add_function(wrap_pyfunction!(promote_types, module)?)?;
    module.add_function(wrap_pyfunction!(can_cast, module)?)
}
