//! An awaited job runs at the class of the job that waits for it.

use std::future::Future as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use brigade::{
    Builder, Handle, JoinHandle, Pool, Priority, Queueing, TaskSet, current_priority, yield_now,
};
use brigade_testkit::{Gate, Latch, eventually, test};

use crate::support::busy::occupy;
use crate::support::crowd::for_both_queueings;

/// A pool with one thread, which is busy, and the order in which its jobs run.
struct Busy {
    pool: Pool,
    gate: Gate,
    log: Arc<Mutex<Vec<&'static str>>>,
}

impl Busy {
    fn new(builder: Builder) -> Self {
        let pool = builder.threads(1).spare_threads(0).build().unwrap();
        let gate = Gate::closed();
        occupy(&pool, &gate);
        Self { pool, gate, log: Arc::default() }
    }

    fn log(&self, name: &'static str) -> impl FnOnce() + Send + use<> {
        let log = self.log.clone();
        move || log.lock().unwrap().push(name)
    }

    fn closure(&self, class: Priority, name: &'static str) -> JoinHandle<()> {
        self.pool.job().priority(class).submit(self.log(name)).unwrap()
    }

    /// A future that is polled twice.
    fn future(&self, class: Priority, name: &'static str) -> JoinHandle<()> {
        let log = self.log(name);
        let polled = async {
            yield_now().await;
            log();
        };
        self.pool.job().priority(class).spawn(polled).unwrap()
    }

    /// Many normal jobs.
    fn crowd(&self) {
        for _ in 0..20 {
            self.pool.execute(self.log("crowd"));
        }
    }

    /// Lets all run; returns the order of the first `count`.
    fn first(self, count: usize) -> Vec<&'static str> {
        self.gate.open();
        self.pool.wait_idle();
        let log = self.log.lock().unwrap();
        log[..count].to_vec()
    }
}

#[test(for_both_queueings)]
fn an_awaited_job_runs_at_its_waiters_class(builder: Builder) {
    let busy = Busy::new(builder);
    let closure = busy.closure(Priority::Low, "closure");
    let future = busy.future(Priority::Low, "future");
    busy.crowd();
    let log = busy.log("waiter");
    let waits = async {
        closure.await.unwrap();
        future.await.unwrap();
        log();
    };
    drop(busy.pool.job().priority(Priority::High).spawn(waits).unwrap());
    assert_eq!(busy.first(4), ["closure", "future", "waiter", "crowd"]);
}

#[test(for_both_queueings)]
fn a_joined_job_runs_at_its_waiters_class(builder: Builder) {
    let busy = Busy::new(builder);
    let closure = busy.closure(Priority::Low, "closure");
    let future = busy.future(Priority::Low, "future");
    let mut timed = busy.closure(Priority::Low, "timed");
    busy.crowd();
    let log = busy.log("waiter");
    let waits = move || {
        timed.join_timeout(Duration::MAX).unwrap().unwrap();
        future.join().unwrap();
        closure.join().unwrap();
        log();
    };
    busy.pool.job().priority(Priority::High).execute(waits).unwrap();
    assert_eq!(busy.first(5), ["timed", "future", "closure", "waiter", "crowd"]);
}

/// A set that the high job has been given.
#[test(queueing in [Queueing::Stealing, Queueing::Shared])]
fn a_sets_jobs_run_at_its_waiters_class(queueing: Queueing) {
    for way in 0..3 {
        let busy = Busy::new(Pool::builder().queueing(queueing));
        let mut set = TaskSet::new(&busy.pool);
        set.job().priority(Priority::Low).submit(busy.log("closure")).unwrap();
        let log = busy.log("future");
        let polled = async {
            yield_now().await;
            log();
        };
        set.job().priority(Priority::Low).spawn(polled).unwrap();
        busy.crowd();
        let job = busy.pool.job().priority(Priority::High);
        match way {
            0 => job.execute(move || _ = set.wait_all()).unwrap(),
            1 => job.execute(move || _ = set.wait_all_timeout(Duration::MAX)).unwrap(),
            _ => {
                let waits = async move { while set.join_next_async().await.is_some() {} };
                drop(job.spawn(waits).unwrap());
            }
        }
        let mut first = busy.first(3);
        first.sort_unstable();
        assert_eq!(first, ["closure", "crowd", "future"], "way {way}");
    }
}

/// The low future had been polled, and waits for a low closure.
#[test(for_both_queueings)]
fn the_class_follows_a_chain_of_waits(builder: Builder) {
    let pool = builder.threads(1).spare_threads(0).build().unwrap();
    let (handle, latch, gate) = (pool.handle(), Latch::default(), Gate::closed());
    let log: Arc<Mutex<Vec<&'static str>>> = Arc::default();
    let push = |name: &'static str| {
        let log = log.clone();
        move || log.lock().unwrap().push(name)
    };
    let low = |handle: Handle| handle.job().priority(Priority::Low);
    let (opened, last) = (latch.clone(), push("last"));
    let chain = async move {
        opened.wait().await;
        let inner = handle.job().priority(Priority::Low).submit(last).unwrap();
        inner.await.unwrap();
        current_priority()
    };
    let middle = low(pool.handle()).spawn(chain).unwrap();
    eventually("it waits", || latch.waiting() == 1);
    occupy(&pool, &gate);
    // Polled before the high job exists: then it waits for the closure.
    latch.open();
    for _ in 0..20 {
        pool.execute(push("crowd"));
    }
    let high = pool.job().priority(Priority::High).spawn(middle).unwrap();
    gate.open();
    assert_eq!(high.join().unwrap().unwrap(), Priority::High);
    pool.wait_idle();
    assert_eq!(log.lock().unwrap()[..2], ["last", "crowd"]);
}

#[test(for_both_queueings)]
fn a_normal_waiter_raises_a_low_job(builder: Builder) {
    let busy = Busy::new(builder);
    busy.pool.job().priority(Priority::Low).execute(busy.log("low")).unwrap();
    let (closure, future) =
        (busy.closure(Priority::Low, "closure"), busy.future(Priority::Low, "future"));
    let waits = async {
        closure.await.unwrap();
        future.await.unwrap();
    };
    drop(busy.pool.spawn(waits));
    assert_eq!(busy.first(3), ["closure", "future", "low"]);
}

/// A thread outside has no class, and a high job waits for no class below it.
#[test(for_both_queueings)]
fn other_waits_raise_nothing(builder: Builder) {
    let busy = Busy::new(builder);
    let low = busy.closure(Priority::Low, "low");
    let limited = busy.pool.limited(1);
    let (class, log) = (busy.pool.job().priority(Priority::Low), busy.log("limited"));
    let (send, receive) = std::sync::mpsc::channel();
    class.execute(move || send.send(limited.submit(log)).unwrap()).unwrap();
    let waits = std::thread::spawn(move || low.join().unwrap());
    busy.crowd();
    let Busy { pool, gate, log } = busy;
    gate.open();
    receive.recv().unwrap().join().unwrap();
    waits.join().unwrap();
    pool.wait_idle();
    assert_eq!(log.lock().unwrap()[..20], ["crowd"; 20]);
}

/// Its handle is gone once the second job runs it, and its panic reaches the pool.
#[test(for_both_queueings)]
fn a_raised_job_is_one_job(builder: Builder) {
    let busy = Busy::new(builder);
    let closure = busy.closure(Priority::Low, "closure");
    let panics = busy.pool.job().priority(Priority::Low).submit(|| panic!("expected")).unwrap();
    let cancelled = busy.closure(Priority::Low, "cancelled");
    let mut some: Vec<_> = [closure, panics, cancelled].into();
    // Polls each once, and then drops the first two.
    let polls = std::future::poll_fn(move |context| {
        for job in &mut some {
            assert!(std::pin::Pin::new(job).poll(context).is_pending());
        }
        assert!(some.pop().unwrap().cancel());
        some.clear();
        std::task::Poll::Ready(())
    });
    busy.pool.job().priority(Priority::High).spawn(polls).unwrap();
    busy.crowd();
    let handle = busy.pool.handle();
    busy.gate.open();
    busy.pool.wait_idle();
    let metrics = handle.metrics();
    // Those that occupy the thread and poll, too.
    let counts = (metrics.accepted, metrics.returned, metrics.panicked, metrics.cancelled);
    assert_eq!(counts, (25, 23, 1, 1));
    assert_eq!((metrics.queued, metrics.running), (0, 0));
    assert_eq!(busy.first(2), ["closure", "crowd"]);
}

/// Beside normal jobs without end, which leave no turn to the low lane for a while.
#[test(for_both_queueings)]
fn raised_jobs_leave_few_entries(builder: Builder) {
    let pool = builder.threads(1).spare_threads(0).build().unwrap();
    let (handle, stop) = (pool.handle(), Gate::closed());
    let until = stop.clone();
    pool.execute(move || super::waits::go_on(&until, || ()));
    let raises = async move {
        let mut most = 0;
        for number in 0..3_000 {
            let low = handle.job().priority(Priority::Low).submit(move || number).unwrap();
            assert_eq!(low.await.unwrap(), number);
            if number % 100 == 0 {
                // With the entries of jobs that have ended.
                most = most.max(handle.dump().queued_low);
            }
        }
        most
    };
    let most = pool.job().priority(Priority::High).spawn(raises).unwrap().join().unwrap();
    stop.open();
    assert!(most < 300, "{most} entries");
}
