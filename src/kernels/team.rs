//! Threads that share one piece of work with the caller at a time (benchmarks/bars.py: rows of 40 to 300 us).
//!
//! Between two ops of a program lie a few microseconds, and waking a thread that sleeps takes longer than that: so
//! helpers look for the next work for a while before they sleep. Who comes too late is not waited for.

use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

/// How long a helper looks for work before it sleeps.
const AWAKE: Duration = Duration::from_micros(100);
/// Looks between two looks at the clock.
const LOOKS: usize = 32;

type Work<'a> = dyn Fn(usize) + Sync + 'a;

/// What stands in `Team::state`: the number of the piece of work, places that are free, helpers that are at it.
const ROUND: u64 = 1 << 32;
const PLACE: u64 = 1 << 16;
const PLACES: u64 = ROUND - PLACE;
const WORKERS: u64 = PLACE - 1;

struct Team {
    helpers: usize,
    busy: AtomicBool,
    state: AtomicU64,
    work: UnsafeCell<Option<*const Work<'static>>>,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    asleep: AtomicUsize,
    door: Mutex<()>,
    bell: Condvar,
}

// SAFETY: `work` is written by the one caller that holds `busy`, while no helper has a place.
unsafe impl Sync for Team {}
// SAFETY: as for Sync: the pointer is followed only while its caller waits.
unsafe impl Send for Team {}

/// Runs `work(0)` on this thread and, meanwhile, `work(number)` on up to `helpers` others, each a number of its own
/// (the same for the same thread). Returns when all have returned; false, with nothing done, where another caller has
/// the team.
pub fn run(helpers: usize, work: &Work<'_>) -> bool {
    static TEAM: OnceLock<&'static Team> = OnceLock::new();
    let team = TEAM.get_or_init(|| Team::start(rayon::current_num_threads().saturating_sub(1)));
    if team.helpers == 0 || team.busy.swap(true, Ordering::Acquire) {
        return false;
    }
    let own = team.share(helpers, work);
    let other = team.panic.lock().take();
    team.busy.store(false, Ordering::Release);
    if let Some(payload) = own.err().or(other) {
        resume_unwind(payload);
    }
    true
}

impl Team {
    /// A team lives as long as the process.
    fn start(wanted: usize) -> &'static Self {
        let team: &'static Self = Box::leak(Box::new(Self {
            helpers: wanted,
            busy: AtomicBool::new(false),
            state: AtomicU64::new(0),
            work: UnsafeCell::new(None),
            panic: Mutex::new(None),
            asleep: AtomicUsize::new(0),
            door: Mutex::new(()),
            bell: Condvar::new(),
        }));
        for number in 1..=wanted {
            let named = std::thread::Builder::new().name(format!("pyburn-{number}"));
            // Where the system has no more threads, the caller does what they would have done.
            let _ = named.spawn(move || team.help(number));
        }
        team
    }

    /// Does the caller's part of the work, and waits for the helpers that took one.
    fn share(&self, helpers: usize, work: &Work<'_>) -> std::thread::Result<()> {
        // SAFETY: the caller holds `busy` and nobody has a place; the lifetime ends below, when nobody has one again.
        unsafe { *self.work.get() = Some(std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work)) };
        let places = helpers.min(self.helpers) as u64 * PLACE;
        let round = (self.state.load(Ordering::Relaxed) / ROUND).wrapping_add(1) << 32;
        self.state.store(round | places, Ordering::SeqCst);
        if self.asleep.load(Ordering::SeqCst) > 0 {
            let _door = self.door.lock();
            (0..helpers).for_each(|_| {
                self.bell.notify_one();
            });
        }
        let own = catch_unwind(AssertUnwindSafe(|| work(0)));
        self.state.fetch_and(!PLACES, Ordering::AcqRel);
        let mut looks = 0;
        while self.state.load(Ordering::Acquire) & WORKERS != 0 {
            // A helper whose processor works for others needs it back.
            if looks < 64 * LOOKS {
                std::hint::spin_loop()
            } else {
                std::thread::yield_now()
            }
            looks += 1;
        }
        own
    }

    fn help(&self, number: usize) {
        let mut seen = 0;
        loop {
            seen = self.next(seen);
            let taken = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, |state| {
                (state & PLACES != 0).then(|| state - PLACE + 1)
            });
            if taken.is_err() {
                continue;
            }
            // SAFETY: a place was free, so the work stands and its caller waits until this helper has left.
            let work = unsafe { (*self.work.get()).map(|work| &*work) };
            let done = catch_unwind(AssertUnwindSafe(|| work.map(|work| work(number))));
            if let Err(payload) = done {
                *self.panic.lock() = Some(payload);
            }
            self.state.fetch_sub(1, Ordering::Release);
        }
    }

    /// The number of a piece of work that is not the one seen before.
    fn next(&self, seen: u64) -> u64 {
        let new = |order| Some(self.state.load(order) / ROUND).filter(|&round| round != seen);
        let start = Instant::now();
        loop {
            for _ in 0..LOOKS {
                if let Some(round) = new(Ordering::Acquire) {
                    return round;
                }
                std::hint::spin_loop();
            }
            if start.elapsed() < AWAKE {
                continue;
            }
            let mut door = self.door.lock();
            self.asleep.fetch_add(1, Ordering::SeqCst);
            // The caller either sees that one sleeps, or is seen here.
            let round = loop {
                if let Some(round) = new(Ordering::SeqCst) {
                    break round;
                }
                self.bell.wait(&mut door);
            };
            self.asleep.fetch_sub(1, Ordering::SeqCst);
            return round;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_and_caller_do_all_of_it() {
        for _ in 0..1000 {
            let (next, sum) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let shared = run(3, &|_| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= 100 {
                        return;
                    }
                    sum.fetch_add(index, Ordering::Relaxed);
                }
            });
            assert!(!shared || sum.into_inner() == 4950);
        }
    }

    #[test]
    fn a_panic_comes_back_and_the_team_goes_on() {
        // Another test may have the team meanwhile.
        let caught = || catch_unwind(|| run(1, &|_| panic!("here"))).is_err();
        assert!(
            (0..10_000).any(|_| {
                std::thread::sleep(Duration::from_micros(100));
                caught()
            }) || rayon::current_num_threads() == 1
        );
        run(1, &|_| {});
    }
}
