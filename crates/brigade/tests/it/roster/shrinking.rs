//! How a pool loses threads again, down to none, and that no job is lost with them.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use crate::support::crowd::{await_idle_workers, for_both_queueings, workers};
use crate::support::reports::counts;
use crate::support::staging::running;
use brigade::{Idle, Pool, Shutdown};
use brigade_testkit::{Gate, eventually, spin_for, stays, test};

const SHORT: Duration = Duration::from_millis(50);

/// Has all threads of `pool` work at once.
fn fill(pool: &Pool) {
    running(pool, *pool.size().end()).1.open();
    pool.wait_idle();
}

/// A worker's keep-alive ends while a job is submitted, many times; with 80 microseconds about as long as the next job takes to come.
#[test(120)]
fn no_job_is_stranded_while_keep_alives_end() {
    for (core, micros) in [(1, 0), (1, 1), (0, 0), (0, 1), (0, 80)] {
        let keep_alive = Duration::from_micros(micros);
        for_both_queueings(|builder| {
            let pool = builder.threads(core..=2).keep_alive(keep_alive).build().unwrap();
            thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| {
                        for n in 0..1000 {
                            assert_eq!(pool.submit(move || n + 1).join().unwrap(), n + 1);
                            assert!(workers(&pool) <= 2);
                        }
                    });
                }
            });
            for n in 1..=300 {
                pool.job().execute_batch([|| (), || ()]).unwrap();
                pool.wait_idle();
                assert_eq!(pool.metrics().returned, 2000 + 2 * n);
            }
            await_idle_workers(&pool, core);
            assert_eq!(counts(pool.shutdown(Shutdown::Drain)), (2600, 0, 0));
        });
    }
}

#[test]
fn core_threads_and_recently_idle_threads_stay() {
    let ten_minutes = Duration::from_secs(600);
    for (threads, keep_alive, stay) in
        [(0..=3, ten_minutes, 3), (0..=3, Duration::MAX, 3), (2..=4, Duration::ZERO, 2)]
    {
        let pool = Pool::builder().threads(threads).keep_alive(keep_alive).build().unwrap();
        fill(&pool);
        await_idle_workers(&pool, stay);
        stays("they stay", || workers(&pool) == stay);
    }
}

/// The time that a worker spins before it parks is part of the time for which it is idle.
#[test]
fn any_idle_thread_ends_after_keep_alive() {
    let spins = [Duration::from_micros(100), Duration::from_secs(60)].map(Idle::SpinThenPark);
    for idle in [Idle::Park, Idle::Spin].into_iter().chain(spins) {
        for (core, keep_alive) in [(0, SHORT), (1, Duration::ZERO)] {
            for_both_queueings(|builder| {
                let builder = builder.threads(core..=2).keep_alive(keep_alive).idle(idle);
                let pool = builder.build().unwrap();
                for _ in 0..2 {
                    fill(&pool);
                    await_idle_workers(&pool, core);
                }
            });
        }
    }
}

struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        spin_for(Duration::from_millis(1));
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

thread_local! {
    static LAST: RefCell<Option<Counted>> = const { RefCell::new(None) };
}

/// Sets a thread-local on each of the threads that a pool of one to three gets.
fn with_destructors(keep_alive: Duration, name: &'static str) -> (Pool, Arc<AtomicUsize>) {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&dropped);
    let start = move |_| LAST.set(Some(Counted(Arc::clone(&counted))));
    let builder = Pool::builder().threads(1..=3).keep_alive(keep_alive).on_start(start);
    let pool = builder.name(move |index| format!("{name}{index}")).build().unwrap();
    // A worker that has not slept yet counts as busy.
    await_idle_workers(&pool, 1);
    (pool, dropped)
}

#[cfg(target_os = "linux")]
#[test]
fn a_departed_thread_has_really_ended() {
    use crate::support::crowd::threads_named;
    let (pool, dropped) = with_destructors(Duration::from_millis(500), "retired-");
    fill(&pool);
    assert_eq!(threads_named("retired-"), 3);
    await_idle_workers(&pool, 1);
    eventually("their threads end while the pool lives", || threads_named("retired-") == 1);
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
    fill(&pool);
    drop(pool);
    assert_eq!(dropped.load(Ordering::SeqCst), 5);
    // The kernel takes a thread off its list a moment after it could be joined.
    eventually("the threads are gone", || threads_named("retired-") == 0);
}

#[test]
fn an_ended_pools_destructors_have_run() {
    for round in 0..20 {
        let (pool, dropped) = with_destructors(Duration::from_micros(round * 20), "leaving-");
        fill(&pool);
        await_idle_workers(&pool, 1);
        drop(pool);
        assert_eq!(dropped.load(Ordering::SeqCst), 3, "round {round}");
    }
}

thread_local! {
    static AT_EXIT: RefCell<Option<AtExit>> = const { RefCell::new(None) };
}

struct AtExit(Box<dyn FnMut()>);

impl Drop for AtExit {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Another worker that leaves joins the thread of the first, which is still in its destructors.
#[cfg_attr(windows, ignore = "waits in a destructor of a thread-local")]
#[test]
fn a_departed_threads_destructor_may_drop_the_pool() {
    let pool = Pool::builder().threads(0..=2).keep_alive(SHORT).build().unwrap();
    let owner = Arc::new(Mutex::new(None));
    let (gate, (told, tells)) = (Gate::closed(), mpsc::channel());
    let (owned, until) = (Arc::clone(&owner), gate.clone());
    pool.execute(move || {
        let last = move || {
            until.wait();
            let pool: Option<Pool> = owned.lock().unwrap().take();
            drop(pool);
            told.send(()).unwrap();
        };
        AT_EXIT.set(Some(AtExit(Box::new(last))));
    });
    pool.wait_idle();
    await_idle_workers(&pool, 0);
    assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
    await_idle_workers(&pool, 0);
    // The second joins the first, or is about to.
    *owner.lock().unwrap() = Some(pool);
    gate.open();
    tells.recv_timeout(Duration::from_secs(10)).expect("the destructor has dropped the pool");
}
