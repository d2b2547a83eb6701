//! The values inherited from the starting thread: the permitted CPUs, the nice value, the signal mask.
//!
//! The system passes them on from the thread that happens to start another. A pool starts threads wherever a job is submitted, so it
//! reads them once, where it is built, and each of its threads begins with these values.
//!
//! A thread started by a pool passes on its initial values, not the present ones: these may be a pin, a nice value for some kind of
//! job, or an affinity narrowed for a moment. On systems other than Linux there is nothing here.

use alloc::sync::Arc;
use core::time::Duration;
use std::io;
use std::time::Instant;

use super::{available, on_another};
use crate::affinity::{CpuSet, ThreadRef};
use crate::fork::PerProcess;
use crate::time;
use crate::unmodelled::Mutex;

crate::scoped_thread_local! {
    /// The values passed on by the calling thread, if it is a [`NewThread`](super::NewThread).
    static PASSED_ON: Arc<Inherited>
}

/// The values that a thread inherits from the starting thread. Unknown values are left as they are.
///
/// ```
/// use brigade_sync::thread::Inherited;
/// let inherited = Inherited::here();
/// assert!(inherited.parallelism() >= 1);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Inherited {
    affinity: Option<CpuSet>,
    nice: Option<i32>,
    signals: Option<system::Signals>,
}

impl Inherited {
    /// Returns the values for the threads of a pool built by the calling thread: its initial values if a pool has started it, else the
    /// present values.
    pub fn here() -> Arc<Self> {
        PASSED_ON.with(|given| given.cloned()).unwrap_or_else(|| Arc::new(Self::of_this_thread()))
    }

    /// Returns the values for a thread that serves the whole process, whichever thread starts it: the CPUs and the nice value of the
    /// main thread. It blocks all signals. A nice value below the starter's may need a privilege.
    pub fn of_the_process() -> Arc<Self> {
        if cfg!(brigade_seeded) {
            return Arc::default();
        }
        let nice = system::nice(std::process::id());
        let affinity = ThreadRef::main().affinity();
        Arc::new(Self { affinity, nice, signals: system::Signals::all() })
    }

    fn of_this_thread() -> Self {
        if cfg!(brigade_seeded) {
            return Self::default();
        }
        let affinity = ThreadRef::caller().affinity();
        Self { affinity, nice: system::nice(0), signals: system::Signals::of_this_thread() }
    }

    /// Calls the main function of a thread, which passes these values on.
    pub(super) fn pass_on<R>(self: &Arc<Self>, main: impl FnOnce() -> R) -> R {
        PASSED_ON.set(self, main)
    }

    /// Gives the calling thread these values; returns whether it has the affinity. A lower nice value may need a privilege; without it,
    /// the thread keeps the present value.
    pub(super) fn apply(&self) -> bool {
        let me = ThreadRef::caller();
        if let Some(signals) = &self.signals {
            signals.apply();
        }
        if let Some(nice) = self.nice.filter(|_| self.nice != system::nice(0)) {
            _ = set_nice(nice);
        }
        // Only if it differs: the system would take a set affinity for a wish, and not widen it with the CPUs of the cgroup.
        self.affinity.is_none_or(|set| me.affinity() == Some(set) || me.set_affinity(&set))
    }

    /// The CPUs that a thread may run on; `None` if the system does not tell.
    pub fn affinity(&self) -> Option<CpuSet> {
        self.affinity
    }

    /// Returns how many threads with these values may run at once by affinity and quota; 1 if unknown. The quota is the
    /// quota of the process at most 10 seconds ago.
    pub fn parallelism(&self) -> usize {
        if cfg!(brigade_seeded) || !time::HAS_CLOCK {
            // Without the reading of an earlier run.
            return available();
        }
        let last = *LAST_READ.get().lock();
        let known = || Quota::of_now(last, time::now())?.of(self.cpus());
        known().or_else(|| self.parallelism_now().ok()).unwrap_or_else(available)
    }

    /// The same by the present quota and CPUs of the process. The affinity of the calling thread has no influence.
    /// Fails if no CPU is left of the affinity, or a thread was needed to find out and can't be started.
    fn parallelism_now(&self) -> io::Result<usize> {
        let (caller, gone) =
            (ThreadRef::caller().affinity(), || io::Error::other("no CPU is left"));
        let number = match self.affinity.filter(|_| self.affinity != caller) {
            None => available(),
            // The system tells a thread only about itself.
            Some(_) => {
                let other = self.clone();
                on_another(move || other.apply().then(available))?.ok_or_else(gone)?
            }
        };
        *LAST_READ.get().lock() = Some((time::now(), Quota { number, cpus: self.cpus() }));
        Ok(number)
    }

    /// How many CPUs such a thread may run on; any number if unknown.
    fn cpus(&self) -> usize {
        self.affinity.map_or(usize::MAX, |set| set.len())
    }
}

/// The last reading of the [`Quota`], and when. A reading takes twelve system calls or more, and programs make pools for small work.
static LAST_READ: PerProcess<Mutex<Option<(Instant, Quota)>>> = PerProcess::new();

/// How long a quota counts as the present one: the manager of a container changes it by the minute at most.
const FRESH: Duration = Duration::from_secs(10);

/// The known bound on the quota of the process: on a thread that may run on `cpus` CPUs the reading was `number`, the smaller of
/// `cpus` and the quota.
#[derive(Clone, Copy)]
struct Quota {
    number: usize,
    cpus: usize,
}

impl Quota {
    /// The last reading, unless it is too old.
    fn of_now(last: Option<(Instant, Self)>, now: Instant) -> Option<Self> {
        last.filter(|&(read, _)| now.saturating_duration_since(read) < FRESH)
            .map(|(_, quota)| quota)
    }

    /// How many threads may run at once if each may run on this many CPUs. `None` if the reading thread was permitted fewer CPUs,
    /// and was not limited by the quota.
    fn of(self, cpus: usize) -> Option<usize> {
        let is_met = self.number < self.cpus;
        (is_met || cpus <= self.cpus).then_some(self.number.min(cpus))
    }
}

/// Sets the nice value of the calling thread, −20 to 19.
///
/// # Errors
/// The system's error, if the thread may not have this value, or on a system without a nice value for each thread.
pub fn set_nice(nice: i32) -> io::Result<()> {
    system::set_nice(nice)
}

#[cfg(target_os = "linux")]
pub(super) use system::set_slice;

#[cfg(target_os = "linux")]
mod system {
    use core::mem::MaybeUninit;
    use core::ptr;
    use std::io;

    use crate::linux;

    /// The nice value of a thread. For Linux, 0 is the calling thread, and the number of the process the main thread.
    pub(super) fn nice(thread: u32) -> Option<i32> {
        // The kernel's own call: its 1 to 40 can't be taken for an error.
        // SAFETY: the call has two integers and no effect on memory.
        let answer = unsafe { linux::syscall(linux::SYS_getpriority, linux::PRIO_PROCESS, thread) };
        i32::try_from(answer).ok().filter(|answer| *answer > 0).map(|answer| 20 - answer)
    }

    pub(super) fn set_nice(nice: i32) -> io::Result<()> {
        // SAFETY: the call has three integers and no effect on memory. For Linux, 0 is the calling thread.
        match unsafe { linux::setpriority(linux::PRIO_PROCESS, 0, nice) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Sets the time slice of the calling thread, in nanoseconds. A failure costs only time.
    pub(in super::super) fn set_slice(nanos: u64) {
        let attributes = linux::sched_attr {
            size: size_of::<linux::sched_attr>() as u32,
            sched_policy: 0,
            sched_flags: linux::SCHED_FLAG_KEEP_POLICY as u64,
            sched_nice: nice(0).unwrap_or(0),
            sched_priority: 0,
            sched_runtime: nanos,
            sched_deadline: 0,
            sched_period: 0,
        };
        // SAFETY: the kernel reads as many bytes as `size` says. For Linux, 0 is the calling thread.
        unsafe { linux::syscall(linux::SYS_sched_setattr, 0, &raw const attributes, 0) };
    }

    /// The signals that a thread blocks.
    #[derive(Clone, Copy)]
    pub(super) struct Signals(linux::sigset_t);

    impl Signals {
        pub(super) fn of_this_thread() -> Option<Self> {
            let mut set = MaybeUninit::<linux::sigset_t>::zeroed();
            // SAFETY: the set is writable; without a new set the call only reads.
            let failed =
                unsafe { linux::pthread_sigmask(linux::SIG_BLOCK, ptr::null(), set.as_mut_ptr()) };
            // SAFETY: all bytes are zero or written by the call; both are valid sets.
            (failed == 0).then(|| Self(unsafe { set.assume_init() }))
        }

        /// All of them.
        pub(super) fn all() -> Option<Self> {
            let mut set = MaybeUninit::<linux::sigset_t>::zeroed();
            // SAFETY: the set is writable.
            unsafe { linux::sigfillset(set.as_mut_ptr()) };
            // SAFETY: all bytes are zero or written by the call; both are valid sets.
            Some(Self(unsafe { set.assume_init() }))
        }

        pub(super) fn apply(&self) {
            // SAFETY: the set is initialised; the former set is not asked for.
            unsafe { linux::pthread_sigmask(linux::SIG_SETMASK, &self.0, ptr::null_mut()) };
        }
    }

    crate::opaque!(Signals);
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io;

    pub(super) fn nice(_thread: u32) -> Option<i32> {
        None
    }

    pub(super) fn set_nice(_nice: i32) -> io::Result<()> {
        let system = std::env::consts::OS;
        let reason = format!("a thread has no nice value of its own on {system}");
        Err(io::Error::new(io::ErrorKind::Unsupported, reason))
    }

    /// The signals that a thread blocks; on this system no value exists.
    #[derive(Clone, Copy, Debug)]
    pub(super) enum Signals {}

    impl Signals {
        pub(super) fn of_this_thread() -> Option<Self> {
            None
        }

        pub(super) fn all() -> Option<Self> {
            None
        }

        pub(super) fn apply(&self) {
            match *self {}
        }
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use super::*;

    /// The initial values of a thread in a pool built here, if a thread with other values starts it.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_begins_with_its_given_values() {
        let (inherited, mine) = (Inherited::here(), blocks_sigterm());
        let started = std::thread::spawn(move || {
            let set = ThreadRef::caller().affinity().unwrap();
            let only = set.none().with(set.cpus().next().unwrap());
            assert!(ThreadRef::caller().set_affinity(&only));
            assert!(block_sigterm(!mine) && blocks_sigterm() != mine);
            let (sender, receiver) = std::sync::mpsc::channel();
            let main = move || {
                let began = (ThreadRef::caller().affinity(), blocks_sigterm());
                // Its later settings are not passed on.
                ThreadRef::caller().set_affinity(&only);
                _ = sender.send((began, Inherited::here().affinity()));
            };
            let thread = super::super::NewThread::new("given".into(), None, main);
            thread.inheriting(inherited).start().unwrap().join();
            (receiver.recv().unwrap(), Inherited::here().affinity() == Some(only))
        });
        let all = ThreadRef::caller().affinity();
        assert_eq!(started.join().unwrap(), (((all, mine), all), true));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_thread_has_the_main_threads_cpus() {
        let started = std::thread::spawn(|| {
            let set = ThreadRef::caller().affinity().unwrap();
            let only = set.none().with(set.cpus().next().unwrap());
            assert!(ThreadRef::caller().set_affinity(&only) && block_sigterm(false));
            let (sender, receiver) = std::sync::mpsc::channel();
            let main = move || {
                _ = sender.send((ThreadRef::caller().affinity(), blocks_sigterm()));
            };
            let thread = super::super::NewThread::new("serves".into(), None, main);
            thread.inheriting(Inherited::of_the_process()).start().unwrap().join();
            receiver.recv().unwrap()
        });
        assert_eq!(started.join().unwrap(), (ThreadRef::main().affinity(), true));
    }

    #[cfg(target_os = "linux")]
    fn block_sigterm(blocks: bool) -> bool {
        let mut set = core::mem::MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: the set is writable.
        unsafe { libc::sigemptyset(set.as_mut_ptr()) };
        // SAFETY: the set was initialised above.
        unsafe { libc::sigaddset(set.as_mut_ptr(), libc::SIGTERM) };
        let how = if blocks { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
        // SAFETY: the set was initialised above; the former set is not asked for.
        unsafe { libc::pthread_sigmask(how, set.as_ptr(), core::ptr::null_mut()) == 0 }
    }

    #[cfg(target_os = "linux")]
    fn blocks_sigterm() -> bool {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let blocked = status.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
        u64::from_str_radix(blocked.trim(), 16).unwrap() & (1 << (libc::SIGTERM - 1)) != 0
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_nice_value_of_a_thread_is_read() {
        // The tests may run with a nice value already, and any process may raise it.
        let higher = system::nice(0).map_or(0, |nice| (nice + 1).min(19));
        let read = std::thread::spawn(move || set_nice(higher).map(|()| system::nice(0)));
        assert_eq!(read.join().unwrap().unwrap(), Some(higher));
    }

    #[test]
    fn a_quota_is_cached_for_some_seconds() {
        let here = Inherited::here();
        let number = here.parallelism_now().unwrap();
        assert!((1..=here.cpus()).contains(&number));
        let last = *LAST_READ.get().lock();
        let (read, quota) = last.unwrap();
        assert_eq!([quota.of(here.cpus()), Some(super::super::parallelism())], [Some(number); 2]);
        let is_known = |later| Quota::of_now(last, read + later).is_some();
        assert_eq!([Duration::ZERO, FRESH / 2, FRESH].map(is_known), [true, true, false]);
    }

    #[test]
    fn a_met_quota_is_known_to_all_threads() {
        let of = |number, cpus, others| Quota { number, cpus }.of(others);
        assert_eq!([of(4, 4, 1), of(4, 4, 4), of(2, 4, 3)], [Some(1), Some(4), Some(2)]);
        assert_eq!([of(4, 4, 8), of(2, 4, 8)], [None, Some(2)]);
    }
}
