//! The deadline of a set ends what has not ended.

use std::future::pending;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use brigade::{Builder, Cause, JoinError, TaskSet};
use brigade_testkit::{Drops, Gate, eventually, test};

use crate::support::crowd::for_both_queueings;

const SOON: Duration = Duration::from_millis(20);
const FAR: Duration = Duration::from_secs(1000);

fn is_late<T>(outcome: Option<Result<T, JoinError>>) -> bool {
    matches!(outcome, Some(Err(JoinError::Cancelled(Cause::Deadline))))
}

/// On a thread outside, on a worker, and in a future.
#[test(for_both_queueings)]
fn each_wait_ends_at_the_deadline(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let handle = pool.handle();
    let set = move || {
        let mut set = TaskSet::new(handle).deadline(Instant::now() + SOON);
        set.spawn(pending::<()>());
        set
    };
    assert!(is_late(set().join_next()));
    assert!(pool.submit(move || is_late(set().join_next())).join().unwrap());
    assert!(pool.block_on(async { is_late(set().join_next_async().await) }));
    assert!(is_late(set().join_next_timeout(FAR)));
    let mut all = set();
    assert!(all.wait_all() && is_late(all.try_join_next()));
}

/// Those that have ended keep their outcomes; a running closure is asked, and its outcome is its own.
#[test(for_both_queueings)]
fn the_deadline_cancels_unended_jobs(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let (drops, gate) = (Drops::default(), Gate::closed());
    let begin = Instant::now();
    let mut set = TaskSet::new(&pool).limit(2).deadline(begin + SOON);
    let ends = set.submit(|| 1);
    assert_eq!(
        set.join_next_with_id().map(|(id, outcome)| (id, outcome.unwrap())),
        Some((ends, 1))
    );
    let (begun, begins) = mpsc::channel();
    let runs = set.submit(move || {
        begun.send(()).unwrap();
        while !brigade::cancelled() {
            thread::yield_now();
        }
        2
    });
    begins.recv().unwrap();
    let waits = set.spawn(pending());
    let token = drops.token();
    let in_line = set.submit(move || {
        drop(token);
        3
    });
    let mut left: Vec<_> = std::iter::from_fn(|| set.join_next_with_id()).collect();
    assert!(begin.elapsed() >= SOON);
    left.sort_by_key(|(id, _)| *id);
    let [(first, ran), (second, polled), (third, queued)] = left.try_into().unwrap();
    assert_eq!([first, second, third], [runs, waits, in_line]);
    assert_eq!(ran.unwrap(), 2);
    assert!(is_late(Some(polled)) && is_late(Some(queued)));
    assert_eq!(drops.count(), 1);
    gate.open();
    pool.wait_idle();
    assert_eq!((pool.metrics().accepted, pool.metrics().causes.deadline), (4 + 1, 2));
}

#[test(for_both_queueings)]
fn a_job_added_late_is_cancelled(builder: Builder) {
    let pool = builder.threads(1).spare_threads(0).build().unwrap();
    let mut set = TaskSet::new(&pool).deadline(Instant::now());
    set.spawn(pending::<()>());
    assert!(is_late(set.join_next()));
    let gate = Gate::closed();
    pool.execute(gate.job());
    set.submit(|| ());
    set.spawn(async {});
    assert!(is_late(set.try_join_next()) && is_late(set.try_join_next()));
    let mut set = set.limit(1);
    set.submit(|| ());
    set.submit(|| ());
    assert!(is_late(set.try_join_next()) && is_late(set.try_join_next()));
    gate.open();
}

/// Caught: a timer alone told the closures, and no thread was free to run it.
#[test(for_both_queueings)]
fn closures_on_all_threads_see_the_deadline(builder: Builder) {
    let pool = builder.threads(2).spare_threads(0).build().unwrap();
    let begin = Instant::now();
    let mut set = TaskSet::new(&pool).deadline(begin + FAR);
    let (begun, begins) = mpsc::channel();
    for _ in 0..2 {
        let begun = begun.clone();
        set.submit(move || {
            begun.send(()).unwrap();
            // A part of the closure sees it, too.
            while !brigade::join(brigade::cancelled, || ()).0 {
                thread::yield_now();
            }
            assert!(brigade::cancelled());
        });
    }
    begins.iter().take(2).for_each(drop);
    let mut set = set.deadline(begin + SOON);
    let queued = set.submit(|| panic!("it begins after the deadline"));
    let outcomes: Vec<_> = std::iter::from_fn(|| set.join_next_with_id()).collect();
    assert!(begin.elapsed() >= SOON);
    for (id, outcome) in outcomes {
        match id == queued {
            true => assert!(is_late(Some(outcome))),
            false => outcome.unwrap(),
        }
    }
    assert!(pool.submit(|| !brigade::cancelled()).join().unwrap(), "jobs of no set go on");
}

/// Caught by the seeded programs: a detached job was cancelled at the deadline of the set that it had left.
#[test(for_both_queueings)]
fn a_detached_closure_has_no_deadline(builder: Builder) {
    let pool = builder.threads(1).spare_threads(0).build().unwrap();
    let gate = Gate::closed();
    pool.execute(gate.job());
    let mut set = TaskSet::new(&pool).deadline(Instant::now() + SOON);
    let (ran, runs) = mpsc::channel();
    set.submit(move || ran.send(brigade::cancelled()).unwrap());
    set.detach_all();
    thread::sleep(2 * SOON);
    gate.open();
    assert_eq!(runs.recv(), Ok(false));
}

/// Caught: a closure that was added later was submitted first, and cancelled afterwards.
#[test(for_both_queueings)]
fn no_closure_begins_after_the_deadline(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let mut set = TaskSet::new(&pool).deadline(Instant::now());
    for _ in 0..500 {
        set.submit(|| panic!("it begins"));
        set.job().name("named").submit(|| panic!("it begins")).unwrap();
        set.spawn(async { panic!("it is polled") });
    }
    let mut count = 0;
    while let Some(outcome) = set.join_next() {
        assert!(is_late(Some(outcome)));
        count += 1;
    }
    assert_eq!(count, 3 * 500);
}

#[test(for_both_queueings)]
fn a_later_call_changes_the_deadline(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let mut set = TaskSet::new(&pool);
    let gate = Gate::closed();
    set.submit(gate.job());
    set.spawn(pending());
    let begin = Instant::now();
    let mut set = set.deadline(begin + FAR).deadline(begin + SOON);
    assert!(is_late(set.join_next()) && begin.elapsed() >= SOON);
    gate.open();
    assert!(set.join_next().is_some_and(|outcome| outcome.is_ok()), "a running closure goes on");
    let mut set = set.deadline(begin + SOON).deadline(begin + FAR);
    set.submit(|| ());
    assert!(set.join_next().is_some_and(|outcome| outcome.is_ok()), "the new deadline is far");
}

/// Neither the timer nor the map keeps anything of jobs that have ended, or that are not in the set.
#[test(for_both_queueings)]
fn a_dropped_set_leaves_no_timer(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let drops = Drops::default();
    let mut set = TaskSet::new(&pool).deadline(Instant::now() + FAR);
    for _ in 0..100 {
        let token = drops.token();
        set.spawn(async move {
            pending::<()>().await;
            drop(token);
        });
    }
    drop(set);
    eventually("all are cancelled", || drops.count() == 100);
    assert_eq!(pool.metrics().causes.asked, 100);
    let mut set = TaskSet::new(&pool).deadline(Instant::now() + SOON);
    let latch = brigade_testkit::Latch::default();
    set.spawn(latch.wait());
    set.detach_all();
    eventually("the timer has run", || pool.metrics().returned == 1);
    latch.open();
    pool.wait_idle();
    // The timer is a job, too.
    let metrics = pool.metrics();
    assert_eq!((metrics.causes.deadline, metrics.returned), (0, 2));
}
