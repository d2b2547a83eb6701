//! Whether a thread is blocked, as the kernel tells.

use std::sync::{Arc, Mutex};
use std::{fs, thread};

use crate::eventually;
use crate::watchdog::A_WHILE;

/// A thread for a test that waits until it blocks.
///
/// ```
/// use brigade_testkit::{BlockedThread, Gate};
///
/// let (gate, thread) = (Gate::closed(), BlockedThread::default());
/// std::thread::scope(|scope| {
///     let waits = scope.spawn(|| {
///         thread.is_this();
///         gate.wait();
///     });
///     thread.wait_until_blocked();
///     assert!(!waits.is_finished());
///     gate.open();
/// });
/// ```
#[derive(Clone, Debug, Default)]
pub struct BlockedThread(Arc<Mutex<Option<String>>>);

impl BlockedThread {
    /// Names the calling thread.
    pub fn is_this(&self) {
        let thread = fs::read_link("/proc/thread-self");
        let stat = thread.map(|path| format!("/proc/{}/stat", path.display()));
        *self.0.lock().unwrap() = Some(stat.unwrap_or_default());
    }

    /// Whether the named thread sleeps in the kernel, or has ended. It does so, too, for a lock; so [`is_this`](Self::is_this) must
    /// be the last call before the thread blocks. Where the kernel does not tell, the answer takes a while, and is `true`.
    pub fn is_blocked(&self) -> bool {
        let stat = self.0.lock().unwrap().clone();
        stat.is_some_and(|path| match fs::read_to_string(path) {
            // proc(5): the state follows the name, which is in parentheses.
            Ok(stat) => stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('S')),
            Err(_) => {
                thread::sleep(A_WHILE);
                true
            }
        })
    }

    /// Waits until [`is_blocked`](Self::is_blocked).
    pub fn wait_until_blocked(&self) {
        eventually("a thread blocks", || self.is_blocked());
    }
}
