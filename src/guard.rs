//! The one door to burn: panics become errors, heavy work runs without the GIL, and in the chosen thread pool.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Once};

use burn_backend::StreamId;
use parking_lot::RwLock;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::error::{self, Error, Result};
use crate::kernels::iterate::PARALLEL_ABOVE;

/// Work (in elements touched) above which releasing the GIL costs less than it gives other threads.
pub const DETACH_ABOVE: usize = 1 << 15;

thread_local! {
    static MESSAGE: RefCell<Option<String>> = const { RefCell::new(None) };
    static DETACHED: Cell<bool> = const { Cell::new(false) };
    static SOLO: Cell<bool> = const { Cell::new(false) };
}

/// A pool that replaces rayon's global one: after `set_num_threads`, and in a forked child, where the global threads are gone.
static POOL: RwLock<Option<Arc<ThreadPool>>> = RwLock::new(None);

/// Set in a forked child: rayon's global threads are gone there, and even small work must not ask for them.
static FORKED: AtomicBool = AtomicBool::new(false);

static HOOK: Once = Once::new();

/// Panics of burn and of its device threads are kept from the terminal; `run` reports them to the caller.
pub fn install() {
    HOOK.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            let text = info
                .payload()
                .downcast_ref::<&str>()
                .map(ToString::to_string)
                .or_else(|| info.payload().downcast_ref::<String>().cloned())
                .unwrap_or_else(|| "unknown panic".to_string());
            let place = info.location().map_or(String::new(), |at| format!(" ({}:{})", at.file(), at.line()));
            MESSAGE.with(|slot| {
                if let Ok(mut slot) = slot.try_borrow_mut() {
                    *slot = Some(format!("{text}{place}"));
                }
            });
        }));
    });
}

/// Runs an engine call; a panic in it becomes a RuntimeError that names `op`.
pub fn run<T: Send>(op: &str, call: impl FnOnce() -> T + Send) -> Result<T> {
    if FORKED.load(Ordering::Relaxed) {
        return in_pool(op, call);
    }
    catch_unwind(AssertUnwindSafe(call)).or_else(|payload| error::runtime(panic_text(op, &payload)))
}

/// As `run`, for work (counted in elements) worth other threads: Python's go on meanwhile, and the pool's may help.
pub fn heavy<T: Send>(op: &str, work: usize, call: impl FnOnce() -> T + Send) -> Result<T> {
    if work < PARALLEL_ABOVE {
        // No kernel starts threads for so little, and the way to the pool takes longer than the work.
        alone(op, work, call)
    } else {
        detached(|| in_pool(op, call))
    }
}

/// As `heavy`, for kernels that ask `iterate` alone for threads: where one is chosen, the caller's does the work, with
/// what is in its cache.
pub fn spread<T: Send>(op: &str, work: usize, call: impl FnOnce() -> T + Send) -> Result<T> {
    if work < PARALLEL_ABOVE {
        return alone(op, work, call);
    }
    let one = POOL.read().as_ref().is_some_and(|pool| pool.current_num_threads() == 1);
    detached(|| if one { solo(op, call) } else { in_pool(op, call) })
}

fn solo<T: Send>(op: &str, call: impl FnOnce() -> T + Send) -> Result<T> {
    let was = SOLO.replace(true);
    let _back = OnDrop(|| SOLO.set(was));
    catch_unwind(AssertUnwindSafe(call)).or_else(|payload| error::runtime(panic_text(op, &payload)))
}

/// Threads that the work which runs now may use, this one included.
pub fn threads() -> usize {
    if SOLO.get() { 1 } else { rayon::current_num_threads() }
}

/// As `heavy`, for work that is done by one thread whatever its size: it stays where it is.
pub fn alone<T: Send>(op: &str, work: usize, call: impl FnOnce() -> T + Send) -> Result<T> {
    if work <= DETACH_ABOVE { run(op, call) } else { detached(|| run(op, call)) }
}

/// Runs an engine call on the chosen pool. Going there and back takes ten microseconds, so small work stays away.
fn in_pool<T: Send>(op: &str, call: impl FnOnce() -> T + Send) -> Result<T> {
    let pool = POOL.read().clone();
    let caught = match pool {
        None => catch_unwind(AssertUnwindSafe(call)),
        Some(pool) => {
            // burn keeps GPU work in order by stream, one per thread: the pool's threads must work on the caller's.
            let stream = StreamId::current();
            pool.install(|| stream.executes(|| catch_unwind(AssertUnwindSafe(call)).map_err(remember)))
        }
    };
    caught.or_else(|payload| error::runtime(panic_text(op, &payload)))
}

/// Runs `call` without the GIL, whoever holds it now.
pub fn detached<T: Send>(call: impl FnOnce() -> T + Send) -> T {
    if DETACHED.get() {
        return call();
    }
    Python::attach(|py| {
        py.detach(|| {
            DETACHED.set(true);
            let _back = OnDrop(|| DETACHED.set(false));
            call()
        })
    })
}

/// Runs `call` with the GIL from inside detached work (a hook, a Python autograd function).
pub fn attached<T>(call: impl FnOnce(Python<'_>) -> T) -> T {
    let was = DETACHED.replace(false);
    let _back = OnDrop(|| DETACHED.set(was));
    Python::attach(call)
}

struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Carries a pool thread's panic message to the thread that waits for it.
fn remember(payload: Box<dyn std::any::Any + Send>) -> Box<dyn std::any::Any + Send> {
    match MESSAGE.take() {
        Some(text) => Box::new(text),
        None => payload,
    }
}

fn panic_text(op: &str, payload: &Box<dyn std::any::Any + Send>) -> String {
    let text = MESSAGE
        .take()
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_else(|| "unknown panic".to_string());
    format!("{op}: the engine failed: {text}; please report this with the call that caused it")
}

/// Threads this process may use: the cgroup's and the scheduler's limits both count.
fn available() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn build_pool(threads: usize) -> Result<Arc<ThreadPool>> {
    ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|index| format!("pyburn-{index}"))
        .build()
        .map(Arc::new)
        .map_err(|cause| Error::Runtime(format!("cannot start {threads} threads: {cause}")))
}

/// Sets how many threads CPU kernels use.
#[pyfunction]
fn set_num_threads(num: isize) -> PyResult<()> {
    if num < 1 {
        return error::runtime(format!("set_num_threads expects a positive integer, got {num}")).map_err(PyErr::from);
    }
    let threads = num as usize;
    let as_before = !FORKED.load(Ordering::Relaxed) && threads == rayon::current_num_threads();
    let pool = if as_before { None } else { Some(build_pool(threads)?) };
    *POOL.write() = pool;
    Ok(())
}

/// How many threads CPU kernels use.
#[pyfunction]
pub fn get_num_threads() -> usize {
    let pool = POOL.read();
    pool.as_ref().map_or_else(rayon::current_num_threads, |pool| pool.current_num_threads())
}

/// Whether kernels may use rayon's global threads outside of `heavy`: nobody has set another number, none are gone.
pub fn has_all_threads() -> bool {
    !FORKED.load(Ordering::Relaxed) && POOL.try_read().is_some_and(|pool| pool.is_none())
}

/// Gives a forked child a pool of its own: the parent's threads do not exist there.
#[pyfunction]
fn _after_fork_in_child() -> PyResult<()> {
    crate::device::forbid_after_fork();
    FORKED.store(true, Ordering::Relaxed);
    let pool = build_pool(available())?;
    // The parent may have held the lock at the fork; a fresh one cannot be waited for.
    if let Some(mut slot) = POOL.try_write() {
        // The old pool's threads are gone, so dropping it would wait for them for ever.
        std::mem::forget(slot.replace(pool));
    }
    Ok(())
}

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    install();
    module.add_function(wrap_pyfunction!(set_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(get_num_threads, module)?)?;
    module.add_function(wrap_pyfunction!(_after_fork_in_child, module)?)
}
