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
