//! Runs programs on threads whose every step obeys a seed, with `--cfg brigade_seeded` only.
//!
//! All threads of a program are coroutines of the crate `shuttle` on a single thread of the system. After each atomic operation, and
//! before each lock, wait and use of a parker, a scheduler chooses which of them goes on; with the same seed it chooses the same. So
//! memory is sequentially consistent here: loom checks orderings. Atomics and locks are `core`'s and `std`'s, which have no contention on
//! a single thread.
//!
//! Time is [virtual](clock): it passes by a little at each look, and by a leap to the next deadline if no thread can go on without it.
//! If there is no deadline either, it is a deadlock, and the run [fails](Failure) at once.
//!
//! ```text
//! mod (explore)
//! schedule
//! watchdog
//! lock   local
//! clock
//! wait
//! record
//! ```

pub mod clock;
pub mod local;
pub mod lock;
mod record;
mod schedule;
pub(crate) mod wait;
mod watchdog;

use std::cell::RefCell;
use std::fmt;
use std::panic::{self, AssertUnwindSafe, Location, PanicHookInfo};
use std::string::String;
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::vec::Vec;

use shuttle::{Config, FailurePersistence, MaxSteps, Runner};
use shuttle_engine::runtime::execution::ExecutionState;

pub use record::run;
pub use schedule::Policy;
pub use shuttle::{sync, thread};
pub use wait::number;

/// Stack of a thread, in bytes: builds without optimisation, and nested jobs.
const STACK: usize = 1 << 20;

std::thread_local! {
    /// The panics on this thread of the system, caught or not.
    static PANICS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// The hook of the program.
static FORMER: OnceLock<PanicHook> = OnceLock::new();

/// A hook for panics.
type PanicHook = Box<dyn Fn(&PanicHookInfo<'_>) + Send + Sync>;

/// A successful run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// How many steps the threads took.
    pub steps: u64,
    /// A fingerprint of which thread took each of them, and where.
    pub fingerprint: u64,
}

/// Why a run ended otherwise.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The reason: a panic, a deadlock, or too many steps.
    pub reason: String,
    /// The last steps: the thread, the place in the source, the virtual time.
    pub steps: Vec<String>,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

/// A step of the calling thread: another thread may go on here. None outside a run, and none while it unwinds: to the standard library all
/// threads of a run are a single thread, so a second thread would seem to unwind too.
#[track_caller]
pub fn step() {
    if record::is_in_run() && !std::thread::panicking() {
        record::note(Location::caller());
        shuttle_engine::runtime::thread::switch();
    }
}

/// A step after which the calling thread would rather wait for another thread.
#[track_caller]
pub fn yield_now() {
    if record::is_in_run() {
        record::note(Location::caller());
        clock::now();
        ExecutionState::request_yield();
        shuttle_engine::runtime::thread::switch();
    }
}

/// Whether an event with the probability `1 / of` happens now: as the seed says, and never outside a run.
pub fn one_in(of: u64) -> bool {
    record::is_in_run() && ExecutionState::next_u64() % of == 0
}

/// The settings of a run.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Chooses the [`Policy`], and each step.
    pub seed: u64,
    /// A run with more steps than this fails.
    pub most: usize,
    /// How many of the last steps a [`Failure`] names; `usize::MAX` prints each step at once.
    pub kept: usize,
    /// Whether a caught panic is a failure too, unless by [`resume_unwind`](panic::resume_unwind), which calls no hook.
    pub rejects_panics: bool,
}

/// Runs `program` once, with all threads, to their end. A process has a single run at a time: other calls wait.
///
/// # Errors
/// A panic, a deadlock, or too many steps. The threads of a failed run are leaked.
///
/// # Panics
/// In a run.
pub fn explore(
    settings: Settings,
    program: impl Fn() + Send + Sync + 'static,
) -> Result<Run, Failure> {
    static ONE: Mutex<()> = Mutex::new(());
    assert!(!record::is_in_run(), "a simulated run inside of another");
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let Settings { seed, most, kept, rejects_panics } = settings;
    let mut config = Config::new();
    config.stack_size = STACK;
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(most);
    config.silence_warnings = true;

    let run = move || {
        // In the place of shuttle's hook, which its first run installs.
        static HOOK: Once = Once::new();
        HOOK.call_once(|| panic::set_hook(Box::new(keep_panic)));
        clock::begin();
        program();
        clock::end();
    };
    FORMER.get_or_init(panic::take_hook);
    PANICS.take();
    record::begin(seed, kept);
    watchdog::begin();
    let runner = Runner::new(schedule::Schedule::new(seed), config);
    let result = panic::catch_unwind(AssertUnwindSafe(|| runner.run(run)));
    watchdog::end();
    let (run, steps) = record::end();
    let panics = PANICS.take();
    match result {
        Ok(_) if panics.is_empty() || !rejects_panics => Ok(run),
        _ => Err(Failure { reason: panics.join("\n"), steps }),
    }
}

/// The hook for panics: keeps those of a run, and calls the former hook for others.
fn keep_panic(info: &PanicHookInfo<'_>) {
    if record::is_in_run() {
        let said = std::format!("thread {} {info}", wait::number());
        PANICS.with_borrow_mut(|panics| panics.push(said));
    } else if let Some(former) = FORMER.get() {
        former(info);
    }
}
