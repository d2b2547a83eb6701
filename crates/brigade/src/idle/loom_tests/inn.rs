//! A pool with everything left out but the phases, for the models of waiting for what was accepted before.
//!
//! The inlets are under locks here: a phase takes nothing from their orderings but that a push happens before what
//! follows it. What is modelled is who takes from which when, and the era that is read without a lock.

use std::cell::Cell;
use std::collections::VecDeque;

use super::*;
use crate::idle::GoesLate;

/// A job, by its number, and its child's.
#[derive(Clone, Copy)]
pub(super) struct Numbered(pub(super) usize, pub(super) Option<usize>);

/// `engine::Inlet`.
struct Inlet {
    open: bool,
    jobs: VecDeque<Numbered>,
}

/// A pool with everything left out but the phases.
pub(super) struct Inn {
    pub(super) idle: Idle,
    inlets: [Mutex<Inlet>; 2],
    parkers: Vec<Parker>,
    waits: Mutex<()>,
    changed: Condvar,
    /// The jobs that have ended, in their order. Under a lock of its own, which orders too much: the models that look
    /// at it say what comes from elsewhere.
    pub(super) ended: Mutex<Vec<usize>>,
    /// The same, ordered by nothing.
    marks: [AtomicUsize; 4],
}

impl Doors for Inn {
    fn swap(&self, era: Era) {
        self.inlets[era.outside()].lock().open = false;
        let mut inlet = self.inlets[era.next().outside()].lock();
        assert!(inlet.jobs.is_empty(), "nothing is left of the phase before");
        inlet.open = true;
    }

    fn has_old_work(&self, era: Era) -> bool {
        !self.inlets[era.home()].lock().jobs.is_empty()
    }
}

impl Inn {
    pub(super) fn new(workers: usize) -> Arc<Self> {
        let inlet = |open| Mutex::new(Inlet { open, jobs: VecDeque::new() });
        Arc::new(Self {
            idle: House::<AtomicUsize>::all_run(workers),
            inlets: [inlet(true), inlet(false)],
            parkers: (0..workers).map(|_| Parker::new()).collect(),
            waits: Mutex::new(()),
            changed: Condvar::new(),
            ended: Mutex::new(Vec::new()),
            marks: core::array::from_fn(|_| AtomicUsize::new(0)),
        })
    }

    pub(super) fn worker(self: &Arc<Self>, index: usize) -> JoinHandle<()> {
        self.hand(index, |hand| hand.live())
    }

    pub(super) fn hand(
        self: &Arc<Self>,
        index: usize,
        main: impl FnOnce(&Hand<'_>) + 'static,
    ) -> JoinHandle<()> {
        let inn = self.clone();
        thread::spawn(move || main(&Hand { inn: &inn, index, late: Cell::default() }))
    }

    /// `Core::inject`.
    pub(super) fn inject(&self, job: Numbered) {
        turn();
        let mut era = self.idle.era();
        loop {
            let mut inlet = self.inlets[era.outside()].lock();
            if inlet.open {
                inlet.jobs.push_back(job);
                break;
            }
            drop(inlet);
            let Some(open) = self.idle.era_of_open_doors() else { unreachable!("never shut") };
            era = open;
        }
        self.published();
    }

    /// `Inlet::push_accepted`.
    fn push_accepted(&self, inlet: usize, job: Numbered) {
        turn();
        self.inlets[inlet].lock().jobs.push_back(job);
        self.published();
    }

    fn published(&self) {
        if self.idle.after_publishing().wants_help() {
            self.wake_one();
        }
    }

    fn wake_one(&self) {
        if let Some(index) = self.idle.pick(usize::MAX, false).wake {
            self.parkers[index].unpark();
        }
    }

    fn pop(&self, inlet: usize) -> Option<Numbered> {
        turn();
        self.inlets[inlet].lock().jobs.pop_front()
    }

    /// `Core::has_work`.
    fn has_work(&self) -> bool {
        self.inlets.iter().any(|inlet| !inlet.lock().jobs.is_empty())
    }

    /// `Core::settle`.
    fn settle(&self) {
        turn();
        let word = self.idle.snapshot();
        if word.quiet_wanted() && self.idle.end_wait(self) {
            self.tell_waiters();
        }
        fence(Ordering::SeqCst);
        if word.all_parked() && !self.has_work() && word.closed() && self.idle.terminate() {
            self.parkers.iter().for_each(|parker| _ = parker.unpark());
        }
    }

    fn tell_waiters(&self) {
        drop(self.waits.lock());
        self.changed.notify_all();
    }

    /// `Core::wait_idle`; `meanwhile` comes after the call.
    pub(super) fn wait_idle(&self, meanwhile: impl FnOnce()) {
        turn();
        let wait = self.idle.begin_wait(self);
        meanwhile();
        let Wait::Until(era) = wait else { return };
        let mut waits = self.waits.lock();
        while !self.idle.has_come(era) {
            waits = self.changed.wait(waits, None);
        }
    }

    /// Whether a job has ended, as who waited for it sees it.
    pub(super) fn has_ended(&self, job: usize) -> bool {
        self.marks[job].load(Ordering::Relaxed) == 1
    }

    /// `Core::close`, when nobody submits any more.
    pub(super) fn close(&self, workers: impl IntoIterator<Item = JoinHandle<()>>) {
        self.idle.close(false);
        self.settle();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
        assert!(!self.has_work());
    }
}

/// A worker.
pub(super) struct Hand<'a> {
    inn: &'a Inn,
    index: usize,
    late: Cell<Era>,
}

impl Hand<'_> {
    /// `Worker::turns`.
    pub(super) fn live(&self) {
        while let Some(job) = self.find() {
            self.run(job);
        }
    }

    /// A worker whose turn it is to look elsewhere.
    pub(super) fn live_with_a_guest(&self) {
        self.guest();
        // As from its own queue: without another look at whether it is late.
        if let Some(job) = self.inn.pop(self.inn.idle.era().home()) {
            self.run(job);
        }
        self.live();
    }

    /// A worker that leaves when it has run one job, if it is one too many.
    pub(super) fn leave_if_over(&self) {
        while let Some(job) = self.find() {
            self.run(job);
            if self.leaves() {
                return;
            }
        }
    }

    /// `Worker::leaves`.
    fn leaves(&self) -> bool {
        turn();
        let leaves = self.inn.idle.leave_if_over(self.late.get());
        if leaves {
            if self.inn.has_work() {
                self.inn.wake_one();
            }
            self.inn.settle();
        }
        leaves
    }

    /// `Worker::guest`, and what comes after.
    fn guest(&self) {
        let era = self.inn.idle.era();
        let job = if era.is_on() { self.inn.pop(era.outside()) } else { None };
        let Some(job) = job else { return };
        match self.inn.idle.go_late(self.inn) {
            GoesLate::Late(era) => self.late.set(era),
            GoesLate::Ended => self.inn.tell_waiters(),
            GoesLate::No => {}
        }
        self.run(job);
        self.come_back();
    }

    fn come_back(&self) {
        let era = self.late.take();
        let _ = era.is_on() && self.inn.idle.come_back(era);
    }

    fn is_late(&self) -> Option<Era> {
        let era = self.late.get();
        (era.is_on() && era == self.inn.idle.era()).then_some(era)
    }

    fn run(&self, Numbered(job, child): Numbered) {
        if let Some(child) = child {
            let inlet = match self.is_late() {
                Some(era) => era.outside(),
                None => self.inn.idle.era().home(),
            };
            self.inn.push_accepted(inlet, Numbered(child, None));
        }
        self.inn.ended.lock().push(job);
        self.inn.marks[job].store(1, Ordering::Relaxed);
    }

    /// `Worker::find`.
    fn find(&self) -> Option<Numbered> {
        let inn = self.inn;
        if let Some(job) = self.next_later() {
            return Some(job);
        }
        inn.idle.start_search();
        loop {
            let found = inn.pop(inn.idle.era().home()).or_else(|| self.search_later());
            if found.is_some() {
                if inn.idle.stop_search() && inn.has_work() {
                    inn.wake_one();
                }
                return found;
            }
            if self.park() {
                return None;
            }
        }
    }

    /// `Worker::next_later`.
    fn next_later(&self) -> Option<Numbered> {
        if let Some(era) = self.is_late() {
            if !self.inn.has_old_work(era) {
                if let Some(job) = self.inn.pop(era.outside()) {
                    return Some(job);
                }
            }
        }
        self.come_back();
        None
    }

    /// `Worker::search_later`.
    fn search_later(&self) -> Option<Numbered> {
        let inn = self.inn;
        turn();
        if !inn.idle.snapshot().quiet_wanted() {
            return None;
        }
        match inn.idle.go_late(inn) {
            GoesLate::Late(era) => {
                self.late.set(era);
                inn.pop(era.outside())
            }
            GoesLate::Ended => {
                inn.tell_waiters();
                inn.pop(inn.idle.era().home())
            }
            GoesLate::No => None,
        }
    }

    /// `Worker::park`, by who never watches.
    fn park(&self) -> bool {
        turn();
        let inn = self.inn;
        let announced = inn.idle.announce(self.index, self.late.take(), false);
        if inn.has_work() {
            if !inn.idle.withdraw(self.index) {
                inn.parkers[self.index].park(None);
            }
            return inn.idle.snapshot().terminated();
        }
        if announced.settles {
            inn.settle();
        }
        inn.parkers[self.index].park(None);
        inn.idle.snapshot().terminated()
    }
}
