//! The resources that a run needs, and the limit of the machine that is too low for it.
//!
//! A run that meets such a limit in the middle gets an error that names neither the limit nor the
//! value it should have. So they are read before anything is started. A limit that can't be read is
//! ignored here; a trial start of the threads then finds all others.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use rustix::process::{Resource, Rlimit, geteuid, getrlimit, setrlimit};

use crate::stop::Stop;

/// The resources that a run needs beyond those that the process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Open files.
    pub(crate) files: u64,
    /// Threads at a time.
    pub(crate) threads: u64,
}

/// Files that the process has open besides: the standard ones, the signals' and those of an event
/// loop.
const OWN_FILES: u64 = 32;
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
        let files = self.files + OWN_FILES;
        let limit = getrlimit(Resource::Nofile);
        if self.files > 0 && limit.current.is_some_and(|current| current < files) {
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
        let load = read::<String>("/proc/loadavg");
        // The fourth field is `running/all`.
        let others = load.and_then(|load| {
            let (_, all) = load.split_whitespace().nth(3)?.split_once('/')?;
            all.parse().ok()
        });
        Limits {
            files: soft(Resource::Nofile),
            // Root has no such limit.
            user: soft(Resource::Nproc).filter(|_| !geteuid().is_root()),
            machine: read("/proc/sys/kernel/threads-max"),
            numbers: read("/proc/sys/kernel/pid_max"),
            maps: read("/proc/sys/vm/max_map_count"),
            group: read::<String>("/proc/self/cgroup")
                .and_then(|lines| groups_left(&lines, GROUPS)),
            others: others.unwrap_or(0),
        }
    }

    /// The first limit that is too low, with its name and the value that is needed.
    fn lacking(self, needs: Needs) -> Option<String> {
        let (threads, files) = (needs.threads + OWN_THREADS, needs.files + OWN_FILES);
        let all = threads + self.others;
        // A limit is never too low for a resource that is not needed.
        let limits = [
            (needs.files, "open files", files, self.files, "RLIMIT_NOFILE (ulimit -n)"),
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

/// Where control groups are listed: those of version 2, and those of version 1 that count threads.
const GROUPS: &str = "/sys/fs/cgroup";

/// The threads that may still start in the control groups of these lines, as `/proc/self/cgroup` has them, if there is a limit.
fn groups_left(lines: &str, groups: &str) -> Option<u64> {
    let left = |group: &Path| {
        let number = |file: &str| read::<u64>(group.join(file).to_str()?);
        // A group without a limit says `max`.
        Some(number("pids.max")?.saturating_sub(number("pids.current")?))
    };
    let mine = lines.lines().filter_map(|line| {
        let (kind, path) = line.split_once(':')?.1.split_once(':')?;
        let root = match kind {
            "" => groups.to_owned(),
            "pids" => format!("{groups}/pids"),
            _ => return None,
        };
        Some((format!("{root}{path}"), root))
    });
    let above = |(group, root): &(String, String)| {
        let above = Path::new(group).ancestors().take_while(|group| group.starts_with(root));
        above.filter_map(left).min()
    };
    mine.collect::<Vec<_>>().iter().filter_map(above).min()
}

/// What this file says, if there is such a file.
fn read<T: FromStr>(file: &str) -> Option<T> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Limits, Needs, groups_left};
    use std::fs;

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
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().to_str().expect("a path");
        let group = |path: &str, max: &str, current: &str| {
            let group = folder.path().join(path);
            fs::create_dir_all(&group).expect("a group");
            fs::write(group.join("pids.max"), max).expect("its limit");
            fs::write(group.join("pids.current"), current).expect("its number");
        };
        group("a", "100\n", "70\n");
        group("a/b", "max\n", "60\n");
        group("pids/c", "50\n", "60\n");
        group("d", "1\n", "0\n");
        assert_eq!(groups_left("0::/a/b\n", root), Some(30));
        assert_eq!(groups_left("3:cpu,pids:/a\n2:cpu:/d\n", root), None);
        assert_eq!(groups_left("1:pids:/c\n0::/a/b\n", root), Some(0), "more than it may have");
        assert_eq!(groups_left("0::/e\nnonsense", root), None);
    }

    #[test]
    fn who_needs_nothing_is_not_refused_anything() {
        let nothing = Limits { files: Some(0), maps: Some(0), ..Limits::default() };
        assert_eq!(nothing.lacking(Needs::default()), None);
    }
}
