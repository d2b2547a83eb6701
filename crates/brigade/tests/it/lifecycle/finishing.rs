//! `Shutdown::Finish`: the pool ends when everything that it accepted has ended, what waits included.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::busy::held;
use crate::support::full::full;
use crate::support::reports::{counts, is_cancelled};
use crate::support::verbs::all_work_comes_back;
use brigade::time::{interval, sleep};
use brigade::{Handle, Pool, Queueing, Reason, Report, Shutdown, TaskSet, WhenFull, spawn_local};
use brigade_testkit::{Drops, Gate, Latch, Seed, eventually, spin_for, test};

const SOON: Duration = Duration::from_millis(2);
const FAR: Duration = Duration::from_secs(3600);

/// A pool of one thread, one with a shared queue, and one whose threads leave while something waits.
fn pools() -> [(&'static str, Pool); 3] {
    let elastic = Pool::builder().threads(0..=2).keep_alive(SOON / 20);
    let shared = Pool::builder().threads(2).queueing(Queueing::Shared);
    [
        ("one thread", Pool::new(1)),
        ("shared", shared.build().unwrap()),
        ("elastic", elastic.build().unwrap()),
    ]
}

/// Begins to finish a pool on another thread; returns once the pool accepts nothing more.
fn finishing(pool: &Arc<Pool>) -> thread::JoinHandle<Report> {
    let finished = pool.clone();
    let finishing = thread::spawn(move || finished.shutdown(Shutdown::Finish));
    eventually("the pool closes", || pool.metrics().is_closed);
    finishing
}

#[test((kind, pool) in pools())]
fn finish_accepts_only_from_inside(pool: Pool) {
    let (pool, latch) = (Arc::new(pool), Latch::default());
    let (waits, handle) = (latch.wait(), pool.handle());
    let job = pool.spawn(async move {
        waits.await;
        let closure = handle.submit(|| 20);
        let future = brigade::spawn(async {
            sleep(SOON).await;
            22
        });
        closure.await.unwrap() + future.await.unwrap()
    });
    let finishing = finishing(&pool);
    all_work_comes_back(pool.handle(), Reason::Closed);
    assert!(!finishing.is_finished() && !job.is_finished());
    latch.open();
    assert_eq!(counts(finishing.join().unwrap()), (3, 0, 0));
    assert_eq!(job.join().unwrap(), 42);
}

/// Nothing but the wake from outside brings a thread back.
#[test]
fn a_future_is_woken_without_any_thread() {
    let builder = Pool::builder().threads(0..=2).keep_alive(Duration::ZERO);
    let (pool, latch) = (Arc::new(builder.build().unwrap()), Latch::default());
    let jobs = [(); 3].map(|()| pool.spawn(latch.wait()));
    eventually("they wait", || latch.waiting() >= 3);
    eventually("the threads go", || pool.metrics().threads == 0);
    let finishing = finishing(&pool);
    assert!(!finishing.is_finished());
    latch.open();
    assert_eq!(counts(finishing.join().unwrap()), (3, 0, 0));
    assert!(jobs.into_iter().all(|job| job.join().is_ok()));
}

#[test((kind, pool) in pools())]
fn drain_after_a_timeout_cancels_pending_futures(pool: Pool) {
    let drops = Drops::default();
    let (first, second) = (drops.token(), drops.token());
    let never = pool.spawn(async move {
        let _first = first;
        std::future::pending::<()>().await;
    });
    let far = pool.job().after(FAR).execute(move || drop(second)).unwrap();
    eventually("it waits", || pool.metrics().queued == 0);
    let begun = Instant::now();
    let report = pool.shutdown(Shutdown::Finish.timeout(SOON));
    assert!(begun.elapsed() >= SOON);
    assert_eq!(counts(report), (0, 0, 1));
    assert!(!far.is_over() && !never.is_finished() && drops.count() == 0);
    assert_eq!(counts(pool.shutdown(Shutdown::Drain)), (0, 1, 0));
    assert!(is_cancelled(never.join()));
    assert!(far.is_over() && drops.count() == 2);
}

#[test(how in [Shutdown::Drain, Shutdown::Discard], (kind, pool) in pools())]
fn a_stricter_end_ends_a_waiting_end(how: Shutdown, pool: Pool) {
    let (pool, drops) = (Arc::new(pool), Drops::default());
    let (token, local) = (drops.token(), drops.token());
    let never = pool.spawn(std::future::pending::<()>());
    let here = pool.submit(|| {
        spawn_local(async move {
            let _local = local;
            std::future::pending::<()>().await;
        })
    });
    let here = here.join().unwrap();
    let far = pool.job().after(FAR).execute(move || drop(token)).unwrap();
    let finishing = finishing(&pool);
    assert!(!finishing.is_finished() && !far.is_over());
    assert_eq!(counts(pool.shutdown(how)), (1, 2, 0));
    assert_eq!(counts(finishing.join().unwrap()), (1, 2, 0));
    assert!(is_cancelled(never.join()) && is_cancelled(here.join()));
    assert!(far.is_over() && drops.count() == 2);
}

#[test]
fn a_later_finish_adds_no_wait_to_a_drain() {
    let closes: [fn(&Pool); 3] = [
        |pool| pool.close(),
        |pool| _ = pool.shutdown(Shutdown::Drain.timeout(Duration::ZERO)),
        |pool| _ = pool.shutdown(Shutdown::Discard.timeout(Duration::ZERO)),
    ];
    for close in closes {
        for (kind, pool) in pools() {
            let (gate, drops) = (Gate::closed(), Drops::default());
            let token = drops.token();
            let never = pool.spawn(std::future::pending::<()>());
            let far = pool.job().after(FAR).execute(move || drop(token)).unwrap();
            held(&pool, &gate);
            close(&pool);
            assert!(far.is_over() && drops.count() == 1, "{kind}");
            gate.open();
            assert_eq!(counts(pool.shutdown(Shutdown::Finish)), (1, 1, 0), "{kind}");
            assert!(is_cancelled(never.join()), "{kind}");
        }
    }
}

/// Closes a pool beside a shutdown that finishes, and alone where the drop would finish.
const FINISHES: [fn(&Pool); 2] = [
    |pool| {
        pool.shutdown(Shutdown::Finish.timeout(Duration::ZERO));
        pool.close();
    },
    |pool| {
        pool.close();
        pool.close();
    },
];

#[test(close in FINISHES)]
fn a_close_cancels_no_future_of_a_finishing_pool(close: fn(&Pool)) {
    let pool = Pool::builder().threads(1).on_drop(Shutdown::Finish).build().unwrap();
    let (gate, opens) = (Gate::closed(), std::sync::mpsc::channel::<()>());
    let held = gate.clone();
    pool.execute(move || held.wait());
    let nap = pool.spawn(sleep(SOON));
    let later = pool.job().after(SOON).execute(move || opens.0.send(()).unwrap()).unwrap();
    close(&pool);
    assert!(pool.try_execute(|| ()).is_err() && !later.is_over());
    gate.open();
    assert_eq!(counts(pool.shutdown(Shutdown::Finish)), (3, 0, 0));
    assert!(nap.join().is_ok() && opens.1.try_recv().is_ok());
}

/// Begins work that never ends by itself; returns the call that cancels it.
type Begin = fn(&Pool) -> Box<dyn Fn() -> bool>;
const WORK: [(&str, u64, Begin); 3] = [
    ("a timer", 0, |pool| {
        let far = pool.job().after(FAR).execute(|| unreachable!()).unwrap();
        Box::new(move || far.cancel())
    }),
    ("a future", 1, |pool| {
        let never = pool.spawn(std::future::pending::<()>());
        Box::new(move || never.cancel())
    }),
    ("a timed closure", 1, |pool| {
        let later = pool.job().after(FAR).submit(|| ()).unwrap();
        Box::new(move || later.cancel_handle().cancel())
    }),
];

/// A thread outside cancels the last thing that the pool waits for.
#[test((work, jobs, begin) in WORK, (kind, pool) in pools())]
fn a_cancel_from_outside_lets_the_pool_end(jobs: u64, begin: Begin, pool: Pool) {
    let pool = Arc::new(pool);
    let cancel = begin(&pool);
    let finishing = finishing(&pool);
    assert!(!finishing.is_finished());
    assert!(cancel());
    assert_eq!(counts(finishing.join().unwrap()), (0, jobs, 0));
}

#[test((kind, pool) in pools())]
fn jobs_waiting_in_a_set_run(pool: Pool) {
    let mut set = TaskSet::new(&pool).limit(1);
    for number in 0..10 {
        set.spawn(async move {
            sleep(SOON / 20).await;
            number
        });
    }
    assert_eq!(counts(pool.shutdown(Shutdown::Finish)), (10, 0, 0));
    assert!(set.outcomes().map(Result::unwrap).eq(0..10));
}

#[test((kind, pool) in pools())]
fn a_job_may_finish_its_own_pool(pool: Pool) {
    let nap = pool.spawn(async {
        let mut ticks = interval(SOON);
        for _ in 0..3 {
            ticks.tick().await;
        }
    });
    let job = pool.submit(|| {
        let pool = Handle::current().unwrap();
        pool.shutdown(Shutdown::Finish).still_running
    });
    assert!(job.join().unwrap() >= 1, "it does not wait for itself");
    assert_eq!(counts(pool.shutdown(Shutdown::Finish)), (2, 0, 0));
    nap.join().unwrap();
}

#[test(120)]
fn a_closure_due_at_the_start_of_finish_runs() {
    let mut seed = Seed::printed();
    let ran = Arc::new(AtomicUsize::new(0));
    for round in 1..=400 {
        for (kind, pool) in pools() {
            let counted = ran.clone();
            let due = Instant::now() + seed.micros(60);
            let timer =
                pool.job().at(due).execute(move || _ = counted.fetch_add(1, Ordering::SeqCst));
            spin_for(seed.micros(60));
            let report = pool.shutdown(Shutdown::Finish);
            assert_eq!(counts(report), (1, 0, 0), "{kind}, round {round}");
            assert!(timer.unwrap().is_over(), "{kind}, round {round}");
        }
        assert_eq!(ran.load(Ordering::SeqCst), 3 * round);
    }
}

/// Each future sleeps and spawns the next, and ends: there is always one, and never the same.
#[test(120)]
fn finish_runs_a_chain_of_spawning_futures() {
    fn step(left: u32, ended: mpsc::Sender<()>) {
        drop(brigade::spawn(async move {
            sleep(Duration::from_micros(50)).await;
            match left {
                0 => ended.send(()).unwrap(),
                left => step(left - 1, ended),
            }
        }));
    }
    for round in 0..300 {
        let pool = Pool::new(2);
        let (ended, ends) = mpsc::channel();
        pool.enter(|| step(60, ended));
        // Other closers look again and again whether the pool has ended.
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for _ in 0..40 {
                        pool.shutdown(Shutdown::Finish.timeout(Duration::ZERO));
                    }
                });
            }
        });
        assert_eq!(counts(pool.shutdown(Shutdown::Finish)), (61, 0, 0), "round {round}");
        ends.try_recv().unwrap();
    }
}

/// It is accepted, on no queue, and waits for the first time when the pool is closed already.
#[test]
fn finish_completes_a_future_polled_by_its_submitter() {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::RunInCaller);
    let pool = Arc::new(pool);
    let (polled, polls) = mpsc::channel();
    let goes_on = Gate::closed();
    let (waits, handle) = (goes_on.clone(), pool.handle());
    let submits = thread::spawn(move || {
        let mut is_first = true;
        let future = handle.spawn(async move {
            if std::mem::take(&mut is_first) {
                polled.send(()).unwrap();
                waits.wait();
            }
            sleep(SOON).await;
        });
        future.join()
    });
    polls.recv().unwrap();
    gate.open();
    let finishing = finishing(&pool);
    eventually("the worker is idle", || pool.metrics().idle_threads == 1);
    goes_on.open();
    submits.join().unwrap().unwrap();
    assert_eq!(counts(finishing.join().unwrap()), (3, 0, 0));
}

#[test]
fn a_job_run_by_its_caller_may_finish_its_pool() {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::RunInCaller);
    let handle = pool.handle();
    let report = pool.submit(move || handle.shutdown(Shutdown::Finish)).join().unwrap();
    assert!(report.still_running > 0, "{report:?}");
    gate.open();
    assert_eq!(counts(pool.shutdown(Shutdown::Finish)), (3, 0, 0));
}
