//! System calls of this process by kind, counted by the kernel.
//!
//! The counts are those of tracepoints: `perf_event_open(2)`. Linux allows that to root, and to others if
//! `/proc/sys/kernel/perf_event_paranoid` is -1 and the list of tracepoints can be read. While they are counted, every system
//! call of the machine takes a little longer, so nothing is timed meanwhile.

/// System calls that do the same in the eyes of a scheduler.
///
/// Reads and writes have no kind of their own: they are the rest. Each kind takes the kernel some 30 ms for each of its calls when
/// the count ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Kind {
    /// Waits for events, with and without a timeout.
    Poll,
    /// Sleeps and wake-ups of threads.
    Futex,
    /// Placement of threads on CPUs.
    Affinity,
    /// All of them, the others included.
    Any,
}

#[cfg(target_os = "linux")]
pub(crate) use counted::Calls;
#[cfg(not(target_os = "linux"))]
pub(crate) use uncounted::Calls;

#[cfg(target_os = "linux")]
mod counted {
    use std::fs;
    use std::io::{self, Error};

    use perf_event::events::Tracepoint;
    use perf_event::{Builder, Counter};
    use rustix::io::Errno;

    use super::Kind;

    /// Where the kernel lists its tracepoints: first where it is today, then where it was.
    const LISTS: [&str; 2] = ["/sys/kernel/tracing/events", "/sys/kernel/debug/tracing/events"];

    /// Counts the calls of some kinds, of each thread that there is now and of those that they start.
    pub(crate) struct Calls<const N: usize>([Vec<Counter>; N]);

    impl<const N: usize> Calls<N> {
        /// Begins to count those of `kinds`; an error if the system does not let this process. `step` is called between two steps that take long.
        pub(crate) fn begin(kinds: [Kind; N], mut step: impl FnMut()) -> io::Result<Self> {
            let mut counters = kinds.map(|_| Vec::new());
            for thread in fs::read_dir("/proc/self/task")? {
                let thread = thread?.file_name();
                let thread = thread.to_str().and_then(|name| name.parse().ok());
                let thread = thread.ok_or_else(|| Error::other("a thread without a number"))?;
                for (kind, counters) in kinds.into_iter().zip(&mut counters) {
                    for tracepoint in tracepoints(kind)? {
                        let mut builder = Builder::new(tracepoint);
                        // A tracepoint is in the kernel.
                        builder.observe_pid(thread).inherit(true).exclude_kernel(false);
                        let counter = builder.build();
                        match counter.and_then(|mut counter| counter.enable().map(|()| counter)) {
                            Ok(counter) => counters.push(counter),
                            // A thread that has ended since it was listed makes no calls.
                            Err(error) if Errno::from_io_error(&error) == Some(Errno::SRCH) => {}
                            Err(error) => return Err(error),
                        }
                        step();
                    }
                }
            }
            Ok(Calls(counters))
        }

        /// The calls since then, of each kind. `step` is called as by [`begin`](Self::begin).
        pub(crate) fn end(mut self, mut step: impl FnMut()) -> io::Result<[u64; N]> {
            let mut counts = [0; N];
            for (count, counters) in counts.iter_mut().zip(&mut self.0) {
                for counter in counters {
                    *count += counter.read()?;
                }
            }
            for counter in self.0.into_iter().flatten() {
                drop(counter);
                step();
            }
            Ok(counts)
        }
    }

    /// The tracepoints of this kind that this kernel has.
    fn tracepoints(kind: Kind) -> io::Result<Vec<Tracepoint>> {
        let calls: &[&str] = match kind {
            Kind::Poll => &["epoll_wait", "epoll_pwait", "epoll_pwait2"],
            Kind::Futex => &["futex"],
            Kind::Affinity => &["sched_setaffinity"],
            Kind::Any => return Ok(vec![tracepoint("raw_syscalls/sys_enter")?]),
        };
        // A system call that this kernel or this kind of CPU does not have is not made either.
        let found: Vec<_> = calls
            .iter()
            .filter_map(|call| tracepoint(&format!("syscalls/sys_enter_{call}")).ok())
            .collect();
        if found.is_empty() { Err(Error::other("no such tracepoints")) } else { Ok(found) }
    }

    /// The tracepoint with this name.
    fn tracepoint(name: &str) -> io::Result<Tracepoint> {
        let read = |list: &str| fs::read_to_string(format!("{list}/{name}/id"));
        let id = read(LISTS[0]).or_else(|_| read(LISTS[1]))?;
        id.trim().parse().map(Tracepoint::with_id).map_err(Error::other)
    }
}

#[cfg(not(target_os = "linux"))]
mod uncounted {
    use std::convert::Infallible;
    use std::io::{self, ErrorKind};

    use super::Kind;

    /// Counts nothing: there is no way to do so here.
    pub(crate) struct Calls<const N: usize>(Infallible);

    impl<const N: usize> Calls<N> {
        /// An error.
        pub(crate) fn begin(_: [Kind; N], _: impl FnMut()) -> io::Result<Self> {
            Err(ErrorKind::Unsupported.into())
        }

        /// The calls since then, of each kind.
        pub(crate) fn end(self, _: impl FnMut()) -> io::Result<[u64; N]> {
            match self.0 {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::{Calls, Kind};
    use std::fs::File;
    use std::io::Read;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    /// Caught: a thread that ended in the middle of it was an error.
    #[test]
    fn threads_that_end_while_a_count_begins_do_not_keep_it_from_counting() {
        let kinds = [Kind::Futex];
        if Calls::begin(kinds, || ()).is_err() {
            return;
        }
        let stop = AtomicBool::new(false);
        let come_and_go = || {
            while !stop.load(Ordering::Relaxed) {
                thread::spawn(|| ()).join().expect("joined");
            }
        };
        thread::scope(|scope| {
            (0..4).for_each(|_| _ = scope.spawn(come_and_go));
            let begun = (0..50).map(|_| Calls::begin(kinds, || ()).map(drop));
            let failed = begun.filter_map(Result::err).next();
            stop.store(true, Ordering::Relaxed);
            assert!(failed.is_none(), "{failed:?}");
        });
    }

    #[test]
    fn calls_are_counted_by_their_kind_where_the_system_allows_that() {
        let kinds = [Kind::Poll, Kind::Futex, Kind::Affinity, Kind::Any];
        let Ok(calls) = Calls::begin(kinds, || ()) else { return };
        let read = || {
            let mut zeros = File::open("/dev/zero").expect("opened");
            (0..1_000).for_each(|_| zeros.read_exact(&mut [0; 8]).expect("zeros"));
        };
        // By a thread that was not there when the count began.
        thread::spawn(read).join().expect("joined");
        let [polls, futexes, affinity, all] = calls.end(|| ()).expect("counted");
        // Other tests of this process make calls at the same time, but not of these kinds.
        assert!(polls < 1_000 && affinity < 1_000, "{polls}, {affinity}");
        assert!(all >= 1_000 + polls + futexes + affinity, "{all}");
    }
}
