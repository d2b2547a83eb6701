//! A pool may be closed, detached, dropped and shut down anywhere: each call returns, and each accepted job has its outcome.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::support::busy::let_go;
use brigade::{Builder, Cause, Handle, JoinError, Pool, Shutdown, yield_now};
use brigade_testkit::{OnDrop, at_exit, eventually, test};

const LONG: Duration = Duration::from_secs(20);

/// How a pool ends.
type End = fn(Pool);

const ENDS: [(&str, End); 6] = [
    ("close", |pool| {
        pool.close();
        assert!(pool.metrics().is_closed);
        let_go(pool);
    }),
    ("detach", let_go),
    ("drop", drop),
    ("drain", |pool| _ = pool.shutdown(Shutdown::Drain)),
    ("finish", |pool| _ = pool.shutdown(Shutdown::Finish)),
    ("discard", |pool| _ = pool.shutdown(Shutdown::Discard)),
];

/// Ends a pool, the first time that it is called.
#[derive(Clone)]
struct Ending {
    pool: Arc<Mutex<Option<Pool>>>,
    has_begun: Arc<AtomicBool>,
    end: End,
    told: mpsc::Sender<()>,
}

impl Ending {
    fn run(&self) {
        if self.has_begun.swap(true, Ordering::SeqCst) {
            return;
        }
        eventually("the pool is there", || self.pool.lock().unwrap().is_some());
        let pool = self.pool.lock().unwrap().take();
        pool.into_iter().for_each(self.end);
        let _ = self.told.send(());
    }
}

/// A pool that is ended in some place, once it is there.
type Place = fn(Builder, Ending) -> Pool;

const PLACES: [(&str, Place); 10] = [
    ("a job", |builder, ending| {
        let pool = builder.build().unwrap();
        pool.execute(move || ending.run());
        pool
    }),
    ("a future", |builder, ending| {
        let pool = builder.build().unwrap();
        drop(pool.spawn(async move {
            yield_now().await;
            ending.run();
        }));
        pool
    }),
    ("a tick", |builder, ending| {
        let pool = builder.build().unwrap();
        let tick = pool.job().every(Duration::from_millis(1)).execute(move || ending.run());
        drop(tick.unwrap());
        pool
    }),
    ("a start hook", |builder, ending| builder.on_start(move |_| ending.run()).build().unwrap()),
    ("a stop hook", |builder, ending| {
        let pool = builder.on_stop(move |_| ending.run()).build().unwrap();
        pool.submit(|| ()).join().unwrap();
        pool.close();
        pool
    }),
    ("the stop hook of another pool", |builder, ending| {
        let other = Pool::builder().threads(1).on_stop(move |_| ending.run()).build().unwrap();
        other.submit(|| ()).join().unwrap();
        let_go(other);
        builder.build().unwrap()
    }),
    ("a destructor on its worker", |builder, ending| {
        let pool = builder.build().unwrap();
        pool.submit(move || at_exit(move || ending.run())).join().unwrap();
        pool.close();
        pool
    }),
    ("a destructor on another pool's worker", |builder, ending| {
        let other = Pool::new(1);
        other.submit(move || at_exit(move || ending.run())).join().unwrap();
        let_go(other);
        builder.build().unwrap()
    }),
    ("a destructor on a foreign thread", |builder, ending| {
        thread::spawn(move || at_exit(move || ending.run()));
        builder.build().unwrap()
    }),
    ("a thread that unwinds", |builder, ending| {
        thread::spawn(move || {
            let unwinds = AssertUnwindSafe(|| {
                let _ending = OnDrop(|| ending.run());
                panic!("expected: unwinding");
            });
            assert!(panic::catch_unwind(unwinds).is_err());
        });
        builder.build().unwrap()
    }),
];

/// Windows runs destructors of thread-locals under a lock that threads take when they start and end.
fn places() -> impl Iterator<Item = (&'static str, Place)> {
    PLACES.into_iter().filter(|(place, _)| cfg!(not(windows)) || !place.contains("a destructor"))
}

#[test(120, (place, prepare) in places(), (how, end) in ENDS, threads in [1, 2, 4])]
fn each_end_returns_in_each_place(prepare: Place, how: &'static str, end: End, threads: usize) {
    for _ in 0..5 {
        let (told, tells) = mpsc::channel();
        let (slot, has_begun) = <(Arc<Mutex<_>>, Arc<AtomicBool>)>::default();
        let ending = Ending { pool: Arc::clone(&slot), has_begun, end, told };
        let pool = prepare(Pool::builder().threads(threads), ending);
        let handle = pool.handle();
        // A place may have closed the pool.
        let submit = |n| pool.try_submit(move || n).ok();
        let jobs: Vec<_> = (0..10).filter_map(submit).collect();
        *slot.lock().unwrap() = Some(pool);
        tells.recv_timeout(LONG).expect("it hangs");
        assert!(handle.metrics().is_closed);
        assert!(handle.try_execute(|| ()).is_err());
        for (n, mut job) in jobs.into_iter().enumerate() {
            match job.join_timeout(LONG).expect("it hangs") {
                Ok(value) => assert_eq!(value, n),
                Err(JoinError::Cancelled(Cause::Ended)) => assert_eq!(how, "discard"),
                Err(other) => panic!("{other}"),
            }
        }
    }
}

#[test]
fn a_job_ending_its_own_pool_may_submit() {
    for (how, end) in ENDS.into_iter().filter(|(how, _)| *how != "discard") {
        for threads in [1, 2, 4] {
            let (give, take) = mpsc::channel();
            let pool = Pool::new(threads);
            let job = pool.submit(move || {
                end(take.recv().unwrap());
                Handle::current().unwrap().submit(|| 42).join().unwrap()
            });
            give.send(pool).unwrap();
            assert_eq!(job.join().unwrap(), 42, "{how}, {threads} threads");
        }
    }
}
