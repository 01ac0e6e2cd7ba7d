//! Devices: `cpu` is burn's Flex backend, `wgpu:n` the n-th adapter through burn's wgpu backend with fusion.

use std::cell::RefCell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

use burn_dispatch::devices::{CubeDevice, FlexDevice, RuntimeId, WgpuDevice, WgpuDeviceKind};
use burn_dispatch::{Dispatch, DispatchDevice};
use cubecl_environment::config::RuntimeConfig;
use cubecl_runtime::config::CubeClRuntimeConfig;
use cubecl_runtime::config::autotune::AutotuneLevel;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::dtype::DType;
use crate::error::{self, Result};
use crate::guard;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Device {
    Cpu,
    Wgpu(u16),
    /// torch's device without memory: its tensors have a shape, strides and a dtype, and no values.
    Meta,
    /// A device of torch's that is not here: it can be named and compared, and no tensor is ever on it.
    Absent(&'static str, Option<u16>),
}

/// torch's names for devices that pyburn has not.
const ABSENT: [&str; 8] = ["cuda", "mps", "xpu", "hip", "xla", "hpu", "mtia", "privateuseone"];

struct Adapter {
    device: WgpuDevice,
    software: bool,
    /// Bytes of its largest buffer, once it was asked.
    largest: OnceLock<usize>,
}

static ADAPTERS: OnceLock<Vec<Adapter>> = OnceLock::new();
static FORKED: AtomicBool = AtomicBool::new(false);

/// What `set_default_device` chose: -3 meta, -2 nothing, -1 the CPU, n the n-th adapter.
static DEFAULT: AtomicI32 = AtomicI32::new(-2);

thread_local! {
    /// The devices of the `with device:` blocks around this thread's code, the innermost last.
    static ENTERED: RefCell<Vec<Device>> = const { RefCell::new(Vec::new()) };
}

/// A GPU context does not survive a fork; afterwards asking for one is an error, not a hang.
pub fn forbid_after_fork() {
    FORKED.store(true, Ordering::SeqCst);
}

/// Whether this process was forked from one that had loaded pyburn.
pub fn is_forked() -> bool {
    FORKED.load(Ordering::Relaxed)
}

/// Makes tuning short on software drivers, where compiling and timing the candidates takes longer than the best of them
/// could save: wide size classes and one sample each. What a cubecl.toml or the environment says stands.
fn tune_briefly() {
    let mut config = CubeClRuntimeConfig::from_current_dir().override_from_env();
    if std::env::var_os("CUBECL_AUTOTUNE_LEVEL").is_none() && matches!(config.autotune.level, AutotuneLevel::Balanced) {
        config.autotune.level = AutotuneLevel::Minimal;
    }
    if matches!(config.autotune.level, AutotuneLevel::Minimal) {
        config.autotune.bench.min_samples = 1;
        config.autotune.bench.max_samples = 1;
        config.autotune.bench.short_circuit_samples = 1;
    }
    // False when somebody was first, whose choice then stands.
    CubeClRuntimeConfig::try_set(config);
}

/// The adapters of this machine, real GPUs first.
fn adapters() -> &'static [Adapter] {
    ADAPTERS.get_or_init(|| {
        let found = guard::run("devices", || Dispatch::enumerate_cube(RuntimeId::Wgpu));
        let list = ranked(found.unwrap_or_default());
        if list.first().is_some_and(|adapter| adapter.software) {
            // A configuration that cannot be read leaves cubecl's own.
            drop(guard::run("devices", tune_briefly));
        }
        list
    })
}

/// The adapters among `found`: GPUs with memory of their own first, software last.
fn ranked(found: Vec<DispatchDevice>) -> Vec<Adapter> {
    let mut list: Vec<(u8, Adapter)> = found
        .into_iter()
        .filter_map(|device| match device {
            DispatchDevice::Cube(CubeDevice::Wgpu(device)) => {
                let rank = match device.kind {
                    WgpuDeviceKind::DiscreteGpu(_) => 0,
                    WgpuDeviceKind::IntegratedGpu(_) => 1,
                    WgpuDeviceKind::VirtualGpu(_) => 2,
                    WgpuDeviceKind::Cpu => 4,
                    _ => 3,
                };
                let software = rank == 4;
                Some((rank, Adapter { device, software, largest: OnceLock::new() }))
            }
            _ => None,
        })
        .collect();
    list.sort_by_key(|(rank, _)| *rank);
    list.into_iter().map(|(_, adapter)| adapter).collect()
}

impl Device {
    pub fn is_cpu(self) -> bool {
        self == Self::Cpu
    }

    pub fn is_meta(self) -> bool {
        self == Self::Meta
    }

    pub fn name(self) -> String {
        match self {
            Self::Cpu => "cpu".to_string(),
            Self::Wgpu(index) => format!("wgpu:{index}"),
            Self::Meta => "meta".to_string(),
            Self::Absent(kind, None) => kind.to_string(),
            Self::Absent(kind, Some(index)) => format!("{kind}:{index}"),
        }
    }

    /// As `parse`, but a device of torch's that is not here is named: only what computes on it is refused.
    fn named(text: &str) -> Result<Self> {
        let lower = text.trim().to_lowercase();
        let (kind, index) = match lower.split_once(':') {
            Some((kind, index)) => (kind, index.parse::<u16>().ok().map(Some)),
            None => (lower.as_str(), Some(None)),
        };
        let known = ABSENT.into_iter().find(|name| *name == kind);
        match (Self::parse(text), known, index) {
            (Err(_), Some(kind), Some(index)) => Ok(Self::Absent(kind, index)),
            (parsed, ..) => parsed,
        }
    }

    /// Refuses a GPU after a fork: the threads that serve it were left behind, and asking them would never end.
    pub fn check_alive(self) -> Result<()> {
        if self.is_cpu() || self.is_meta() || !is_forked() {
            return Ok(());
        }
        error::device("wgpu cannot be used in a forked process; start it with multiprocessing's 'spawn' method")
    }

    /// Refuses a value that is larger than any buffer of the device, before the device fails on it.
    pub fn check_size(self, numel: usize, dtype: DType) -> Result<()> {
        let Self::Wgpu(index) = self else { return Ok(()) };
        let Some(adapter) = adapters().get(index as usize) else { return Ok(()) };
        // What is no float16 takes four bytes there.
        let bytes = numel.saturating_mul(if dtype == DType::F16 { 2 } else { 4 });
        let largest = *adapter.largest.get_or_init(|| {
            let device = CubeDevice::Wgpu(adapter.device.clone());
            guard::run("devices", || device.client().properties().memory.max_page_size)
                .map_or(usize::MAX, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
        });
        if bytes <= largest {
            return Ok(());
        }
        error::memory(format!(
            "out of memory: cannot allocate {bytes} bytes on {}: its largest buffer has {largest}; split the tensor, or use \
             device='cpu'",
            self.name()
        ))
    }

    /// burn's handle; an error says what is missing on this machine.
    pub fn burn(self) -> Result<DispatchDevice> {
        self.check_alive()?;
        match self {
            // What no kernel of ours answers for a meta tensor is asked of the CPU, over zeros.
            Self::Cpu | Self::Meta => Ok(DispatchDevice::from(FlexDevice)),
            Self::Wgpu(index) => match adapters().get(index as usize) {
                Some(adapter) => Ok(DispatchDevice::Cube(CubeDevice::Wgpu(adapter.device.clone()))),
                None if adapters().is_empty() => error::device(
                    "wgpu: no GPU adapter was found; install a Vulkan driver (for example mesa-vulkan-drivers), \
                     or use device='cpu'",
                ),
                None => error::device(format!(
                    "wgpu:{index}: this machine has {} adapter(s), the last is wgpu:{}",
                    adapters().len(),
                    adapters().len() - 1
                )),
            },
            Self::Absent(..) => Self::parse(&self.name())?.burn(),
        }
    }

    pub fn parse(text: &str) -> Result<Self> {
        let lower = text.trim().to_lowercase();
        let (kind, index) = match lower.split_once(':') {
            Some((kind, index)) => match index.parse::<u16>() {
                Ok(index) => (kind, index),
                Err(_) => {
                    return error::runtime(format!("Invalid device string: '{text}'; write 'cpu', 'wgpu' or 'wgpu:0'"));
                }
            },
            None => (lower.as_str(), 0),
        };
        match kind {
            "cpu" | "ndarray" | "flex" => Ok(Self::Cpu),
            "meta" => Ok(Self::Meta),
            "wgpu" | "gpu" | "wgpudevice" | "fusionjitbackend" | "vulkan" | "metal" | "webgpu" => Ok(Self::Wgpu(index)),
            "cuda" | "mps" | "xpu" if !adapters().is_empty() && !adapters()[0].software => Ok(Self::Wgpu(index)),
            "cuda" | "mps" | "xpu" => error::device(format!(
                "device '{text}': this wheel has no {kind} and no real GPU adapter was found for wgpu; \
                 use device='cpu'"
            )),
            kind if ABSENT.contains(&kind) => {
                error::device(format!("device '{text}': pyburn computes on cpu and wgpu only; use device='cpu'"))
            }
            "pytorch" | "libtorch" => {
                error::device("device 'pytorch': this wheel has no libtorch; use 'cpu' or 'wgpu'")
            }
            _ => error::runtime(format!("Invalid device string: '{text}'; expected one of cpu, wgpu, wgpu:0")),
        }
    }
}

/// The device of new tensors: set by the program, by PYBURN_DEVICE, else a real GPU, else the CPU.
pub fn default_device() -> Result<Device> {
    if let Some(device) = ENTERED.with_borrow(|entered| entered.last().copied()) {
        return Ok(device);
    }
    match DEFAULT.load(Ordering::Relaxed) {
        -1 => Ok(Device::Cpu),
        -2 => choose(),
        -3 => Ok(Device::Meta),
        index => Ok(Device::Wgpu(index as u16)),
    }
}

fn choose() -> Result<Device> {
    let (device, reason) = match std::env::var("PYBURN_DEVICE") {
        Ok(name) if !name.trim().is_empty() => {
            let device = Device::parse(&name)?;
            device.burn()?;
            (device, "PYBURN_DEVICE")
        }
        _ if has_gpu_file() => preferred(adapters()),
        _ => preferred(&[]),
    };
    set_default(device);
    announce(device, reason);
    Ok(device)
}

/// The default among `adapters`, and why: a real GPU, else the CPU.
fn preferred(adapters: &[Adapter]) -> (Device, &'static str) {
    if adapters.first().is_some_and(|adapter| !adapter.software) {
        (Device::Wgpu(0), "a GPU adapter is present")
    } else {
        (Device::Cpu, "no real GPU adapter was found")
    }
}

/// Whether the system shows a GPU at all. Without one a search would only load software drivers, which takes a second
/// and brings an LLVM into the process that others (triton) do not bear.
fn has_gpu_file() -> bool {
    let there = |path: &str| std::path::Path::new(path).exists();
    !cfg!(target_os = "linux")
        || ["/dev/dri", "/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg", "/dev/kgsl-3d0"].into_iter().any(there)
}

/// Says the choice once, through Python's logging so that users can silence it.
fn announce(device: Device, reason: &str) {
    guard::attached(|py| {
        let text = format!("default device: {} ({reason})", device.name());
        // A broken logging setup must not break tensor creation.
        drop(py.import("pyburn._log").and_then(|log| log.call_method1("announce", (text,))));
    });
}

fn set_default(device: Device) {
    let code = match device {
        // An absent device is refused before it comes here.
        Device::Cpu | Device::Absent(..) => -1,
        Device::Wgpu(index) => i32::from(index),
        Device::Meta => -3,
    };
    DEFAULT.store(code, Ordering::Relaxed);
}

/// `pyburn.device`: `device("cpu")`, `device("wgpu", 0)`.
#[pyclass(name = "device", module = "pyburn", frozen, eq, hash, from_py_object)]
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct PyDevice(pub Device);

#[pymethods]
impl PyDevice {
    #[new]
    #[pyo3(signature = (r#type, index=None))]
    fn new(r#type: &Bound<'_, PyAny>, index: Option<u16>) -> PyResult<Self> {
        let device = if let Ok(device) = r#type.extract::<Self>() {
            device.0
        } else if let Ok(name) = r#type.extract::<std::borrow::Cow<'_, str>>() {
            Device::named(&name)?
        } else {
            r#type.extract::<DeviceArg>()?.0
        };
        Ok(Self(match (device, index) {
            (Device::Wgpu(_), Some(index)) => Device::Wgpu(index),
            (Device::Absent(kind, _), Some(index)) => Device::Absent(kind, Some(index)),
            (device, _) => device,
        }))
    }

    #[getter]
    fn r#type(&self) -> &'static str {
        match self.0 {
            Device::Cpu => "cpu",
            Device::Wgpu(_) => "wgpu",
            Device::Meta => "meta",
            Device::Absent(kind, _) => kind,
        }
    }

    #[getter]
    fn index(&self) -> Option<u16> {
        match self.0 {
            Device::Cpu | Device::Meta => None,
            Device::Wgpu(index) => Some(index),
            Device::Absent(_, index) => index,
        }
    }

    fn __str__(&self) -> String {
        self.0.name()
    }

    fn __repr__(&self) -> String {
        match self.0 {
            Device::Cpu => "device(type='cpu')".to_string(),
            Device::Meta => "device(type='meta')".to_string(),
            Device::Wgpu(index) => format!("device(type='wgpu', index={index})"),
            Device::Absent(kind, None) => format!("device(type='{kind}')"),
            Device::Absent(kind, Some(index)) => format!("device(type='{kind}', index={index})"),
        }
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.get_type::<Self>().into_any(), (self.0.name(),)))
    }

    /// Makes this the device of what the thread creates in the block.
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        let device = slf.get().0;
        device.burn()?;
        ENTERED.with_borrow_mut(|entered| entered.push(device));
        Ok(slf)
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        ENTERED.with_borrow_mut(Vec::pop);
    }
}

/// A `device=` argument: a `pyburn.device`, a string, a `Backend` member or an adapter's number.
#[derive(Clone, Copy)]
pub struct DeviceArg(pub Device);

impl<'a, 'py> FromPyObject<'a, 'py> for DeviceArg {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(device) = object.extract::<PyDevice>() {
            return Ok(Self(match device.0 {
                Device::Absent(..) => Device::parse(&device.0.name())?,
                present => present,
            }));
        }
        if let Ok(name) = object.extract::<std::borrow::Cow<'_, str>>() {
            return Ok(Self(Device::parse(&name)?));
        }
        if let Ok(index) = object.extract::<u16>() {
            return Ok(Self(Device::Wgpu(index)));
        }
        if let Ok(value) = object.getattr("value")
            && let Ok(name) = value.extract::<String>()
        {
            return Ok(Self(Device::parse(&name)?));
        }
        error::type_(format!(
            "device must be a string such as 'cpu' or 'wgpu', a pyburn.device or a pyburn.Backend, got {}",
            object.get_type().name()?
        ))
        .map_err(PyErr::from)
    }
}

/// Name and facts of every device that is really there.
#[pyfunction]
fn _adapters(py: Python<'_>) -> Vec<(String, String, bool)> {
    py.detach(|| {
        adapters()
            .iter()
            .enumerate()
            .map(|(index, adapter)| {
                let name = guard::run("devices", || {
                    DispatchDevice::Cube(CubeDevice::Wgpu(adapter.device.clone()))
                        .identity()
                        .map(|identity| identity.name)
                });
                let label = name.ok().flatten().unwrap_or_else(|| format!("{:?}", adapter.device.kind));
                (format!("wgpu:{index}"), label, adapter.software)
            })
            .collect()
    })
}

/// Sets the device of tensors created without `device=`; None returns to the automatic choice.
#[pyfunction]
#[pyo3(signature = (device))]
fn set_default_device(device: Option<DeviceArg>) -> PyResult<()> {
    match device {
        Some(DeviceArg(device)) => {
            device.burn()?;
            set_default(device);
        }
        None => DEFAULT.store(-2, Ordering::Relaxed),
    }
    Ok(())
}

/// The device of tensors created without `device=`.
#[pyfunction]
fn get_default_device() -> PyResult<PyDevice> {
    Ok(PyDevice(default_device()?))
}

/// Waits until the device has done all that it was given, and reports its errors.
#[pyfunction]
#[pyo3(signature = (device=None))]
fn synchronize(py: Python<'_>, device: Option<DeviceArg>) -> PyResult<()> {
    use burn_backend::Backend;
    let device = match device {
        Some(DeviceArg(device)) => device,
        None => default_device()?,
    };
    let burn = device.burn()?;
    let done = py.detach(|| guard::run("synchronize", || Dispatch::sync(&burn)))?;
    done.or_else(|cause| error::device(format!("{}: {cause:?}", device.name()))).map_err(PyErr::from)
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyDevice>()?;
    module.add_function(wrap_pyfunction!(_adapters, module)?)?;
    module.add_function(wrap_pyfunction!(set_default_device, module)?)?;
    module.add_function(wrap_pyfunction!(get_default_device, module)?)?;
    module.add_function(wrap_pyfunction!(synchronize, module)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(kinds: Vec<WgpuDeviceKind>) -> Vec<Adapter> {
        let devices = kinds.into_iter().map(WgpuDevice::new).map(CubeDevice::Wgpu).map(DispatchDevice::Cube);
        ranked(devices.collect())
    }

    #[test]
    fn a_real_gpu_is_the_default() {
        let (software, integrated) = (WgpuDeviceKind::Cpu, WgpuDeviceKind::IntegratedGpu(0));
        assert!(preferred(&found(vec![software.clone(), integrated])).0 == Device::Wgpu(0));
        assert!(preferred(&found(vec![software])).0 == Device::Cpu);
        assert!(preferred(&found(vec![])).0 == Device::Cpu);
    }

    #[test]
    fn gpus_with_memory_of_their_own_come_first() {
        let kinds = vec![
            WgpuDeviceKind::Cpu,
            WgpuDeviceKind::IntegratedGpu(0),
            WgpuDeviceKind::VirtualGpu(0),
            WgpuDeviceKind::DiscreteGpu(0),
        ];
        let order: Vec<_> = found(kinds).into_iter().map(|adapter| adapter.device.kind).collect();
        assert!(matches!(order[0], WgpuDeviceKind::DiscreteGpu(0)));
        assert!(matches!(order[1], WgpuDeviceKind::IntegratedGpu(0)));
        assert!(matches!(order[3], WgpuDeviceKind::Cpu));
    }
}
