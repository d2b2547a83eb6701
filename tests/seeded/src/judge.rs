//! Judges that no work waits beside a thread that may run it, while other jobs compute for long; and that jobs do not lie on each other without bound.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use brigade::Handle;
use brigade_sync::{Mutex, time};

use crate::levels::is_worker_of;
use crate::machine::{IS_SEEDED, PerRun, clock, number};
use crate::program::Thing;

/// Jobs that may lie on each other on a thread: the engine's 64, and the jobs around them. Where the stack's end is known, as many as it has room for.
const MOST_NESTED: usize = if IS_SEEDED { 80 } else { 1_000_000 };
/// How often a long job looks, how long it lasts, and how long work may wait. Of the time, only that counts in which no thread can go on.
/// Threads of the system may always be late.
const LOOK: Duration = Duration::from_millis(if IS_SEEDED { 20 } else { 2 });
const LASTS: Duration = Duration::from_millis(if IS_SEEDED { 160 } else { 0 });
const PROMISE: Duration = Duration::from_millis(if IS_SEEDED { 50 } else { 1_000_000 });
/// Looks of a long job, at most: other threads may always go on.
const MOST_LOOKS: u32 = 40;

static JUDGE: PerRun<Judge> = PerRun::new(Judge::NEW);

struct Judge {
    dues: Vec<Arc<Due>>,
    /// For each thread, the work that each wait is for, the innermost last; a job that computes is such a wait, for nothing.
    waits: BTreeMap<usize, Vec<Awaited>>,
    nested: BTreeMap<usize, usize>,
    /// The first work that waited for too long. The program goes on to its end: a job that panics would wait, as it unwinds, for
    /// jobs that no model runs meanwhile.
    late: Option<String>,
}

impl Judge {
    const NEW: Self =
        Self { dues: Vec::new(), waits: BTreeMap::new(), nested: BTreeMap::new(), late: None };
}

/// What a wait is for, and whether its thread may run that: not in a call with a time limit.
type Awaited = Option<(Arc<Due>, bool)>;

/// Work of a pool that may run from some time on.
pub(crate) struct Due {
    pool: Handle,
    what: String,
    /// A timer or I/O wakes it.
    has_event: bool,
    from: Mutex<Option<Instant>>,
    /// The thread that has woken the future, once its time has come.
    woken_by: Mutex<Option<usize>>,
    is_done: AtomicBool,
    /// The time without any thread that could go on, when the work was first seen to wait beside a thread that may run it.
    seen: Mutex<Option<Duration>>,
}

/// Wakes a future, and notes the thread.
struct Notes(Arc<Due>, Waker);

impl Wake for Notes {
    fn wake(self: Arc<Self>) {
        *self.0.woken_by.lock() = Some(number());
        self.1.wake_by_ref();
    }
}

/// Ends a wait, or a job, of the calling thread.
pub(crate) struct Leaves(fn(&mut Judge, usize));

impl Drop for Leaves {
    fn drop(&mut self) {
        JUDGE.with_borrow_mut(|judge| (self.0)(judge, number()));
    }
}

/// A program begins.
pub(crate) fn begin() {
    JUDGE.set(Judge::NEW);
}

/// A program has ended. Fails if work has waited for too long.
pub(crate) fn end() {
    let late = JUDGE.with_borrow_mut(|judge| judge.late.take());
    assert!(late.is_none(), "{}", late.unwrap_or_default());
}

impl Due {
    pub(crate) fn new(pool: Handle, what: Thing) -> Arc<Self> {
        let has_event = !matches!(
            what,
            Thing::AGate(_) | Thing::AClosure | Thing::ALongClosure(_) | Thing::AnotherPoolsClosure
        );
        let what = format!("{what:?}");
        let is_done = AtomicBool::new(false);
        let (from, woken_by, seen) = (Mutex::new(None), Mutex::new(None), Mutex::new(None));
        let due = Arc::new(Self { pool, what, has_event, from, woken_by, is_done, seen });
        JUDGE.with_borrow_mut(|judge| judge.dues.push(due.clone()));
        due
    }

    /// It may run after that time.
    pub(crate) fn after(&self, time: Duration) {
        *self.from.lock() = Some(time::now() + time);
    }

    /// It runs, or is gone.
    pub(crate) fn done(&self) {
        self.is_done.store(true, Relaxed);
    }

    /// The future, for which the calling pool's workers wait for timers or I/O.
    pub(crate) async fn watch(self: &Arc<Self>, future: impl Future<Output = ()>) {
        let mut future = pin!(future);
        poll_fn(|context| {
            let waker = Waker::from(Arc::new(Notes(self.clone(), context.waker().clone())));
            future.as_mut().poll(&mut Context::from_waker(&waker))
        })
        .await;
        self.done();
    }

    /// Notes if it has waited for long.
    fn look(self: &Arc<Self>) {
        let mut seen = self.seen.lock();
        let is_due = self.from.lock().is_some_and(|from| from <= time::now());
        if self.is_done.load(Relaxed) || !is_due || !self.may_go_on() {
            *seen = None;
            return;
        }
        let now = clock::idle();
        let waited = now - *seen.get_or_insert(now);
        let woken_by = *self.woken_by.lock();
        if waited > PROMISE {
            let what = &self.what;
            let late =
                format!("{what} waits beside a thread that may run it, woken by {woken_by:?}");
            JUDGE.with_borrow_mut(|judge| _ = judge.late.get_or_insert(late));
        }
    }

    /// Whether a worker sleeps, which may run it or poll for its event; or a worker in a wait may: it polls for any, and runs what it has woken
    /// itself and waits for.
    fn may_go_on(self: &Arc<Self>) -> bool {
        let metrics = self.pool.metrics();
        let woken_by = *self.woken_by.lock();
        let is_polled = |thread, (due, runs): (Arc<Self>, bool)| match woken_by {
            None => self.has_event && due.pool == self.pool,
            Some(by) => runs && thread == by && Arc::ptr_eq(&due, self),
        };
        let waits = JUDGE.with_borrow(|judge| {
            let innermost =
                |(thread, waits): (&usize, &Vec<Awaited>)| Some((*thread, waits.last()?.clone()?));
            judge.waits.iter().filter_map(innermost).any(|(thread, what)| is_polled(thread, what))
        });
        !metrics.is_closed && (metrics.idle_threads > 0 || waits)
    }
}

/// The calling thread waits for this work until the result is dropped. Whether it is a worker of the work's pool matters.
pub(crate) fn waits_for(due: Option<&Arc<Due>>, runs: bool) -> Leaves {
    let due = due.filter(|due| is_worker_of(due.pool)).map(|due| (due.clone(), runs));
    JUDGE.with_borrow_mut(|judge| judge.waits.entry(number()).or_default().push(due));
    Leaves(|judge, thread| drop(judge.waits.entry(thread).or_default().pop()))
}

/// A job begins on the calling thread, and ends when the result is dropped.
pub(crate) fn nests() -> Leaves {
    JUDGE.with_borrow_mut(|judge| {
        let nested = judge.nested.entry(number()).or_default();
        *nested += 1;
        assert!(*nested <= MOST_NESTED, "jobs lie on each other without bound");
    });
    Leaves(|judge, thread| *judge.nested.entry(thread).or_default() -= 1)
}

/// Occupies the thread for long, and looks whether work waits that another thread may run.
pub(crate) fn compute() {
    let (_computes, begun) = (waits_for(None, false), clock::idle());
    for _ in 0..MOST_LOOKS {
        time::sleep(LOOK);
        let dues = JUDGE.with_borrow(|judge| judge.dues.clone());
        dues.iter().for_each(Due::look);
        if clock::idle() - begun > LASTS {
            return;
        }
    }
}
