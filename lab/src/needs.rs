//! The resources for a run, and the machine's limit that is too low for them.
//!
//! A run that meets such a limit in the middle gets an error that does not name the limit or the
//! needed value. So they are read before anything is started. An unreadable limit is
//! ignored here; a trial start of the threads then finds all others.

use std::io;
use std::sync::{Arc, RwLock, mpsc};
use std::thread::{self, Builder};

use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};

use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;

use crate::kernel::Kernel;
use crate::stop::Stop;

/// The resources a run needs beyond the process's present ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Open files.
    pub(crate) files: u64,
    /// Threads at a time.
    pub(crate) threads: u64,
}

/// The least stack of the main thread, which reads the command line: `ulimit -s` may give it less.
const STACK: u64 = 1 << 20;

/// The memory that a thread needs to start, beside its stack: a stack for signals, and its first allocations.
const RESERVE: usize = 1 << 20;
/// By how much more each such memory has: glibc takes no more than the last from memory that it has kept, and asks the system for this.
const MORE: usize = 1 << 13;

/// An error if the main thread has too little stack, and would be aborted in the middle of a run.
pub(crate) fn check_stack() -> Result<(), Stop> {
    let limit = getrlimit(Resource::Stack).current.filter(|&stack| stack < STACK);
    limit.map_or(Ok(()), |stack| {
        let reason = format!(
            "needs a stack of {STACK} bytes, and the limit RLIMIT_STACK (ulimit -s) is {stack}"
        );
        Err(Stop::Refused(reason))
    })
}

/// From now on a write beyond `RLIMIT_FSIZE` is an error. Without a handler the signal ends the process, and a temporary file stays.
pub(crate) fn heed_file_size() {
    // Without it the signal has its default effect.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// Other open files of the process: the standard files, the signals' and an event loop's.
const OWN_FILES: u64 = 32;
/// The same for a run without files.
const FEW_FILES: u64 = 16;
/// Threads of the laboratory itself: it supervises, submits and listens for signals.
const OWN_THREADS: u64 = 3;
/// Memory maps of a thread: the stack, the stack for signals, and the guard page below each.
const MAPS: u64 = 4;
/// Maps of the program, the libraries and the heaps.
const OWN_MAPS: u64 = 500;

impl Needs {
    /// As much as these or those need, whichever is more.
    pub(crate) fn or(self, other: Self) -> Self {
        Needs { files: self.files.max(other.files), threads: self.threads.max(other.threads) }
    }

    /// An error if a limit is too low. The limit on open files is raised if possible.
    pub(crate) fn check(self) -> Result<(), Stop> {
        let files = if self.files > 0 { self.files + OWN_FILES } else { FEW_FILES };
        let is_too_low = |limit: &Rlimit| limit.current.is_some_and(|current| current < files);
        let limit = getrlimit(Resource::Nofile);
        if is_too_low(&limit) {
            // It is refused beyond the maximum, which is then reported.
            let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(files), ..limit });
        }
        let limit = getrlimit(Resource::Nofile);
        if let Some(limit) = limit.current.filter(|_| is_too_low(&limit)) {
            return Err(Stop::Refused(format!(
                "needs {files} open files, and the limit RLIMIT_NOFILE (ulimit -n) is {limit}"
            )));
        }
        // Root has no such limit.
        let user = getrlimit(Resource::Nproc).current.filter(|_| !geteuid().is_root());
        let needed = self.threads + OWN_THREADS;
        let room = room(&Kernel::here(), user).filter(|(room, _)| *room < needed);
        room.filter(|_| self.threads > 0).map_or(Ok(()), |(room, limit)| {
            let reason = format!("needs {needed} threads, and the limit {limit} allows {room}");
            Err(Stop::Refused(reason))
        })
    }

    /// Starts as many threads as any run will have, all at a time, and ends them again.
    ///
    /// If a thread can't be started, half of the peers panic or wait for it forever; this check comes
    /// before any of them starts.
    pub(crate) fn probe(self) -> Result<(), Stop> {
        let most = self.threads + OWN_THREADS;
        let (up, ups) = mpsc::channel();
        let gate = &RwLock::new(());
        // A thread started without any memory left aborts the process, so each finds this memory free.
        let mut reserve = Vec::<u8>::new();
        let refused = thread::scope(|scope| {
            // Each thread waits for this guard.
            let _closed = gate.write();
            (0..most).find_map(|count| {
                if reserve.try_reserve_exact(RESERVE + count as usize * MORE).is_err() {
                    return Some((count, io::ErrorKind::OutOfMemory.into()));
                }
                let up = up.clone();
                let wait = move || {
                    let _ = up.send(());
                    drop(gate.read());
                };
                let started = Builder::new().spawn_scoped(scope, wait);
                reserve = Vec::new();
                started.map(|_| ups.recv()).err().map(|error| (count, error))
            })
        });
        let Some((count, error)) = refused else { return Ok(()) };
        let space = getrlimit(Resource::As).current;
        let space = space.map_or(String::new(), |bytes| {
            format!("; the limit RLIMIT_AS (ulimit -v) is {bytes} bytes")
        });
        Err(Stop::Refused(format!("needs {most} threads and can start {count}: {error}{space}")))
    }
}

/// The number of threads under the tightest limit of the machine, and its name; `user` is the limit on the threads of the user.
fn room(kernel: &Kernel, user: Option<u64>) -> Option<(u64, &'static str)> {
    // The fourth field is `running/all`.
    let load = kernel.text("proc/loadavg").unwrap_or_default();
    let others = load.split([' ', '/']).nth(4).and_then(|all| all.parse().ok()).unwrap_or(0);
    let left = |file: &str, taken| Some(kernel.value::<u64>(file)?.saturating_sub(taken));
    // A group without a limit says `max`.
    let of_group = |group: String| {
        let number = |file: &str| kernel.value::<u64>(&format!("{group}/{file}"));
        Some(number("pids.max")?.saturating_sub(number("pids.current")?))
    };
    let groups = kernel.groups().into_iter();
    let limits = [
        (groups.filter_map(of_group).min(), "pids.max of its control group"),
        (user, "RLIMIT_NPROC (ulimit -u)"),
        (left("proc/sys/kernel/threads-max", others), "kernel.threads-max"),
        (left("proc/sys/kernel/pid_max", others), "kernel.pid_max"),
        (left("proc/sys/vm/max_map_count", OWN_MAPS).map(|maps| maps / MAPS), "vm.max_map_count"),
    ];
    limits.into_iter().filter_map(|(room, name)| Some((room?, name))).min()
}

#[cfg(test)]
mod tests {
    use super::room;
    use crate::kernel::made_up;

    #[test]
    fn the_tightest_limit_names_its_thread_count() {
        let limits = |user, changed: &str, value: &str| {
            let mut files = [
                ("proc/loadavg", "0.5 0.4 0.3 1/100 7\n"),
                ("proc/sys/kernel/threads-max", "700\n"),
                ("proc/sys/kernel/pid_max", "700\n"),
                ("proc/sys/vm/max_map_count", "65530\n"),
                ("proc/self/cgroup", "0::/a\n"),
                ("sys/fs/cgroup/pids.max", "max\n"),
                ("sys/fs/cgroup/a/pids.max", "700\n"),
                ("sys/fs/cgroup/a/pids.current", "100\n"),
            ];
            files.iter_mut().filter(|(file, _)| *file == changed).for_each(|file| file.1 = value);
            room(&made_up(&files).1, user)
        };
        for (user, changed, value, expected) in [
            (Some(502), "", "", (502, "RLIMIT_NPROC (ulimit -u)")),
            (Some(900), "proc/sys/kernel/threads-max", "602", (502, "kernel.threads-max")),
            (None, "proc/sys/kernel/pid_max", "602", (502, "kernel.pid_max")),
            (None, "proc/sys/vm/max_map_count", "2511", (502, "vm.max_map_count")),
            (None, "sys/fs/cgroup/a/pids.max", "602", (502, "pids.max of its control group")),
            (None, "proc/sys/kernel/pid_max", "99", (0, "kernel.pid_max")),
        ] {
            assert_eq!(limits(user, changed, value), Some(expected));
        }
        let (_folder, nothing) = made_up(&[]);
        assert_eq!(room(&nothing, None), None);
    }
}
