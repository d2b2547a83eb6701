//! The spawner is user code: it may fail, panic and be slow, and the pool still works.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;
use std::{io, thread};

use crate::support::crowd::{Crowd, await_idle_workers, for_both_queueings, workers};
use crate::support::verbs::all_work_comes_back;
use brigade::{Builder, Handle, NewThread, Pool, Reason, Shutdown, Thread, WhenFull};
use brigade_testkit::{BlockedThread, Gate, eventually, panics, spin_for, stays, test};

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

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
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
fn build_fails_if_any_prestarted_thread_can_not_start_and_leaves_none() {
    use crate::support::crowd::threads_named;
    for (panics, failing) in [(false, 0), (false, 1), (false, 2), (false, 3), (true, 0), (true, 3)]
    {
        let asked = AtomicUsize::new(0);
        let spawner = move |thread: NewThread| match asked.fetch_add(1, Ordering::SeqCst) == failing
        {
            false => thread.start(),
            true if panics => panic!("expected"),
            true => Err(io::Error::new(io::ErrorKind::WouldBlock, "the system has had enough")),
        };
        let name = |index| format!("nth-start-{index}");
        let error = Pool::builder().threads(4).prestart(4).name(name).spawner(spawner).build();
        let error = error.expect_err("one thread could not be started");
        if !panics {
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
            assert_eq!(error.to_string(), "the system has had enough");
        }
        assert!(!error.to_string().is_empty());
        // A joined thread is listed for a moment longer.
        eventually("none is left", || threads_named("nth-start-") == 0);
        let retry = Pool::builder().threads(4).prestart(4).name(name).build().unwrap();
        await_idle_workers(&retry, 4);
    }
}

#[test]
fn threads_come_with_the_name_they_will_have() {
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
fn a_thread_has_the_name_that_the_spawner_gives_it_or_none() {
    let name_of = |spawner: fn(NewThread) -> NewThread| {
        let builder = Pool::builder().threads(1).spawner(move |thread| spawner(thread).start());
        let name = || thread::current().name().map(String::from);
        builder.build().unwrap().submit(name).join().unwrap()
    };
    assert_eq!(name_of(|thread| thread.with_name("no. 7\0 of 9")).as_deref(), Some("no. 7"));
    assert_eq!(name_of(NewThread::without_name), None);
    assert_eq!(name_of(|thread| thread).as_deref(), Some("brigade-0"));
}

#[test]
fn a_lazy_pool_that_can_not_start_its_first_thread_returns_the_job_and_tries_again() {
    for how in [Failure::Error, Failure::Panic] {
        for_both_queueings(|builder| {
            let starter = Starter::default();
            let builder = builder.threads(2).prestart(0).spawner(starter.spawner(how));
            let pool = builder.build().unwrap();
            starter.fail(true);
            let rejected = pool.try_execute(|| ()).unwrap_err();
            assert_eq!(rejected.reason(), Reason::NoThread);
            starter.fail(false);
            assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
        });
    }
}

#[test]
fn a_thread_that_can_not_start_is_not_needed_while_there_is_another() {
    for how in [Failure::Error, Failure::Panic] {
        for threads in [1..=3, 3..=3] {
            for_both_queueings(|builder| {
                let starter = Starter::default();
                let builder = builder.threads(threads.clone()).spawner(starter.spawner(how));
                let pool = builder.build().unwrap();
                starter.fail(true);
                let (gate, crowd) = (Gate::closed(), Crowd::default());
                pool.execute(crowd.job(&gate));
                eventually("the first has started", || crowd.now() == 1);
                for _ in 0..19 {
                    pool.execute(crowd.job(&gate));
                    // The worker may be about to fail to start one, too.
                    eventually("no thread is about to start", || workers(&pool) == 1);
                }
                pool.execute(|| ());
                assert!(starter.asked() > 2, "it was not asked");
                gate.open();
                pool.wait_idle();
                assert_eq!((crowd.most(), pool.metrics().returned), (1, 21));
                // The indices can be used again.
                starter.fail(false);
                let (gate, crowd) = (Gate::closed(), Crowd::default());
                for busy in 1..=3 {
                    pool.execute(crowd.job(&gate));
                    eventually("the job has started", || crowd.now() == busy);
                }
                pool.execute(|| ());
                assert_eq!(workers(&pool), 3, "{how:?}, {threads:?}");
                assert_eq!(pool.metrics().workers.len(), 3, "{how:?}, {threads:?}");
                gate.open();
                pool.wait_idle();
                assert_eq!(pool.metrics().returned, 25);
            });
        }
    }
}

#[test(for_both_queueings)]
fn a_blocked_thread_whose_replacement_can_not_start_does_the_work_afterwards(builder: Builder) {
    let starter = Starter::default();
    let builder = builder.threads(1).spawner(starter.spawner(Failure::Error));
    let pool = builder.build().unwrap();
    starter.fail(true);
    let (gate, crowd) = (Gate::closed(), Crowd::default());
    let job = crowd.job(&gate);
    pool.execute(move || brigade::blocking(job));
    eventually("it is blocked", || crowd.now() == 1);
    let jobs: Vec<_> = (0..5).map(|n| pool.submit(move || n)).collect();
    assert_eq!((workers(&pool), pool.metrics().queued), (1, 5));
    gate.open();
    for (n, job) in jobs.into_iter().enumerate() {
        assert_eq!(job.join().unwrap(), n);
    }
    assert_eq!(workers(&pool), 1);
}

/// A pool of core size 0 whose spawner fails for now.
fn threadless(builder: brigade::Builder, how: Failure) -> (Pool, Starter) {
    let starter = Starter::default();
    starter.fail(true);
    (builder.threads(0..=2).spawner(starter.spawner(how)).build().unwrap(), starter)
}

#[test]
fn a_pool_that_can_not_have_a_thread_returns_jobs_futures_and_timers_with_that_reason() {
    for how in [Failure::Error, Failure::Panic] {
        for_both_queueings(|builder| {
            let (pool, starter) = threadless(builder, how);
            let handle = pool.handle();
            for _ in 0..2 {
                all_work_comes_back(handle, Reason::NoThread);
                let metrics = pool.metrics();
                assert_eq!((metrics.threads, metrics.accepted, metrics.queued), (0, 0, 0));
            }
            assert!(!handle.metrics().is_closed);
            assert!(pool.wait_idle());
            starter.fail(false);
            assert_eq!(handle.submit(|| 42).join().unwrap(), 42);
            pool.wait_idle();
            assert_eq!(pool.metrics().accepted, 1);
            assert!(workers(&pool) <= 2);
            drop(pool);
            assert_eq!(handle.try_execute(|| ()).unwrap_err().reason(), Reason::Closed);
        });
    }
}

#[test(for_both_queueings)]
fn the_owner_of_a_pool_that_can_not_have_a_thread_panics(builder: Builder) {
    let (pool, starter) = threadless(builder, Failure::Error);
    let told = panic::catch_unwind(AssertUnwindSafe(|| pool.execute(|| ()))).unwrap_err();
    assert!(panics::text(&*told).is_some_and(|text| text.contains("no thread")));
    starter.fail(false);
    assert_eq!(pool.submit(|| 42).join().unwrap(), 42, "it goes on as if nothing had been");
    pool.wait_idle();
    assert_eq!(pool.shutdown(Shutdown::Drain).ran, 1);
}

#[test]
fn a_pool_that_never_had_a_thread_ends() {
    for how in [Shutdown::Drain, Shutdown::Discard] {
        let (pool, _) = threadless(Pool::builder(), Failure::Error);
        assert!(pool.handle().try_execute(|| ()).is_err());
        let report = pool.shutdown(how);
        assert_eq!((report.ran, report.discarded, report.still_running), (0, 0, 0));
    }
}

/// The same as for a pool that is built with a core size of zero.
#[test(for_both_queueings)]
fn a_pool_resized_to_no_core_returns_jobs_too(builder: Builder) {
    let starter = Starter::default();
    let builder = builder.threads(1).keep_alive(Duration::from_millis(5));
    let pool = builder.spawner(starter.spawner(Failure::Error)).build().unwrap();
    pool.resize(0..=2).unwrap();
    // Work makes those that sleep look at the new size.
    pool.execute(|| ());
    await_idle_workers(&pool, 0);
    starter.fail(true);
    let accepted = pool.handle().try_execute(|| ()).is_ok();
    assert!(!accepted, "accepted without a thread to run it: {:?}", pool.metrics());
}

/// One relies on a thread that another is starting, and then it does not start.
#[test]
fn a_job_accepted_while_the_only_thread_fails_to_start_is_not_stranded() {
    let (asked, gate) = (Arc::new(AtomicUsize::new(0)), Gate::closed());
    let (counted, until) = (Arc::clone(&asked), gate.clone());
    let builder = Pool::builder().threads(0..=1).spawner(move |thread| {
        match counted.fetch_add(1, Ordering::SeqCst) {
            0 => {
                until.wait();
                Err(io::Error::other("expected"))
            }
            _ => thread.start(),
        }
    });
    let pool = builder.build().unwrap();
    let handle = pool.handle();
    thread::scope(|scope| {
        let submit = || handle.try_submit(|| ());
        let first = scope.spawn(submit);
        eventually("its thread is being started", || asked.load(Ordering::SeqCst) == 1);
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
        gate.open();
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
fn a_job_accepted_while_the_last_thread_leaves_is_not_stranded_although_the_next_may_not_start(
    builder: Builder,
) {
    let asked = AtomicUsize::new(0);
    // Half of them fail, in no rhythm that the submissions could have too.
    let spawner = move |thread: NewThread| {
        let number = asked.fetch_add(1, Ordering::SeqCst) as u32;
        match number.wrapping_mul(0x9e37_79b9) >> 31 {
            0 => Err(io::Error::other("expected")),
            _ => thread.start(),
        }
    };
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
fn a_spawner_may_submit_to_another_pool() {
    let other = Pool::new(1);
    let log = other.handle();
    let builder = Pool::builder().threads(1..=2).spawner(move |thread| {
        log.execute(|| ());
        thread.start()
    });
    let pool = builder.build().unwrap();
    let (handle, gate, crowd) = (pool.handle(), Gate::closed(), Crowd::default());
    for busy in 1..=2 {
        handle.execute(crowd.job(&gate));
        eventually("the job has started", || crowd.now() == busy);
    }
    gate.open();
}

#[test]
fn a_spawner_that_fails_after_it_has_started_the_thread_leaves_the_counts_right() {
    let (asked, there) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let (starts, stops) = (Arc::clone(&there), Arc::clone(&there));
    let builder = Pool::builder().threads(1..=3).spawner(move |thread| {
        let started = thread.start()?;
        // Say, its priority could not be set.
        if asked.fetch_add(1, Ordering::SeqCst) > 0 {
            return Err(std::io::Error::other("expected"));
        }
        Ok(started)
    });
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
fn a_spawner_that_waits_for_an_idle_pool_returns() {
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

#[test]
fn a_spawner_may_submit_to_its_own_full_pool() {
    for policy in [WhenFull::DropOldest, WhenFull::Block] {
        let own: Arc<OnceLock<Handle>> = Arc::default();
        let handle = Arc::clone(&own);
        let builder = Pool::builder().threads(0..=1).capacity(1).when_full(policy);
        let builder = builder.spawner(move |thread| {
            let _ = handle.get().map(|handle| handle.job().execute(|| ()));
            thread.start()
        });
        let pool = builder.build().unwrap();
        own.set(pool.handle()).unwrap();
        pool.execute(|| ());
        assert!(pool.wait_idle(), "{policy:?}");
    }
}
