//! Programs of random choices that found a fault, as `ci/seeded.sh` prints them once they are cut down.

#![allow(unused_imports, reason = "a program uses some of the variants")]

use super::all;
use crate::program::{
    Call::*, Ending, Kernel::*, Kind::*, Level::*, LocalEnd::*, Pair, Pause::*, Program,
    Restless::*, Round, Task, Thing::*, Wait::*, Waits, Way::*,
};
use crate::verb::{
    Body, By::*, Drain::*, End::*, Failing::*, Full::*, Here::*, How::*, Lifetime, Link::*,
    Panics::*, Periodic, Setting::*, Settings, Shares::*, Tasks, Terms, Then::*, Transfer, Verb::*,
    Wire::*, Work::*,
};

all! { PROGRAMS, fn() -> Program,
    a_worker_whose_queue_is_full_accepts_a_job
    a_worker_that_waits_for_a_job_of_another_pool_is_replaced
    a_job_whose_thread_is_lost_gets_another_although_the_next_starts_fail
    a_job_of_a_scope_whose_pool_has_lost_its_thread_is_inside_the_pool
    a_job_in_a_call_that_blocks_calls_a_job_that_waits
    a_start_that_fails_calls_a_job_that_waits
    a_wait_for_which_no_thread_can_be_started_runs_the_job
    work_off_the_pool_waits_for_a_future_that_only_the_end_of_the_pool_ends
    a_job_that_a_parked_worker_is_handed_waits_for_room_above_a_job_that_does
    a_guest_in_a_scope_ends_the_future_of_another
}

fn a_worker_whose_queue_is_full_accepts_a_job() -> Program {
    Program(
        Good,
        One(Lifetime {
            pool: Settings(2, 2, vec![Spare(0)]),
            outside: vec![],
            verbs: vec![Spawn(
                Body(
                    vec![IoAwait(Transfer {
                        wires: vec![Talk(vec![vec![0], vec![0]]), Pipe(vec![vec![0], vec![0, 0]])],
                        order: 0,
                        here: NoTask,
                        end: Joined,
                    })],
                    Never,
                ),
                JoinedAtOnce,
            )],
            is_early: false,
            how: Drains,
            by: Dropped,
        }),
    )
}

fn a_worker_that_waits_for_a_job_of_another_pool_is_replaced() -> Program {
    Program(
        Good,
        Two(Pair {
            pools: (Settings(1, 1, vec![]), Settings(1, 1, vec![Capacity(1, Rejects), Spare(0)])),
            outside: vec![vec![WaitIdle]],
            verbs: vec![ExecuteBatch(vec![Body(
                vec![Across(vec![Join(
                    vec![Across(vec![Submit(Body(vec![], Never), JoinedAtOnce)])],
                    vec![],
                )])],
                Never,
            )])],
            by: (Dropped, Dropped),
        }),
    )
}

fn a_job_whose_thread_is_lost_gets_another_although_the_next_starts_fail() -> Program {
    Program(
        Good,
        One(Lifetime {
            pool: Settings(1, 1, vec![Capacity(1, Rejects), FailingStarts(55)]),
            outside: vec![],
            verbs: vec![Join(vec![], vec![])],
            is_early: false,
            how: Drains,
            by: Dropped,
        }),
    )
}

fn a_job_of_a_scope_whose_pool_has_lost_its_thread_is_inside_the_pool() -> Program {
    let body = || Body(vec![], Never);
    Program(
        Good,
        One(Lifetime {
            pool: Settings(1, 1, vec![StartsNone, FailingStarts(254)]),
            outside: vec![],
            verbs: vec![InPlaceScope(vec![body(), body()], vec![], false)],
            is_early: false,
            how: Drains,
            by: Dropped,
        }),
    )
}

fn a_job_in_a_call_that_blocks_calls_a_job_that_waits() -> Program {
    Program(
        Good,
        Working(Waits {
            pools: (Settings(2, 2, vec![Spare(0)]), Settings(1, 1, vec![])),
            is_driven: false,
            jobs: vec![
                Task { levels: vec![], waits: vec![(AClosure, BySetFor)], beside: None },
                Task { levels: vec![], waits: vec![(AMessage, ByJoin)], beside: None },
            ],
            outside: vec![],
            hook: None,
            crowd: 0,
            later: vec![],
        }),
    )
}

fn a_start_that_fails_calls_a_job_that_waits() -> Program {
    Program(
        Good,
        Working(Waits {
            pools: (
                Settings(0, 1, vec![ShortKeepAlive, FailingStarts(32)]),
                Settings(2, 2, vec![Spin]),
            ),
            is_driven: false,
            jobs: vec![
                Task { levels: vec![], waits: vec![(AClosure, ByJoin)], beside: None },
                Task { levels: vec![], waits: vec![(AClosure, ByJoin)], beside: None },
                Task { levels: vec![], waits: vec![(AClosure, ByJoin)], beside: None },
                Task {
                    levels: vec![InAnotherPool],
                    waits: vec![(AnotherPoolsClosure, ByJoin)],
                    beside: None,
                },
            ],
            outside: vec![],
            hook: None,
            crowd: 0,
            later: vec![],
        }),
    )
}

fn a_wait_for_which_no_thread_can_be_started_runs_the_job() -> Program {
    Program(
        Good,
        Working(Waits {
            pools: (Settings(1, 1, vec![FewStarts(1)]), Settings(1, 1, vec![])),
            is_driven: false,
            jobs: vec![Task {
                levels: vec![],
                waits: vec![(AMessage, ByJoin), (AClosure, ByJoinFor)],
                beside: Some(OneYields),
            }],
            outside: vec![],
            hook: None,
            crowd: 0,
            later: vec![],
        }),
    )
}

fn work_off_the_pool_waits_for_a_future_that_only_the_end_of_the_pool_ends() -> Program {
    Program(
        Good,
        Waiting(Ending {
            pool: Settings(1, 1, vec![]),
            jobs: vec![(vec![], ByJoin)],
            busy: vec![],
            outside: (vec![InADrop], ByJoin),
            pause: Nothing,
            how: None,
            is_guest: false,
            cancels: false,
            local: None,
        }),
    )
}

fn a_job_that_a_parked_worker_is_handed_waits_for_room_above_a_job_that_does() -> Program {
    let room =
        |levels| Task { levels, waits: vec![(ARoom, ByBlockOn), (ARoom, ByBlockOn)], beside: None };
    Program(
        Good,
        Working(Waits {
            pools: (Settings(1, 1, vec![Spare(0)]), Settings(1, 1, vec![Capacity(1, Rejects)])),
            is_driven: false,
            jobs: vec![room(vec![]), room(vec![])],
            outside: vec![room(vec![InMail]), room(vec![InSpawn])],
            hook: None,
            crowd: 0,
            later: vec![room(vec![])],
        }),
    )
}

/// Caught: it kept that scope's ticket as it slept.
fn a_guest_in_a_scope_ends_the_future_of_another() -> Program {
    Program(
        Faulty,
        Waiting(Ending {
            pool: Settings(2, 2, vec![Shared, StartsAll, ShortKeepAlive, Fairness(2)]),
            jobs: vec![(vec![], ByJoin)],
            busy: vec![],
            outside: (vec![InSpawn, InBlocking], ByScope),
            is_guest: true,
            pause: Sleeps(768),
            how: Some(Discards),
            cancels: false,
            local: None,
        }),
    )
}
