//! The model of a pool: the wake-up rule, the search, the injectors and the sleep of `crates/brigade/src/engine/wake/README.md` and
//! `engine`, step by step, with each access to a line that other threads have.
//!
//! What is not on the way of a plain job is left out: growth, timers, I/O, mailboxes, classes of jobs, forks, the end.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::iter;
use std::rc::Rc;

use crate::machine::{Cpu, Line, Lock, Thread, Time};

/// The slots of a worker's queue.
const CAPACITY: usize = 256;
/// The slots of an injector whose flags share a line: a flag says that its slot has been written.
const FLAGS: usize = 64;
/// The lines of flags of an injector: those of two blocks.
const FLAG_LINES: usize = 16;
/// The most jobs that are taken from an injector at once.
const BATCH: usize = 64;
/// The most workers that one wakes that has found several jobs.
const FEW_AWAKE: usize = 4;
/// Jobs between two looks elsewhere.
const INTERVAL: u32 = 61;
/// Jobs that such a look takes from an injector: a sixteenth of the interval, as the modelled jobs are short.
const SHARE: usize = 3;
/// The most injectors.
const MAX_INJECTORS: usize = 16;
/// The shortest and the longest sleep of the monitor, in nanoseconds.
const PERIODS: [f64; 2] = [40_000.0, 400_000.0];

/// A job: it computes for `pre` nanoseconds, submits `children`, and one that follows it unless `chain` is 0, and computes for
/// `post`.
#[derive(Clone, Copy, Default)]
pub(crate) struct Job {
    pub(crate) chain: u32,
    pub(crate) children: u32,
    pub(crate) pre: f64,
    pub(crate) post: f64,
    /// The CPU that waits for its end.
    pub(crate) owner: Option<usize>,
}

/// The counts of the pool's state.
#[derive(Clone, Copy, Default)]
struct State {
    searching: usize,
    parked: usize,
}

/// An injector, or the queue of a worker.
#[derive(Default)]
struct Queue {
    /// Where jobs are taken, and where they are pushed.
    head: Line,
    tail: Line,
    /// The flags, of an injector. The queue of a worker has none.
    flags: Vec<Line>,
    jobs: RefCell<VecDeque<Job>>,
    /// How many jobs were pushed.
    put: Cell<usize>,
    /// How often jobs were pushed, and how often they were taken.
    pushed: Cell<u64>,
    taken: Cell<u64>,
    /// A thief has a claim.
    is_claimed: Cell<bool>,
    /// The CPU that pushed last, and another one that took last.
    from: Cell<usize>,
    to: Cell<Option<usize>>,
}

impl Queue {
    fn injector() -> Self {
        Self {
            flags: iter::repeat_with(Line::default).take(FLAG_LINES).collect(),
            ..Self::default()
        }
    }

    /// The lines with the flags of so many jobs from this one on, which is counted from the first that was pushed.
    fn flags(&self, first: usize, jobs: usize) -> impl Iterator<Item = &Line> {
        let lines = first / FLAGS..(first + jobs).div_ceil(FLAGS);
        let lines = if self.flags.is_empty() { 0..0 } else { lines };
        lines.map(|line| &self.flags[line % FLAG_LINES])
    }

    fn len(&self) -> usize {
        self.jobs.borrow().len()
    }

    fn push(&self, from: usize, jobs: impl IntoIterator<Item = Job>) {
        let before = self.len();
        self.jobs.borrow_mut().extend(jobs);
        self.put.set(self.put.get() + self.len() - before);
        self.from.set(from);
        self.pushed.set(self.pushed.get() + 1);
    }

    fn take(&self, count: usize) -> Vec<Job> {
        self.taken.set(self.taken.get() + u64::from(count > 0));
        self.jobs.borrow_mut().drain(..count).collect()
    }

    /// Looks whether it has jobs.
    fn look(&self, cpu: &Cpu) -> bool {
        cpu.look(&self.head);
        cpu.look(&self.tail);
        self.len() > 0
    }
}

/// What a worker sleeps on.
#[derive(Default)]
struct Parker {
    line: Line,
    has_token: Cell<bool>,
    is_asleep: Cell<bool>,
}

/// How often something has happened.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Counts {
    pub(crate) ran: u64,
    /// Announcements.
    pub(crate) parks: u64,
    /// Announcements that the worker itself withdrew.
    pub(crate) withdrawn: u64,
    /// Workers that were picked and woken.
    pub(crate) wakes: u64,
}

/// The pool.
pub(crate) struct Pool {
    cpus: usize,
    state: Line,
    counts: Cell<State>,
    roster: Lock,
    sleepers: RefCell<Vec<usize>>,
    monitor: Cell<Option<usize>>,
    injectors: Vec<Queue>,
    queues: Vec<Queue>,
    parkers: Vec<Parker>,
    pub(crate) happened: Cell<Counts>,
    /// When a job with children, or with an owner, has begun.
    pub(crate) began: Cell<Time>,
    /// The jobs that have an owner and have not ended.
    pub(crate) owned: RefCell<Vec<usize>>,
    /// How many jobs must have run for the CPU that waits to go on.
    goal: Cell<(u64, usize)>,
}

impl Pool {
    /// A pool of so many sleeping workers, on a machine of so many CPUs.
    pub(crate) fn new(workers: usize, cpus: usize) -> Rc<Self> {
        let injectors = (2 * cpus).min(MAX_INJECTORS).next_power_of_two();
        Rc::new(Self {
            cpus,
            state: Line::default(),
            counts: Cell::new(State { searching: 0, parked: workers }),
            roster: Lock::default(),
            sleepers: RefCell::new((0..workers).collect()),
            monitor: Cell::default(),
            injectors: iter::repeat_with(Queue::injector).take(injectors).collect(),
            queues: iter::repeat_with(Queue::default).take(workers).collect(),
            parkers: iter::repeat_with(Parker::default).take(workers).collect(),
            happened: Cell::default(),
            began: Cell::default(),
            owned: RefCell::default(),
            goal: Cell::default(),
        })
    }

    fn note(&self, what: impl FnOnce(&mut Counts)) {
        let mut counts = self.happened.get();
        what(&mut counts);
        self.happened.set(counts);
    }

    /// Workers that are neither searching nor parked.
    fn running(&self) -> usize {
        let State { searching, parked } = self.counts.get();
        self.queues.len() - searching - parked
    }

    pub(crate) fn parked(&self) -> usize {
        self.counts.get().parked
    }

    /// The shared lines by name, and how long each has been in transfer or, of the lock, held; of several of a kind the longest.
    pub(crate) fn busy(&self) -> [(&'static str, Time); 4] {
        let busiest = |queues: &[Queue]| {
            let busy = queues.iter().map(|queue| queue.head.busy.get().max(queue.tail.busy.get()));
            busy.max().unwrap_or_default()
        };
        let (injector, queue) = (busiest(&self.injectors), busiest(&self.queues));
        let (state, lock) = (self.state.busy.get(), self.roster.busy.get());
        [("state", state), ("roster's lock", lock), ("injector", injector), ("queue", queue)]
    }

    /// Waits until so many jobs have run.
    pub(crate) async fn wait_for(&self, cpu: &Cpu, jobs: u64) {
        self.goal.set((jobs, cpu.index));
        while self.happened.get().ran < jobs {
            cpu.sleep(None).await;
        }
    }

    /// Submits a job that this CPU owns, and waits for its end; returns how long the submission took.
    pub(crate) async fn run(&self, cpu: &Cpu) -> Time {
        let begun = cpu.machine.now();
        self.owned.borrow_mut().push(cpu.index);
        self.inject(cpu, Job { owner: Some(cpu.index), ..Job::default() }).await;
        let submitted = cpu.machine.now() - begun;
        while self.owned.borrow().contains(&cpu.index) {
            cpu.sleep(None).await;
        }
        submitted
    }

    /// Submits a job from outside.
    pub(crate) async fn inject(&self, cpu: &Cpu, job: Job) {
        let injector = &self.injectors[cpu.index % self.injectors.len()];
        cpu.spend(cpu.costs().inject).await;
        cpu.update(&injector.tail).await;
        injector.push(cpu.index, [job]);
        // The slots of a used block are in the cache of the worker that has emptied it, two in a line, and the next exchange waits
        // for this store. The exchange of the tail is the fence, too.
        let lines = usize::from(injector.pushed.get() % 2 == 0);
        let from = injector.to.get().unwrap_or(cpu.index);
        cpu.fetch(lines, from).await;
        // So it does for that of the flag, which comes along with the slot, if that comes.
        let comes_along = lines > 0 && from != cpu.index;
        for line in injector.flags(injector.put.get() - 1, 1) {
            cpu.write_along(line, comes_along).await;
        }
        self.offer_help(cpu, 1, usize::MAX).await;
        // Beside searchers, for a backlog.
        let is_wanted = |pool: &Self| {
            let searching = pool.counts.get().searching;
            searching > 0
                && pool.running() + searching < pool.cpus
                && injector.len() > searching * BATCH
        };
        self.help_if(cpu, Some(1), is_wanted).await;
    }

    /// Adds to the counts of the state, and returns those before.
    async fn change(&self, cpu: &Cpu, searching: isize, parked: isize) -> State {
        cpu.update(&self.state).await;
        let before = self.counts.get();
        self.counts.set(State {
            searching: before.searching.wrapping_add_signed(searching),
            parked: before.parked.wrapping_add_signed(parked),
        });
        before
    }

    /// Wakes a worker, if necessary, for what the caller has published with a fence: `queued` jobs on its queue, or more elsewhere.
    async fn offer_help(&self, cpu: &Cpu, others: usize, queued: usize) {
        cpu.read(&self.state).await;
        if queued > 1 || self.monitor.get().is_none() {
            self.help(cpu, Some(others)).await;
        }
    }

    /// Picks the worker that parked last and wakes it, unless one searches. A caller that goes on keeps it off its CPU, if CPUs are
    /// free beside so many `others`.
    async fn help(&self, cpu: &Cpu, others: Option<usize>) {
        self.help_if(cpu, others, |pool| pool.counts.get().searching == 0).await;
    }

    /// The same if `is_wanted` says so, before the lock is taken and under it.
    async fn help_if(&self, cpu: &Cpu, others: Option<usize>, is_wanted: impl Fn(&Self) -> bool) {
        if !is_wanted(self) || self.parked() == 0 {
            return;
        }
        cpu.acquire(&self.roster).await;
        cpu.read(&self.state).await;
        let is_wanted = is_wanted(self);
        let picked = if is_wanted { self.sleepers.borrow_mut().pop() } else { None };
        if let Some(index) = picked {
            self.relieve(index);
            self.change(cpu, 1, -1).await;
            self.note(|counts| counts.wakes += 1);
        }
        cpu.release(&self.roster);
        let Some(index) = picked else { return };
        let running = self.running();
        if others.is_some_and(|others| running > 0 && running + others < self.cpus) {
            cpu.spend(cpu.costs().affinity).await;
        }
        let parker = &self.parkers[index];
        cpu.update(&parker.line).await;
        parker.has_token.set(true);
        if parker.is_asleep.replace(false) {
            cpu.rouse(index, cpu.about(cpu.costs().wake));
            cpu.spend(cpu.costs().call).await;
        }
    }

    /// Takes the duty from a worker that is no longer parked.
    fn relieve(&self, index: usize) {
        self.monitor.set(self.monitor.get().filter(|&monitor| monitor != index));
    }

    /// Whether anything is queued; looks at one queue after the other until then.
    fn has_work(&self, cpu: &Cpu) -> bool {
        self.injectors.iter().chain(&self.queues).any(|queue| queue.look(cpu))
    }

    /// How often each queue has moved, and whether it has jobs.
    fn marks(&self, cpu: &Cpu) -> Vec<(u64, bool)> {
        let queues = self.injectors.iter().chain(&self.queues);
        let moved = |queue: &Queue| queue.pushed.get() + queue.taken.get();
        queues.map(|queue| (moved(queue), queue.look(cpu))).collect()
    }
}

/// A worker: the thread on the CPU with its index.
pub(crate) struct Worker {
    pool: Rc<Pool>,
    cpu: Cpu,
    /// The injector that it took from last.
    cursor: Cell<usize>,
}

impl Worker {
    /// The thread of a worker, which sleeps at first.
    pub(crate) fn thread(pool: &Rc<Pool>, cpu: Cpu) -> Thread {
        let worker = Self { pool: pool.clone(), cursor: Cell::new(cpu.index), cpu };
        Box::pin(async move { worker.live().await })
    }

    fn queue(&self) -> &Queue {
        &self.pool.queues[self.cpu.index]
    }

    async fn live(&self) {
        self.wait(None).await;
        let mut job = self.hunt().await;
        for turn in 1.. {
            self.run(job).await;
            self.cpu.read(&self.pool.state).await;
            if turn % INTERVAL == 0 {
                if let Some(job) = self.refill(1, SHARE).await {
                    self.announce().await;
                    self.run(job).await;
                }
            }
            job = match self.pop().await {
                Some(job) => job,
                None => self.find().await,
            };
        }
    }

    async fn run(&self, job: Job) {
        let (pool, cpu) = (&*self.pool, &self.cpu);
        if job.children > 0 || job.owner.is_some() {
            // After the looks that found it.
            cpu.spend(0.0).await;
            pool.began.set(cpu.machine.now());
        }
        cpu.spend(cpu.costs().job + cpu.about(job.pre)).await;
        for _ in 0..job.children {
            self.submit(Job { children: 0, ..job }).await;
        }
        if let Some(chain) = job.chain.checked_sub(1) {
            self.submit(Job { chain, ..job }).await;
        }
        if job.children == 0 {
            cpu.spend(cpu.about(job.post)).await;
        }
        pool.note(|counts| counts.ran += 1);
        if let Some(owner) = job.owner {
            pool.owned.borrow_mut().retain(|&other| other != owner);
            cpu.rouse(owner, cpu.costs().transfer);
        }
        let (goal, waiter) = pool.goal.get();
        if pool.happened.get().ran == goal {
            cpu.rouse(waiter, 0.0);
        }
    }

    /// Submits a job from one that this worker runs. If its queue is full, the older half goes to an injector first.
    async fn submit(&self, job: Job) {
        let (pool, cpu) = (&*self.pool, &self.cpu);
        let is_full = self.queue().len() == CAPACITY;
        if is_full {
            let injector = &pool.injectors[cpu.index % pool.injectors.len()];
            cpu.update(&self.queue().head).await;
            cpu.update(&injector.tail).await;
            let half = self.queue().take(self.queue().len().div_ceil(2));
            let jobs = half.len();
            injector.push(cpu.index, half);
            for (number, line) in injector.flags(injector.put.get() - jobs, jobs).enumerate() {
                cpu.write_along(line, number > 0).await;
            }
        }
        cpu.write(&self.queue().tail).await;
        self.queue().push(cpu.index, [job]);
        if is_full {
            cpu.spend(cpu.costs().fence).await;
            pool.offer_help(cpu, 0, usize::MAX).await;
        } else if pool.queues.len() > 1 {
            self.announce().await;
        }
    }

    /// Wakes a peer for what is queued on this worker, except for a lone child while a peer monitors the queues.
    async fn announce(&self) {
        let queued = self.queue().len();
        if queued > 0 {
            self.cpu.spend(self.cpu.costs().fence).await;
            self.pool.offer_help(&self.cpu, 0, queued).await;
        }
    }

    async fn pop(&self) -> Option<Job> {
        let queue = self.queue();
        match queue.len() {
            0 => self.cpu.read(&queue.head).await,
            _ => self.cpu.update(&queue.head).await,
        }
        queue.take(queue.len().min(1)).pop()
    }

    async fn find(&self) -> Job {
        if let Some(job) = self.refill(self.pool.queues.len(), BATCH).await {
            self.announce().await;
            return job;
        }
        self.pool.change(&self.cpu, 1, 0).await;
        self.hunt().await
    }

    /// Looks everywhere as a searcher, and sleeps while there is nothing. It wakes a few for the jobs that it has queued, and if it was the last
    /// searcher another one for what it leaves.
    async fn hunt(&self) -> Job {
        let (pool, cpu) = (&*self.pool, &self.cpu);
        let job = loop {
            match self.search().await {
                Some(job) => break job,
                None => self.park().await,
            }
        };
        let before = pool.change(cpu, -1, 0).await;
        cpu.spend(cpu.costs().fence).await;
        let jobs = self.queue().len();
        for _ in 0..if jobs > 1 { jobs.min(FEW_AWAKE) } else { 0 } {
            let is_free = |pool: &Pool| pool.running() + pool.counts.get().searching < pool.cpus;
            pool.help_if(cpu, Some(0), is_free).await;
        }
        if before.searching == 1 && before.parked > 0 && pool.has_work(cpu) {
            pool.help(cpu, (self.queue().len() > 1).then_some(0)).await;
        }
        job
    }

    async fn search(&self) -> Option<Job> {
        let workers = self.pool.queues.len();
        for round in 0.. {
            if let Some(job) = self.refill(workers, BATCH).await {
                return Some(job);
            }
            let (start, mut is_busy) = (self.cpu.below(workers), false);
            for victim in (start..start + workers).map(|victim| victim % workers) {
                let queue = &self.pool.queues[victim];
                if queue.is_claimed.get() || victim == self.cpu.index || queue.len() == 0 {
                    queue.look(&self.cpu);
                } else if let Some(job) = self.take(queue, |queued| queued.div_ceil(2)).await {
                    return Some(job);
                }
                is_busy |= queue.is_claimed.get();
            }
            if !is_busy {
                break;
            }
            self.cpu.spend(f64::from(16_u32 << round.min(6))).await;
        }
        None
    }

    /// Takes a share of what is on an injector: returns one job and queues the others.
    async fn refill(&self, parts: usize, most: usize) -> Option<Job> {
        let injectors = &self.pool.injectors;
        for _ in 0..injectors.len() {
            self.cursor.set((self.cursor.get() + 1) % injectors.len());
            let injector = &injectors[self.cursor.get()];
            if injector.len() == 0 {
                injector.look(&self.cpu);
                continue;
            }
            let room = 1 + CAPACITY - self.queue().len();
            let share = |queued| usize::min(queued / parts + 1, most.min(room));
            let job = self.take(injector, share).await;
            if job.is_some() {
                return job;
            }
        }
        None
    }

    /// Takes the oldest jobs of a queue: returns one and queues the others.
    async fn take(&self, queue: &Queue, share: impl Fn(usize) -> usize) -> Option<Job> {
        let (cpu, own) = (&self.cpu, self.queue());
        cpu.read(&queue.tail).await;
        cpu.update(&queue.head).await;
        if queue.is_claimed.replace(true) {
            return None;
        }
        let first = queue.put.get() - queue.len();
        let mut taken = queue.take(share(queue.len()).min(queue.len())).into_iter();
        queue.flags(first, taken.len()).for_each(|line| cpu.look(line));
        queue.to.set(Some(cpu.index));
        cpu.fetch(taken.len().div_ceil(2), queue.from.get()).await;
        cpu.update(&queue.head).await;
        queue.is_claimed.set(false);
        let first = taken.next();
        if taken.len() > 0 {
            cpu.write(&own.tail).await;
            own.push(cpu.index, taken);
        }
        first
    }

    /// Announces, looks at every queue once more, and sleeps until it is picked or sees work: it is a searcher again then.
    async fn park(&self) {
        let (pool, cpu) = (&*self.pool, &self.cpu);
        cpu.acquire(&pool.roster).await;
        pool.sleepers.borrow_mut().push(cpu.index);
        cpu.read(&pool.state).await;
        let monitors = pool.running() > 0 && pool.monitor.get().is_none();
        pool.change(cpu, -1, 1).await;
        pool.note(|counts| counts.parks += 1);
        if monitors {
            pool.monitor.set(Some(cpu.index));
        }
        cpu.release(&pool.roster);
        cpu.spend(cpu.costs().fence).await;
        if pool.has_work(cpu) {
            self.withdraw().await;
        } else if monitors {
            self.monitor().await;
        } else {
            self.wait(None).await;
        }
    }

    /// Withdraws the announcement, or takes the token of the thread that has picked this worker.
    async fn withdraw(&self) {
        let (pool, cpu) = (&*self.pool, &self.cpu);
        cpu.acquire(&pool.roster).await;
        let place = pool.sleepers.borrow().iter().rposition(|&index| index == cpu.index);
        if let Some(place) = place {
            pool.sleepers.borrow_mut().remove(place);
            pool.relieve(cpu.index);
            pool.change(cpu, 1, -1).await;
            pool.note(|counts| counts.withdrawn += 1);
        }
        cpu.release(&pool.roster);
        if place.is_none() {
            self.wait(None).await;
        }
    }

    /// Sleeps until there is a token, which it takes, or for so many nanoseconds; whether there was one.
    async fn wait(&self, nanos: Option<f64>) -> bool {
        let parker = &self.pool.parkers[self.cpu.index];
        self.cpu.spend(self.cpu.costs().park).await;
        if !parker.has_token.get() {
            parker.is_asleep.set(true);
            self.cpu.sleep(nanos).await;
            parker.is_asleep.set(false);
        }
        let woken = parker.has_token.replace(false);
        if woken {
            self.cpu.update(&parker.line).await;
        }
        woken
    }

    /// Sleeps, and looks at the queues now and then while other workers run.
    async fn monitor(&self) {
        let (pool, cpu) = (&*self.pool, &self.cpu);
        let (mut marks, mut period) = (pool.marks(cpu), PERIODS[0]);
        while pool.running() > 0 {
            if self.wait(Some(period)).await {
                return;
            }
            let now = pool.marks(cpu);
            if now.iter().zip(&marks).any(|(now, before)| now.1 && now.0 == before.0) {
                return self.withdraw().await;
            }
            period = if now == marks { PERIODS[0] } else { PERIODS[1].min(2.0 * period) };
            marks = now;
        }
        cpu.acquire(&pool.roster).await;
        pool.relieve(cpu.index);
        cpu.update(&pool.state).await;
        cpu.release(&pool.roster);
        cpu.spend(cpu.costs().fence).await;
        if pool.has_work(cpu) {
            self.withdraw().await;
        } else {
            self.wait(None).await;
        }
    }
}
