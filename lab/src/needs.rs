//! The resources that a run needs, and the limit of the machine that is too low for it.
//!
//! A run that meets such a limit in the middle gets an error that names neither the limit nor the
//! value it should have. So they are read before anything is started. A limit that can't be read is
//! ignored here; a trial start of the threads then finds all others.

use std::sync::Arc;

use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};

use signal_hook::consts::SIGXFSZ;
use signal_hook::flag;

use crate::kernel::Kernel;
use crate::stop::Stop;

/// The resources that a run needs beyond those that the process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Open files.
    pub(crate) files: u64,
    /// Threads at a time.
    pub(crate) threads: u64,
}

/// The least stack of the main thread, which reads the command line: `ulimit -s` may give it less.
const STACK: u64 = 1 << 20;

/// An error if the main thread has so little stack that it would be aborted in the middle of something.
pub(crate) fn check_stack() -> Result<(), Stop> {
    let limit = getrlimit(Resource::Stack).current.filter(|&stack| stack < STACK);
    limit.map_or(Ok(()), |stack| {
        let reason = format!(
            "needs a stack of {STACK} bytes, and the limit RLIMIT_STACK (ulimit -s) is {stack}"
        );
        Err(Stop::Refused(reason))
    })
}

/// From now on a write beyond `RLIMIT_FSIZE` is an error. Without a handler its signal ends the process, and a temporary file stays.
pub(crate) fn heed_file_size() {
    // Without it the signal does what it does by default.
    let _ = flag::register(SIGXFSZ, Arc::default());
}

/// Files that the process has open besides: the standard ones, the signals' and those of an event
/// loop.
const OWN_FILES: u64 = 32;
/// The same of a run that needs none.
const FEW_FILES: u64 = 16;
/// Threads of the laboratory itself: it supervises, submits and listens for signals.
pub(crate) const OWN_THREADS: u64 = 3;
/// Memory maps of a thread: its stack, that of its signals, and the guard page below each.
const MAPS: u64 = 4;
/// Maps of the program, its libraries and its heaps.
const OWN_MAPS: u64 = 500;

impl Needs {
    /// As much as these or those need, whichever is more.
    pub(crate) fn or(self, other: Self) -> Self {
        Needs { files: self.files.max(other.files), threads: self.threads.max(other.threads) }
    }

    /// An error if a limit is too low. The limit on open files is raised if possible.
    pub(crate) fn check(self) -> Result<(), Stop> {
        let files = if self.files > 0 { self.files + OWN_FILES } else { FEW_FILES };
        let limit = getrlimit(Resource::Nofile);
        if limit.current.is_some_and(|current| current < files) {
            let raised = Rlimit { current: Some(files), maximum: limit.maximum };
            // It is refused beyond the maximum, which is then reported.
            let _ = setrlimit(Resource::Nofile, raised);
        }
        let lacking = Limits::read().lacking(self);
        lacking.map_or(Ok(()), |reason| Err(Stop::Refused(reason)))
    }
}

/// The limits of this process and of the machine, those that there are and that can be read.
#[derive(Clone, Copy, Debug, Default)]
struct Limits {
    /// Open files of the process.
    files: Option<u64>,
    /// Threads of the user.
    user: Option<u64>,
    /// Threads of the machine.
    machine: Option<u64>,
    /// Numbers for processes and threads.
    numbers: Option<u64>,
    /// Memory maps of the process.
    maps: Option<u64>,
    /// Threads of the control group of the process that may still start: those of the tightest of all groups it is in.
    group: Option<u64>,
    /// Threads that the machine has already.
    others: u64,
}

impl Limits {
    /// Returns the present limits.
    fn read() -> Self {
        let soft = |resource| getrlimit(resource).current;
        let kernel = Kernel::here();
        let load = kernel.text("proc/loadavg");
        // The fourth field is `running/all`.
        let others = load.and_then(|load| {
            let (_, all) = load.split_whitespace().nth(3)?.split_once('/')?;
            all.parse().ok()
        });
        Limits {
            files: soft(Resource::Nofile),
            // Root has no such limit.
            user: soft(Resource::Nproc).filter(|_| !geteuid().is_root()),
            machine: kernel.value("proc/sys/kernel/threads-max"),
            numbers: kernel.value("proc/sys/kernel/pid_max"),
            maps: kernel.value("proc/sys/vm/max_map_count"),
            group: groups_left(&kernel),
            others: others.unwrap_or(0),
        }
    }

    /// The first limit that is too low, with its name and the value that is needed.
    fn lacking(self, needs: Needs) -> Option<String> {
        let threads = needs.threads + OWN_THREADS;
        let files = if needs.files > 0 { needs.files + OWN_FILES } else { FEW_FILES };
        let all = threads + self.others;
        // A limit is never too low for a resource that is not needed.
        let limits = [
            (1, "open files", files, self.files, "RLIMIT_NOFILE (ulimit -n)"),
            (needs.threads, "threads", threads, self.user, "RLIMIT_NPROC (ulimit -u)"),
            (needs.threads, "threads on the machine", all, self.machine, "kernel.threads-max"),
            (needs.threads, "numbers of threads", all, self.numbers, "kernel.pid_max"),
            (
                needs.threads,
                "further threads in its control group",
                threads,
                self.group,
                "pids.max less pids.current",
            ),
            (
                needs.threads,
                "memory maps",
                MAPS * threads + OWN_MAPS,
                self.maps,
                "vm.max_map_count",
            ),
        ];
        limits.into_iter().filter(|limit| limit.0 > 0).find_map(|(_, what, needed, limit, name)| {
            let limit = limit.filter(|&limit| limit < needed)?;
            Some(format!("needs {needed} {what}, and the limit {name} is {limit}"))
        })
    }
}

/// The threads that may still start in the control groups of this process, if there is a limit.
fn groups_left(kernel: &Kernel) -> Option<u64> {
    let left = |group: String| {
        let number = |file: &str| kernel.value::<u64>(&format!("{group}/{file}"));
        // A group without a limit says `max`.
        Some(number("pids.max")?.saturating_sub(number("pids.current")?))
    };
    kernel.groups("pids").into_iter().flatten().filter_map(left).min()
}

#[cfg(test)]
mod tests {
    use super::{Limits, Needs, groups_left};
    use crate::kernel::made_up;

    #[test]
    fn the_limit_in_the_way_is_named_with_the_value_that_is_needed() {
        let roomy = Limits { others: 100, ..Limits::default() };
        let needs = Needs { files: 1_000, threads: 500 };
        for (limits, needed, name) in [
            (Limits { files: Some(1_031), ..roomy }, "1032", "RLIMIT_NOFILE"),
            (Limits { user: Some(502), ..roomy }, "503", "RLIMIT_NPROC"),
            (Limits { machine: Some(602), ..roomy }, "603", "kernel.threads-max"),
            (Limits { numbers: Some(602), ..roomy }, "603", "kernel.pid_max"),
            (Limits { maps: Some(2_511), ..roomy }, "2512", "vm.max_map_count"),
            (Limits { group: Some(502), ..roomy }, "503", "pids.max"),
        ] {
            let reason = limits.lacking(needs).expect("too low");
            assert!(reason.contains(needed) && reason.contains(name), "{reason}");
        }
        let enough = Limits {
            files: Some(1_032),
            user: Some(503),
            machine: Some(603),
            numbers: Some(603),
            maps: Some(2_512),
            group: Some(503),
            others: 100,
        };
        assert_eq!(enough.lacking(needs), None);
        assert_eq!(roomy.lacking(needs), None);
    }

    #[test]
    fn of_all_groups_of_a_process_the_tightest_counts() {
        let left = |mine| {
            let (_folder, kernel) = made_up(&[
                ("proc/self/cgroup", mine),
                ("sys/fs/cgroup/a/pids.max", "100\n"),
                ("sys/fs/cgroup/a/pids.current", "70\n"),
                ("sys/fs/cgroup/a/b/pids.max", "max\n"),
                ("sys/fs/cgroup/a/b/pids.current", "60\n"),
                ("sys/fs/cgroup/pids/c/pids.max", "50\n"),
                ("sys/fs/cgroup/pids/c/pids.current", "60\n"),
                ("sys/fs/cgroup/d/pids.max", "1\n"),
                ("sys/fs/cgroup/d/pids.current", "0\n"),
            ]);
            groups_left(&kernel)
        };
        assert_eq!(left("0::/a/b\n"), Some(30));
        assert_eq!(left("3:cpu,pids:/a\n2:cpu:/d\n"), None);
        assert_eq!(left("1:pids:/c\n0::/a/b\n"), Some(0), "more than it may have");
        assert_eq!(left("0::/e\nnonsense"), None);
    }

    #[test]
    fn a_run_that_needs_nothing_needs_the_few_files_of_any_run() {
        let limits = |files| Limits { files: Some(files), maps: Some(0), ..Limits::default() };
        assert_eq!(limits(16).lacking(Needs::default()), None);
        let reason = limits(15).lacking(Needs::default()).expect("too low");
        assert!(reason.contains("needs 16 open files"), "{reason}");
    }
}
