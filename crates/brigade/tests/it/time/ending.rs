//! Closures that run at a time, if their pool ends before that.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

use crate::support::busy::{let_go, occupy, open_once_closed};
use crate::support::policy::for_every_row;
use crate::support::reports::counts;
use crate::support::verbs::timed_work_comes_back;
use brigade::time::sleep;
use brigade::{Handle, Missed, Pool, Reason, Shutdown, Timer};
use brigade_testkit::{Drops, Gate, Seed, eventually, spin_for, test};

const FAR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_millis(1);

/// Two closures far in the future, and what counts their captures.
fn two_far(pool: &Pool) -> (Drops, [Timer; 2]) {
    let drops = Drops::default();
    let (first, second) = (drops.token(), drops.token());
    let once =
        pool.job().after(FAR).execute(move || unreachable!("{}", size_of_val(&first))).unwrap();
    let every = pool.job().every(FAR).missed(Missed::Skip).execute(move || _ = &second).unwrap();
    (drops, [once, every])
}

#[test]
fn a_pool_that_is_closed_drops_timers_that_are_not_due_at_once() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    occupy(&pool, &gate);
    let (drops, timers) = two_far(&pool);
    pool.close();
    assert_eq!(drops.count(), 2, "although a job runs");
    assert!(timers.iter().all(|timer| timer.is_over() && timer.ticks() == 0 && !timer.cancel()));
    gate.open();
}

#[test(120)]
fn no_end_of_a_pool_waits_for_a_time() {
    for_every_row(|pool| {
        let (drops, timers) = two_far(&pool);
        let how = if *pool.size().end() == 1 { Shutdown::Drain } else { Shutdown::Discard };
        assert_eq!(counts(pool.shutdown(how)), (0, 0, 0));
        assert_eq!(drops.count(), 2);
        assert!(timers.iter().all(Timer::is_over));
    });
    let pool = Pool::new(2);
    let (drops, _timers) = two_far(&pool);
    drop(pool);
    assert_eq!(drops.count(), 2);
    let pool = Pool::builder().threads(0..=1).keep_alive(Duration::ZERO).build().unwrap();
    let (drops, _timers) = two_far(&pool);
    let_go(pool);
    assert_eq!(drops.count(), 2);
}

#[test]
fn a_closed_pool_returns_timed_closures_to_its_own_jobs_too() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    let (here, held) = (pool.handle(), gate.clone());
    let job = pool.submit(move || {
        held.wait();
        timed_work_comes_back(here, Reason::Closed);
    });
    open_once_closed(&gate, pool.handle());
    let handle = pool.handle();
    pool.shutdown(Shutdown::Drain);
    job.join().unwrap();
    timed_work_comes_back(handle, Reason::Closed);
}

#[test]
fn the_owner_of_a_closed_pool_panics() {
    let pool = Pool::new(1);
    pool.close();
    let call = || drop(pool.enter(|| brigade::execute_after(FAR, || ())));
    let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call)).unwrap_err();
    assert!(
        brigade_testkit::panics::text(&*payload).unwrap().starts_with("the job was not accepted")
    );
}

/// It was accepted when it became due.
#[test]
fn a_tick_that_is_queued_runs_in_a_drain_and_is_dropped_by_a_discard() {
    for (how, expected) in [(Shutdown::Drain, 1), (Shutdown::Discard, 0)] {
        let (pool, gate) = (Pool::new(2), Gate::closed());
        let (ran, drops) = (Arc::new(AtomicUsize::new(0)), Drops::default());
        let (begun, begins) = mpsc::channel();
        let held = gate.clone();
        pool.execute(move || held.wait());
        let due = Instant::now() + SOON * 5;
        let held = gate.clone();
        let first = pool
            .job()
            .at(due)
            .execute(move || {
                begun.send(()).unwrap();
                held.wait();
            })
            .unwrap();
        let (token, counted) = (drops.token(), ran.clone());
        let count = move || {
            let _ = &token;
            counted.fetch_add(1, Ordering::SeqCst);
        };
        let queued = pool.job().at(due).execute(count).unwrap();
        begins.recv().unwrap();
        eventually("it is queued", || pool.metrics().queued == 1);
        open_once_closed(&gate, pool.handle());
        pool.shutdown(how);
        assert_eq!(ran.load(Ordering::SeqCst), expected, "{how:?}");
        assert_eq!((drops.count(), queued.is_over(), first.is_over()), (1, true, true));
    }
}

#[test]
fn a_schedule_whose_tick_runs_as_the_pool_is_closed_does_not_go_on() {
    for missed in [Missed::Skip, Missed::Delay, Missed::Burst] {
        let (pool, gate, drops) = (Pool::new(2), Gate::closed(), Drops::default());
        let ((begun, begins), token, held) = (mpsc::channel(), drops.token(), gate.clone());
        let timer = pool
            .job()
            .every(SOON)
            .missed(missed)
            .execute(move || {
                let _ = &token;
                begun.send(()).unwrap();
                held.wait();
            })
            .unwrap();
        begins.recv().unwrap();
        pool.close();
        assert_eq!((drops.count(), timer.is_over()), (0, false));
        gate.open();
        assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1);
        assert_eq!((drops.count(), timer.is_over(), timer.ticks()), (1, true, 1));
    }
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
fn a_job_accepted_when_a_timer_fires_while_the_pool_ends_is_run() {
    /// Submits when it is woken.
    struct Submits {
        pool: Handle,
        accepted: AtomicUsize,
        ran: Arc<AtomicUsize>,
    }
    impl Wake for Submits {
        fn wake(self: Arc<Self>) {
            let ran = self.ran.clone();
            if self.pool.try_execute(move || _ = ran.fetch_add(1, Ordering::SeqCst)).is_ok() {
                self.accepted.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
    const DELAY: Duration = Duration::from_micros(150);
    let mut seed = Seed::printed();
    for _ in 0..500 {
        let pool = Pool::new(1);
        let ran = Arc::<AtomicUsize>::default();
        let submits =
            Arc::new(Submits { pool: pool.handle(), accepted: 0.into(), ran: ran.clone() });
        let waker = Waker::from(submits.clone());
        let sleeps = pool.submit(move || {
            let mut sleeps = Box::pin(sleep(DELAY));
            // Ready at once if the thread was stopped for that long: then nothing is woken.
            let _ = sleeps.as_mut().poll(&mut Context::from_waker(&waker));
            sleeps
        });
        let sleeps = sleeps.join().unwrap();
        spin_for(seed.micros(200));
        drop(pool);
        assert_eq!(ran.load(Ordering::SeqCst), submits.accepted.load(Ordering::SeqCst));
        drop(sleeps);
    }
}
