//! Forks of the process beside forks of a job, and scopes.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};

use brigade::{Pool, Reason, join, scope};

use crate::child::{End, assert_in_child, await_end, claim, exit_now, fork, fork_here};
use crate::pools::{await_threads, ready, works_still};

pub(crate) fn every_way_to_borrow_says_forked_in_a_child() {
    let pool = ready(2);
    let handle = pool.handle();
    let one = || 1;
    assert_in_child(vec![
        claim("install", move || handle.install(one) == Err(Reason::Forked)),
        claim("join", move || handle.join(one, one) == Err(Reason::Forked)),
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

/// Its scope waits for jobs of the parent.
pub(crate) fn a_job_of_a_scope_that_returns_in_a_child_ends_the_child() {
    let pool = ready(1);
    let pid = AtomicUsize::new(0);
    pool.scope(|s| {
        s.execute(|| ());
        s.execute(|| {
            let child = fork_here();
            match child {
                // Its output is not needed.
                // SAFETY: it is an open file, or none, and nothing else uses it here.
                0 => _ = unsafe { libc::close(2) },
                child => pid.store(child as usize, Ordering::SeqCst),
            }
        });
    })
    .unwrap();
    assert_eq!(await_end(pid.into_inner() as libc::pid_t), End::Signal(libc::SIGABRT));
    assert!(works_still(&pool));
}

/// It is no worker: what it called goes on in both processes.
pub(crate) fn a_caller_that_takes_part_returns_in_a_child() {
    let pool = Pool::builder().threads(1).caller_participates(true).prestart().build().unwrap();
    await_threads(&pool);
    let (pid, one) = pool.install(|| (fork_here(), 1)).unwrap();
    if pid == 0 {
        let rejected = pool.install(|| ()) == Err(Reason::Forked);
        exit_now(if rejected { one + 8 } else { 101 });
    }
    assert_eq!(await_end(pid), End::Exit(9));
    assert_eq!(pool.install(|| 2).unwrap(), 2);
    assert!(works_still(&pool));
}
