//! Forks of the process beside forks of a job, and scopes.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use brigade::{Pool, Reason, Scope, join, scope, yield_now};

use crate::child::{End, assert_in_child, await_end, claim, exit_now, fork, fork_here};
use crate::pools::{await_threads, ready, works_still};

pub(crate) fn every_way_to_borrow_says_forked_in_a_child() {
    let pool = ready(2);
    let handle = pool.handle();
    let one = || 1;
    assert_in_child(vec![
        claim("install", move || handle.install(one) == Err(Reason::Forked)),
        claim("join", move || handle.install(|| brigade::join(one, one)) == Err(Reason::Forked)),
        claim("scope", move || handle.scope(|_| ()) == Err(Reason::Forked)),
        claim("in_place_scope", move || handle.in_place_scope(|_| ()) == Err(Reason::Forked)),
        claim("the free functions panic", move || {
            handle.enter(|| {
                panic::catch_unwind(|| join(one, one)).is_err()
                    && panic::catch_unwind(AssertUnwindSafe(|| scope(|s| s.execute(|| ()))))
                        .is_err()
            })
        }),
    ]);
    assert!(works_still(&pool));
}

pub(crate) fn a_scope_and_a_join_whose_jobs_fork_go_on_in_the_parent() {
    let pool = ready(2);
    let ran = AtomicUsize::new(0);
    let forks = || {
        assert_eq!(await_end(fork(|| 7)), End::Exit(7));
        ran.fetch_add(1, Ordering::SeqCst);
    };
    pool.scope(|s| {
        (0..4).for_each(|_| s.execute(forks));
        join(forks, || join(forks, forks));
    })
    .unwrap();
    // In the child only, from the middle of both.
    let pid = pool.install(|| {
        scope(|s| {
            s.execute(|| _ = ran.fetch_add(1, Ordering::SeqCst));
            join(
                || ran.fetch_add(1, Ordering::SeqCst),
                || match fork_here() {
                    0 => exit_now(8),
                    pid => pid,
                },
            )
            .1
        })
    });
    assert_eq!(await_end(pid.unwrap()), End::Exit(8));
    assert_eq!(ran.into_inner(), 9);
    assert!(works_still(&pool));
}

/// Forks, and returns in the child too, whose output is not needed.
fn fork_and_go_on() -> libc::pid_t {
    let pid = fork_here();
    if pid == 0 {
        // SAFETY: it is an open file, or none, and nothing else uses it here.
        unsafe { libc::close(2) };
    }
    pid
}

/// Its scope waits for jobs of the parent.
pub(crate) fn a_job_of_a_scope_that_returns_in_a_child_ends_the_child() {
    let pool = ready(1);
    let pid = AtomicUsize::new(0);
    pool.scope(|s| {
        s.execute(|| ());
        s.execute(|| pid.store(fork_and_go_on() as usize, Ordering::SeqCst));
    })
    .unwrap();
    assert_eq!(await_end(pid.into_inner() as libc::pid_t), End::Signal(libc::SIGABRT));
    assert!(works_still(&pool));
}

/// It would leave the parent's pool.
pub(crate) fn a_guests_loop_that_returns_in_a_child_ends_the_child() {
    let pool = ready(1);
    let pid = AtomicUsize::new(0);
    pool.enter(|| {
        brigade::par_for(0..1, 1, |_| pid.store(fork_and_go_on() as usize, Ordering::SeqCst));
    });
    assert_eq!(await_end(pid.into_inner() as libc::pid_t), End::Signal(libc::SIGABRT));
    assert!(works_still(&pool));
}

/// The only thread that the pool may have waits for the future, and runs what is queued.
pub(crate) fn a_job_that_returns_in_a_child_inside_the_wait_of_the_last_thread_ends_the_child() {
    let pool = Pool::builder().threads(1).spare_threads(0).prestart(1).build().unwrap();
    await_threads(&pool);
    let pid = AtomicUsize::new(0);
    pool.install(|| {
        scope(|s| {
            s.spawn(async {
                yield_now().await;
                s.execute(|| pid.store(fork_and_go_on() as usize, Ordering::SeqCst));
            });
        });
        if pid.load(Ordering::SeqCst) == 0 {
            exit_now(9);
        }
    })
    .unwrap();
    assert_eq!(await_end(pid.into_inner() as libc::pid_t), End::Signal(libc::SIGABRT));
    assert!(works_still(&pool));
}

/// A thief may have held the lock of the deque, from which the child would have to take it.
pub(crate) fn a_fork_that_is_not_the_newest_part_is_not_taken_back_in_a_child() {
    let pool = ready(1);
    let forks = |s: &Scope<'_, '_>| {
        let first = || {
            s.execute(|| ());
            fork_and_go_on()
        };
        match join(first, || ()).0 {
            0 => exit_now(9),
            pid => pid,
        }
    };
    assert_eq!(await_end(pool.scope(|s| forks(s)).unwrap()), End::Signal(libc::SIGABRT));
    assert!(works_still(&pool));
}

/// A thread outside or a worker is in the body, and a thread that does not exist in the child runs the job.
pub(crate) fn the_body_of_a_scope_does_not_wait_in_a_child_for_a_job_of_the_parents() {
    /// Forks while the job runs; in the child, waits for it at the end of the scope, or by its handle.
    fn body<'s>(s: &'s Scope<'s, '_>, [begun, over]: &'s [AtomicBool; 2], joins: bool) -> i32 {
        let handle = s.submit(|| {
            begun.store(true, Ordering::SeqCst);
            while !over.load(Ordering::SeqCst) {
                thread::yield_now();
            }
        });
        while !begun.load(Ordering::SeqCst) {
            thread::yield_now();
        }
        let pid = fork_and_go_on();
        over.store(true, Ordering::SeqCst);
        if joins {
            handle.join().unwrap();
        }
        pid
    }
    let flags = || [(); 2].map(|()| AtomicBool::new(false));
    for joins in [false, true] {
        let pool = ready(2);
        let (one, other) = (flags(), flags());
        let outside = pool.in_place_scope(|s| body(s, &one, joins));
        let inside = pool.scope(|s| body(s, &other, joins));
        let ends = [outside, inside].map(|pid| match pid.unwrap() {
            0 => exit_now(9),
            pid => await_end(pid),
        });
        assert_eq!(ends, [(); 2].map(|()| End::Signal(libc::SIGABRT)));
        assert!(works_still(&pool));
    }
}

/// It runs what is added to its scope itself.
pub(crate) fn the_body_of_a_scope_without_other_jobs_goes_on_in_a_child() {
    let pool = ready(1);
    let (pid, ran) = (AtomicUsize::new(1), AtomicUsize::new(0));
    pool.in_place_scope(|s| {
        pid.store(fork_here() as usize, Ordering::SeqCst);
        s.execute(|| _ = ran.fetch_add(1, Ordering::SeqCst));
    })
    .unwrap();
    match pid.into_inner() {
        0 => exit_now(ran.into_inner() as i32 + 6),
        pid => assert_eq!(await_end(pid as libc::pid_t), End::Exit(7)),
    }
    assert!(works_still(&pool));
}
