//! What is done with jobs of a set.

use brigade::{Handle, TaskSet};

use crate::doing::Doing;
use crate::polled::{ready, ready_soon};
use crate::submitter::Submitter;

/// Spawns some jobs on a set, with a limit or without, and does one of the things that a set is for.
pub(crate) fn spawn_and_wait(submitter: &mut Submitter<'_>) {
    let mut set = TaskSet::new(submitter.pool);
    let has_limit = submitter.random.bool();
    if has_limit {
        set = set.limit(submitter.random.usize(1..4));
    }
    let (mut spawned, mut taken, has_futures) = (0, 0, submitter.random.u8(0..4) == 0);
    for _ in 0..submitter.random.u32(0..12) {
        let ticket = submitter.ticket();
        // With neither, none of them waits in the set.
        let may_wait = has_limit || submitter.is_bounded();
        let job = submitter.job_of(if may_wait { ticket.in_doubt() } else { ticket });
        let is_accepted = if has_futures {
            let future = async {
                brigade::yield_now().await;
                job();
            };
            let accepted = Doing::Submitting.during(|| set.try_spawn(future));
            submitter.count(accepted, submitter.may_be_full()).is_some()
        } else {
            let accepted = Doing::Submitting.during(|| set.try_submit(job));
            submitter.count(accepted, submitter.may_be_full()).is_some()
        };
        spawned += usize::from(is_accepted);
        if submitter.random.u8(0..4) == 0 {
            taken += set.try_join_next().map_or(0, |_| 1);
        }
    }
    assert_eq!(set.len(), spawned - taken, "jobs whose outcomes have not been taken");
    // A future is not cancelled, as that may come when its job has returned.
    match has_futures {
        true if submitter.random.bool() => set.detach_all(),
        true => assert_eq!(set.outcomes().count(), spawned - taken),
        false => wait(submitter, &mut set),
    }
    // The rest is cancelled here, if there is one.
    drop(set);
}

fn wait(submitter: &mut Submitter<'_>, set: &mut TaskSet<()>) {
    let left = set.len();
    match submitter.random.u8(0..9) {
        0 => {}
        1 => set.detach_all(),
        2 => {
            set.cancel_all();
            assert_eq!(set.outcomes().count(), left, "of cancelled jobs");
        }
        3 => set.cancel_all(),
        4 => {
            let have_ended = set.wait_all();
            let taken = (0..left).map_while(|_| set.try_join_next()).count();
            // On a worker the wait may have been one that would never end.
            assert!(
                taken == left || !have_ended && Handle::current().is_some(),
                "{taken} of {left}"
            );
        }
        5 => _ = set.join_next_timeout(submitter.micros(100)),
        6 => _ = ready_soon(set.join_next_async(), Some(3)),
        // A worker would have to say that it waits.
        7 if Handle::current().is_none() => {
            for _ in 0..left {
                assert!(ready(set.join_next_async()).is_some(), "there is one more");
            }
        }
        _ => assert_eq!(set.outcomes().count(), left),
    }
    assert!(set.len() <= left);
}
