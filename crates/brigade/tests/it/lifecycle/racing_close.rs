//! Submissions, growth and parking that race the end of the pool: nothing hangs, and each accepted job has an outcome.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::crowd::for_both_queueings;
use crate::support::full::POLICIES;
use brigade::{Builder, Handle, Pool, Report, Shutdown, WhenFull};
use brigade_testkit::{Seed, spin_for, test};

/// Jobs that were accepted, and jobs of these that were cancelled.
type Submitted = (u64, u64);

/// Submits in one of all ways; drops rejected jobs. A timed closure is a job if the pool finishes, and is dropped otherwise.
fn submit(pool: Handle, how: Shutdown, seed: &mut Seed, ran: &Arc<AtomicU64>) -> Submitted {
    let work = seed.below(2) == 0;
    let job = |_| {
        let ran = ran.clone();
        move || {
            if work {
                brigade::blocking(|| spin_for(Duration::from_micros(5)));
            }
            ran.fetch_add(1, Ordering::Relaxed);
        }
    };
    let (run, delay) = (job(0), seed.micros(50));
    let ways = if how == Shutdown::Finish { 10 } else { 8 };
    let accepted = match seed.below(ways) {
        0 => pool.job().execute(run).is_ok().into(),
        1 => pool.job().submit(run).is_ok().into(),
        2 => {
            let job = pool.job().submit(run);
            let is_cancelled = job.as_ref().is_ok_and(|job| job.cancel());
            return (job.is_ok().into(), is_cancelled.into());
        }
        3 => pool.job().spawn(async move { run() }).is_ok().into(),
        4 => {
            let rejected = pool.job().execute_batch((0..10).map(job)).err();
            10 - rejected.map_or(0, |rejected| rejected.into_inner().len() as u64)
        }
        5 => {
            let ran = ran.clone();
            let share = move |_| _ = ran.fetch_add(1, Ordering::Relaxed);
            let sent = panic::catch_unwind(AssertUnwindSafe(|| pool.broadcast(share)));
            sent.map_or(0, |shares| shares.len() as u64)
        }
        6 => 4 - pool.job().dispatch((0..4).map(job)).count() as u64,
        8 => pool.job().after(delay).execute(run).is_ok().into(),
        9 => pool.job().after(delay).submit(run).is_ok().into(),
        _ => {
            let _ = pool.resize(1 + seed.below(4) as usize);
            0
        }
    };
    (accepted, 0)
}

/// Submits until the pool has been closed, and once more.
fn submit_until_closed(
    pool: Handle,
    how: Shutdown,
    mut seed: Seed,
    ran: &Arc<AtomicU64>,
) -> Submitted {
    let (mut accepted, mut cancelled) = (0, 0);
    loop {
        let is_closed = pool.metrics().is_closed;
        let submitted = submit(pool, how, &mut seed, ran);
        (accepted, cancelled) = (accepted + submitted.0, cancelled + submitted.1);
        if is_closed {
            return (accepted, cancelled);
        }
        // So that the queue does not outgrow the jobs that the pool can drain.
        thread::yield_now();
    }
}

/// Two threads submit to a pool that is shut down after some time.
fn race(builder: Builder, policy: Option<WhenFull>, how: Shutdown, seed: &mut Seed) {
    let (pool, ran) = (builder.build().unwrap(), Arc::new(AtomicU64::new(0)));
    let (handle, seeds) = (pool.handle(), [0, 1].map(|number| seed.fork(number)));
    let (submitted, Report { ran: reported, discarded, still_running, .. }) = thread::scope(|s| {
        let submits = seeds.map(|seed| s.spawn(|| submit_until_closed(handle, how, seed, &ran)));
        spin_for(seed.micros(200));
        let report = pool.shutdown(how);
        (submits.map(|submits| submits.join().unwrap()), report)
    });
    let [accepted, cancelled] = [submitted[0].0 + submitted[1].0, submitted[0].1 + submitted[1].1];
    assert_eq!(Arc::strong_count(&ran), 1, "every closure was dropped");
    assert_eq!(reported + discarded + still_running, accepted);
    // A submitter may still run, drop or cancel a job that was accepted before the end.
    let late = ran.load(Ordering::Relaxed) - reported;
    assert!(late <= still_running && still_running <= 2, "{late} of {still_running}");
    let evicts = matches!(policy, Some(WhenFull::DropOldest | WhenFull::DropNewest));
    if !evicts && how != Shutdown::Discard {
        assert_eq!(accepted - ran.load(Ordering::Relaxed), cancelled);
    }
}

#[test(120)]
fn a_submission_beside_the_end_has_an_outcome() {
    let seed = RefCell::new(Seed::printed());
    for round in 0..100 {
        for policy in [None].into_iter().chain(POLICIES.map(Some)) {
            for how in [Shutdown::Drain, Shutdown::Discard, Shutdown::Finish] {
                for_both_queueings(|builder| {
                    let threads = [2..=2, 1..=3, 0..=3][round % 3].clone();
                    let keep_alive = Duration::from_micros(round as u64);
                    let builder = builder.threads(threads).keep_alive(keep_alive);
                    let builder = match policy {
                        Some(policy) => builder.capacity(2).when_full(policy),
                        None => builder,
                    };
                    race(builder, policy, how, &mut seed.borrow_mut());
                });
            }
        }
    }
}

/// W2: rayon's parked workers once missed the end. After a job, a worker is about to park, or to leave.
#[test]
fn pools_dropped_beside_parking_workers_end() {
    let mut seed = Seed::printed();
    for round in 0..3000 {
        let keep_alive = Duration::from_micros(30);
        let pool = match round % 2 {
            0 => Pool::new(2),
            _ => Pool::builder().threads(0..=2).keep_alive(keep_alive).build().unwrap(),
        };
        if round % 3 == 0 {
            pool.submit(|| ()).join().unwrap();
        }
        spin_for(seed.micros(50));
        drop(pool);
    }
}
