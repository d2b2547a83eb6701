//! Ends the process if a thread of a run takes no step for long.
//!
//! All threads of a run are on a single thread of the system. So if one of them waits for a lock of `std` that another has, or reads from
//! a socket, the run hangs, and no code of the run can tell.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use core::time::Duration;
use std::io::Write;
use std::process;
use std::sync::Once;
use std::thread;

use shuttle_engine::runtime::task::TaskId;

use super::record;

/// How many looks without a step end the process. By looks, as a process may be stopped for a time.
const LOOKS: u32 = 10;

/// The steps of all runs.
static STEPS: AtomicU64 = AtomicU64::new(0);

/// Whether a run goes on.
static IS_RUNNING: AtomicBool = AtomicBool::new(false);

/// A run begins.
pub(super) fn begin() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| drop(thread::spawn(watch)));
    IS_RUNNING.store(true, Ordering::Relaxed);
}

/// The run has ended.
pub(super) fn end() {
    IS_RUNNING.store(false, Ordering::Relaxed);
}

/// A thread goes on.
pub(super) fn goes_on(thread: Option<TaskId>) {
    STEPS.fetch_add(1, Ordering::Relaxed);
    if let Some(thread) = thread {
        record::goes_on(thread.into());
    }
}

fn watch() {
    let (mut seen, mut looks) = (0, 0);
    loop {
        thread::sleep(Duration::from_secs(1));
        let steps = STEPS.load(Ordering::Relaxed);
        let stands = IS_RUNNING.load(Ordering::Relaxed) && steps == seen;
        looks = if stands { looks + 1 } else { 0 };
        seen = steps;
        if looks == LOOKS {
            // A macro would print to what the test harness captures, and drops when the process ends.
            let said = std::format!(
                "brigade: {} has taken no step for {LOOKS} s. It may wait for a lock, channel or thread of `std`, also in another crate, \
                 which a simulated run can't schedule: use `brigade::sim::sync` and `brigade::sim::thread`. Or it waits for I/O, or computes.\n",
                record::current()
            );
            _ = std::io::stderr().write_all(said.as_bytes());
            process::abort();
        }
    }
}
