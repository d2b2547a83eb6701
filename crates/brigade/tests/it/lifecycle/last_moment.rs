//! Calls of a pool from destructors that run in its last moment: each returns, and the pool ends.

use std::future::pending;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use brigade::time::{interval, sleep, timeout};
use brigade::{Handle, Pool, Shutdown, TaskSet, block_on, spawn_local, yield_now};
use brigade_testkit::spin_for;

const FAR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_micros(100);

/// A hang, on any machine.
const LIMIT: Duration = Duration::from_secs(60);

type Call = fn(Handle);
type Hold = fn(&Pool, Calls);
type End = fn(Pool);

/// What a destructor may call, with names. It may get an error, or panic.
const CALLS: [(&str, Call); 18] = [
    ("after", |pool| _ = pool.job().after(SOON).execute(|| ())),
    ("every", |pool| _ = pool.job().every(SOON).execute(|| ())),
    ("spawn", |pool| _ = pool.try_spawn(sleep(SOON))),
    ("spawn_local", |_| _ = spawn_local(sleep(SOON))),
    ("submit and join", |pool| _ = pool.try_submit(|| 1).map(|job| job.join())),
    ("spawn and join", |pool| _ = pool.try_spawn(sleep(SOON)).map(|job| job.join())),
    ("scope", |pool| _ = pool.scope(|s| drop(s.spawn(yield_now())))),
    ("install", |pool| _ = pool.install(|| brigade::join(|| 1, || 2))),
    ("broadcast", |pool| pool.broadcast(|_| ()).into_iter().for_each(|share| drop(share.join()))),
    ("free block_on", |_| block_on(sleep(SOON))),
    ("block_on", |pool| pool.block_on(sleep(SOON))),
    ("timeout", |pool| _ = pool.block_on(timeout(SOON, pending::<()>()))),
    ("interval", |pool| _ = pool.block_on(async { interval(SOON).tick().await })),
    ("TaskSet", |pool| {
        let mut set = TaskSet::<()>::new(pool);
        _ = set.try_submit(|| ());
        _ = set.try_spawn(yield_now());
        _ = set.join_next();
    }),
    ("reserve", |pool| _ = pool.block_on(pool.job().reserve())),
    ("wait_idle", |pool| _ = pool.wait_idle()),
    ("shutdown", |pool| _ = pool.shutdown(Shutdown::Drain)),
    ("metrics", |pool| _ = (pool.metrics(), pool.dump(), pool.size(), pool.resize(1..=2))),
];

/// Makes its call when it is dropped.
struct Calls(Handle, Call);

impl Drop for Calls {
    fn drop(&mut self) {
        _ = panic::catch_unwind(AssertUnwindSafe(|| (self.1)(self.0)));
    }
}

/// What has the destructor until the pool ends.
const HOLDERS: [(&str, Hold); 4] = [
    ("a future", |pool, calls| {
        let (waits, begun) = mpsc::channel();
        drop(pool.spawn(async move {
            let _calls = calls;
            _ = waits.send(());
            sleep(FAR).await;
        }));
        _ = begun.recv();
    }),
    ("a local future", |pool, calls| {
        let local = async move {
            let _calls = calls;
            pending::<()>().await;
        };
        // The closure moves it to the worker: what is in it is `Send`.
        _ = pool.submit(move || drop(spawn_local(local))).join();
    }),
    ("a timer", |pool, calls| {
        _ = pool.job().after(FAR).execute(move || drop(calls)).map(drop);
    }),
    ("a closure", |pool, calls| {
        pool.execute(move || {
            let _calls = calls;
            spin_for(SOON);
        });
    }),
];

const ENDS: [(&str, End); 3] = [
    ("drop", drop),
    ("Discard", |pool| _ = pool.shutdown(Shutdown::Discard)),
    ("close and drop", |pool| {
        pool.close();
        drop(pool);
    }),
];

#[test]
fn every_call_in_a_destructor_returns() {
    let (begin, begun) = mpsc::channel();
    let calls = thread::spawn(move || {
        for (call, calls) in CALLS {
            for (holder, hold) in HOLDERS {
                for (way, end) in ENDS {
                    for threads in [1, 2] {
                        let of = format!("{call} in {holder}, {way}, {threads} threads");
                        begin.send(of).unwrap();
                        let pool = Pool::new(threads);
                        hold(&pool, Calls(pool.handle(), calls));
                        end(pool);
                    }
                }
            }
        }
    });
    let mut last = String::new();
    loop {
        match begun.recv_timeout(LIMIT) {
            Ok(next) => last = next,
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("it hangs: {last}"),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    calls.join().unwrap();
}
