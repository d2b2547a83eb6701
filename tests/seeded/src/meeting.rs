//! A program whose jobs meet: as many as the pool has threads wait for each other, by a lock of which the pool knows nothing. A worker
//! that sleeps beside a queued job then sleeps forever.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use brigade::{Handle, Idle, NewThread, Order, Pool, Queueing, Thread};
use brigade_sync::{Condvar, Mutex, time};
use fastrand::Rng;

/// Where threads meet.
struct Meeting {
    missing: Mutex<usize>,
    changed: Condvar,
}

impl Meeting {
    /// Another thread has come.
    fn come(&self) {
        let mut missing = self.missing.lock();
        *missing -= 1;
        if *missing == 0 {
            self.changed.notify_all();
        }
    }

    /// Comes, and waits until all have.
    fn wait(&self) {
        self.come();
        let mut missing = self.missing.lock();
        while *missing > 0 {
            missing = self.changed.wait(missing, None);
        }
    }
}

/// A gate that futures wait at.
#[derive(Default)]
struct Gate(Mutex<(bool, Vec<Waker>)>);

impl Gate {
    fn open(&self) {
        let wakers = {
            let mut state = self.0.lock();
            state.0 = true;
            std::mem::take(&mut state.1)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    async fn pass(&self) {
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

pub(crate) fn build(random: &mut Rng, threads: usize) -> Pool {
    let mut builder = Pool::builder().threads(threads);
    if random.u8(0..3) == 0 {
        builder = builder.queueing(Queueing::Shared);
    }
    if random.bool() {
        builder = builder.order(Order::Lifo);
    }
    match random.u8(0..4) {
        0 => builder = builder.idle(Idle::Spin),
        1 => builder = builder.idle(Idle::SpinThenPark(Duration::from_micros(20))),
        _ => {}
    }
    match random.u8(0..4) {
        0 => builder = builder.prestart(0),
        1 => builder = builder.prestart(usize::MAX),
        _ => {}
    }
    if random.bool() {
        builder = builder.keep_alive(Duration::from_millis(1));
    }
    if random.bool() {
        builder = builder.fairness(random.u32(1..4));
    }
    builder.build().expect("a pool")
}

pub(crate) fn pause(random: &mut Rng) {
    match random.u8(0..3) {
        0 => {}
        1 => brigade_sync::thread::yield_now(),
        _ => time::sleep(Duration::from_micros(random.u64(0..3000))),
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

/// Runs the program of a seed.
pub(crate) fn run(random: &mut Rng) {
    let threads = random.usize(1..4);
    let owner = build(random, threads);
    for _ in 0..random.u8(1..5) {
        pause(random);
        // Others, which end at once.
        (0..random.u8(0..6)).for_each(|_| execute(owner.handle(), || ()));
        meet(owner.handle(), random, threads);
    }
    assert!(owner.wait_idle());
}

/// Has as many jobs as there are threads meet the calling thread.
fn meet(pool: Handle, random: &mut Rng, threads: usize) {
    let meeting = Arc::new(Meeting { missing: Mutex::new(threads + 1), changed: Condvar::new() });
    let job = || {
        let meeting = meeting.clone();
        move || meeting.wait()
    };
    let jobs = || (0..threads).map(|_| job());
    let mut others: Vec<Thread> = Vec::new();
    match random.u8(0..9) {
        0 => jobs().for_each(|job| execute(pool, job)),
        1 => assert!(pool.job().execute_batch(jobs().collect::<Vec<_>>()).is_ok()),
        2 => {
            let (mut children, own) = (jobs().skip(1).collect::<Vec<_>>(), job());
            execute(pool, move || {
                children.drain(..).for_each(|child| execute(pool, child));
                own();
            });
        }
        3 => {
            let meeting = meeting.clone();
            execute(pool, move || chain(pool, meeting, threads - 1));
        }
        4 => {
            for job in jobs() {
                let thread = NewThread::new("outside".into(), None, move || execute(pool, job));
                others.push(thread.start().expect("a thread"));
            }
        }
        5 => jobs().for_each(|job| assert!(pool.try_spawn(async move { job() }).is_ok())),
        6 => {
            for job in jobs() {
                let after = Duration::from_micros(random.u64(0..2000));
                assert!(pool.job().after(after).execute(job).is_ok());
            }
        }
        7 => {
            let scope = pool.scope(|scope| {
                jobs().for_each(|job| scope.execute(job));
                meeting.come();
            });
            return assert!(scope.is_ok());
        }
        _ => {
            // Futures that are woken all at once, by this thread or by a worker.
            let gate = Arc::new(Gate::default());
            for job in jobs() {
                let gate = gate.clone();
                let future = async move {
                    gate.pass().await;
                    job();
                };
                assert!(pool.try_spawn(future).is_ok());
            }
            pause(random);
            if random.bool() { gate.open() } else { execute(pool, move || gate.open()) }
        }
    }
    meeting.wait();
    others.into_iter().for_each(Thread::join);
}
