//! A pool reduced to its timers and the duty to wait for them, for the models of the driver holder.

use super::*;

/// The earliest deadline: none.
pub(super) const NONE: usize = 0;
/// A deadline that does not come while the model runs.
pub(super) const FAR: usize = 1;
/// A deadline that has come.
pub(super) const DUE: usize = 2;

/// What a worker has run.
#[derive(Debug, PartialEq)]
pub(super) enum Got {
    Job,
    Timer,
    /// It has left for good.
    Nothing,
}

/// A pool reduced to its timers.
pub(super) struct DriverPool {
    pub(super) idle: Idle,
    pub(super) jobs: AtomicUsize,
    /// `Timers::next`; nothing orders it.
    pub(super) next: AtomicUsize,
    pub(super) parkers: Vec<Parker>,
    /// `Sleeper::slot` of a worker that has been claimed; the token orders it.
    pub(super) handed: AtomicUsize,
}

impl DriverPool {
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
        Self::new(ModelPool::<AtomicUsize>::all_run(workers), workers, next)
    }

    pub(super) fn spawn(
        self: &Arc<Self>,
        main: impl FnOnce(&Self) -> Got + 'static,
    ) -> JoinHandle<Got> {
        let pool = self.clone();
        thread::spawn(move || main(&pool))
    }

    /// Puts a worker to sleep before the model begins; it monitors the queues if that is asked for.
    pub(super) fn is_asleep(&self, index: usize, monitors: bool) {
        self.idle.start_search();
        let duty = self.idle.announce(index, false).duty;
        assert_eq!(duty, Some(Duty::Monitor), "another runs, and none monitors yet");
        if !monitors {
            self.idle.give_up_duty(index);
        }
    }

    pub(super) fn is_wanted(&self) -> bool {
        self.next.load(Ordering::Relaxed) != NONE
    }

    /// `Core::set_timer`.
    pub(super) fn set(&self, next: usize) {
        turn();
        self.next.store(next, Ordering::Relaxed);
        if !self.idle.after_publishing().driver_held() {
            return self.see_to_driver();
        }
        turn();
        if let Some(index) = self.idle.pick_driver_holder() {
            self.parkers[index].unpark();
        }
    }

    /// `Core::see_to_driver`.
    pub(super) fn see_to_driver(&self) {
        if !self.is_wanted() {
            return;
        }
        let seen = self.idle.after_publishing();
        if !seen.events_are_seen_to() && seen.parked() > 0 {
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

    /// `dispatch`, and the handling of a job that is returned.
    pub(super) fn dispatch(&self) {
        turn();
        let Some(claimed) = self.idle.claim() else { return self.inject() };
        self.handed.store(claimed.index, Ordering::Relaxed);
        self.parkers[claimed.index].unpark();
        if claimed.was_on_duty {
            if self.jobs.has_work() && self.idle.after_publishing().wants_help() {
                self.help();
            }
            self.see_to_driver();
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
                self.see_to_driver();
            }
        }
        got
    }

    /// `Worker::park`; `None` for a worker that must search.
    pub(super) fn park(&self, index: usize) -> Option<Got> {
        turn();
        let announced = self.idle.announce(index, self.is_wanted());
        if self.jobs.has_work() {
            return self.withdraw(index);
        }
        self.sleep(index, announced.duty)
    }

    /// `Worker::sleep`. A monitor looks once, and so does one that stands by; the workers that run never look at the timers.
    pub(super) fn sleep(&self, index: usize, mut duty: Option<Duty>) -> Option<Got> {
        loop {
            if duty.is_none() && self.takes_driver(index) {
                duty = Some(Duty::Driver);
            }
            let slept = match duty {
                Some(Duty::Driver) => self.poll(index, false),
                Some(Duty::Monitor | Duty::Standby) if self.is_wanted() => self.poll(index, true),
                duty => {
                    let timeout = duty.map(|_| Duration::ZERO);
                    self.parkers[index].park(timeout).then(|| self.woken(index))
                }
            };
            if let Some(got) = slept {
                return got;
            }
            if matches!(duty, Some(Duty::Monitor | Duty::Standby)) {
                self.idle.give_up_duty(index);
                if self.jobs.has_work() {
                    return self.withdraw(index);
                }
                duty = None;
            }
        }
    }

    /// `Worker::takes_driver`.
    pub(super) fn takes_driver(&self, index: usize) -> bool {
        turn();
        let seen = self.idle.snapshot();
        if seen.events_are_seen_to() || !self.is_wanted() {
            return false;
        }
        let takes = self.idle.take_up_duty(index, Duty::Driver);
        if !takes {
            self.see_to_driver();
        }
        takes
    }

    /// `Worker::poll_as_sleeper` of a pool without a driver; `None` if the time has elapsed.
    pub(super) fn poll(&self, index: usize, monitors: bool) -> Option<Option<Got>> {
        turn();
        let at_once = monitors || self.next.load(Ordering::Relaxed) == DUE;
        if self.parkers[index].park(at_once.then_some(Duration::ZERO)) {
            return Some(self.woken(index));
        }
        let fired = self.next.compare_exchange(DUE, NONE, Ordering::Relaxed, Ordering::Relaxed);
        if fired.is_err() {
            return self.parkers[index].try_take().then(|| self.woken(index));
        }
        if let Some(job) = self.withdraw(index) {
            // It was claimed: the jobs that it fires are queued here, for others to steal.
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
                self.see_to_driver();
            }
        }
        self.parkers[index].park(None);
        self.woken(index)
    }

    pub(super) fn woken(&self, index: usize) -> Option<Got> {
        (self.handed.load(Ordering::Relaxed) == index).then_some(Got::Job)
    }

    /// `Worker::retire`, and what follows.
    pub(super) fn retire(&self, index: usize) -> Got {
        turn();
        if self.idle.retire(index, Leave::Idle, self.is_wanted()) {
            if self.jobs.has_work() {
                self.help();
            }
            self.see_to_driver();
            return Got::Nothing;
        }
        self.parkers[index].park(None);
        self.woken(index).unwrap_or_else(|| self.hunt(index))
    }
}
