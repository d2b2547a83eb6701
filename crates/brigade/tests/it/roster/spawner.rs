//! The spawner is user code: it may fail, panic and be slow, and the pool still works.

use std::ops::RangeInclusive;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use std::{io, thread};

use crate::support::crowd::{Crowd, await_idle_workers, for_both_queueings, workers};
use crate::support::reports::counts;
use crate::support::staging::{blocked, numbered, refused, running};
use crate::support::verbs::all_work_comes_back;
use brigade::{Builder, Handle, NewThread, Pool, Reason, Shutdown, Thread, WhenFull};
use brigade_testkit::{BlockedThread, Gate, Halt, eventually, panics, spin_for, stays, test};

/// How starts fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    Error,
    Panic,
}

/// Starts threads, unless told to fail.
#[derive(Clone, Default)]
struct Starter {
    fails: Arc<AtomicBool>,
    asked: Arc<AtomicUsize>,
}

impl Starter {
    fn fail(&self, fails: bool) {
        self.fails.store(fails, Ordering::SeqCst);
    }

    fn spawner(&self, how: Failure) -> impl Fn(NewThread) -> io::Result<Thread> + 'static {
        let starter = self.clone();
        move |thread| {
            starter.asked.fetch_add(1, Ordering::SeqCst);
            match (starter.fails.load(Ordering::SeqCst), how) {
                (false, _) => thread.start(),
                (true, Failure::Error) => Err(io::Error::other("expected: no thread today")),
                (true, Failure::Panic) => panic!("expected: the spawner panics"),
            }
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_failed_prestart_fails_the_build() {
    use crate::support::crowd::threads_named;
    for (panics, failing) in [(false, 0), (false, 1), (false, 2), (false, 3), (true, 0), (true, 3)]
    {
        let spawner = numbered(move |number, thread| match number == failing {
            false => thread.start(),
            true if panics => panic!("expected"),
            true => Err(io::Error::new(io::ErrorKind::WouldBlock, "the system has had enough")),
        });
        let name = |index| format!("nth-start-{index}");
        let error = Pool::builder().threads(4).prestart(4).name(name).spawner(spawner).build();
        let error = error.expect_err("one thread could not be started");
        if !panics {
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            let text = error.to_string();
            let advice = "the system has had enough; `Builder::without_threads` makes";
            assert!(text.contains(advice), "{text}");
        }
        assert!(!error.to_string().is_empty());
        // A joined thread is listed for a moment longer.
        eventually("none is left", || threads_named("nth-start-") == 0);
        let retry = Pool::builder().threads(4).prestart(4).name(name).build().unwrap();
        await_idle_workers(&retry, 4);
    }
}

#[test]
fn threads_come_with_their_final_names() {
    let names = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&names);
    let builder = Pool::builder().threads(2).prestart(2).name(|index| format!("named-{index}"));
    let pool = builder.spawner(move |thread| {
        seen.lock().unwrap().push(thread.name().unwrap().to_owned());
        thread.start()
    });
    drop(pool.build().unwrap());
    assert_eq!(*names.lock().unwrap(), ["named-0", "named-1"]);
}

#[test]
fn a_thread_has_the_spawners_name_or_none() {
    let name_of = |spawner: fn(NewThread) -> NewThread| {
        let builder = Pool::builder().threads(1).spawner(move |thread| spawner(thread).start());
        let name = || thread::current().name().map(String::from);
        builder.build().unwrap().submit(name).join().unwrap()
    };
    assert_eq!(name_of(|thread| thread.with_name("no. 7\0 of 9")).as_deref(), Some("no. 7"));
    assert_eq!(name_of(NewThread::without_name), None);
    assert_eq!(name_of(|thread| thread).as_deref(), Some("brigade-0"));
}

#[test(
    how in [Failure::Error, Failure::Panic],
    threads in [1..=3, 3..=3],
    for_both_queueings
)]
fn a_failed_start_is_harmless_beside_a_thread(
    builder: Builder,
    how: Failure,
    threads: RangeInclusive<usize>,
) {
    let starter = Starter::default();
    let builder = builder.threads(threads).spawner(starter.spawner(how));
    let pool = builder.build().unwrap();
    starter.fail(true);
    let (crowd, gate) = running(&pool, 1);
    for _ in 0..19 {
        pool.execute(crowd.job(&gate));
        // The worker may be about to fail to start one, too.
        eventually("no thread is about to start", || workers(&pool) == 1);
    }
    pool.execute(|| ());
    assert!(starter.asked.load(Ordering::SeqCst) > 2, "it was not asked");
    gate.open();
    pool.wait_idle();
    assert_eq!((crowd.most(), pool.metrics().returned), (1, 21));
    // The indices can be used again.
    starter.fail(false);
    let (_, gate) = running(&pool, 3);
    pool.execute(|| ());
    assert_eq!(workers(&pool), 3);
    assert_eq!(pool.metrics().workers.len(), 3);
    gate.open();
    pool.wait_idle();
    assert_eq!(pool.metrics().returned, 25);
}

#[test(for_both_queueings)]
fn a_blocked_thread_without_replacement_works_afterwards(builder: Builder) {
    let starter = Starter::default();
    let builder = builder.threads(1).spawner(starter.spawner(Failure::Error));
    let pool = builder.build().unwrap();
    starter.fail(true);
    let (_, gate) = blocked(&pool, 1);
    let jobs: Vec<_> = (0..5).map(|n| pool.submit(move || n)).collect();
    assert_eq!((workers(&pool), pool.metrics().queued), (1, 5));
    gate.open();
    for (n, job) in jobs.into_iter().enumerate() {
        assert_eq!(job.join().unwrap(), n);
    }
    assert_eq!(workers(&pool), 1);
}

/// How a pool comes to have no thread.
const THREADLESS: [&str; 3] = ["it has no core", "it is lazy", "it was resized"];

/// A pool without a thread whose spawner fails for now.
fn threadless(builder: Builder, why: &str, how: Failure) -> (Pool, Starter) {
    let starter = Starter::default();
    let builder = builder.spawner(starter.spawner(how));
    let builder = match why {
        "it has no core" => builder.threads(0..=2),
        "it is lazy" => builder.threads(2).prestart(0),
        _ => builder.threads(1).keep_alive(Duration::from_millis(5)),
    };
    let pool = builder.build().unwrap();
    if why == "it was resized" {
        pool.resize(0..=2).unwrap();
        // Work makes those that sleep look at the new size.
        pool.execute(|| ());
        await_idle_workers(&pool, 0);
    }
    starter.fail(true);
    (pool, starter)
}

#[test(how in [Failure::Error, Failure::Panic], why in THREADLESS, for_both_queueings)]
fn a_pool_refused_threads_returns_all_work(builder: Builder, how: Failure, why: &'static str) {
    let (pool, starter) = threadless(builder, why, how);
    let (handle, before) = (pool.handle(), pool.metrics().accepted);
    for _ in 0..2 {
        all_work_comes_back(handle, Reason::NoThread);
        let metrics = pool.metrics();
        assert_eq!((metrics.threads, metrics.queued), (0, 0));
    }
    assert!(!handle.metrics().is_closed);
    assert!(pool.wait_idle());
    starter.fail(false);
    assert_eq!(handle.submit(|| 42).join().unwrap(), 42);
    pool.wait_idle();
    assert_eq!(pool.metrics().accepted, before + 1);
    assert!(workers(&pool) <= 2);
    drop(pool);
    assert_eq!(handle.try_execute(|| ()).unwrap_err().reason(), Reason::Closed);
}

#[test(for_both_queueings)]
fn the_owner_of_a_pool_refused_threads_panics(builder: Builder) {
    let (pool, starter) = threadless(builder, "it has no core", Failure::Error);
    let told = panic::catch_unwind(AssertUnwindSafe(|| pool.execute(|| ()))).unwrap_err();
    assert!(panics::text(&*told).is_some_and(|text| text.contains("no thread")));
    starter.fail(false);
    assert_eq!(pool.submit(|| 42).join().unwrap(), 42, "it goes on as if nothing had been");
    pool.wait_idle();
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1);
}

#[test(
    why in THREADLESS,
    how in [None, Some(Shutdown::Drain), Some(Shutdown::Discard)],
    for_both_queueings
)]
fn a_pool_without_a_thread_ends_in_any_way(
    builder: Builder,
    why: &'static str,
    how: Option<Shutdown>,
) {
    let (pool, _) = threadless(builder, why, Failure::Error);
    assert!(pool.handle().try_execute(|| ()).is_err());
    let Some(how) = how else { return drop(pool) };
    let ran = pool.metrics().returned;
    assert_eq!(counts(pool.shutdown(how)), (ran, 0, 0));
}

/// One relies on a thread that another is starting, and then it does not start.
#[test]
fn a_job_accepted_during_a_failing_start_runs() {
    let start = Halt::default();
    let stops = start.clone();
    let spawner = numbered(move |number, thread| match number {
        0 => {
            stops.here();
            refused()
        }
        _ => thread.start(),
    });
    let pool = Pool::builder().threads(0..=1).spawner(spawner).build().unwrap();
    let handle = pool.handle();
    thread::scope(|scope| {
        let submit = || handle.try_submit(|| ());
        let first = scope.spawn(submit);
        start.await_thread();
        let submitter = BlockedThread::default();
        let blocks = submitter.clone();
        let second = scope.spawn(move || {
            blocks.is_this();
            submit()
        });
        // It waits for the start, or has relied on it and returned.
        eventually("it has submitted or is blocked", || {
            second.is_finished() || submitter.is_blocked()
        });
        start.release();
        for submitted in [first, second] {
            if let Ok(mut job) = submitted.join().unwrap() {
                let outcome = job.join_timeout(Duration::from_secs(10));
                assert!(outcome.is_some(), "accepted and left alone: {:?}", pool.metrics());
            }
        }
    });
}

/// The thread that a submission relies on leaves before the job is there, and the next one does not start.
#[test(120, for_both_queueings)]
fn a_job_accepted_during_the_last_leave_runs(builder: Builder) {
    // Half of them fail, in no rhythm that the submissions could have too.
    let spawner =
        numbered(|number, thread| match (number as u32).wrapping_mul(0x9e37_79b9) >> 31 {
            0 => refused(),
            _ => thread.start(),
        });
    let builder = builder.threads(0..=3).keep_alive(Duration::from_micros(8));
    let pool = builder.spawner(spawner).build().unwrap();
    let handle = pool.handle();
    for n in 0..10_000 {
        if let Ok(mut job) = handle.try_submit(move || n) {
            let outcome = job.join_timeout(Duration::from_secs(10));
            assert!(outcome.is_some(), "job {n} is left alone: {:?}", pool.metrics());
        }
        spin_for(Duration::from_micros(n % 40));
    }
}

#[test]
fn a_spawner_failing_late_keeps_the_counts_right() {
    let there = Arc::new(AtomicUsize::new(0));
    let (starts, stops) = (Arc::clone(&there), Arc::clone(&there));
    let spawner = numbered(|number, thread| {
        let started = thread.start()?;
        // Say, its priority could not be set.
        if number > 0 { refused() } else { Ok(started) }
    });
    let builder = Pool::builder().threads(1..=3).spawner(spawner);
    let builder = builder
        .on_start(move |_| _ = starts.fetch_add(1, Ordering::SeqCst))
        .on_stop(move |_| _ = stops.fetch_sub(1, Ordering::SeqCst));
    let pool = builder.build().unwrap();
    let (gate, crowd) = (Gate::closed(), Crowd::default());
    for _ in 0..10 {
        pool.execute(crowd.job(&gate));
    }
    eventually("each counted worker runs a job", || crowd.now() == workers(&pool));
    stays("no more are counted", || crowd.now() == workers(&pool));
    let (most, counted) = (crowd.now(), workers(&pool));
    gate.open();
    drop(pool);
    assert!(most <= 3 && counted == most, "{most} threads at work, {counted} counted, 3 allowed");
}

#[test]
fn a_spawner_may_wait_for_an_idle_pool() {
    let pool: Arc<OnceLock<Pool>> = Arc::default();
    let own = Arc::clone(&pool);
    let builder = Pool::builder().threads(2).spawner(move |thread| {
        own.get().inspect(|pool| _ = pool.wait_idle());
        thread.start()
    });
    pool.set(builder.build().unwrap()).unwrap();
    pool.get().unwrap().execute(|| ());
    assert!(pool.get().unwrap().wait_idle());
}

#[test(policy in [WhenFull::DropOldest, WhenFull::Block], to_own in [true, false])]
fn a_spawner_may_submit_to_other_and_own_full_pools(policy: WhenFull, to_own: bool) {
    let (own, other) = (Arc::<OnceLock<Handle>>::default(), Pool::new(1));
    let (handle, elsewhere) = (Arc::clone(&own), other.handle());
    let builder = Pool::builder().threads(0..=1).capacity(1).when_full(policy);
    let builder = builder.spawner(move |thread| {
        let to = if to_own { *handle.get().unwrap() } else { elsewhere };
        let _ = to.job().execute(|| ());
        thread.start()
    });
    let pool = builder.build().unwrap();
    own.set(pool.handle()).unwrap();
    pool.execute(|| ());
    assert!(pool.wait_idle() && other.wait_idle());
}
