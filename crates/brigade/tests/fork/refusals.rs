//! Every way to submit to the parent's pool returns `Reason::Forked`, and a wait for a set ends.

use std::time::Duration;

use brigade::{Cause, JoinError, Pool, Reason, TaskSet, WhenFull, block_on};

use brigade_testkit::Drops;

use crate::child::{assert_in_child, claim};
use crate::pools::{await_threads, is_forked, occupy, ready, refuses, works_still};
use crate::verbs::all_work_comes_back;

fn check(pool: &Pool) {
    let (handle, limited) = (pool.handle(), pool.limited(1));
    assert_in_child(vec![
        claim("execute", || refuses(|| handle.execute(|| ()))),
        claim("submit", || refuses(|| drop(handle.submit(|| ())))),
        claim("broadcast", || refuses(|| drop(handle.broadcast(|_| ())))),
        claim("spawn", || refuses(|| drop(handle.spawn(async {})))),
        claim("what is rejected comes back", || {
            all_work_comes_back(handle, Reason::Forked);
            true
        }),
        claim("reserve", || {
            block_on(handle.job().reserve()).is_err_and(|reason| reason == Reason::Forked)
        }),
        claim("the owner's try_execute", || is_forked(pool.try_execute(|| ()))),
        claim("the owner's try_submit", || is_forked(pool.try_submit(|| ()))),
        claim("a set", || {
            let mut set = TaskSet::new(handle);
            set.try_submit(|| ()).is_err_and(|rejected| rejected.reason() == Reason::Forked)
        }),
        claim("a set with a limit", || {
            let mut set = TaskSet::new(handle).limit(1);
            is_forked(set.try_submit(|| ()))
        }),
        claim("a limited view", || {
            let made_here = handle.limited(1);
            [&limited, &made_here].iter().all(|limited| {
                is_forked(limited.try_execute(|| ()))
                    && limited.try_spawn(async {}).is_err()
                    && refuses(|| drop(limited.submit(|| ())))
            })
        }),
    ]);
}

pub(crate) fn every_way_to_submit_says_forked_in_a_child() {
    let pool = ready(1);
    check(&pool);
    assert!(works_still(&pool));
}

pub(crate) fn every_way_to_submit_to_a_bounded_pool_says_forked_in_a_child_full_or_not() {
    let policies = [WhenFull::Block, WhenFull::Reject, WhenFull::RunInCaller, WhenFull::DropOldest];
    for when_full in policies {
        let builder = Pool::builder().threads(1).capacity(1).when_full(when_full).prestart(1);
        let pool = builder.build().unwrap();
        await_threads(&pool);
        check(&pool);
        let busy = occupy(&pool);
        pool.execute(|| ());
        check(&pool);
        drop(busy);
        assert!(pool.wait_idle());
    }
}

fn is_cancelled<T>(outcome: Option<Result<T, JoinError>>) -> bool {
    matches!(outcome, Some(Err(JoinError::Cancelled(Cause::Ended))))
}

/// A set with a job that runs, and one that is queued behind it.
fn waiting_set(pool: &Pool) -> TaskSet<i32> {
    let mut set = TaskSet::new(pool.handle());
    set.submit(|| 1);
    set.submit(|| 2);
    set
}

pub(crate) fn a_wait_for_a_set_of_the_parents_ends_in_a_child() {
    let pool = ready(1);
    let busy = occupy(&pool);
    let [mut next, mut all, mut timed, mut cancelled, mut outcomes] =
        [(); 5].map(|()| waiting_set(&pool));
    let (mut limited, drops) = (TaskSet::new(pool.handle()).limit(1), Drops::default());
    for _ in 0..3 {
        let token = drops.token();
        limited.submit(move || drop(token));
    }
    assert_in_child(vec![
        claim("join_next", || {
            is_cancelled(next.join_next())
                && is_cancelled(next.join_next())
                && next.join_next().is_none()
        }),
        claim("wait_all", || {
            all.wait_all();
            is_cancelled(all.join_next())
        }),
        claim("join_next_timeout", || {
            is_cancelled(timed.join_next_timeout(Duration::from_secs(3600)))
        }),
        claim("cancel_all", || {
            cancelled.cancel_all();
            is_cancelled(cancelled.join_next())
        }),
        claim("limit", || {
            // It drops nothing of the parent's.
            let limited = limited.limit(2);
            limited.len() == 3 && drops.count() == 0
        }),
        claim("outcomes", || outcomes.outcomes().all(|outcome| is_cancelled(Some(outcome)))),
    ]);
    drop(busy);
    let ended: Vec<_> = next.outcomes().map(Result::unwrap).collect();
    assert_eq!(ended.iter().sum::<i32>(), 3);
    assert!(works_still(&pool));
}
