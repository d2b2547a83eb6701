//! Forks and scopes beside the end of their pool, and beside changes of its size.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;
use std::{io, thread};

use crate::support::crowd::for_both_queueings;
use crate::support::staging::{numbered, refused};
use brigade::{Builder, Handle, LocalPool, Pool, Reason, Scope, Shutdown, Thread};
use brigade::{in_place_scope, join, scope};
use brigade_testkit::{Gate, eventually, spin_for, test};

const HOWS: [Shutdown; 3] = [Shutdown::Discard, Shutdown::Drain, Shutdown::Finish];

fn leaves(depth: u32) -> u64 {
    if depth == 0 {
        spin_for(Duration::from_micros(2));
        return 1;
    }
    let (one, other) = join(|| leaves(depth - 1), || leaves(depth - 1));
    one + other
}

/// Scopes within scopes; each job says that it was dropped.
fn tree<'scope>(s: &'scope Scope<'scope, '_>, live: &'scope AtomicUsize, depth: u32) {
    struct Live<'a>(&'a AtomicUsize);
    impl Drop for Live<'_> {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    for _ in 0..3 {
        live.fetch_add(1, Ordering::SeqCst);
        let counted = Live(live);
        s.execute(move || {
            let _counted = counted;
            if depth > 0 {
                scope(|inner| inner.execute(|| tree(s, live, depth - 1)));
            }
        });
    }
}

#[test]
fn a_closed_pool_says_so_and_calls_nothing() {
    let pool = Pool::new(2);
    let handle = pool.handle();
    pool.close();
    for _ in 0..2 {
        let words = ["to", "borrow"];
        let count = || words.len();
        assert_eq!(handle.install(count), Err(Reason::Closed));
        assert_eq!(handle.install(|| brigade::join(count, count)), Err(Reason::Closed));
        assert_eq!(handle.scope(|s| s.execute(|| _ = words.len())), Err(Reason::Closed));
        assert_eq!(handle.in_place_scope(|_| ()), Err(Reason::Closed));
        assert_eq!(count(), 2, "what was lent is there");
        pool.shutdown(Shutdown::Drain);
    }
}

#[test(how in HOWS, for_both_queueings)]
fn a_join_has_its_results_as_its_pool_ends(builder: Builder, how: Shutdown) {
    let pool = builder.threads(2).build().unwrap();
    let begun = Gate::closed();
    let handle = pool.handle();
    let sum = thread::scope(|t| {
        let sum = t.spawn(|| {
            handle.install(|| {
                begun.open();
                (leaves(12), join(|| leaves(3), || leaves(3)))
            })
        });
        begun.wait();
        pool.shutdown(how);
        sum.join().unwrap()
    });
    assert_eq!(sum.unwrap(), (1 << 12, (8, 8)));
}

#[test(how in HOWS, threads in [1, 2, 8], for_both_queueings)]
fn a_scope_returns_as_its_pool_ends(builder: Builder, how: Shutdown, threads: usize) {
    let pool = builder.threads(threads).build().unwrap();
    let (begun, live, handle) = (Gate::closed(), AtomicUsize::new(0), pool.handle());
    thread::scope(|t| {
        let inside = t.spawn(|| {
            handle.scope(|s| {
                begun.open();
                tree(s, &live, 5);
            })
        });
        let in_place = t.spawn(|| _ = handle.in_place_scope(|s| tree(s, &live, 5)));
        begun.wait();
        pool.shutdown(how);
        inside.join().unwrap().unwrap();
        in_place.join().unwrap();
    });
    assert_eq!(live.into_inner(), 0);
}

/// Fault 44.
#[test(how in HOWS, threads in [1, 2, 8])]
fn scoped_jobs_from_a_run_on_b_while_a_ends(how: Shutdown, threads: usize) {
    let (a, b) = (Pool::new(threads), Pool::new(threads));
    let (begun, to_b) = (Gate::closed(), b.handle());
    let begins = begun.clone();
    let job = a.submit(move || {
        let ran = AtomicUsize::new(0);
        let is_here = || {
            assert_eq!(Handle::current(), Some(to_b));
            ran.fetch_add(1, Ordering::SeqCst);
        };
        to_b.scope(|s| {
            begins.open();
            s.execute(is_here);
            join(is_here, || scope(|s| s.execute(is_here)));
        })
        .unwrap();
        ran.into_inner()
    });
    begun.wait();
    a.shutdown(how);
    assert_eq!(job.join().unwrap(), 3);
    assert_eq!(b.install(|| 42).unwrap(), 42);
}

#[test]
fn a_scoped_job_may_end_its_pool() {
    for end in [
        (|pool: Pool| pool.close()) as fn(Pool),
        drop,
        |pool| _ = pool.shutdown(Shutdown::Discard),
        |pool| _ = pool.shutdown(Shutdown::Finish),
    ] {
        for_both_queueings(|builder| {
            let pool = builder.threads(2).build().unwrap();
            let (handle, ran) = (pool.handle(), AtomicUsize::new(0));
            let joined = handle.scope(|s| {
                s.execute(move || end(pool));
                (0..100).for_each(|_| s.execute(|| _ = ran.fetch_add(1, Ordering::Relaxed)));
                join(|| leaves(4), || leaves(4))
            });
            assert_eq!(joined.unwrap(), (16, 16));
            eventually("the pool ends", || handle.metrics().threads == 0);
            assert!(handle.install(|| ()).is_err());
        });
    }
}

#[test(how in [Shutdown::Drain, Shutdown::Finish])]
fn an_in_place_scope_runs_rejected_jobs(how: Shutdown) {
    let pool = Pool::new(2);
    let (handle, ran) = (pool.handle(), AtomicUsize::new(0));
    handle
        .in_place_scope(|s| {
            s.execute(|| _ = ran.fetch_add(1, Ordering::Relaxed));
            pool.shutdown(how);
            s.execute(|| _ = ran.fetch_add(1, Ordering::Relaxed));
            assert_eq!(s.submit(|| 42).join().unwrap(), 42);
            assert!(s.spawn(async { 42 }).join().unwrap_err().is_cancelled());
            in_place_scope(|_| ());
        })
        .unwrap();
    assert_eq!(ran.into_inner(), 2);
}

/// A scope's body, which gets a handle of the pool that the scope is on.
type Body<'a> = &'a (dyn for<'scope> Fn(&'scope Scope<'scope, 'a>, Handle) + Sync);

/// Opens a scope on a pool, or on one of its own.
type Open = fn(Handle, Body<'_>);

const OPEN: [(&str, Open); 4] = [
    ("on a worker", |pool, body| pool.install(|| scope(|s| body(s, pool))).unwrap()),
    ("from outside", |pool, body| pool.scope(|s| body(s, pool)).unwrap()),
    ("in place", |pool, body| pool.in_place_scope(|s| body(s, pool)).unwrap()),
    ("on a LocalPool", |_, body| {
        let pool = LocalPool::new().unwrap();
        let own = pool.handle();
        own.scope(|s| body(s, own)).unwrap();
    }),
];

/// Caught: a pool that was discarded dropped the jobs, and the scope returned as usual.
#[test((place, open) in OPEN, threads in [1, 2], before in [0, 50, 100])]
fn a_discarded_pool_runs_all_jobs_of_a_scope(
    place: &str,
    open: Open,
    threads: usize,
    before: usize,
) {
    for_both_queueings(|builder| {
        let pool = builder.threads(threads).build().unwrap();
        let (ran, ends) = (AtomicUsize::new(0), Gate::closed());
        let count = || _ = ran.fetch_add(1, Ordering::SeqCst);
        open(pool.handle(), &|s, pool| {
            (0..threads).for_each(|_| s.execute(|| ends.wait()));
            (0..before).for_each(|_| s.execute(count));
            pool.shutdown(Shutdown::Discard.timeout(Duration::ZERO));
            (before..100).for_each(|_| s.execute(count));
            ends.open();
        });
        assert_eq!(ran.into_inner(), 100, "{place}");
        assert_eq!(pool.shutdown(Shutdown::Discard).discarded, 0);
    });
}

/// Caught: the jobs were dropped with those that no thread could run.
#[test(how in HOWS)]
fn scoped_jobs_run_without_the_only_thread(how: Shutdown) {
    let (keep, kept) = mpsc::channel();
    let spawner = numbered(move |number, thread| match number {
        0 => keep
            .send(thread)
            .map(|()| Thread::not_joined())
            .map_err(|_| io::ErrorKind::Other.into()),
        _ => refused(),
    });
    let pool = Pool::builder().threads(0..=1).spawner(spawner).build().unwrap();
    let ran = AtomicUsize::new(0);
    let opened = pool.in_place_scope(|s| {
        (0..3).for_each(|_| s.execute(|| _ = ran.fetch_add(1, Ordering::SeqCst)));
        pool.shutdown(how.timeout(Duration::ZERO));
        drop(kept.recv());
    });
    assert_eq!((opened, ran.into_inner()), (Ok(()), 3));
    assert_eq!(pool.shutdown(how).ran, 3);
}
