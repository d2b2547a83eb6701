//! A pool with everything left out but its keeper, for the models of that.

use super::*;

/// The earliest deadline: none.
pub(super) const NONE: usize = 0;
/// One that does not come while the model runs.
pub(super) const FAR: usize = 1;
/// One that has come.
pub(super) const DUE: usize = 2;

/// What a worker was given.
#[derive(Debug, PartialEq)]
pub(super) enum Got {
    Job,
    Timer,
    /// It has left for good.
    Nothing,
}

/// A pool with everything left out but its keeper.
pub(super) struct Lighthouse {
    pub(super) idle: Idle,
    pub(super) jobs: AtomicUsize,
    /// `Timers::next`; nothing orders it.
    pub(super) next: AtomicUsize,
    pub(super) parkers: Vec<Parker>,
    /// `Peer::slot`, of whoever has been claimed; the token orders it.
    pub(super) handed: AtomicUsize,
}

impl Lighthouse {
    pub(super) fn new(idle: Idle, workers: usize, next: usize) -> Arc<Self> {
        Arc::new(Self {
            idle,
            jobs: AtomicUsize::new(0),
            next: AtomicUsize::new(next),
            parkers: (0..workers).map(|_| Parker::new()).collect(),
            handed: AtomicUsize::new(usize::MAX),
        })
    }

    pub(super) fn full(workers: usize, next: usize) -> Arc<Self> {
        Self::new(House::<AtomicUsize>::all_run(workers), workers, next)
    }

    pub(super) fn spawn(
        self: &Arc<Self>,
        main: impl FnOnce(&Self) -> Got + 'static,
    ) -> JoinHandle<Got> {
        let house = self.clone();
        thread::spawn(move || main(&house))
    }

    /// Puts a worker to sleep before the model begins, with the duties that fall to it.
    pub(super) fn is_asleep(&self, index: usize, watches: bool) {
        self.idle.start_search();
        let announced = self.idle.announce(index, false);
        assert!(announced.watches, "another runs, and nobody watches yet");
        if !watches {
            self.idle.unwatch(index);
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.next.load(Ordering::Relaxed) != NONE
    }

    /// `Core::set_timer`.
    pub(super) fn set(&self, next: usize) {
        turn();
        self.next.store(next, Ordering::Relaxed);
        if !self.idle.after_publishing().kept() {
            return self.see_to_keeper();
        }
        turn();
        if let Some(index) = self.idle.pick_keeper() {
            self.parkers[index].unpark();
        }
    }

    /// `Core::see_to_keeper`.
    pub(super) fn see_to_keeper(&self) {
        if !self.is_wanted() {
            return;
        }
        let seen = self.idle.after_publishing();
        if !seen.kept() && !seen.watched() && seen.parked() > 0 {
            self.help();
        }
    }

    pub(super) fn help(&self) {
        turn();
        if let Some(index) = self.idle.pick(1, false).wake {
            self.parkers[index].unpark();
        }
    }

    /// `Core::inject`.
    pub(super) fn inject(&self) {
        turn();
        self.jobs.fetch_add(1, Ordering::Relaxed);
        if self.idle.after_publishing().wants_help() {
            self.help();
        }
    }

    /// `dispatch`, and what is done with a job that comes back.
    pub(super) fn dispatch(&self) {
        turn();
        let Some(claimed) = self.idle.claim() else { return self.inject() };
        self.handed.store(claimed.index, Ordering::Relaxed);
        self.parkers[claimed.index].unpark();
        if claimed.was_on_duty {
            let seen = self.idle.after_publishing();
            if seen.wants_help() && self.jobs.has_work() {
                self.help();
            }
            self.see_to_keeper();
        }
    }

    /// `Worker::hunt`, up to its first job.
    pub(super) fn hunt(&self, index: usize) -> Got {
        loop {
            if self.jobs.take() {
                return self.found(Got::Job);
            }
            if let Some(got) = self.park(index) {
                return got;
            }
        }
    }

    /// `Worker::found`.
    pub(super) fn found(&self, got: Got) -> Got {
        turn();
        if self.idle.stop_search() {
            if self.jobs.has_work() {
                self.help();
            } else {
                self.see_to_keeper();
            }
        }
        got
    }

    /// `Worker::park`; `None` for who is to search.
    pub(super) fn park(&self, index: usize) -> Option<Got> {
        turn();
        let to_keep = self.is_wanted();
        let announced = self.idle.announce(index, to_keep);
        if self.jobs.has_work() {
            return self.withdraw(index);
        }
        self.sleep(index, announced.watches, announced.keeps)
    }

    /// `Worker::sleep`. A watcher looks twice; nobody who runs looks at what there is to keep.
    pub(super) fn sleep(&self, index: usize, watches: bool, mut keeps: bool) -> Option<Got> {
        let mut looks = if watches { 2 } else { 0 };
        loop {
            keeps = keeps || self.takes_keep(index, looks);
            let slept = if keeps {
                self.keep(index, looks > 0)
            } else {
                let timeout = (looks > 0).then_some(Duration::ZERO);
                self.parkers[index].park(timeout).then(|| self.woken(index))
            };
            if let Some(got) = slept {
                return got;
            }
            if looks > 0 {
                looks -= 1;
                if looks == 0 {
                    self.idle.unwatch(index);
                    if self.jobs.has_work() {
                        return self.withdraw(index);
                    }
                }
            }
        }
    }

    /// `Worker::takes_keep`.
    pub(super) fn takes_keep(&self, index: usize, looks: usize) -> bool {
        turn();
        let seen = self.idle.snapshot();
        let nobody_will = match looks {
            0 => !seen.watched(),
            looks => looks == 1,
        };
        if !nobody_will || seen.kept() || !self.is_wanted() {
            return false;
        }
        let keeps = self.idle.keep(index);
        if !keeps {
            self.see_to_keeper();
        }
        keeps
    }

    /// `Worker::keep` of a pool without a driver; `None` if the time is over.
    pub(super) fn keep(&self, index: usize, watches: bool) -> Option<Option<Got>> {
        turn();
        let at_once = watches || self.next.load(Ordering::Relaxed) == DUE;
        if self.parkers[index].park(at_once.then_some(Duration::ZERO)) {
            return Some(self.woken(index));
        }
        let fired = self.next.compare_exchange(DUE, NONE, Ordering::Relaxed, Ordering::Relaxed);
        if fired.is_err() {
            return self.parkers[index].try_take().then(|| self.woken(index));
        }
        if let Some(job) = self.withdraw(index) {
            // It was claimed: what it fires is queued here, for others to steal.
            self.inject();
            return Some(Some(job));
        }
        Some(Some(self.found(Got::Timer)))
    }

    /// `Worker::withdraw`.
    pub(super) fn withdraw(&self, index: usize) -> Option<Got> {
        turn();
        if self.idle.withdraw(index) {
            return None;
        }
        let seen = self.idle.after_publishing();
        if seen.searching() == 0 && seen.wants_help() {
            if self.jobs.has_work() {
                self.help();
            } else {
                self.see_to_keeper();
            }
        }
        self.parkers[index].park(None);
        self.woken(index)
    }

    pub(super) fn woken(&self, index: usize) -> Option<Got> {
        (self.handed.load(Ordering::Relaxed) == index).then_some(Got::Job)
    }

    /// `Worker::retire`, of who is not alone, and what comes then.
    pub(super) fn retire(&self, index: usize) -> Got {
        turn();
        if self.idle.retire(index, Leave::Idle) {
            if self.jobs.has_work() {
                self.help();
            }
            self.see_to_keeper();
            return Got::Nothing;
        }
        self.parkers[index].park(None);
        self.woken(index).unwrap_or_else(|| self.hunt(index))
    }
}
