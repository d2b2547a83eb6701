//! A panic in a job, or in dropping what a job held, affects that job alone.

use std::any::Any;
use std::cell::Cell;
use std::future::poll_fn;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc;
use std::task::Poll;
use std::time::{Duration, Instant};

use crate::support::busy::occupy;
use crate::support::roll_call::{on_every_worker, thread_ids};
use brigade::{Cause, End, JoinError, JoinHandle, Pool, Shutdown, spawn_local, yield_now};
use brigade_testkit::panics::text;
use brigade_testkit::{Bomb, Drops, Gate, Latch, Token, eventually, test};

thread_local! {
    /// What a job left on its worker.
    static LEFT: Cell<u32> = const { Cell::new(0) };
}

/// A payload of no known type.
struct Custom(usize);

fn go_wrong(n: usize) {
    match n % 4 {
        0 => panic!("expected"),
        1 => panic!("expected: {n}"),
        2 => panic::panic_any(Custom(n)),
        _ => panic::panic_any(Bomb),
    }
}

#[track_caller]
fn assert_is_payload_of(n: usize, payload: Box<dyn Any + Send>) {
    match n % 4 {
        0 => assert_eq!(text(&*payload), Some("expected")),
        1 => assert_eq!(text(&*payload), Some(&*format!("expected: {n}"))),
        2 => assert_eq!(payload.downcast_ref::<Custom>().map(|custom| custom.0), Some(n)),
        _ => std::mem::forget(payload.downcast::<Bomb>().expect("a bomb")),
    }
}

#[test]
fn ten_thousand_panics_reach_their_handles() {
    let pool = Pool::new(4);
    let before = thread_ids(&pool);
    on_every_worker(&pool, || LEFT.set(7));
    let future = |n| async move {
        yield_now().await;
        go_wrong(n);
    };
    let panics = |n| match n % 9 {
        7 => pool.spawn(future(n)),
        8 => pool.submit(move || spawn_local(future(n))).join().unwrap(),
        _ => pool.submit(move || go_wrong(n)),
    };
    let jobs: Vec<_> = (0..10_000).map(panics).collect();
    let local = (0..10_000).filter(|n| n % 9 == 8).count() as u64;
    for (n, job) in jobs.into_iter().enumerate() {
        match job.join() {
            Err(JoinError::Panicked(panic)) => assert_is_payload_of(n, panic.into_payload()),
            Err(other) => panic!("job {n}: {other}"),
            Ok(()) => panic!("job {n} returned"),
        }
    }
    pool.wait_idle();
    let sums = pool.metrics();
    assert_eq!((sums.returned, sums.panicked), (8 + local, 10_000));
    assert_eq!(sums.accepted, sums.returned + sums.panicked);
    assert_eq!(sums.workers.iter().map(|worker| worker.panics).sum::<u64>(), 10_000);
    assert_eq!(on_every_worker(&pool, || LEFT.get()), [7; 4], "thread-locals are kept");
    assert_eq!(thread_ids(&pool), before, "threads are kept");
}

#[test(how in [Shutdown::Drain, Shutdown::Discard])]
fn detached_panics_are_counted_and_end_no_thread(how: Shutdown) {
    let pool = Pool::new(2);
    let before = thread_ids(&pool);
    for n in 0..2000 {
        pool.execute(move || go_wrong(n));
        drop(pool.submit(move || go_wrong(n)));
    }
    pool.wait_idle();
    assert_eq!(pool.metrics().panicked, 4000);
    assert_eq!(thread_ids(&pool), before, "threads are kept");
    (0..2000).for_each(|n| pool.execute(move || go_wrong(n)));
    let report = pool.shutdown(how);
    assert_eq!((report.ran + report.discarded, report.still_running), (6004, 0));
    assert!(report.discarded == 0 || how == Shutdown::Discard);
}

/// Counted when it is dropped, and then that panics.
type Held = (Token, Bomb);

/// How work ends that holds this, or returns it.
type Work = fn(&Pool, &Latch, Held) -> Option<JoinHandle<()>>;

fn far() -> Duration {
    Duration::from_secs(3600)
}

/// A future that has been polled and holds this while it waits.
fn waiting(pool: &Pool, latch: &Latch, held: Held) -> JoinHandle<()> {
    let waits = latch.wait();
    let job = pool.spawn(async move {
        waits.await;
        drop(held);
    });
    eventually("it waits", || latch.waiting() == 1);
    job
}

/// Where all threads are busy until the work has been given to the pool.
const WHILE_BUSY: [(&str, End, Work); 6] = [
    ("a closure that returns", End::Panicked, |pool, _, held| Some(pool.submit(move || _ = &held))),
    ("a closure that is cancelled", End::Cancelled(Cause::Asked), |pool, _, held| {
        let job = pool.submit(move || drop(held));
        assert!(job.cancel());
        Some(job)
    }),
    ("a closure that is late", End::Cancelled(Cause::Deadline), |pool, _, held| {
        let late = pool.job().deadline(Instant::now());
        Some(late.submit(move || drop(held)).unwrap())
    }),
    ("a detached closure that is late", End::Cancelled(Cause::Deadline), |pool, _, held| {
        pool.job().deadline(Instant::now()).execute(move || drop(held)).unwrap();
        None
    }),
    ("the output of a detached future", End::Returned, |pool, _, held| {
        drop(pool.spawn(async { held }));
        None
    }),
    ("the result of a detached closure", End::Panicked, |pool, _, held| {
        drop(pool.submit(move || held));
        None
    }),
];

/// Where they are idle.
const WHILE_IDLE: [(&str, End, Work); 8] = [
    ("a future after its last poll", End::Returned, |pool, _, held| {
        // What it came to stands.
        Some(pool.spawn(poll_fn(move |_| {
            let _held = &held;
            Poll::Ready(())
        })))
    }),
    ("the result of a closure whose handle goes last", End::Returned, |pool, _, held| {
        let job = pool.submit(move || held);
        eventually("it finishes", || job.is_finished());
        assert!(panic::catch_unwind(AssertUnwindSafe(|| drop(job))).is_ok());
        None
    }),
    ("a future that is cancelled", End::Cancelled(Cause::Asked), |pool, latch, held| {
        let job = waiting(pool, latch, held);
        assert!(job.cancel());
        Some(job)
    }),
    ("a future that waits as the pool ends", End::Cancelled(Cause::Ended), |pool, latch, held| {
        Some(waiting(pool, latch, held))
    }),
    ("a timed closure that is cancelled", End::Cancelled(Cause::Asked), |pool, _, held| {
        let later = pool.job().after(far()).submit(move || drop(held)).unwrap();
        assert!(later.cancel());
        Some(later)
    }),
    ("a timer that is cancelled", End::Returned, |pool, _, held| {
        let timer = pool.job().after(far()).execute(move || drop(held)).unwrap();
        assert!(timer.cancel() && timer.is_over());
        Some(pool.submit(|| ()))
    }),
    ("a timer that is cancelled during its tick", End::Returned, |pool, _, held| {
        let ((begun, begins), gate) = (mpsc::channel(), Gate::closed());
        let goes_on = gate.clone();
        let tick = move || {
            let _held = &held;
            begun.send(()).unwrap();
            goes_on.wait();
        };
        let timer = pool.job().every(Duration::from_millis(1)).execute(tick).unwrap();
        begins.recv().unwrap();
        assert!(timer.cancel());
        gate.open();
        eventually("it is over", || timer.is_over());
        None
    }),
    ("a timer of a pool that ends", End::Returned, |pool, _, held| {
        drop(pool.job().after(far()).execute(move || drop(held)).unwrap());
        Some(pool.submit(|| ()))
    }),
];

#[test(threads in [1, 2, 8])]
fn a_drops_panic_costs_no_thread_and_no_other_job(threads: usize) {
    let busy = WHILE_BUSY.map(|work| (true, work)).into_iter();
    for (is_busy, (work, end, begin)) in busy.chain(WHILE_IDLE.map(|work| (false, work))) {
        let (pool, latch, drops) = (Pool::new(threads), Latch::default(), Drops::default());
        let (before, gate, held) = (thread_ids(&pool), Gate::closed(), (drops.token(), Bomb));
        if is_busy {
            occupy(&pool, &gate);
        }
        let job = begin(&pool, &latch, held);
        gate.open();
        pool.wait_idle();
        assert_eq!(thread_ids(&pool), before, "threads are kept: {work}");
        let handle = pool.handle();
        pool.shutdown(Shutdown::Drain);
        assert_eq!(drops.count(), 1, "{work}");
        let sums = handle.metrics();
        let ends = [end == End::Panicked, matches!(end, End::Cancelled(_))].map(u64::from);
        assert_eq!([sums.panicked, sums.cancelled], ends, "{work}");
        assert_eq!(sums.accepted, sums.returned + sums.panicked + sums.cancelled, "{work}");
        let outcome = match job.map(JoinHandle::join) {
            None => end,
            Some(Ok(())) => End::Returned,
            Some(Err(JoinError::Cancelled(cause))) => End::Cancelled(cause),
            Some(Err(_)) => End::Panicked,
        };
        assert_eq!(outcome, end, "{work}");
    }
}

#[test]
fn an_inline_jobs_panic_does_not_unwind_its_joiner() {
    let pool = Pool::new(1);
    for n in 0..400 {
        let parent = pool.submit(move || {
            let child = brigade::submit(move || go_wrong(n));
            match child.join() {
                Err(JoinError::Panicked(panic)) => assert_is_payload_of(n, panic.into_payload()),
                _ => panic!("the child did not panic"),
            }
            n
        });
        assert_eq!(parent.join().unwrap(), n);
    }
    pool.wait_idle();
    assert_eq!((pool.metrics().returned, pool.metrics().panicked), (400, 400));
}

#[test]
fn a_job_may_resume_the_panic_of_another() {
    let pool = Pool::new(2);
    let parent = pool.submit(|| match brigade::submit(|| go_wrong(2)).join() {
        Err(JoinError::Panicked(panic)) => panic.resume(),
        _ => unreachable!("the child panics"),
    });
    match parent.join() {
        Err(JoinError::Panicked(panic)) => assert_is_payload_of(2, panic.into_payload()),
        _ => panic!("the parent did not panic"),
    }
}
