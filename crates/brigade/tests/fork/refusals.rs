//! Every way to submit to a pool of the parent's says why it is refused, and a wait for a set ends.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use brigade::{Handle, JoinError, Pool, Reason, Rejected, TaskSet, WhenFull};

use brigade_testkit::Drops;

use crate::child::{assert_in_child, claim};
use crate::pools::{await_threads, is_forked, occupy, ready, works_still};

fn job() -> impl FnOnce() + Send + 'static {
    || ()
}

/// Whether a future is ready at once, and says that its pool is not here.
fn is_forked_at_once<T, F>(future: impl Future<Output = Result<T, Rejected<F>>>) -> bool {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => is_forked(result),
        Poll::Pending => false,
    }
}

fn check(pool: &Pool) {
    let handle: Handle = pool.handle();
    let hour = Duration::from_secs(3600);
    let later = Instant::now() + hour;
    assert_in_child(vec![
        claim("execute", || is_forked(handle.execute(job()))),
        claim("submit", || is_forked(handle.submit(job()))),
        claim("execute_batch", || is_forked(handle.execute_batch([job()]))),
        claim("spawn", || is_forked(handle.spawn(async {}))),
        claim("try_execute", || is_forked(handle.try_execute(job()))),
        claim("try_submit", || is_forked(handle.try_submit(job()))),
        claim("execute_timeout", || is_forked(handle.execute_timeout(job(), hour))),
        claim("submit_timeout", || is_forked(handle.submit_timeout(job(), hour))),
        claim("execute_async", || is_forked_at_once(handle.execute_async(job()))),
        claim("submit_async", || is_forked_at_once(handle.submit_async(job()))),
        claim("execute_before", || is_forked(handle.execute_before(later, job()))),
        claim("submit_before", || is_forked(handle.submit_before(later, job()))),
        claim("execute_after", || is_forked(handle.execute_after(hour, job()))),
        claim("the owner's try_execute", || is_forked(pool.try_execute(job()))),
        claim("the owner's try_submit", || is_forked(pool.try_submit(job()))),
        claim("a set", || {
            let mut set = TaskSet::new(handle);
            set.spawn(job()).is_err_and(|rejected| rejected.reason() == Reason::Forked)
        }),
        claim("a set with a limit", || {
            let mut set = TaskSet::new(handle).limit(1);
            is_forked(set.spawn(job()))
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
        let builder = Pool::builder().threads(1).capacity(1).when_full(when_full).prestart();
        let pool = builder.build().unwrap();
        await_threads(&pool);
        check(&pool);
        let busy = occupy(&pool);
        pool.try_execute(job()).unwrap();
        check(&pool);
        drop(busy);
        assert!(pool.wait_idle());
    }
}

fn is_cancelled<T>(outcome: Option<Result<T, JoinError>>) -> bool {
    matches!(outcome, Some(Err(JoinError::Cancelled)))
}

/// A set with a job that runs, and one that is queued behind it.
fn waiting_set(pool: &Pool) -> TaskSet<i32> {
    let mut set = TaskSet::new(pool.handle());
    set.spawn(|| 1).unwrap();
    set.spawn(|| 2).unwrap();
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
        limited.spawn(move || drop(token)).unwrap();
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
