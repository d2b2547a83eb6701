//! A program whose jobs meet: as many as the pool has threads wait for each other, by a lock of which the pool knows nothing. A worker
//! that sleeps beside a queued job then sleeps forever.

use std::future::poll_fn;
use std::iter;
use std::sync::Arc;
use std::task::{Poll, Waker};

use brigade::{Handle, NewThread, Thread};
use brigade_sync::{Condvar, Mutex, time};

use crate::machine;
use crate::program::{Pause, Round, Way};
use crate::verb::Settings;
use crate::world::micros;

/// Where threads meet.
pub(crate) struct Meeting {
    missing: Mutex<usize>,
    changed: Condvar,
}

impl Meeting {
    /// Of so many.
    pub(crate) fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self { missing: Mutex::new(threads), changed: Condvar::new() })
    }

    /// Another thread has come.
    pub(crate) fn come(&self) {
        let mut missing = self.missing.lock();
        *missing -= 1;
        if *missing == 0 {
            self.changed.notify_all();
        }
    }

    /// Comes, and waits until all have.
    pub(crate) fn wait(&self) {
        self.come();
        let mut missing = self.missing.lock();
        while *missing > 0 {
            missing = self.changed.wait(missing, None);
        }
    }
}

/// A gate that futures wait at.
#[derive(Default)]
pub(crate) struct Gate(Mutex<(bool, Vec<Waker>)>);

impl Gate {
    pub(crate) fn open(&self) {
        let wakers = {
            let mut state = self.0.lock();
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) async fn pass(&self) {
        poll_fn(|context| {
            let mut state = self.0.lock();
            if state.0 {
                return Poll::Ready(());
            }
            state.1.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }
}

impl Pause {
    pub(crate) fn take(self) {
        match self {
            Self::Nothing => {}
            Self::Yields => brigade_sync::thread::yield_now(),
            Self::Sleeps(time) => time::sleep(micros(time)),
        }
    }
}

fn execute(pool: Handle, job: impl FnOnce() + Send + 'static) {
    assert!(pool.try_execute(job).is_ok(), "the pool is open");
}

/// A job that queues the next job, and then waits for it.
fn chain(pool: Handle, meeting: Arc<Meeting>, more: usize) {
    if more > 0 {
        let next = meeting.clone();
        execute(pool, move || chain(pool, next, more - 1));
    }
    meeting.wait();
}

/// Runs a program.
pub(crate) fn run(settings: &Settings, rounds: &[Round]) {
    let owner = settings.builder().build().expect("a pool");
    machine::made(owner.handle());
    for Round { pause, others, way } in rounds {
        pause.take();
        (0..*others).for_each(|_| execute(owner.handle(), || ()));
        meet(owner.handle(), way, settings.1.into());
    }
    assert!(owner.wait_idle());
}

/// Has as many jobs as there are threads meet the calling thread.
fn meet(pool: Handle, way: &Way, threads: usize) {
    let meeting = Meeting::new(threads + 1);
    let job = || {
        let meeting = meeting.clone();
        move || meeting.wait()
    };
    let jobs = || (0..threads).map(|_| job());
    let mut others: Vec<Thread> = Vec::new();
    match way {
        Way::OneByOne => jobs().for_each(|job| execute(pool, job)),
        Way::InABatch => assert!(pool.job().execute_batch(jobs().collect::<Vec<_>>()).is_ok()),
        Way::ByTheFirst => {
            let (mut children, own) = (jobs().skip(1).collect::<Vec<_>>(), job());
            execute(pool, move || {
                children.drain(..).for_each(|child| execute(pool, child));
                own();
            });
        }
        Way::InAChain => {
            let meeting = meeting.clone();
            execute(pool, move || chain(pool, meeting, threads - 1));
        }
        Way::ByOtherThreads => {
            for job in jobs() {
                let thread = NewThread::new("outside".into(), None, move || execute(pool, job));
                others.push(thread.start().expect("a thread"));
            }
        }
        Way::AsFutures => {
            jobs().for_each(|job| assert!(pool.try_spawn(async move { job() }).is_ok()))
        }
        Way::AsTimers(times) => {
            for (job, time) in jobs().zip(times.iter().chain(iter::repeat(&0))) {
                assert!(pool.job().after(micros(*time)).execute(job).is_ok());
            }
        }
        Way::InAScope => {
            let scope = pool.scope(|scope| {
                jobs().for_each(|job| scope.execute(job));
                meeting.come();
            });
            return assert!(scope.is_ok());
        }
        Way::ThroughAGate(pause, by_this) => {
            let gate = Arc::new(Gate::default());
            for job in jobs() {
                let gate = gate.clone();
                let future = async move {
                    gate.pass().await;
                    job();
                };
                assert!(pool.try_spawn(future).is_ok());
            }
            pause.take();
            if *by_this { gate.open() } else { execute(pool, move || gate.open()) }
        }
    }
    meeting.wait();
    others.into_iter().for_each(Thread::join);
}
