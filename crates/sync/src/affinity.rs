//! The CPUs that a thread may run on, where the system has such a setting.

#[cfg(target_os = "linux")]
pub use linux::{ThreadRef, current_cpu};
#[cfg(not(target_os = "linux"))]
pub use none::{ThreadRef, current_cpu};

/// Whether this system has such a setting; the threads of a seeded run have none.
pub const EXISTS: bool = cfg!(all(target_os = "linux", not(brigade_seeded)));

/// The number of CPUs a set has room for.
const CPUS: usize = 1024;
/// The number of CPUs in a word of a set.
const BITS: usize = usize::BITS as usize;

/// A set of CPUs in the kernel's layout (the first 1,024 CPUs).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CpuSet([usize; CPUS / BITS]);

impl core::fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_set().entries(self.cpus()).finish()
    }
}

impl CpuSet {
    /// Returns whether a CPU is in the set.
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.get(cpu / BITS).is_some_and(|word| word & bit(cpu) != 0)
    }

    /// Returns the number of CPUs in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Returns whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the numbers of the CPUs in the set, in ascending order.
    pub fn cpus(&self) -> impl Iterator<Item = usize> + '_ {
        (0..CPUS).filter(|&cpu| self.contains(cpu))
    }

    /// Returns a set without any CPU.
    #[must_use]
    pub fn none(&self) -> Self {
        Self([0; CPUS / BITS])
    }

    /// Returns the set of all CPUs a system can have.
    #[must_use]
    pub fn every(&self) -> Self {
        Self([usize::MAX; CPUS / BITS])
    }

    /// Returns the set with this CPU; the same set if the system can't have a CPU with this number.
    #[must_use]
    pub fn with(mut self, cpu: usize) -> Self {
        if let Some(word) = self.0.get_mut(cpu / BITS) {
            *word |= bit(cpu);
        }
        self
    }

    /// Returns the set without this CPU.
    #[must_use]
    pub fn without(mut self, cpu: usize) -> Self {
        if let Some(word) = self.0.get_mut(cpu / BITS) {
            *word &= !bit(cpu);
        }
        self
    }
}

/// The bit of a CPU in the word that contains it.
fn bit(cpu: usize) -> usize {
    1 << (cpu % BITS)
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{BITS, CPUS, CpuSet, EXISTS};
    use crate::linux;

    /// Identifies a thread to the kernel.
    ///
    /// The kernel reuses the id once the thread has ended: use it only while the thread is known to run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ThreadRef(linux::pid_t);

    impl ThreadRef {
        /// Returns the calling thread's id.
        pub fn current() -> Self {
            // SAFETY: takes nothing and cannot fail.
            Self(unsafe { linux::gettid() })
        }

        /// Refers to whichever thread uses the value.
        pub fn caller() -> Self {
            Self(0)
        }

        /// Refers to the main thread of the process.
        pub fn main() -> Self {
            // SAFETY: takes nothing and cannot fail.
            Self(unsafe { linux::getpid() })
        }

        /// Returns the CPUs that the thread may run on; `None` if the system does not tell.
        pub fn affinity(self) -> Option<CpuSet> {
            if !EXISTS {
                return None;
            }
            let mut set = CpuSet([0; CPUS / BITS]);
            let pointer = set.0.as_mut_ptr().cast();
            // SAFETY: the set is writable and of the size passed; any bytes are a valid set.
            let result = unsafe { linux::sched_getaffinity(self.0, size_of::<CpuSet>(), pointer) };
            (result == 0).then_some(set)
        }

        /// Sets the CPUs that the thread may run on; returns whether the system accepted them.
        pub fn set_affinity(self, set: &CpuSet) -> bool {
            let pointer = set.0.as_ptr().cast();
            // SAFETY: the set is readable and of the size passed.
            unsafe { linux::sched_setaffinity(self.0, size_of::<CpuSet>(), pointer) == 0 }
        }
    }

    /// Returns the CPU that the calling thread runs on at this moment.
    pub fn current_cpu() -> Option<usize> {
        // SAFETY: takes no argument; -1 means unknown.
        usize::try_from(unsafe { linux::sched_getcpu() }).ok().filter(|_| EXISTS)
    }
}

#[cfg(not(target_os = "linux"))]
mod none {
    use super::CpuSet;

    /// Identifies a thread; on this system it carries nothing.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ThreadRef;

    impl ThreadRef {
        /// Returns the calling thread's id.
        pub fn current() -> Self {
            Self
        }

        /// Refers to whichever thread uses the value.
        pub fn caller() -> Self {
            Self
        }

        /// Refers to the main thread of the process.
        pub fn main() -> Self {
            Self
        }

        /// Returns `None`: this system does not tell the CPUs of a thread.
        pub fn affinity(self) -> Option<CpuSet> {
            None
        }

        /// Returns `false`: this system has no such setting.
        pub fn set_affinity(self, _set: &CpuSet) -> bool {
            false
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
