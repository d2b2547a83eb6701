//! On which CPUs a thread may run, where the system lets one say so.

#[cfg(target_os = "linux")]
pub use linux::{CpuSet, ThreadRef, current_cpu};
#[cfg(not(target_os = "linux"))]
pub use none::{CpuSet, ThreadRef, current_cpu};

#[cfg(target_os = "linux")]
mod linux {
    use core::mem::{self, MaybeUninit};

    /// A set of CPUs, as the kernel keeps it for each thread (the first 1,024 CPUs).
    #[derive(Clone, Copy)]
    pub struct CpuSet(libc::cpu_set_t);

    impl core::fmt::Debug for CpuSet {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            let numbers = 0..libc::CPU_SETSIZE.unsigned_abs() as usize;
            f.debug_set().entries(numbers.filter(|&cpu| self.contains(cpu))).finish()
        }
    }

    impl CpuSet {
        /// Whether a CPU is in the set.
        pub fn contains(&self, cpu: usize) -> bool {
            // SAFETY: the number is within the set; glibc checks it once more.
            cpu < libc::CPU_SETSIZE as usize && unsafe { libc::CPU_ISSET(cpu, &self.0) }
        }

        /// Counts the CPUs.
        pub fn len(&self) -> usize {
            // SAFETY: reads the set, which is whole.
            usize::try_from(unsafe { libc::CPU_COUNT(&self.0) }).unwrap_or(0)
        }

        /// Whether no CPU is in the set.
        pub fn is_empty(&self) -> bool {
            self.len() == 0
        }

        /// The set without one CPU.
        #[must_use]
        pub fn without(mut self, cpu: usize) -> Self {
            if self.contains(cpu) {
                // SAFETY: the number is within the set.
                unsafe { libc::CPU_CLR(cpu, &mut self.0) };
            }
            self
        }
    }

    /// Names a thread to the kernel.
    ///
    /// A name outlives its thread and may then be another's: use it only while the thread is known to run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ThreadRef(libc::pid_t);

    impl ThreadRef {
        /// Names the calling thread.
        pub fn current() -> Self {
            // SAFETY: takes nothing and cannot fail.
            Self(unsafe { libc::gettid() })
        }

        /// On which CPUs the thread may run; `None` if the system will not say.
        pub fn affinity(self) -> Option<CpuSet> {
            let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
            let size = mem::size_of::<libc::cpu_set_t>();
            // SAFETY: the set is writable and of the size that is said.
            let result = unsafe { libc::sched_getaffinity(self.0, size, set.as_mut_ptr()) };
            // SAFETY: all bytes are zero or the kernel's; both are sets.
            (result == 0).then(|| CpuSet(unsafe { set.assume_init() }))
        }

        /// Says on which CPUs the thread may run from now on; returns whether the system agreed.
        pub fn set_affinity(self, set: &CpuSet) -> bool {
            let size = mem::size_of::<libc::cpu_set_t>();
            // SAFETY: the set is readable and of the size that is said.
            unsafe { libc::sched_setaffinity(self.0, size, &set.0) == 0 }
        }
    }

    /// The CPU that the calling thread runs on at this moment.
    pub fn current_cpu() -> Option<usize> {
        // SAFETY: takes nothing; -1 says that it is not known.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod none {
    /// A set of CPUs; on this system none is ever made.
    #[derive(Clone, Copy, Debug)]
    pub enum CpuSet {}

    impl CpuSet {
        /// Whether a CPU is in the set.
        pub fn contains(&self, _cpu: usize) -> bool {
            match *self {}
        }

        /// Counts the CPUs.
        pub fn len(&self) -> usize {
            match *self {}
        }

        /// Whether no CPU is in the set.
        pub fn is_empty(&self) -> bool {
            match *self {}
        }

        /// The set without one CPU.
        #[must_use]
        pub fn without(self, _cpu: usize) -> Self {
            match self {}
        }
    }

    /// Names a thread to the kernel; on this system it leads nowhere.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ThreadRef;

    impl ThreadRef {
        /// Names the calling thread.
        pub fn current() -> Self {
            Self
        }

        /// On which CPUs the thread may run; this system does not say.
        pub fn affinity(self) -> Option<CpuSet> {
            None
        }

        /// Says on which CPUs the thread may run; this system is not asked.
        pub fn set_affinity(self, set: &CpuSet) -> bool {
            match *set {}
        }
    }

    /// The CPU that the calling thread runs on; this system does not say.
    pub fn current_cpu() -> Option<usize> {
        None
    }
}

#[cfg(all(test, target_os = "linux", not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_narrowed_thread_is_widened_again() {
        let me = ThreadRef::current();
        let all = me.affinity().unwrap();
        let here = current_cpu().unwrap();
        assert!(all.contains(here));
        let others = all.without(here);
        assert_eq!(others.len() + 1, all.len());
        if !others.is_empty() {
            assert!(me.set_affinity(&others));
            assert!(!me.affinity().unwrap().contains(here));
        }
        assert!(me.set_affinity(&all));
        assert_eq!(me.affinity().unwrap().len(), all.len());
    }
}
