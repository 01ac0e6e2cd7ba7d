//! Checks that every op makes before burn sees its input.

use crate::device::Device;
use crate::dtype::{DType, Kind};
use crate::error::{self, Result};
use crate::tensor::Tensor;

/// The device that all inputs share. A CPU scalar (rank 0) may meet a GPU tensor, as in torch.
pub fn same_device(op: &str, inputs: &[&Tensor]) -> Result<Device> {
    let mut found = Device::Cpu;
    for (index, input) in inputs.iter().enumerate() {
        let device = input.device();
        if index == 0 {
            found = device;
        } else if device != found {
            return error::device(format!(
                "{op}: Expected all tensors to be on the same device, but found at least two devices, {} and {}! \
                 Move one of them with .to('{}')",
                found.name(),
                device.name(),
                found.name()
            ));
        }
    }
    Ok(found)
}

/// Bytes above which the free memory is looked up before it is asked for.
const LARGE: usize = 1 << 28;

/// Refuses sizes that do not fit in memory, before an allocator aborts the process or the system ends it.
pub fn allocation(bytes: usize) -> Result<()> {
    if bytes < LARGE {
        return Ok(());
    }
    if bytes > memory_available() {
        return no_memory(bytes);
    }
    Ok(())
}

/// The error of memory that is not to be had, in words that programs look for to try a smaller batch.
pub fn no_memory<T>(bytes: usize) -> Result<T> {
    error::memory(format!(
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate {bytes} bytes, and {} are available; use a \
         smaller shape or dtype",
        memory_available()
    ))
}

/// Memory that this process can still get: from the system, in its container, and within its own limit. Where nobody
/// says, sizes beyond any machine's are refused.
fn memory_available() -> usize {
    [in_system(), in_container(), in_process()].into_iter().flatten().min().unwrap_or(1 << 40)
}

fn in_system() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let rest = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    rest.trim().trim_end_matches("kB").trim().parse::<usize>().ok().map(|kilobytes| kilobytes * 1024)
}

fn in_container() -> Option<usize> {
    let number = |name: &str| -> Option<usize> {
        std::fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse().ok()
    };
    // Cached files count as used, but are given back when memory is asked for.
    let text = std::fs::read_to_string("/sys/fs/cgroup/memory.stat").unwrap_or_default();
    let cached = text.lines().find_map(|line| line.strip_prefix("file ")?.parse::<usize>().ok()).unwrap_or(0);
    Some(number("memory.max")?.saturating_sub(number("memory.current")?.saturating_sub(cached)))
}

/// What `ulimit -v` leaves.
fn in_process() -> Option<usize> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let rest = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit = rest.split_whitespace().next()?.parse::<usize>().ok()?;
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages = statm.split_whitespace().next()?.parse::<usize>().ok()?;
    Some(limit.saturating_sub(pages * 4096))
}

/// Refuses element types outside `kinds`, naming what the op takes.
pub fn kind(op: &str, dtype: DType, kinds: &[Kind]) -> Result<()> {
    if kinds.contains(&dtype.kind()) {
        return Ok(());
    }
    let names: Vec<&str> = kinds
        .iter()
        .map(|kind| match kind {
            Kind::Bool => "bool",
            Kind::Int => "integer",
            Kind::Float => "floating-point",
            Kind::Complex => "complex",
        })
        .collect();
    error::dtype(format!(
        "{op}: not implemented for '{}'; it takes {} tensors, convert with .to(...) first",
        dtype.scalar_type(),
        names.join(" or ")
    ))
}

pub fn rank(op: &str, name: &str, tensor: &Tensor, allowed: &[usize]) -> Result<()> {
    if allowed.contains(&tensor.rank()) {
        return Ok(());
    }
    error::shape(format!(
        "{op}: {name} must have {} dimensions, got shape {:?}",
        allowed.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or "),
        tensor.shape().as_slice()
    ))
}
