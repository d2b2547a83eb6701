//! A modelled machine: CPUs with a virtual clock, and cache lines that move between them.
//!
//! A thread is a future that has a CPU for itself. What takes time there is an `await`: an access to a line, a computation, a
//! sleep. The machine polls the thread whose time is next, so accesses take effect in the order of virtual time, and the same
//! program takes the same time in every run.
//!
//! **Lines.** A line is in the caches of some CPUs. An access by another CPU, and a write by one that is not alone in having it,
//! is a transfer. A line makes one transfer at a time; others wait for it. That is how a shared line limits a rate.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

use crate::costs::Costs;

/// A moment, or a duration: picoseconds.
pub(crate) type Time = u64;

/// Nanoseconds as a duration.
pub(crate) fn time(nanos: f64) -> Time {
    (nanos * 1e3).round() as Time
}

/// The most CPUs of a machine.
const MAX_CPUS: usize = 512;

/// A set of CPUs, a bit for each.
type Cpus = [u64; MAX_CPUS / 64];

fn with(mut cpus: Cpus, cpu: usize) -> Cpus {
    cpus[cpu / 64] |= 1 << (cpu % 64);
    cpus
}

fn overlap(one: &Cpus, other: &Cpus) -> bool {
    one.iter().zip(other).any(|(one, other)| one & other != 0)
}

/// A thread: what it does, one step after the other.
pub(crate) type Thread = Pin<Box<dyn Future<Output = ()>>>;

/// When what was scheduled for a CPU happens: a moment, a number that orders equal moments, the CPU, and the number of its turn.
type Event = (Time, u64, usize, u64);

/// The machine.
pub(crate) struct Machine {
    pub(crate) costs: Costs,
    /// CPUs of a group: a transfer from one group to another costs more.
    group: usize,
    now: Cell<Time>,
    agenda: RefCell<BinaryHeap<Reverse<Event>>>,
    scheduled: Cell<u64>,
    /// How often each CPU has gone on. What was scheduled for an earlier turn is obsolete.
    turns: Vec<Cell<u64>>,
    sleeps: Vec<Cell<bool>>,
    is_over: Cell<bool>,
}

impl Machine {
    /// A machine of so many CPUs, in groups of so many.
    pub(crate) fn new(costs: Costs, cpus: usize, group: usize) -> Rc<Self> {
        assert!(cpus <= MAX_CPUS, "a line knows {MAX_CPUS} CPUs");
        Rc::new(Self {
            costs,
            group,
            now: Cell::default(),
            agenda: RefCell::default(),
            scheduled: Cell::default(),
            turns: vec![Cell::default(); cpus],
            sleeps: vec![Cell::default(); cpus],
            is_over: Cell::default(),
        })
    }

    pub(crate) fn now(&self) -> Time {
        self.now.get()
    }

    /// Ends the run.
    pub(crate) fn stop(&self) {
        self.is_over.set(true);
    }

    /// Runs these threads, on the first CPUs, until one of them stops the machine; `false` if all of them sleep before that.
    pub(crate) fn run(&self, mut threads: Vec<Thread>) -> bool {
        for cpu in 0..threads.len() {
            self.schedule(cpu, self.now());
        }
        let mut context = Context::from_waker(Waker::noop());
        while !self.is_over.get() {
            let Some(Reverse((at, _, cpu, turn))) = self.agenda.borrow_mut().pop() else {
                return false;
            };
            if self.turns[cpu].get() == turn {
                self.turns[cpu].set(turn + 1);
                self.now.set(at);
                // A thread that has ended is in no event.
                let _ = threads[cpu].as_mut().poll(&mut context);
            }
        }
        true
    }

    /// Lets a CPU go on at this moment, unless it does so earlier.
    fn schedule(&self, cpu: usize, at: Time) {
        let number = self.scheduled.replace(self.scheduled.get() + 1);
        self.agenda.borrow_mut().push(Reverse((at, number, cpu, self.turns[cpu].get())));
    }

    /// Whether a transfer between these is one from group to group.
    fn is_far(&self, from: usize, to: usize) -> bool {
        from / self.group != to / self.group
    }
}

/// Waits until the CPU goes on.
struct Pause<'a> {
    machine: &'a Machine,
    cpu: usize,
    at: Option<Time>,
    is_begun: bool,
}

impl Future for Pause<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        if self.is_begun {
            return Poll::Ready(());
        }
        self.is_begun = true;
        if let Some(at) = self.at {
            // Most often nothing happens before that.
            let next = self.machine.agenda.borrow().peek().map(|Reverse(event)| event.0);
            if next.is_none_or(|next| next > at) {
                self.machine.now.set(at);
                return Poll::Ready(());
            }
            self.machine.schedule(self.cpu, at);
        }
        Poll::Pending
    }
}

/// A cache line.
#[derive(Default)]
pub(crate) struct Line {
    /// The CPUs that have it.
    holders: Cell<Cpus>,
    /// When it can be transferred next.
    free_at: Cell<Time>,
    /// How long it has been in transfer.
    pub(crate) busy: Cell<Time>,
}

/// A lock, which waiting threads get in their order, with a line of its own and one of data.
#[derive(Default)]
pub(crate) struct Lock {
    line: Line,
    data: Line,
    is_held: Cell<bool>,
    since: Cell<Time>,
    waiting: RefCell<VecDeque<usize>>,
    /// How long it has been held.
    pub(crate) busy: Cell<Time>,
}

/// A CPU with the thread on it.
pub(crate) struct Cpu {
    pub(crate) machine: Rc<Machine>,
    pub(crate) index: usize,
    /// The CPUs of its group, and the others.
    near: Cpus,
    far: Cpus,
    random: RefCell<SmallRng>,
    /// What it has done since the machine's time: looks at lines, which don't wait for each other.
    ahead: Cell<Time>,
}

impl Cpu {
    pub(crate) fn new(machine: &Rc<Machine>, index: usize, seed: u64) -> Self {
        let random = SmallRng::seed_from_u64(seed.wrapping_add(index as u64));
        let group = |far: bool| {
            let cpus = (0..machine.turns.len()).filter(|&cpu| machine.is_far(index, cpu) == far);
            cpus.fold(Cpus::default(), with)
        };
        let (near, far, random) = (group(false), group(true), RefCell::new(random));
        Self { machine: machine.clone(), index, near, far, random, ahead: Cell::default() }
    }

    pub(crate) fn costs(&self) -> &Costs {
        &self.machine.costs
    }

    /// A number below `end`.
    pub(crate) fn below(&self, end: usize) -> usize {
        self.random.borrow_mut().random_range(0..end)
    }

    /// `nanos`, more or less by the jitter of the costs.
    pub(crate) fn about(&self, nanos: f64) -> f64 {
        let jitter = nanos * self.costs().jitter;
        if jitter == 0.0 {
            nanos
        } else {
            nanos + jitter * self.random.borrow_mut().random_range(-1.0..1.0)
        }
    }

    async fn pause(&self, at: Option<Time>) {
        Pause { machine: &self.machine, cpu: self.index, at, is_begun: false }.await;
    }

    /// Goes on at this moment, and does what it is ahead by before that.
    async fn until(&self, at: Time) {
        let at = at + self.ahead.take();
        if at > self.machine.now() {
            self.pause(Some(at)).await;
        }
    }

    /// Computes for some nanoseconds.
    pub(crate) async fn spend(&self, nanos: f64) {
        self.until(self.machine.now() + time(nanos)).await;
    }

    /// Gets lines that are only in the cache of another CPU, and that don't depend on each other.
    pub(crate) async fn fetch(&self, lines: usize, from: usize) {
        if lines > 0 && from != self.index {
            let first = self.transfer(self.machine.is_far(from, self.index));
            self.spend(first * (1.0 + self.costs().stream * (lines - 1) as f64)).await;
        }
    }

    fn transfer(&self, is_far: bool) -> f64 {
        if is_far { self.costs().far } else { self.costs().transfer }
    }

    /// Has this CPU have a line, alone if it `writes`, after what it is ahead by; returns the end. It takes `own` nanoseconds, and if
    /// it needs a transfer `share` of one.
    fn access(&self, line: &Line, writes: bool, own: f64, share: f64) -> Time {
        let (holders, own_set) = (line.holders.get(), with(Cpus::default(), self.index));
        let is_alone = holders == Cpus::default() || holders == own_set;
        let has = is_alone || (!writes && overlap(&holders, &own_set));
        // The nearest holder answers, and a write waits for the farthest.
        let far =
            if writes { overlap(&holders, &self.far) } else { !overlap(&holders, &self.near) };
        let duration = time(own) + if has { 0 } else { time(share * self.transfer(far)) };
        let now = self.machine.now() + self.ahead.take();
        let end = if has && !writes { now } else { now.max(line.free_at.get()) } + duration;
        if !has {
            line.busy.set(line.busy.get() + duration);
        }
        if !has || writes {
            line.free_at.set(end);
        }
        line.holders.set(if writes { own_set } else { with(holders, self.index) });
        end
    }

    /// Looks at a line on whose content no further access depends: it begins with the next of these while this one comes. The
    /// time passes at the next `await`.
    pub(crate) fn look(&self, line: &Line) {
        let end = self.access(line, false, self.costs().hit, self.costs().stream);
        self.ahead.set(end - self.machine.now());
    }

    /// Reads a line.
    pub(crate) async fn read(&self, line: &Line) {
        self.until(self.access(line, false, self.costs().hit, 1.0)).await;
    }

    /// Writes a line.
    pub(crate) async fn write(&self, line: &Line) {
        self.until(self.access(line, true, self.costs().hit, 1.0)).await;
    }

    /// Writes a line; one that `comes_along` was asked for together with another that has just come.
    pub(crate) async fn write_along(&self, line: &Line, comes_along: bool) {
        let share = if comes_along { self.costs().stream } else { 1.0 };
        self.until(self.access(line, true, self.costs().hit, share)).await;
    }

    /// Reads and writes a line in one step.
    pub(crate) async fn update(&self, line: &Line) {
        self.until(self.access(line, true, self.costs().atomic, 1.0)).await;
    }

    /// Waits for a lock and takes it.
    pub(crate) async fn acquire(&self, lock: &Lock) {
        self.update(&lock.line).await;
        if lock.is_held.replace(true) {
            lock.waiting.borrow_mut().push_back(self.index);
            self.pause(None).await;
        }
        lock.since.set(self.machine.now());
        self.write(&lock.data).await;
    }

    /// Releases a lock: to the thread that has waited for the longest, if there is one. Not while it is ahead.
    pub(crate) fn release(&self, lock: &Lock) {
        let mut end = self.machine.now();
        match lock.waiting.borrow_mut().pop_front() {
            Some(next) => {
                end += time(self.transfer(self.machine.is_far(self.index, next)));
                lock.line.holders.set(with(Cpus::default(), next));
                self.machine.schedule(next, end);
            }
            None => lock.is_held.set(false),
        }
        lock.busy.set(lock.busy.get() + (end - lock.since.get()));
    }

    /// Sleeps until it is roused, or for so many nanoseconds. Not while it is ahead.
    pub(crate) async fn sleep(&self, nanos: Option<f64>) {
        assert_eq!(self.ahead.get(), 0, "a thread sleeps after what it has done");
        let sleeps = &self.machine.sleeps[self.index];
        sleeps.set(true);
        self.pause(nanos.map(|nanos| self.machine.now() + time(nanos))).await;
        sleeps.set(false);
    }

    /// Lets a CPU go on after some nanoseconds if it sleeps.
    pub(crate) fn rouse(&self, cpu: usize, nanos: f64) {
        if self.machine.sleeps[cpu].get() {
            self.machine.schedule(cpu, self.machine.now() + time(nanos));
        }
    }
}
