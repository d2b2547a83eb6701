//! The CPUs that a thread may run on, where the system has such a setting.

#[cfg(target_os = "linux")]
pub use linux::{CpuSet, EXISTS, ThreadRef, current_cpu};
#[cfg(not(target_os = "linux"))]
pub use none::{CpuSet, EXISTS, ThreadRef, current_cpu};

#[cfg(target_os = "linux")]
mod linux {
    use core::mem::{self, MaybeUninit};

    /// Whether this system has such a setting; the threads of a run that obeys a seed have none.
    pub const EXISTS: bool = !cfg!(brigade_seeded);

    /// A set of CPUs in the kernel's layout (the first 1,024 CPUs).
    #[derive(Clone, Copy)]
    pub struct CpuSet(libc::cpu_set_t);

    impl core::fmt::Debug for CpuSet {
        fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
            f.debug_set().entries(self.cpus()).finish()
        }
    }

    impl PartialEq for CpuSet {
        fn eq(&self, other: &Self) -> bool {
            // SAFETY: reads the sets, which are initialised.
            unsafe { libc::CPU_EQUAL(&self.0, &other.0) }
        }
    }

    impl Eq for CpuSet {}

    impl CpuSet {
        /// Returns whether a CPU is in the set.
        pub fn contains(&self, cpu: usize) -> bool {
            // SAFETY: the number is within the set; glibc checks it again.
            cpu < libc::CPU_SETSIZE as usize && unsafe { libc::CPU_ISSET(cpu, &self.0) }
        }

        /// Returns the number of CPUs in the set.
        pub fn len(&self) -> usize {
            // SAFETY: reads the set, which is initialised.
            usize::try_from(unsafe { libc::CPU_COUNT(&self.0) }).unwrap_or(0)
        }

        /// Returns whether the set is empty.
        pub fn is_empty(&self) -> bool {
            self.len() == 0
        }

        /// Returns the numbers of the CPUs in the set, in ascending order.
        pub fn cpus(&self) -> impl Iterator<Item = usize> + '_ {
            (0..libc::CPU_SETSIZE.unsigned_abs() as usize).filter(|&cpu| self.contains(cpu))
        }

        /// Returns a set without any CPU.
        #[must_use]
        pub fn none(&self) -> Self {
            self.cpus().fold(*self, Self::without)
        }

        /// Returns a set with each CPU that a system can have.
        #[must_use]
        pub fn every(&self) -> Self {
            (0..libc::CPU_SETSIZE.unsigned_abs() as usize).fold(*self, Self::with)
        }

        /// Returns the set with one CPU more; the same set if the system can't have a CPU with this number.
        #[must_use]
        pub fn with(mut self, cpu: usize) -> Self {
            if cpu < libc::CPU_SETSIZE as usize {
                // SAFETY: the number is within the set.
                unsafe { libc::CPU_SET(cpu, &mut self.0) };
            }
            self
        }

        /// Returns the set without one CPU.
        #[must_use]
        pub fn without(mut self, cpu: usize) -> Self {
            if self.contains(cpu) {
                // SAFETY: the number is within the set.
                unsafe { libc::CPU_CLR(cpu, &mut self.0) };
            }
            self
        }
    }

    /// Identifies a thread to the kernel.
    ///
    /// The kernel reuses the id once the thread has ended: use it only while the thread is known to run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ThreadRef(libc::pid_t);

    impl ThreadRef {
        /// Returns the calling thread's id.
        pub fn current() -> Self {
            // SAFETY: takes nothing and cannot fail.
            Self(unsafe { libc::gettid() })
        }

        /// Refers to the thread that uses it, whichever that is.
        pub fn caller() -> Self {
            Self(0)
        }

        /// Returns the CPUs that the thread may run on; `None` if the system does not tell.
        pub fn affinity(self) -> Option<CpuSet> {
            if !EXISTS {
                return None;
            }
            let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
            let size = mem::size_of::<libc::cpu_set_t>();
            // SAFETY: the set is writable and of the size passed.
            let result = unsafe { libc::sched_getaffinity(self.0, size, set.as_mut_ptr()) };
            // SAFETY: all bytes are zero or written by the kernel; both are valid sets.
            (result == 0).then(|| CpuSet(unsafe { set.assume_init() }))
        }

        /// Sets the CPUs that the thread may run on; returns whether the system accepted them.
        pub fn set_affinity(self, set: &CpuSet) -> bool {
            let size = mem::size_of::<libc::cpu_set_t>();
            // SAFETY: the set is readable and of the size passed.
            unsafe { libc::sched_setaffinity(self.0, size, &set.0) == 0 }
        }
    }

    /// Returns the CPU that the calling thread runs on at this moment.
    pub fn current_cpu() -> Option<usize> {
        // SAFETY: takes no argument; -1 means that it is unknown.
        usize::try_from(unsafe { libc::sched_getcpu() }).ok().filter(|_| EXISTS)
    }
}

#[cfg(not(target_os = "linux"))]
mod none {
    /// Whether this system has such a setting.
    pub const EXISTS: bool = false;

    /// A set of CPUs; on this system no value exists.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CpuSet {}

    impl CpuSet {
        /// Returns whether a CPU is in the set.
        pub fn contains(&self, _cpu: usize) -> bool {
            match *self {}
        }

        /// Returns the number of CPUs in the set.
        pub fn len(&self) -> usize {
            match *self {}
        }

        /// Returns whether the set is empty.
        pub fn is_empty(&self) -> bool {
            match *self {}
        }

        /// Returns the numbers of the CPUs in the set.
        pub fn cpus(&self) -> impl Iterator<Item = usize> + '_ {
            core::iter::from_fn(|| match *self {})
        }

        /// Returns a set without any CPU.
        #[must_use]
        pub fn none(&self) -> Self {
            match *self {}
        }

        /// Returns a set with each CPU that a system can have.
        #[must_use]
        pub fn every(&self) -> Self {
            match *self {}
        }

        /// Returns the set with one CPU more.
        #[must_use]
        pub fn with(self, _cpu: usize) -> Self {
            match self {}
        }

        /// Returns the set without one CPU.
        #[must_use]
        pub fn without(self, _cpu: usize) -> Self {
            match self {}
        }
    }

    /// Identifies a thread; on this system it carries nothing.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ThreadRef;

    impl ThreadRef {
        /// Returns the calling thread's id.
        pub fn current() -> Self {
            Self
        }

        /// Refers to the thread that uses it.
        pub fn caller() -> Self {
            Self
        }

        /// Returns `None`: this system does not tell the CPUs of a thread.
        pub fn affinity(self) -> Option<CpuSet> {
            None
        }

        /// Can't be called: there is no set on this system.
        pub fn set_affinity(self, set: &CpuSet) -> bool {
            match *set {}
        }
    }

    /// Returns `None`: this system does not tell the CPU of a thread.
    pub fn current_cpu() -> Option<usize> {
        None
    }
}

#[cfg(all(test, target_os = "linux", not(brigade_loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_restricted_affinity_is_restored() {
        let me = ThreadRef::current();
        let all = me.affinity().unwrap();
        let here = current_cpu().unwrap();
        assert!(all.contains(here));
        let others = all.without(here);
        assert_eq!(others.len() + 1, all.len());
        assert_ne!(others, all);
        if !others.is_empty() {
            assert!(me.set_affinity(&others));
            assert!(!me.affinity().unwrap().contains(here));
        }
        for cpu in all.cpus() {
            assert!(me.set_affinity(&all.none().with(cpu)));
            assert_eq!(current_cpu(), Some(cpu));
        }
        let only = all.none().with(here);
        assert!(all.none().is_empty() && only.cpus().eq([here]));
        assert_eq!(only.with(usize::MAX).len(), 1, "there is no such CPU");
        assert!(me.set_affinity(&all));
        assert_eq!(me.affinity().unwrap().len(), all.len());
    }
}
