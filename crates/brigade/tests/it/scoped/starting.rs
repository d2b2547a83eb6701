//! A fork is begun by a worker that is idle, or becomes so, while the sibling runs on.

use std::hint;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use brigade::{Builder, join};
use brigade_testkit::{Gate, Meeting, spin_for, test};

use super::pools::join_stolen;
use crate::support::busy::held;
use crate::support::crowd::{await_idle_workers, for_both_queueings};

/// The second closure begins while the first has not ended, and does not return before that.
fn assert_begins_beside(prepare: impl FnOnce() + Send) {
    let begun = Gate::closed();
    join(
        || {
            prepare();
            begun.wait();
        },
        || begun.open(),
    );
}

#[test(for_both_queueings)]
fn a_parked_parking_or_idle_worker_begins_a_fork(builder: Builder) {
    let pool = builder.threads(2).prestart(2).build().unwrap();
    for round in 0..300 {
        let gate = Gate::closed();
        match round % 3 {
            0 => await_idle_workers(&pool, 2),
            1 => {}
            _ => drop(held(&pool, &gate)),
        }
        pool.install(|| assert_begins_beside(|| gate.open())).unwrap();
    }
}

/// P5 of docs/contract.md: the sibling makes no call that the pool, or the system, could notice.
#[test(for_both_queueings)]
fn a_fork_begins_beside_a_computing_sibling(builder: Builder) {
    let pool = builder.threads(2).prestart(2).build().unwrap();
    let computes = |begun: &AtomicBool| {
        while !begun.load(Ordering::Relaxed) {
            hint::spin_loop();
        }
    };
    // Others of the same kind wait beside it, or it is alone.
    for others in [0, 1, 3] {
        for round in 0..30_u64 {
            pool.install(|| {
                // The other worker looks for work or sleeps by now.
                spin_for(Duration::from_micros(round * 40));
                let begun = AtomicBool::new(false);
                let fork = || {
                    join(|| computes(&begun), || begun.store(true, Ordering::Relaxed));
                };
                nested(others, &fork);
            })
            .unwrap();
        }
    }
}

/// Calls a closure below as many forks.
fn nested(forks: u32, call: &(dyn Fn() + Sync)) {
    match forks {
        0 => call(),
        _ => _ = join(|| nested(forks - 1, call), || ()),
    }
}

/// A pool does not grow beyond its core size for forks.
#[test(for_both_queueings)]
fn a_blocked_threads_replacement_has_the_fork(builder: Builder) {
    let pool = builder.threads(0..=4).keep_alive(Duration::from_micros(1)).build().unwrap();
    for _ in 0..50 {
        pool.install(|| join_stolen(|| (), || ())).unwrap();
    }
}

#[test(for_both_queueings)]
fn as_many_forks_as_workers_run_at_once(builder: Builder) {
    let pool = builder.threads(4).prestart(4).build().unwrap();
    for _ in 0..20 {
        let meeting = Meeting::of(4);
        let two = || join(|| meeting.attend(), || meeting.attend());
        assert_eq!(pool.install(|| brigade::join(two, two)).unwrap(), ((true, true), (true, true)));
    }
}
