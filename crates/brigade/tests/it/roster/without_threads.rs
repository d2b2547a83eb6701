//! A pool without threads, whose jobs run in the waits of the threads that use it.

use std::future::{pending, ready};
use std::io::ErrorKind;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use brigade::{
    Handle, JoinError, LocalPool, Pool, Reason, Shutdown, TaskSet, WhenFull, block_on, time,
};
use brigade_testkit::{Latch, eventually, test};

const SOON: Duration = Duration::from_millis(2);

fn threadless() -> Pool {
    Pool::builder().without_threads().build().unwrap()
}

/// A call that waits for a job, and returns the thread that ran the job.
type Verb = fn(Handle) -> thread::ThreadId;

fn here() -> thread::ThreadId {
    thread::current().id()
}

/// A job that notes its thread, and the note.
fn noted(use_it: impl FnOnce(Box<dyn FnOnce() + Send>, &dyn Fn() -> bool)) -> thread::ThreadId {
    static NOTES: Mutex<Vec<(u32, thread::ThreadId)>> = Mutex::new(Vec::new());
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let find = move || {
        let notes = NOTES.lock().unwrap();
        notes.iter().find(|(of, _)| *of == number).map(|(_, thread)| *thread)
    };
    use_it(Box::new(move || NOTES.lock().unwrap().push((number, here()))), &|| find().is_some());
    find().expect("it has run")
}

const VERBS: [Verb; 24] = [
    |pool| pool.submit(here).join().unwrap(),
    |pool| pool.try_submit(here).unwrap().join().unwrap(),
    |pool| pool.submit(here).join_timeout(Duration::MAX).unwrap().unwrap(),
    |pool| block_on(pool.submit(here)).unwrap(),
    |pool| pool.block_on(async { brigade::submit(here).await.unwrap() }),
    |pool| pool.spawn(async { here() }).join().unwrap(),
    |pool| {
        let slow = async {
            time::sleep(SOON).await;
            here()
        };
        block_on(pool.spawn(slow)).unwrap()
    },
    |pool| pool.install(here).unwrap(),
    |pool| pool.scope(|s| s.submit(here).join().unwrap()).unwrap(),
    |pool| pool.in_place_scope(|s| s.submit(here).join().unwrap()).unwrap(),
    |pool| pool.in_place_scope(|s| s.spawn(async { here() }).join().unwrap()).unwrap(),
    |pool| pool.install(|| brigade::join(here, here).1).unwrap(),
    |pool| pool.enter(|| brigade::join(here, here).1),
    |pool| {
        let all = Mutex::new(Vec::new());
        pool.enter(|| brigade::par_for(0..100, 1, |_| all.lock().unwrap().push(here())));
        let all = all.into_inner().unwrap();
        assert!(all.len() == 100 && all.iter().all(|thread| *thread == all[0]));
        all[0]
    },
    |pool| pool.job().after(SOON).submit(here).unwrap().join().unwrap(),
    |pool| pool.job().name("named").submit(here).unwrap().join().unwrap(),
    |pool| block_on(pool.job().reserve()).unwrap().submit(here).unwrap().join().unwrap(),
    |pool| pool.job().submit_batch(vec![here; 3]).unwrap().pop().unwrap().join().unwrap(),
    |pool| pool.broadcast(|_| here()).pop().unwrap().join().unwrap(),
    |pool| {
        let mut set = TaskSet::new(pool);
        set.submit(here);
        set.spawn(async { here() });
        set.join_next().unwrap().unwrap();
        set.join_next().unwrap().unwrap()
    },
    |pool| {
        noted(|note, _| {
            pool.execute(note);
            assert!(pool.wait_idle());
        })
    },
    |pool| {
        noted(|note, _| {
            pool.execute(note);
            block_on(pool.spawn(ready(()))).unwrap();
        })
    },
    |pool| {
        noted(|note, has_run| {
            let timer = pool.job().after(SOON).execute(note).unwrap();
            while !has_run() {
                assert!(pool.wait_idle());
            }
            drop(timer);
        })
    },
    |pool| {
        noted(|note, _| {
            pool.execute(note);
            assert_eq!(pool.shutdown(Shutdown::Finish).ran, 1);
        })
    },
];

#[test(verb in VERBS)]
fn a_job_runs_on_the_waiting_thread(verb: Verb) {
    let pool = threadless();
    assert_eq!(verb(pool.handle()), here());
}

#[test]
fn concurrent_waiting_threads_all_go_on() {
    let pool = &threadless();
    thread::scope(|scope| {
        for thread in 0..6 {
            scope.spawn(move || {
                (0..500).for_each(|job| {
                    assert_eq!(pool.submit(move || job + thread).join().unwrap(), job + thread)
                });
            });
        }
    });
}

/// The second thread waits while the first acts as the worker, which then leaves.
#[test]
fn a_waiting_thread_becomes_the_worker() {
    let pool = &threadless();
    for _ in 0..100 {
        let ((runs, begun), (go, may_go)) = (mpsc::channel(), mpsc::channel::<()>());
        thread::scope(|scope| {
            scope.spawn(move || {
                let long = pool.submit(move || {
                    runs.send(()).unwrap();
                    may_go.recv().is_err()
                });
                assert!(long.join().unwrap());
            });
            begun.recv().unwrap();
            let job = pool.submit(here);
            scope.spawn(move || job.join().unwrap());
            drop(go);
        });
    }
}

#[test]
fn another_pools_job_runs_the_awaited_job() {
    let (pool, other) = (threadless(), Pool::new(1));
    let handle = pool.handle();
    let (told, tells) = mpsc::channel();
    other.execute(move || {
        let first = handle.submit(here).join().unwrap();
        let second = handle.block_on(async move { handle.spawn(async { here() }).await.unwrap() });
        let idle = handle.wait_idle();
        told.send((first == here(), second == here(), idle)).unwrap();
    });
    // Not by a wait of brigade, in which this thread would act as the worker.
    assert_eq!(tells.recv().unwrap(), (true, true, true));
}

#[test]
fn threadless_pools_wait_for_each_other() {
    let (one, two) = (threadless(), threadless());
    let (first, second) = (one.handle(), two.handle());
    let nested = one.submit(move || second.submit(move || first.spawn(ready(7)).join()).join());
    assert_eq!(nested.join().unwrap().unwrap().unwrap(), 7);
    let local = LocalPool::new().unwrap();
    let first = one.handle();
    assert_eq!(local.submit(move || first.submit(|| 8).join()).join().unwrap().unwrap(), 8);
    let inner = local.handle();
    assert_eq!(one.submit(move || inner.submit(|| 9).join()).join().unwrap().unwrap(), 9);
}

/// The wait is no job of the pool, which does not wait for it.
#[test(how in [Shutdown::Drain, Shutdown::Finish, Shutdown::Discard])]
fn the_pool_ends_beside_an_acting_worker(how: Shutdown) {
    let pool = threadless();
    let handle = pool.handle();
    let latch = Latch::default();
    let opens = latch.wait();
    let waits = thread::spawn(move || {
        let job = handle.submit(|| ());
        job.join().unwrap();
        block_on(opens);
    });
    eventually("the job has run", || pool.metrics().returned == 1);
    assert_eq!(pool.shutdown(how).still_running, 0);
    assert_eq!(pool.try_submit(|| ()).unwrap_err().reason(), Reason::Closed);
    drop(pool);
    latch.open();
    waits.join().unwrap();
}

#[test(capacity in [1, 3], policy in [WhenFull::Block, WhenFull::BlockFor(Duration::MAX), WhenFull::RunInCaller])]
fn a_submission_to_a_full_pool_makes_room(capacity: usize, policy: WhenFull) {
    let builder = Pool::builder().without_threads().capacity(capacity);
    let pool = builder.when_full(policy).build().unwrap();
    let ran = Arc::new(AtomicU32::new(0));
    for _ in 0..10 {
        let ran = ran.clone();
        pool.execute(move || _ = ran.fetch_add(1, Ordering::Relaxed));
    }
    drop(pool);
    assert_eq!(ran.load(Ordering::Relaxed), 10);
}

#[test]
fn drop_runs_accepted_and_cancels_pending_work() {
    let pool = threadless();
    let (ran, waits) = (pool.submit(|| 1), pool.spawn(pending::<()>()));
    assert!(!ran.is_finished());
    drop(pool);
    assert_eq!(ran.join().unwrap(), 1);
    assert!(waits.join().unwrap_err().is_cancelled());
}

#[test]
fn a_wait_ends_at_its_time_without_a_thread() {
    let pool = threadless();
    let begun = Instant::now();
    let mut never = pool.spawn(pending::<()>());
    assert!(never.join_timeout(SOON).is_none());
    assert!(begun.elapsed() >= SOON);
    assert_eq!(pool.shutdown(Shutdown::Finish.timeout(SOON)).still_running, 1);
    assert!(never.cancel());
}

/// The deadlock of a job that waits for itself is seen as elsewhere.
#[test]
fn a_job_waiting_for_itself_gets_an_error() {
    let pool = threadless();
    let (sender, receiver) = mpsc::channel::<brigade::JoinHandle<()>>();
    let job = pool.submit(move || {
        let own = receiver.recv().unwrap();
        assert!(matches!(own.join(), Err(JoinError::WouldDeadlock)));
    });
    sender.send(job).unwrap();
    assert!(pool.wait_idle());
}

#[test]
fn work_needing_its_own_thread_is_refused() {
    let error = Pool::builder().threads(2).without_threads().build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    let pool = threadless();
    assert_eq!(pool.size(), 1..=1);
    assert_eq!(pool.resize(2).unwrap_err().kind(), ErrorKind::InvalidInput);
    assert!(pool.prestart().is_ok());
    let local = pool.submit(|| drop(brigade::spawn_local(ready(()))));
    let message = local.join().unwrap_err().to_string();
    assert!(message.contains("a pool with threads"), "{message}");
}

/// Caught: no thread fired the timer while a job that its submitter ran polled.
#[test]
fn a_limit_ends_a_busy_future() {
    let busy = || {
        time::timeout(SOON, async {
            loop {
                time::sleep(Duration::ZERO).await;
            }
        })
    };
    assert!(threadless().block_on(busy()).is_err());
    let builder = Pool::builder().without_threads().capacity(1).when_full(WhenFull::RunInCaller);
    let pool = builder.build().unwrap();
    pool.execute(|| ());
    let (handle, ran) = (pool.handle(), Arc::new(AtomicU32::new(0)));
    let count = ran.clone();
    pool.execute(move || {
        assert!(handle.block_on(busy()).is_err());
        count.store(1, Ordering::Relaxed);
    });
    assert_eq!(ran.load(Ordering::Relaxed), 1, "by its submitter");
}

/// Caught: a job that ran above the wait for another pool did not find that pool's worker below it.
#[test]
fn a_job_above_a_wait_for_another_pool_waits_for_it_too() {
    let (one, two) = (threadless(), threadless());
    let (first, second) = (two.handle(), two.handle());
    let nap = one.submit(move || first.block_on(time::sleep(10 * SOON)));
    let nested = one.submit(move || second.submit(|| 7).join().unwrap());
    nap.join().unwrap();
    assert_eq!(nested.join().unwrap(), 7);
}
