//! The table's columns: the place of the call, and the event that ends its wait.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::Mutex;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use brigade::{Handle, JoinHandle, LocalPool, Pool, Shutdown};
use brigade_testkit::{Gate, at_exit, eventually, panics};

use crate::outcome::{Outcome, RESULT};
use crate::rows::{For, Given, Need, ROWS, Row};
use crate::run::Case;

/// Where the call is made.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Worker,
    Future,
    Outside,
    Owner,
    OwnersJob,
    /// In the destructor of a thread-local, after the destructors of the library have run. The `LocalPool` is made there, or before.
    LateOutside,
    LateOwner,
    LateUser,
}

/// The event that must happen before the wait is over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    /// A share of a broadcast runs, which only the calling thread may run.
    Share,
    /// A job bound to the calling thread runs.
    OnWorker,
    /// A local future of the calling thread is polled, and polled again.
    Local,
    /// A queued job runs, and all threads of its pool are in such waits: with spare threads as by default, and without.
    NoThread,
    NoSpare,
    /// The pool of a pending future is drained, or discarded.
    Draining,
    Discarded,
    /// A future of the pool has waited for a timer, and the calling job has been cancelled.
    Cancelled,
    /// A future of the pool has waited for a timer, and a local future of the calling thread always yields.
    Yielding,
}

const PLACES: [(Place, &str); 8] = [
    (Place::Worker, "on a worker"),
    (Place::Future, "in a future"),
    (Place::Outside, "outside"),
    (Place::Owner, "by an owner"),
    (Place::OwnersJob, "in an owner's job"),
    (Place::LateOutside, "in a late destructor"),
    (Place::LateOwner, "by an owner in a late destructor"),
    (Place::LateUser, "by an earlier owner in a late destructor"),
];

const EVENTS: [(Event, &str); 9] = [
    (Event::Share, "own share"),
    (Event::OnWorker, "on_worker"),
    (Event::Local, "local future"),
    (Event::NoThread, "no thread left"),
    (Event::NoSpare, "no spare threads"),
    (Event::Draining, "draining"),
    (Event::Discarded, "discarded"),
    (Event::Cancelled, "cancelled opener"),
    (Event::Yielding, "yielding local"),
];

#[derive(Clone, Copy)]
struct Cell {
    row: &'static Row,
    place: Place,
    event: Event,
}

/// All cells that apply.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for row in ROWS {
        for (event, for_what) in EVENTS {
            for (place, by) in PLACES {
                if not_applicable(row, place, event).is_none() {
                    let cell = Cell { row, place, event };
                    let name = format!("{}, {for_what}, {by}", row.name);
                    cases.push(Case::new(name, move || cell.run()));
                }
            }
        }
    }
    cases
}

/// Why there is no such cell.
fn not_applicable(row: &Row, place: Place, event: Event) -> Option<&'static str> {
    use Event::{Cancelled, Draining, Local, NoSpare, NoThread, OnWorker, Share, Yielding};
    use Place::{Future, LateOwner, LateUser, Outside, Owner, OwnersJob, Worker};
    let late = match (place, event) {
        (LateOwner, Share | OnWorker | Yielding) => Some("to the pool that is the same mail"),
        (LateUser, event) if event != NoThread => Some("the same as if it were made there"),
        _ => None,
    };
    let place = match place {
        Place::LateOutside => Outside,
        LateOwner | LateUser => Owner,
        place => place,
    };
    late.or(match (place, event) {
        (Outside, Share | OnWorker | Local | Yielding) => {
            Some("no job is bound to a foreign thread")
        }
        (Outside | Owner, Cancelled) => Some("the thread is in no job"),
        (Owner | OwnersJob, NoSpare) => Some("no LocalPool has spare threads"),
        (Future | OwnersJob, Yielding) => Some("to the thread that is the same wait"),
        (Owner, Draining) if row.waits != For::Job => Some("the pool waits for its owner's wait"),
        (Worker | Future | OwnersJob, Draining) if row.waits == For::More => {
            Some("the pool waits for the job, and does not see that the job waits for its future")
        }
        _ => None,
    })
}

impl Cell {
    /// Makes the call; an error says how its end is wrong.
    fn run(self) -> Result<(), String> {
        let ends = match self.event {
            Event::Draining | Event::Discarded => Outcome::Refused,
            _ => Outcome::Result,
        };
        let ended = match self.place {
            Place::Worker | Place::Future => self.on_a_pool(),
            Place::Outside => self.outside(),
            Place::Owner => self.by_an_owner(LocalPool::new().unwrap()),
            Place::OwnersJob => self.in_an_owners_job(),
            Place::LateOutside => late(false, move |_| self.outside()),
            Place::LateOwner => late(false, move |_| self.by_an_owner(LocalPool::new().unwrap())),
            Place::LateUser => late(true, move |local| self.by_an_owner(local.unwrap())),
        };
        if ended == ends { Ok(()) } else { Err(format!("{ended:?}")) }
    }

    fn on_a_pool(&self) -> Outcome {
        let pool = self.pool();
        let (gate, busy) = (Gate::closed(), Gate::closed());
        let holds = gate.clone();
        // Then the callers are queued before the first of them runs.
        let (holds_one, is_held) = (self.is_crowded(), busy.clone());
        pool.execute(move || {
            is_held.open();
            if holds_one {
                holds.wait();
            }
        });
        busy.wait();
        let (told, tells) = mpsc::channel();
        let (begun, begins) = mpsc::channel();
        let callers: Vec<_> = (0..if self.is_crowded() { 3 } else { 1 })
            .map(|_| {
                let call = self.job(pool.handle(), begun.clone(), told.clone());
                match self.place {
                    Place::Future => pool.spawn(async move { call() }),
                    _ => pool.submit(call),
                }
            })
            .collect();
        drop((told, begun));
        gate.open();
        match self.how_it_ends() {
            Some(how) => {
                begins.recv().unwrap();
                pool.shutdown(how);
            }
            None if self.event == Event::Cancelled => {
                begins.recv().unwrap();
                callers[0].cancel();
            }
            None => {}
        }
        let outcomes: Vec<_> = tells.iter().collect();
        if outcomes.len() < callers.len() {
            return Outcome::Wrong("a caller did not run".into());
        }
        drop(pool);
        let first = outcomes[0].clone();
        outcomes.into_iter().find(|outcome| *outcome != first).unwrap_or(first)
    }

    fn outside(&self) -> Outcome {
        let pool = self.pool();
        let home = pool.handle();
        let job = self.make(home, None);
        let ender = self.how_it_ends().map(|how| thread::spawn(move || home.shutdown(how)));
        let outcome = self.call(job, home, None);
        ender.into_iter().for_each(|ender| _ = ender.join().unwrap());
        outcome
    }

    fn by_an_owner(&self, local: LocalPool) -> Outcome {
        let home = local.handle();
        let _yields = self.yields(Some(&local));
        let job = self.make(home, Some(&local));
        match self.event {
            Event::Draining => local.close(),
            Event::Discarded => _ = local.shutdown(Shutdown::Discard),
            _ => {}
        }
        self.call(job, home, Some(&local))
    }

    fn in_an_owners_job(&self) -> Outcome {
        let local = LocalPool::new().unwrap();
        let (told, tells) = mpsc::channel();
        let (begun, begins) = mpsc::channel();
        let home = local.handle();
        let caller = local.submit(self.job(home, begun, told));
        let (how, cancels) = (self.how_it_ends(), self.event == Event::Cancelled);
        let cancel = caller.cancel_handle();
        let other = thread::spawn(move || {
            if how.is_some() || cancels {
                begins.recv().unwrap();
            }
            how.into_iter().for_each(|how| _ = home.shutdown(how));
            if cancels {
                cancel.cancel();
            }
        });
        local.run_until_idle();
        let outcome = tells.recv().unwrap_or(Outcome::Wrong("the caller did not run".into()));
        drop(local);
        other.join().unwrap();
        outcome
    }

    /// The caller, a job of its pool.
    fn job(
        &self,
        home: Handle,
        begun: mpsc::Sender<()>,
        told: mpsc::Sender<Outcome>,
    ) -> impl FnOnce() + Send + use<> {
        let cell = *self;
        move || {
            let _yields = cell.yields(None);
            let cancels = cell.event == Event::Cancelled;
            let job = (!cancels).then(|| cell.make(home, None));
            _ = begun.send(());
            eventually("it is cancelled", || !cancels || brigade::cancelled());
            let job = job.unwrap_or_else(|| cell.make(home, None));
            _ = told.send(cell.call(job, home, None));
        }
    }

    /// Makes the call; a panic of the pool that says that it is closed is a rejection.
    fn call(&self, job: JoinHandle<u32>, home: Handle, local: Option<&LocalPool>) -> Outcome {
        let need = Need {
            job: Mutex::new(Some(job)),
            has_helper: self.has_helper(),
            begun: Gate::closed(),
        };
        let given = Given { need, home, local };
        let called = panic::catch_unwind(AssertUnwindSafe(|| (self.row.call)(&given)));
        called.unwrap_or_else(|payload| panicked(&*payload))
    }

    /// The job that ends the wait.
    fn make(&self, home: Handle, local: Option<&LocalPool>) -> JoinHandle<u32> {
        let own = brigade::current_worker_index().unwrap_or(0);
        match self.event {
            Event::Share => home.broadcast(|_| RESULT).swap_remove(own),
            Event::OnWorker => home.job().on_worker(own).submit(|| RESULT).unwrap(),
            Event::Local => spawn_local(local, async {
                brigade::yield_now().await;
                RESULT
            }),
            Event::NoThread | Event::NoSpare => home.submit(|| RESULT),
            Event::Draining | Event::Discarded => home.spawn(std::future::pending()),
            Event::Cancelled | Event::Yielding => home.spawn(async {
                brigade::sleep(Duration::from_millis(1)).await;
                RESULT
            }),
        }
    }

    /// A local future of this thread that always yields, until this is dropped.
    fn yields(&self, local: Option<&LocalPool>) -> Option<JoinHandle<()>> {
        let future = async {
            loop {
                brigade::yield_now().await;
            }
        };
        (self.event == Event::Yielding).then(|| spawn_local(local, future).cancel_on_drop())
    }

    fn pool(&self) -> Pool {
        let builder = Pool::builder().threads(self.threads()).prestart(self.threads());
        let builder = match self.event {
            Event::NoSpare => builder.spare_threads(0),
            _ => builder,
        };
        builder.build().unwrap()
    }

    fn threads(&self) -> usize {
        if self.is_crowded() || self.event == Event::Yielding { 1 } else { 2 }
    }

    /// Whether the pool has one thread, and several jobs that wait.
    fn is_crowded(&self) -> bool {
        matches!(self.event, Event::NoThread | Event::NoSpare)
    }

    fn has_helper(&self) -> bool {
        let is_on_a_pool = matches!(self.place, Place::Worker | Place::Future);
        is_on_a_pool && self.threads() > 1 && self.how_it_ends().is_none()
    }

    fn how_it_ends(&self) -> Option<Shutdown> {
        match self.event {
            Event::Draining => Some(Shutdown::Drain),
            Event::Discarded => Some(Shutdown::Discard),
            _ => None,
        }
    }
}

/// Spawns a local future to this pool, or else on this worker.
fn spawn_local<F>(local: Option<&LocalPool>, future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    match local {
        Some(local) => local.spawn_local(future),
        None => brigade::spawn_local(future),
    }
}

/// Calls a closure in a thread-local's destructor, after the destructors of the library have run; with a `LocalPool` made before.
fn late(has_local: bool, call: impl Fn(Option<LocalPool>) -> Outcome + Send + 'static) -> Outcome {
    let (told, tells) = mpsc::channel();
    let thread = thread::spawn(move || {
        let local = Rc::new(RefCell::new(None));
        let made = local.clone();
        // Before the library's first use of a thread-local, so that this thread-local is dropped last.
        at_exit(move || {
            let called = panic::catch_unwind(AssertUnwindSafe(|| call(made.take())));
            _ = told.send(called.unwrap_or_else(|payload| panicked(&*payload)));
        });
        let other = LocalPool::new().unwrap();
        other.run_until(brigade::sleep(Duration::from_micros(1)));
        Pool::new(1).install(|| ()).unwrap();
        local.replace(has_local.then(|| LocalPool::new().unwrap()));
    });
    let outcome = tells.recv().unwrap_or(Outcome::Wrong("no outcome".into()));
    thread.join().unwrap();
    outcome
}

fn panicked(payload: &(dyn Any + Send)) -> Outcome {
    match panics::text(payload) {
        Some(said) if is_rejection(said) => Outcome::Refused,
        said => Outcome::Wrong(format!("panicked: {said:?}")),
    }
}

/// Whether a panic says that a pool is closed, or that there is none.
fn is_rejection(said: &str) -> bool {
    said.contains("the pool is closed") || said.starts_with("a local future must be spawned")
}

/// Keeps the rejections out of the output.
pub(crate) fn silence_rejections() {
    let loud = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if !panics::text(info.payload()).is_some_and(is_rejection) {
            loud(info);
        }
    }));
}
