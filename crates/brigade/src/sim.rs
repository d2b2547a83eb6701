//! Runs a program on threads whose every step obeys a seed, with virtual time. With `--cfg brigade_seeded` only.
//!
//! A run takes place on a single thread of the system. A scheduler chooses by the seed which thread of the program goes on after each
//! operation of this crate, of [`sync`] and of [`thread`]. With the same seed, build and program it chooses the same. The
//! chapter on simulation in the guide says how to compile a test for it, and the limits.
//!
//! Time passes only by looks at the clock, and by leaps to the next deadline when no thread can go on, and at times before: an hour of
//! [`sleep`](crate::time::sleep) takes no time. [`now`] is the time of the run; `Instant::now` is not.
//!
//! All of brigade must be used inside of a run: elsewhere it panics, and says so. Statics of this crate belong to the run, so each run has a
//! default pool of its own, which is [drained](crate::Shutdown::Drain) at the end. Statics and thread-locals of the program are those of the process.
//!
//! # Examples
//! ```
//! use brigade::{Pool, sim};
//! sim::explore(0..20, || {
//!     let pool = Pool::new(2);
//!     let begun = sim::now();
//!     pool.block_on(brigade::time::sleep(std::time::Duration::from_secs(3600)));
//!     assert!(sim::now() - begun >= std::time::Duration::from_secs(3600));
//! });
//! ```

use std::env;
use std::sync::Arc;
use std::time::Duration;

/// Locks, condition variables, channels and atomics with the names of [`std::sync`], whose operations are steps of a run: those of the
/// crate `shuttle`.
///
/// Memory is sequentially consistent. A wait with a timeout never times out. Async channels of other crates end the process.
pub use brigade_sync::seeded::sync;
#[doc(hidden)]
pub use brigade_sync::seeded::{Failure, Policy, Run, Settings};
/// Returns the time of the run.
pub use brigade_sync::time::now;

use crate::engine::monitor_runs;
use crate::pool::drain_default_pool;

/// Threads with the names of [`std::thread`], whose steps obey the seed. A run ends when all of its threads have ended.
pub mod thread {
    pub use brigade_sync::seeded::thread::{
        Builder, JoinHandle, Scope, ScopedJoinHandle, Thread, ThreadId, current, park, scope, spawn,
    };
    pub use brigade_sync::thread::yield_now;
    pub use brigade_sync::time::sleep;
}

/// A run with more steps than this has a thread that spins: most runs take fewer than 100,000.
const MOST_STEPS: usize = 20_000_000;
/// How many of the last steps a message names.
const KEPT: usize = 40;

/// Runs a program with a seed, to the end of all of its threads.
///
/// Runs of a process take place one after another.
///
/// # Panics
/// If `program` or a thread of [`thread`] panics, or all threads wait for ever, or they take 20 million steps. The message has the reason
/// and the last steps. The panic of a job is one only if its outcome makes `program` panic.
///
/// # Aborts
/// If a thread takes no step for 10 seconds of real time. It may wait for a lock of `std`, which can't be undone. The message has the
/// name of the thread and the place of its last step.
#[track_caller]
pub fn run(seed: u64, program: impl Fn() + Send + Sync + 'static) {
    expect(seed, KEPT, program);
}

/// Runs a program with each of some seeds, until one fails.
///
/// If the environment variable `BRIGADE_SIM_SEED` has a seed, it runs that seed alone, and prints each step to stdout.
///
/// # Panics
/// As [`run`]; the message has the seed. Also if `BRIGADE_SIM_SEED` is not a number.
///
/// # Aborts
/// As [`run`].
#[track_caller]
pub fn explore(seeds: impl IntoIterator<Item = u64>, program: impl Fn() + Send + Sync + 'static) {
    if let Some(seed) = env::var_os("BRIGADE_SIM_SEED") {
        let Some(seed) = seed.to_str().and_then(|seed| seed.parse().ok()) else {
            panic!("BRIGADE_SIM_SEED is no number: {seed:?}");
        };
        return expect(seed, usize::MAX, program);
    }
    let program = Arc::new(program);
    for seed in seeds {
        let program = program.clone();
        expect(seed, KEPT, move || program());
    }
}

#[track_caller]
fn expect(seed: u64, kept: usize, program: impl Fn() + Send + Sync + 'static) {
    if let Err(Failure { reason, steps }) = attempt(seed, kept, false, program) {
        panic!(
            "the last steps:\n{}\n{reason}\nseed {seed} failed: `BRIGADE_SIM_SEED={seed}` has `brigade::sim::explore` run it alone, and print each step",
            steps.join("\n")
        );
    }
}

/// Runs a program once, to its end and that of the monitor, which outlives it for a time.
#[doc(hidden)]
pub fn attempt(
    seed: u64,
    kept: usize,
    rejects_panics: bool,
    program: impl Fn() + Send + Sync + 'static,
) -> Result<Run, Failure> {
    let settings = Settings { seed, most: MOST_STEPS, kept, rejects_panics };
    brigade_sync::seeded::explore(settings, move || {
        #[cfg(feature = "io")]
        brigade_io::begin(brigade_io::Faults::None);
        program();
        drain_default_pool();
        while monitor_runs() {
            thread::sleep(Duration::from_secs(1));
        }
    })
}
