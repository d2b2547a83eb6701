//! Fault 116: forks at random moments of a busy pool.

use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Instant;

use brigade::{Handle, JoinError, JoinHandle, Pool};

use crate::child::{End, await_end, exit_now, fork, fork_here};
use crate::pools::{is_forked, ready, works};
use brigade_testkit::Seed;

/// The number of forks.
const FORKS: usize = 200;

/// What the parent's threads do during the forks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meanwhile {
    /// Everything that takes a lock, except starting and ending threads.
    ThreadsStay,
    /// That too.
    ThreadsComeAndGo,
}

/// Uses two pools in every way until told to stop; returns how many jobs have been accepted.
fn keep_busy(
    pools: [Handle; 2],
    how: Meanwhile,
    stop: &AtomicBool,
    ran: &Arc<AtomicUsize>,
) -> usize {
    let mut accepted = 0;
    while !stop.load(Ordering::Relaxed) {
        // With a core size of zero it starts no thread until there is work.
        let pool = Pool::builder().threads(0..=1).build().unwrap();
        let _ = (pool.metrics(), pool.size());
        if how == Meanwhile::ThreadsComeAndGo {
            pool.execute(|| ());
        }
        for n in 0..50 {
            let counter = Arc::clone(ran);
            // By turns: each time it has to be looked up.
            pools[n % 2].execute(move || _ = counter.fetch_add(1, Ordering::Relaxed));
            accepted += 1;
        }
        pools[0].submit(|| ()).join().unwrap();
    }
    accepted
}

/// The checks of a child that was forked at a random moment.
fn child_of_busy_pools(pools: &[Pool; 2], job: JoinHandle<()>, how: Meanwhile) -> i32 {
    let [pool, other] = pools;
    let handle = pool.handle();
    let may_start_threads = how == Meanwhile::ThreadsStay;
    let checks = [
        Handle::current().is_none(),
        is_forked(handle.try_execute(|| ())) && is_forked(other.try_submit(|| ())),
        !pool.wait_idle() && pool.metrics().accepted == 0 && *pool.size().end() == 0,
        matches!(job.join(), Ok(()) | Err(JoinError::Cancelled(_))),
        Pool::builder().threads(0..=1).build().is_ok_and(|own| !own.handle().metrics().is_closed),
        !may_start_threads || works(&Pool::new(2)),
        handle.metrics().is_closed,
    ];
    checks.iter().position(|holds| !holds).map_or(0, |index| index as i32 + 1)
}

/// Has `fork_one` fork a child that is given a job to join, again and again.
fn fork_at_random_moments(
    how: Meanwhile,
    fork_one: impl Fn(&Arc<[Pool; 2]>, JoinHandle<()>) -> End,
) {
    let mut seed = Seed::printed();
    let (pools, stop) = (Arc::new([ready(2), ready(1)]), AtomicBool::new(false));
    let (ran, begun) = (Arc::new(AtomicUsize::new(0)), Barrier::new(3));
    let accepted: usize = thread::scope(|scope| {
        let handles = [pools[0].handle(), pools[1].handle()];
        let (begun, stop, ran) = (&begun, &stop, &ran);
        let busy = [(); 2].map(|()| {
            scope.spawn(move || {
                begun.wait();
                keep_busy(handles, how, stop, ran)
            })
        });
        begun.wait();
        let forked = panic::catch_unwind(AssertUnwindSafe(|| {
            for round in 0..FORKS {
                let (job, moment) = (pools[0].submit(|| ()), Instant::now() + seed.micros(500));
                while Instant::now() < moment {
                    std::hint::spin_loop();
                }
                assert_eq!(fork_one(&pools, job), End::Exit(0), "round {round}");
            }
        }));
        stop.store(true, Ordering::Relaxed);
        let accepted = busy.map(|thread| thread.join().unwrap()).iter().sum();
        forked.unwrap_or_else(|payload| panic::resume_unwind(payload));
        accepted
    });
    assert!(pools.iter().all(|pool| pool.wait_idle()));
    assert_eq!(ran.load(Ordering::Relaxed), accepted);
}

pub(crate) fn a_fork_at_any_moment_of_a_busy_pool_leaves_the_child_able() {
    let how = Meanwhile::ThreadsStay;
    fork_at_random_moments(how, |pools, job| {
        await_end(fork(move || child_of_busy_pools(pools, job, how)))
    });
}

pub(crate) fn a_fork_by_a_job_at_any_moment_of_a_busy_pool_leaves_the_child_able() {
    let how = Meanwhile::ThreadsStay;
    fork_at_random_moments(how, |pools, job| {
        let inner = Arc::clone(pools);
        let forks = move || await_end(fork(|| child_of_busy_pools(&inner, job, how)));
        pools[0].submit(forks).join().unwrap()
    });
}

/// It may be unable to start one: the standard library holds a lock while any thread starts or ends.
pub(crate) fn a_fork_while_threads_come_and_go_leaves_the_child_all_but_threads() {
    let how = Meanwhile::ThreadsComeAndGo;
    fork_at_random_moments(how, |pools, job| {
        let inner = Arc::clone(pools);
        let forks = move || {
            // Also the end of its blocking is none of the pool's.
            match brigade::blocking(fork_here) {
                0 => exit_now(child_of_busy_pools(&inner, job, how)),
                pid => await_end(pid),
            }
        };
        pools[0].submit(forks).join().unwrap()
    });
}
