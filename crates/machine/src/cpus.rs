//! The CPUs to which workers are pinned.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use brigade_sync::affinity::{CpuSet, ThreadRef};
use brigade_sync::thread::Inherited;

use crate::topology::{capacity, siblings};

/// The CPUs for the workers of a pool; see `Builder::pin` of brigade.
///
/// CPUs are numbered as by the operating system, from 0. An array, a `Vec`, a range or another iterator of numbers converts by
/// [`each`](Self::each).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus(Choice);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Choice {
    Each(Vec<usize>),
    Among(Vec<usize>),
    Except(Vec<usize>),
    Cores,
    Performance,
}

impl Cpus {
    /// A CPU for each worker, in this order. Workers beyond the list run anywhere. A CPU may be named more than once.
    pub fn each(cpus: impl IntoIterator<Item = usize>) -> Self {
        Self(Choice::Each(cpus.into_iter().collect()))
    }

    /// All workers run on any of these CPUs.
    pub fn among(cpus: impl IntoIterator<Item = usize>) -> Self {
        Self(Choice::Among(cpus.into_iter().collect()))
    }

    /// All workers run on any of the CPUs whose bit is set, as in the arguments of `taskset(1)`: bit 0 is CPU 0.
    ///
    /// ```
    /// # use brigade_machine as brigade;
    /// use brigade::Cpus;
    /// assert_eq!(Cpus::mask(0b1001), Cpus::among([0, 3]));
    /// ```
    pub fn mask(bits: u64) -> Self {
        Self::among((0..64).filter(|cpu| bits & (1 << cpu) != 0))
    }

    /// All workers run on any CPU but these.
    pub fn except(cpus: impl IntoIterator<Item = usize>) -> Self {
        Self(Choice::Except(cpus.into_iter().collect()))
    }

    /// A core for each worker: of CPUs on the same core, the first. Workers beyond the number of cores run anywhere. Where the
    /// system does not tell which CPUs share a core, each worker has a CPU.
    pub fn cores() -> Self {
        Self(Choice::Cores)
    }

    /// All workers run on any of the performance cores: the CPUs with the greatest capacity in the system (`cpu_capacity` of
    /// Linux). Where all CPUs are alike, or the system does not tell, they run on all.
    ///
    /// A loop of equal parts ends with the slowest core. A pool of [as many](Self::count) threads, without pins, leaves the
    /// other cores to the rest of the system:
    ///
    /// ```
    /// # use brigade_machine as brigade;
    /// use brigade::Cpus;
    /// # if cfg!(target_os = "linux") {
    /// let threads = Cpus::performance().count()?;
    /// assert!(threads <= std::thread::available_parallelism()?.get());
    /// # }
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn performance() -> Self {
        Self(Choice::Performance)
    }

    /// Returns the number of these CPUs, for a pool built by the calling thread.
    ///
    /// # Errors
    /// As for [`resolve`](Self::resolve).
    pub fn count(&self) -> io::Result<usize> {
        let Pins { each, rest } = self.resolve()?;
        let named = each.iter().flat_map(CpuSet::cpus).collect::<BTreeSet<_>>().len();
        Ok(if named > 0 { named } else { rest.iter().flat_map(CpuSet::cpus).count() })
    }

    /// Returns the CPUs of each worker of a pool built by the calling thread.
    ///
    /// # Errors
    /// If the threads of such a pool may not run on a named CPU, if no CPU is left, or if the system pins no threads.
    pub fn resolve(&self) -> io::Result<Pins> {
        let Some(allowed) = Inherited::here().affinity() else {
            let system = std::env::consts::OS;
            let reason =
                format!("threads can't be pinned on {system}: build the pool without `pin`");
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
        };
        self.pins(&allowed, siblings, capacity)
            .map_err(|reason| io::Error::new(io::ErrorKind::InvalidInput, reason))
    }

    /// Like `resolve`, for the given CPUs. `siblings` returns the list, as the system writes it, of the CPUs on the same core, and `capacity`
    /// a number, greater for a faster core.
    fn pins(
        &self,
        allowed: &CpuSet,
        siblings: impl Fn(usize) -> Option<Vec<usize>>,
        capacity: impl Fn(usize) -> Option<u64>,
    ) -> Result<Pins, String> {
        let chosen = |cpus: &[usize]| match cpus.iter().find(|&&cpu| !allowed.contains(cpu)) {
            Some(cpu) => {
                Err(format!("no thread of this process may run on CPU {cpu}, only on {allowed:?}"))
            }
            None => Ok(cpus.iter().fold(allowed.none(), |set, &cpu| set.with(cpu))),
        };
        let each = |cpus: &[usize]| {
            cpus.iter().map(|&cpu| chosen(&[cpu])).collect::<Result<Arc<[CpuSet]>, String>>()
        };
        let all = |set: CpuSet| {
            if set.is_empty() { Err("no CPU is left to run on".to_owned()) } else { Ok(set) }
        };
        Ok(match &self.0 {
            Choice::Each(cpus) | Choice::Among(cpus) if cpus.is_empty() => {
                let reason =
                    "no CPU is named to pin threads to: name one, or build the pool without `pin`";
                return Err(reason.to_owned());
            }
            Choice::Each(cpus) => Pins { each: each(cpus)?, rest: Some(*allowed) },
            Choice::Among(cpus) => Pins { rest: Some(all(chosen(cpus)?)?), ..Pins::default() },
            Choice::Except(cpus) => {
                let left = cpus.iter().fold(*allowed, |set, &cpu| set.without(cpu));
                Pins { rest: Some(all(left)?), ..Pins::default() }
            }
            Choice::Cores => {
                let is_first = |&cpu: &usize| {
                    let shared = siblings(cpu).unwrap_or_default();
                    shared.into_iter().filter(|&one| allowed.contains(one)).all(|one| one >= cpu)
                };
                let cores: Vec<usize> = allowed.cpus().filter(is_first).collect();
                Pins { each: each(&cores)?, rest: Some(*allowed) }
            }
            Choice::Performance => {
                let most = allowed.cpus().filter_map(&capacity).max();
                let fast = allowed.cpus().filter(|&cpu| capacity(cpu) >= most);
                let fast = fast.fold(allowed.none(), |set, cpu| set.with(cpu));
                Pins { rest: Some(all(fast)?), ..Pins::default() }
            }
        })
    }
}

impl<I: IntoIterator<Item = usize>> From<I> for Cpus {
    fn from(cpus: I) -> Self {
        Self::each(cpus)
    }
}

/// The CPUs of each worker.
#[derive(Clone, Debug, Default)]
pub struct Pins {
    /// Those of the first workers, by index.
    each: Arc<[CpuSet]>,
    /// The CPUs of all other workers; `None` if no thread is pinned. A thread begins with the CPUs of the starting thread, which
    /// may be a pinned worker.
    rest: Option<CpuSet>,
}

impl Pins {
    /// The CPUs of the first workers, each with a single CPU, by index.
    pub fn cpus(&self) -> Vec<usize> {
        self.each.iter().map_while(|set| set.cpus().next()).collect()
    }

    /// Pins the calling thread, which is the worker with this index. If a CPU has been taken from the process since the pool was
    /// built, this is no error: the thread runs where it may.
    pub fn apply(&self, index: usize) {
        if let Some(set) = self.each.get(index).or(self.rest.as_ref()) {
            let _ = ThreadRef::caller().set_affinity(set);
        }
    }
}

#[cfg(all(test, target_os = "linux", not(brigade_loom)))]
pub(crate) mod tests {
    use std::ops::Range;

    use super::*;

    /// The pins of workers on these CPUs, of a machine with these CPUs.
    pub(crate) fn pins_of<const N: usize>(cpus: [usize; N]) -> Pins {
        Cpus::from(cpus).pins(&machine(0..64), |_| None, |_| None).unwrap()
    }

    /// A machine with these CPUs.
    fn machine(cpus: Range<usize>) -> CpuSet {
        let none = ThreadRef::current().affinity().unwrap().none();
        cpus.fold(none, |set, cpu| set.with(cpu))
    }

    /// The CPUs of the first workers and of the others.
    type Numbers = (Vec<Vec<usize>>, Option<Vec<usize>>);

    /// The same, on a machine with CPUs 2 to 9: n and n + 4 share a core, and CPUs 2 to 5 are
    /// fast.
    fn on_eight(cpus: impl Into<Cpus>) -> Result<Numbers, String> {
        let shared = |cpu| {
            let first = (cpu - 2) % 4 + 2;
            Some(vec![first, first + 4])
        };
        let list = |set: &CpuSet| set.cpus().collect::<Vec<_>>();
        let capacity = |cpu| Some(if cpu < 6 { 1024 } else { 446 });
        let pins = cpus.into().pins(&machine(2..10), shared, capacity)?;
        Ok((pins.each.iter().map(list).collect(), pins.rest.as_ref().map(list)))
    }

    #[test]
    fn workers_have_their_cpus_and_surplus_ones_any() {
        let all = Some((2..10).collect::<Vec<_>>());
        assert_eq!(on_eight([5, 3, 5]), Ok((vec![vec![5], vec![3], vec![5]], all.clone())));
        assert_eq!(on_eight(2..4), Ok((vec![vec![2], vec![3]], all)));
    }

    #[test]
    fn all_workers_have_the_named_or_unnamed_cpus() {
        assert_eq!(on_eight(Cpus::among([9, 2])), Ok((vec![], Some(vec![2, 9]))));
        assert_eq!(on_eight(Cpus::except(3..9)), Ok((vec![], Some(vec![2, 9]))));
        assert_eq!(on_eight(Cpus::except([77])), Ok((vec![], Some((2..10).collect()))));
    }

    #[test]
    fn one_cpu_of_each_shared_core_is_taken() {
        let (cores, rest) = on_eight(Cpus::cores()).unwrap();
        assert_eq!(cores, [[2], [3], [4], [5]]);
        assert_eq!(rest.map(|rest| rest.len()), Some(8));
        let untold = Cpus::cores().pins(&machine(4..6), |_| None, |_| None).unwrap();
        assert_eq!(untold.each.len(), 2);
        // Of a core whose first CPU is not the process's, the other CPU.
        let shared = |cpu| Some(vec![0, 1, 2, 3, cpu]);
        let second = Cpus::cores().pins(&machine(4..6), shared, |_| None).unwrap();
        assert_eq!(second.each.len(), 2);
    }

    #[test]
    fn the_cores_of_greatest_capacity_are_taken() {
        assert_eq!(on_eight(Cpus::performance()), Ok((vec![], Some(vec![2, 3, 4, 5]))));
        let untold = Cpus::performance().pins(&machine(4..6), |_| None, |_| None).unwrap();
        assert_eq!(untold.rest.map(|rest| rest.cpus().count()), Some(2));
        let allowed = ThreadRef::current().affinity().unwrap();
        let first = allowed.cpus().next().unwrap();
        assert_eq!(Cpus::each([first, first]).count().unwrap(), 1);
        assert_eq!(Cpus::except([usize::MAX]).count().unwrap(), allowed.cpus().count());
    }

    #[test]
    fn a_missing_cpu_is_named_with_the_present_ones() {
        let reason = on_eight([2, 10]).unwrap_err();
        assert!(reason.contains("CPU 10, only on {2, 3, 4"), "{reason}");
        assert!(on_eight(Cpus::among([usize::MAX])).is_err());
        assert_eq!(on_eight(Cpus::except(0..10)).unwrap_err(), "no CPU is left to run on");
        for none in [Cpus::each([]), Cpus::among([]), vec![].into()] {
            assert!(on_eight(none).unwrap_err().starts_with("no CPU is named"));
        }
    }
}
