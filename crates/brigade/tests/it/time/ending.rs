//! Closures that run at a time, if their pool ends before that.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::Context;
use std::time::{Duration, Instant};

use crate::support::busy::{held, open_once_closed};
use crate::support::crowd::for_both_queueings;
use crate::support::reports::counts;
use brigade::time::sleep;
use brigade::{Missed, Pool, Shutdown, Timer};
use brigade_testkit::{Drops, Gate, Seed, eventually, on_wake, spin_for, test};

const SOON: Duration = Duration::from_millis(1);

/// What happens to a closure that is due and queued, beside the end of its pool; whether it runs then.
type Event = fn(&Pool, &Timer);
const EVENTS: [(&str, bool, Shutdown, Event); 3] = [
    ("cancel", false, Shutdown::Drain, |_, timer| assert!(timer.cancel() && timer.is_over())),
    ("drain", true, Shutdown::Drain, |_, _| ()),
    ("discard", false, Shutdown::Discard, |_, _| ()),
];

/// It was accepted when it became due, and may still be cancelled.
#[test]
fn a_due_queued_closure_runs_unless_cancelled() {
    for (event, runs, how, happens) in EVENTS {
        for_both_queueings(|builder| {
            let (pool, gate, until_due) =
                (builder.threads(2).build().unwrap(), Gate::closed(), Gate::closed());
            let (ran, drops) = (Arc::new(AtomicUsize::new(0)), Drops::default());
            held(&pool, &gate);
            held(&pool, &until_due);
            // The other worker then queues what is due, and is busy with the first of it.
            let (due, (begun, begins), holds) =
                (Instant::now() + SOON, mpsc::channel(), gate.clone());
            let block = move || {
                begun.send(()).unwrap();
                holds.wait();
            };
            let first = pool.job().at(due).execute(block).unwrap();
            let (token, counted) = (drops.token(), ran.clone());
            let count = move || {
                let _ = &token;
                counted.fetch_add(1, Ordering::SeqCst);
            };
            let queued = pool.job().at(due).execute(count).unwrap();
            eventually("both are due", || Instant::now() >= due);
            until_due.open();
            begins.recv().unwrap();
            eventually("it is queued", || pool.metrics().queued == 1);
            assert!(!first.cancel(), "it runs for the only time");
            happens(&pool, &queued);
            assert_eq!(drops.count(), usize::from(event == "cancel"), "{event}");
            open_once_closed(&gate, pool.handle());
            let report = pool.shutdown(how);
            assert_eq!(counts(report), (3 + u64::from(runs), u64::from(!runs), 0), "{event}");
            assert_eq!((ran.load(Ordering::SeqCst), drops.count()), (usize::from(runs), 1));
            assert!(first.is_over() && queued.is_over(), "{event}");
        });
    }
}

/// How a schedule ends, itself or with its pool.
const ENDS: [(&str, Event); 4] = [
    ("cancel", |_, timer| assert!(timer.cancel() && !timer.cancel())),
    ("close", |pool, _| pool.close()),
    ("finish", |pool, _| _ = pool.shutdown(Shutdown::Finish.timeout(Duration::ZERO))),
    ("discard", |pool, _| _ = pool.shutdown(Shutdown::Discard.timeout(Duration::ZERO))),
];

#[test((end, ends) in ENDS, missed in [Missed::Skip, Missed::Delay, Missed::Burst])]
fn a_schedules_end_during_a_tick_drops_captures_after_it(ends: Event, missed: Missed) {
    let (pool, gate, drops) = (Pool::new(2), Gate::closed(), Drops::default());
    let ((begun, begins), token, held) = (mpsc::channel(), drops.token(), gate.clone());
    let tick = move || {
        let _ = &token;
        begun.send(()).unwrap();
        held.wait();
    };
    let timer = pool.job().every(SOON).missed(missed).execute(tick).unwrap();
    begins.recv().unwrap();
    ends(&pool, &timer);
    assert_eq!((drops.count(), timer.is_over()), (0, false));
    gate.open();
    eventually("it is over", || timer.is_over());
    assert_eq!((drops.count(), timer.ticks()), (1, 1));
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1);
    assert!(begins.recv().is_err());
}

#[test]
fn a_tick_may_drop_its_own_pool() {
    let (pool, drops) = (Pool::new(2), Drops::default());
    let (handle, token) = (pool.handle(), drops.token());
    let (place, own) = mpsc::channel();
    let timer = handle
        .job()
        .every(SOON)
        .missed(Missed::Burst)
        .execute(move || {
            let _ = &token;
            drop(own.recv());
        })
        .unwrap();
    place.send(pool).unwrap();
    eventually("it is over", || timer.is_over());
    assert!(handle.metrics().is_closed);
    assert_eq!((drops.count(), timer.ticks()), (1, 1));
}

/// Its waker is called by the worker that slept until then, which may be told just now that the pool has ended.
#[test(120)]
fn a_job_accepted_by_a_late_timer_runs() {
    const DELAY: Duration = Duration::from_micros(150);
    let mut seed = Seed::printed();
    for _ in 0..500 {
        let (pool, ran, accepted) =
            (Pool::new(1), Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let (handle, runs, accepts) = (pool.handle(), ran.clone(), accepted.clone());
        let waker = on_wake(move || {
            let runs = runs.clone();
            if handle.try_execute(move || _ = runs.fetch_add(1, Ordering::SeqCst)).is_ok() {
                accepts.fetch_add(1, Ordering::SeqCst);
            }
        });
        let sleeps = pool.submit(move || {
            let mut sleeps = Box::pin(sleep(DELAY));
            // Ready at once if the thread was stopped for that long: then nothing is woken.
            let _ = sleeps.as_mut().poll(&mut Context::from_waker(&waker));
            sleeps
        });
        let sleeps = sleeps.join().unwrap();
        spin_for(seed.micros(200));
        drop(pool);
        assert_eq!(ran.load(Ordering::SeqCst), accepted.load(Ordering::SeqCst));
        drop(sleeps);
    }
}
