//! The parent's `Pool`s, `Handle`s and `JoinHandle`s in the child.

use std::cell::RefCell;
use std::future::Future as _;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use brigade_testkit::WakeCounter;

use crate::child::{End, assert_in_child, await_end, claim, exit_now, fork, fork_here};
use crate::pools::{
    await_threads, is_cancelled, is_forked, occupy, ready, refuses, works, works_still,
};
use brigade::time::{self, Sleep};
use brigade::{Cause, JoinError, JoinHandle, LocalPool, Metrics, Missed, Pool, Report, Shutdown};

fn poll_with<T>(job: &mut JoinHandle<T>, waker: &Waker) -> Poll<Result<T, JoinError>> {
    Pin::new(job).poll(&mut Context::from_waker(waker))
}

pub(crate) fn a_handle_returns_the_job_in_a_child() {
    let pool = ready(2);
    let handle = pool.handle();
    handle.submit(|| ()).join().unwrap();
    assert_in_child(vec![
        claim("execute gives the closure back", || {
            let (told, tells) = mpsc::channel();
            let rejected = handle.try_execute(move || told.send(42).unwrap()).unwrap_err();
            let says_what_to_do = rejected.to_string().contains("make a new pool here");
            rejected.into_inner()();
            says_what_to_do && tells.recv() == Ok(42)
        }),
        claim("the pool counts as closed", || handle.metrics().is_closed),
        claim("a new pool works", || works(&Pool::new(2))),
        claim("and changes nothing for the old one", || is_forked(handle.try_execute(|| ()))),
    ]);
    assert!(!handle.metrics().is_closed);
    assert_eq!(handle.submit(|| 42).join().unwrap(), 42);
}

#[cfg(feature = "trace")]
pub(crate) fn a_trace_is_the_parents_in_a_child() {
    use brigade::TraceError;
    let pool = ready(2);
    let tracing = RefCell::new(Some(pool.start_trace().unwrap()));
    pool.submit(|| ()).join().unwrap();
    // Only the child takes it.
    let finish = || tracing.borrow_mut().take().unwrap().finish();
    assert_in_child(vec![
        claim("no trace begins", || pool.start_trace().is_err_and(|e| e == TraceError::Forked)),
        claim("what was recorded is the parent's", || finish().recorded() == 0),
        claim("a new pool is traced", || {
            let pool = Pool::new(1);
            let tracing = pool.start_trace().unwrap();
            pool.submit(|| ()).join().is_ok() && tracing.finish().recorded() > 0
        }),
    ]);
    assert!(tracing.take().unwrap().finish().recorded() > 0);
    let handle = pool.handle();
    let tracing = pool.start_trace().unwrap();
    let job = pool.job().name("forks").submit(move || {
        assert_in_child(vec![claim("no trace begins in the middle of a job", || {
            handle.start_trace().is_err_and(|error| error == TraceError::Forked)
        })]);
    });
    job.unwrap().join().unwrap();
    assert!(tracing.finish().recorded() > 0);
}

#[cfg(not(feature = "trace"))]
pub(crate) fn a_trace_is_the_parents_in_a_child() {}

/// The child continues in the middle of the call.
pub(crate) fn an_iterator_of_a_dispatch_that_forks_hands_nothing_over_in_the_child() {
    let pool = ready(2);
    let parent = std::process::id();
    let mut child = None;
    let back = pool.job().dispatch((0..1).map(|_| {
        child = Some(fork_here());
        || ()
    }));
    let back = back.count();
    if std::process::id() != parent {
        exit_now(i32::from(back != 1));
    }
    assert_eq!(await_end(child.unwrap()), End::Exit(0));
    assert!(works_still(&pool));
}

/// The child is forked while other threads may hold the locks of what is observed, also by a job.
pub(crate) fn a_dump_of_a_pool_of_the_parents_is_empty_in_a_child() {
    let pool = Pool::builder().threads(3).prestart(3).observe_jobs().build().unwrap();
    await_threads(&pool);
    let handle = pool.handle();
    let _pending = pool.spawn(brigade::time::sleep(Duration::MAX));
    let stop = AtomicBool::new(false);
    let is_empty = move || {
        let dump = handle.dump();
        let is_listed = dump.futures.is_empty() && dump.workers.is_empty();
        dump.is_closed && is_listed && dump.to_string().contains("the parent of a fork")
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let jobs: Vec<_> = (0..10).map(|_| handle.spawn(brigade::yield_now())).collect();
                jobs.into_iter().for_each(|job| job.join().unwrap());
                _ = handle.dump();
            }
        });
        for _ in 0..20 {
            let forks = move || await_end(fork(|| i32::from(!is_empty())));
            assert_eq!(forks(), End::Exit(0));
            assert_eq!(handle.submit(forks).join().unwrap(), End::Exit(0));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(pool.dump().futures.len(), 1);
}

pub(crate) fn the_owner_returns_from_everything_in_a_child() {
    let (pool, others) = (ready(2), [(); 5].map(|()| ready(2)));
    let busy: Vec<_> = others.iter().chain([&pool]).map(occupy).collect();
    // Only the child takes them out.
    let others = RefCell::new(Vec::from(others));
    let next = || others.borrow_mut().pop().unwrap();
    let nothing = Report::default();
    let mut closed = Metrics::default();
    closed.is_closed = true;
    assert_in_child(vec![
        claim("execute refuses", || refuses(|| pool.execute(|| ()))),
        claim("submit refuses", || refuses(|| drop(pool.submit(|| ())))),
        claim("wait_idle does not wait", || !pool.wait_idle()),
        claim("nor for a while", || !pool.wait_idle_timeout(Duration::MAX)),
        claim("the counters are 0", || pool.metrics() == closed),
        claim("it has no threads", || pool.size() == (0..=0) && *pool.size().end() == 0),
        claim("it has no other size", || {
            pool.resize(1..=3).is_err_and(|error| error.kind() == io::ErrorKind::Unsupported)
        }),
        claim("it starts no thread", || {
            pool.prestart().is_err_and(|error| error.kind() == io::ErrorKind::Unsupported)
        }),
        claim("it can be shown", || !format!("{pool:?}").is_empty()),
        claim("close returns", || {
            pool.close();
            true
        }),
        claim("a drain reports nothing", || next().shutdown(Shutdown::Drain) == nothing),
        claim("a discard reports nothing", || next().shutdown(Shutdown::Discard) == nothing),
        claim("a timeout is not waited for", || {
            next().shutdown(Shutdown::Drain.timeout(Duration::MAX)) == nothing
        }),
        claim("drop and detach return", || {
            drop(next());
            next().shutdown(Shutdown::Drain.timeout(Duration::ZERO));
            true
        }),
    ]);
    drop(busy);
    assert!(works_still(&pool));
}

pub(crate) fn an_unfinished_job_counts_as_cancelled_in_a_child_and_a_finished_one_has_its_outcome()
{
    let (pool, capture) = (ready(1), Arc::new(()));
    let [mut finished, finished_too] = [(); 2].map(|()| pool.submit(|| 42));
    pool.wait_idle();
    let busy = occupy(&pool);
    let mut queued = (0..8).map(|_| {
        let capture = Arc::clone(&capture);
        pool.submit(move || Arc::strong_count(&capture))
    });
    let mut next = || queued.next().unwrap();
    let (joined, mut tried, mut timed, mut polled) = (next(), next(), next(), next());
    let (mut cancelled, on_drop, dropped, kept) = (next(), next().cancel_on_drop(), next(), next());
    let waker = Arc::new(WakeCounter::default());
    assert!(poll_with(&mut polled, &Arc::clone(&waker).into()).is_pending());
    let (held, mut polled_too) = (Arc::strong_count(&waker), Some(kept));
    assert!(poll_with(polled_too.as_mut().unwrap(), &Arc::clone(&waker).into()).is_pending());
    // Only the child takes them out.
    let mut moved = Some((joined, on_drop, dropped));
    let mut finished_too = Some(finished_too);
    assert_in_child(vec![
        claim("a finished one is there", || finished.try_join().unwrap().unwrap() == 42),
        claim("and to be joined", || finished_too.take().unwrap().join().unwrap() == 42),
        claim("try_join, once", || {
            let cancelled = is_cancelled(tried.try_join().unwrap());
            cancelled && tried.is_finished() && tried.try_join().is_none()
        }),
        claim("join_timeout", || is_cancelled(timed.join_timeout(Duration::MAX).unwrap())),
        claim("poll", || {
            matches!(
                poll_with(&mut polled, Waker::noop()),
                Poll::Ready(Err(JoinError::Cancelled(Cause::Ended)))
            )
        }),
        claim("cancel does nothing", || {
            !cancelled.cancel() && is_cancelled(cancelled.try_join().unwrap())
        }),
        claim("join, and both drops", || {
            let (joined, on_drop, dropped) = moved.take().unwrap();
            drop((on_drop, dropped));
            is_cancelled(joined.join())
        }),
        claim("drop does not touch what the parent's worker may be at", || {
            drop(polled_too.take());
            Arc::strong_count(&waker) == held + 1
        }),
        claim("no captures have been dropped", || Arc::strong_count(&capture) == 9),
    ]);
    drop(busy);
    let (joined, _, _) = moved.unwrap();
    assert!(joined.join().is_ok());
    assert!(polled_too.unwrap().join().is_ok());
}

/// One test: whether there is a default pool yet matters.
///
/// Caught: free functions of a child were rejected as soon as its parent had used one.
pub(crate) fn the_default_pool_of_a_child_is_its_own() {
    let works = || brigade::submit(|| 42).join().unwrap() == 42;
    assert_in_child(vec![claim("no parent's default pool: the child makes one", works)]);
    let parents = brigade::default_pool();
    let size = parents.size();
    assert!(works_still(parents));
    let refused = || is_forked(brigade::try_execute(|| ()));
    assert_in_child(vec![
        claim("the parent's rejects, also inside it", || parents.enter(refused)),
        claim("another works", works),
        claim("it is another", || brigade::default_pool().handle() != parents.handle()),
        claim("it is not replaced", || brigade::set_default_pool(Pool::new(1)).is_err()),
    ]);
    assert_in_child(vec![
        claim("it can be set first", || brigade::set_default_pool(ready(3)).is_ok()),
        claim("and works", || works() && brigade::default_pool().size() == (3..=3)),
        claim("a grandchild has another, as nothing had been set", || {
            let childs = brigade::default_pool().handle();
            let own = || works() && brigade::default_pool().size() == size;
            let own = || own() && brigade::default_pool().handle() != childs;
            await_end(fork(|| i32::from(!own()))) == End::Exit(0)
        }),
    ]);
    assert!(works_still(parents));
}

pub(crate) fn a_grandchild_knows_both_pools_for_what_they_are() {
    let parents = ready(1);
    assert_in_child(vec![claim("the grandchild's claims hold", || {
        let childs = ready(1);
        let grandchild = fork(|| {
            let own = ready(1);
            let refused = [parents.handle(), childs.handle()]
                .iter()
                .all(|handle| is_forked(handle.try_execute(|| ())));
            i32::from(!(refused && works(&own)))
        });
        await_end(grandchild) == End::Exit(0) && works(&childs)
    })]);
    assert!(works(&parents));
}

/// The thread that polls the timers does not exist there, and may have held a lock.
pub(crate) fn timers_of_the_parent_do_not_exist_in_a_child() {
    let (pool, far, capture) = (ready(1), Duration::from_secs(3600), Arc::new(()));
    let [held, kept] = [(); 2].map(|()| Arc::clone(&capture));
    let timer = pool.job().after(far).execute(move || drop(held)).unwrap();
    let mut dropped =
        Some(pool.job().every(far).missed(Missed::Skip).execute(move || _ = &kept).unwrap());
    let ran = pool.job().after(Duration::ZERO).execute(|| ()).unwrap();
    while !ran.is_over() {
        thread::yield_now();
    }
    let soon = Duration::from_millis(20);
    let waker = Arc::new(WakeCounter::default());
    let polled = |mut sleep: Sleep| {
        let waker = Arc::clone(&waker).into();
        let job = pool.submit(move || {
            assert!(Pin::new(&mut sleep).poll(&mut Context::from_waker(&waker)).is_pending());
            sleep
        });
        Some(job.join().unwrap())
    };
    let (mut forgotten, mut moves) = (polled(time::sleep(far)), polled(time::sleep(soon)));
    let handle = pool.handle();
    assert_in_child(vec![
        claim("execute_after says forked", || is_forked(handle.job().after(far).execute(|| ()))),
        claim("execute_every says forked", || {
            is_forked(handle.job().every(far).missed(Missed::Skip).execute(|| ()))
        }),
        claim("the owner refuses", || is_forked(pool.job().after(far).execute(|| ()))),
        claim("a timer counts as over, and nothing is known of it", || {
            timer.is_over() && !timer.cancel() && timer.ticks() == 0 && ran.ticks() == 0
        }),
        claim("no captures are dropped", || {
            drop(dropped.take());
            Arc::strong_count(&capture) == 3
        }),
        claim("a sleep can be dropped", || forgotten.take().is_some()),
        claim("a sleep of the parent's moves to a pool of the child's", || {
            let begun = Instant::now();
            brigade::block_on(moves.take().unwrap());
            brigade::block_on(time::sleep(soon));
            begun.elapsed() >= soon
        }),
        claim("and a timer runs there", || {
            let timer = brigade::execute_after(Duration::ZERO, || ());
            while !timer.is_over() {
                thread::yield_now();
            }
            timer.ticks() == 1
        }),
    ]);
    assert!(timer.cancel() && dropped.take().unwrap().cancel());
    assert_eq!((ran.ticks(), Arc::strong_count(&capture)), (1, 1));
    assert!(works_still(&pool));
}

/// Ends a child in which it is dropped.
struct Parents(u32);

impl Drop for Parents {
    fn drop(&mut self) {
        if process::id() != self.0 {
            exit_now(9);
        }
    }
}

/// The pool cache of the child's one thread must not release threads that do not exist.
pub(crate) fn a_child_may_exit_through_the_destructors() {
    let parents = Parents(process::id());
    let hook = move |_| _ = &parents;
    let ended = Pool::builder().threads(1).on_start(hook).build().unwrap();
    let (left, handle) = (ready(1), ended.handle());
    handle.submit(|| ()).join().unwrap();
    thread::spawn(move || drop(ended)).join().unwrap();
    assert!(handle.try_execute(|| ()).is_err());
    for last in [handle, left.handle()] {
        let _ = last.try_execute(|| ());
        assert_eq!(await_end(fork(|| process::exit(7))), End::Exit(7));
    }
    assert!(works_still(&left));
}

/// Its worker is the thread that forks.
pub(crate) fn a_pool_that_its_owner_runs_is_the_parents_in_a_child() {
    let pool = LocalPool::new().unwrap();
    let job = pool.handle().submit(|| 42);
    let says = |call: &dyn Fn()| {
        let payload = panic::catch_unwind(AssertUnwindSafe(call)).expect_err("it is not here");
        payload.downcast_ref::<&str>().is_some_and(|said| said.contains("make a new one here"))
    };
    assert_in_child(vec![
        claim("its owner's calls panic", || {
            says(&|| _ = pool.tick())
                && says(&|| pool.run_until_idle())
                && says(&|| pool.run_until(async {}))
                && is_forked(pool.handle().try_execute(|| ()))
        }),
        claim("so does a spawn", || {
            let spawn = || drop(pool.spawn_local(async {}));
            panic::catch_unwind(AssertUnwindSafe(spawn)).is_err()
        }),
        claim("a new one works", || {
            let pool = LocalPool::new().unwrap();
            pool.run_until(async { brigade::spawn(async { 42 }).await.is_ok_and(|n| n == 42) })
        }),
    ]);
    let mut parents = Some(pool);
    assert_in_child(vec![claim("dropping it leaks it", || {
        drop(parents.take());
        true
    })]);
    let pool = parents.expect("only the child has dropped it");
    assert_eq!(pool.run_until(job).unwrap(), 42);
}
