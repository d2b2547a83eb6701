//! Threads that run jobs, as a report names them.

use core::fmt::{self, Write};
use core::time::Duration;
use std::cell::OnceCell;
use std::fs;
use std::sync::Arc;

/// A thread that runs a job.
#[derive(Debug)]
pub struct ThreadInfo {
    /// The name of the thread.
    pub name: Option<String>,
    /// The number of the thread in the operating system, where available: on Linux.
    pub id: Option<u32>,
}

brigade_sync::unmodelled::thread_local! {
    /// The calling thread; read once, as a read needs system calls.
    static THIS: OnceCell<Arc<ThreadInfo>> = const { OnceCell::new() };
}

impl ThreadInfo {
    /// The calling thread.
    pub fn current() -> Arc<Self> {
        let known = THIS.try_with(|this| this.get_or_init(Self::read).clone());
        // At the end of the thread.
        known.unwrap_or_else(|_| Self::read())
    }

    fn read() -> Arc<Self> {
        let name = std::thread::current().name().map(String::from);
        // A link to `PID/task/TID`; elsewhere there is no such file.
        let link = fs::read_link("/proc/thread-self").ok();
        let id = link.and_then(|link| link.file_name()?.to_str()?.parse().ok());
        Arc::new(Self { name, id })
    }

    /// The present state of the thread in the operating system.
    pub fn state(&self) -> Option<ThreadState> {
        ThreadState::of(self.id?)
    }
}

/// The state of a thread in the operating system; Linux only.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ThreadState {
    /// The number of the thread, as `top -H` and debuggers show it.
    pub id: u32,
    /// `R`: runs, or waits for a CPU. `S`: sleeps. `D`: waits for a disk or the like. `T`: is stopped. See `proc_pid_stat(5)`.
    pub state: char,
    /// The kernel function in which it sleeps, if `/proc` has it.
    pub waits_in: Option<String>,
    /// The CPU time used since the start, in steps of 10 ms.
    pub cpu_time: Duration,
}

/// The length of a clock tick in `/proc`: 100 a second on every architecture that Rust's standard library supports.
const TICK: Duration = Duration::from_millis(10);

impl ThreadState {
    fn of(id: u32) -> Option<Self> {
        let read = |file| fs::read_to_string(format!("/proc/self/task/{id}/{file}")).ok();
        let stat = read("stat")?;
        // The name, in parentheses, may contain anything.
        let name_end = stat.bytes().rposition(|byte| byte == b')')?;
        let mut fields = stat.get(name_end + 2..)?.split(' ');
        let state = fields.next()?.chars().next()?;
        // The 14th and 15th field: user and system time.
        let user: u32 = fields.nth(10)?.parse().ok()?;
        let system: u32 = fields.next()?.parse().ok()?;
        let cpu_time = TICK * (user + system);
        let waits_in = read("wchan").filter(|name| !matches!(name.as_str(), "" | "0"));
        Some(Self { id, state, waits_in, cpu_time })
    }
}

impl fmt::Display for ThreadState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let f: &mut dyn Write = f;
        let Self { id, state, waits_in, cpu_time } = self;
        write!(f, "thread {id} in state {state}")?;
        if let Some(function) = waits_in {
            write!(f, " in {function}")?;
        }
        write!(f, ", {cpu_time:?} of CPU time")
    }
}

#[cfg(all(test, not(brigade_loom), target_os = "linux"))]
mod tests {
    use brigade_sync::thread::NewThread;

    use super::*;

    #[test]
    fn the_running_thread_is_known_by_its_name() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = NewThread::new("a) b (c".into(), None, move || {
            let this = ThreadInfo::current();
            sender.send((this.name.clone(), this.state().map(|state| state.state))).unwrap();
        });
        thread.start().unwrap().join();
        assert_eq!(receiver.recv(), Ok((Some("a) b (c".into()), Some('R'))));
    }
}
