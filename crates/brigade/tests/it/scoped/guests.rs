//! A thread that is no worker takes part in its own loops, joins and scopes, as a guest of the pool.

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use brigade::{LocalPool, Pool, Reason, Shutdown, current_worker, current_worker_index, join};
use brigade_testkit::{BlockedThread, Gate, Meeting, eventually, stays, test};

use crate::support::busy::{held, occupy};
use crate::support::crowd::await_idle_workers;

fn here() -> ThreadId {
    thread::current().id()
}

/// Calls a closure on a thread of its own, with `pool` as the current pool.
fn outside<R: Send>(pool: &Pool, call: impl FnOnce() -> R + Send) -> R {
    thread::scope(|threads| threads.spawn(|| pool.enter(call)).join().unwrap())
}

/// Each verb, with a closure for its parts.
type Verb = fn(&(dyn Fn() + Sync));

const VERBS: [(&str, Verb); 5] = [
    ("join", |part| _ = join(part, part)),
    ("scope", |part| {
        brigade::scope(|s| {
            s.execute(part);
            part();
        });
    }),
    ("par_for", |part| brigade::par_for(0..2, 1, |_| part())),
    ("par_chunks_mut", |part| brigade::par_chunks_mut(&mut [0, 1], 1, |_, _| part())),
    ("map_reduce", |part| _ = brigade::map_reduce(0..2, 1, |_| part(), |(), ()| ())),
];

#[test]
fn the_caller_runs_a_part_and_a_worker_the_other() {
    thread_local!(static MINE: Cell<u32> = const { Cell::new(0) });
    let pool = Pool::new(2);
    for (name, verb) in VERBS {
        let (meeting, ran) = (Meeting::of(2), Mutex::new(Vec::new()));
        let caller = here();
        MINE.set(7);
        pool.enter(|| {
            verb(&|| {
                assert!(meeting.attend(), "{name}");
                let is_caller = here() == caller;
                assert_eq!(current_worker().is_none(), is_caller, "{name}");
                assert_eq!(current_worker_index().is_none(), is_caller, "{name}");
                assert_eq!(MINE.get(), if is_caller { 7 } else { 0 }, "{name}");
                assert_eq!(brigade::Handle::current(), Some(pool.handle()), "{name}");
                ran.lock().unwrap().push(is_caller);
            });
        });
        let mut ran = ran.into_inner().unwrap();
        ran.sort_unstable();
        assert_eq!(ran, [false, true], "{name}");
    }
}

/// Beside busy workers, and in a pool that has no thread yet.
#[test]
fn the_caller_alone_runs_all_if_no_worker_is_idle() {
    let gate = Gate::closed();
    let busy = Pool::new(1);
    occupy(&busy, &gate);
    let caller = here();
    for (name, verb) in VERBS {
        let ran = AtomicUsize::new(0);
        busy.enter(|| {
            verb(&|| {
                assert_eq!(here(), caller, "{name}");
                ran.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert_eq!(ran.into_inner(), 2, "{name}");
    }
    gate.open();
    let refused = Pool::builder().threads(0..=1).spawner(|_| Err(std::io::ErrorKind::Other.into()));
    let refused = refused.build().unwrap();
    refused.enter(|| brigade::par_for(0..100, 1, |_| assert_eq!(here(), caller)));
}

#[test]
fn a_guest_submits_as_a_thread_outside() {
    let pool = Pool::new(2);
    let caller = here();
    pool.enter(|| {
        let submits = || {
            assert_eq!(
                brigade::try_execute_locally(|| ()).unwrap_err().reason(),
                Reason::NotAWorker
            );
            assert_ne!(brigade::submit(here).join().unwrap(), caller);
            assert_ne!(pool.install(here).unwrap(), caller);
            assert_eq!(pool.submit(current_worker_index).join().unwrap().map(|_| ()), Some(()));
        };
        // A single item: the calling thread runs that.
        brigade::par_for(0..1, 1, |_| submits());
        // A call inside is the guest's, too.
        let inner = || brigade::map_reduce(0..1, 1, |_| here(), |one, _| one);
        brigade::par_for(0..1, 1, |_| assert_eq!(inner(), Some(caller)));
    });
}

/// Caught: the job went to the pool of the guest.
#[test]
fn a_guest_of_a_pool_may_enter_another() {
    let other = Pool::builder().threads(2).name("other").build().unwrap();
    let name = || current_worker().map(|worker| worker.pool.to_string());
    let both = || {
        let meeting = Meeting::of(2);
        let part = || meeting.attend().then(name);
        join(part, part)
    };
    Pool::new(2).enter(|| {
        brigade::scope(|_| {
            assert_eq!(other.enter(both), (Some(None), Some(Some("other".to_owned()))));
            let (one, two) = both();
            assert_ne!(one, two, "of the guest's pool again");
            assert!(
                [one, two]
                    .iter()
                    .all(|name| name.as_ref().is_some_and(|name| name.as_deref() != Some("other")))
            );
        });
    });
}

#[test]
fn a_guest_has_no_local_futures() {
    let pool = Pool::new(1);
    let spawns = || drop(brigade::spawn_local(async {}));
    let spawned = pool.enter(|| {
        let call = || brigade::par_for(0..1, 1, |_| spawns());
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(call))
    });
    assert!(spawned.is_err());
}

#[test]
fn a_guests_panic_ends_its_call_alone() {
    let pool = Pool::new(2);
    let fails = |at| {
        let call = || {
            brigade::par_for(0..100, 1, |index| {
                if index == at {
                    std::panic::panic_any(at);
                }
            });
        };
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pool.enter(call)));
        assert_eq!(failed.unwrap_err().downcast_ref(), Some(&at));
    };
    for at in [0_usize, 50, 99] {
        fails(at);
        let ran = AtomicUsize::new(0);
        pool.enter(|| brigade::par_for(0..100, 1, |_| _ = ran.fetch_add(1, Ordering::Relaxed)));
        assert_eq!(ran.into_inner(), 100);
    }
    pool.wait_idle();
}

/// P9 of docs/contract.md.
#[test]
fn a_guest_runs_no_other_job_while_it_waits() {
    let pool = Pool::new(2);
    let (begun, gate) = (Gate::closed(), Gate::closed());
    thread::scope(|threads| {
        let call = || {
            let caller = here();
            pool.enter(|| {
                join(
                    || begun.wait(),
                    || {
                        assert_ne!(here(), caller);
                        begun.open();
                        gate.wait();
                    },
                );
            });
            caller
        };
        let guest = threads.spawn(call);
        begun.wait();
        let other = held(&pool, &gate);
        let job = pool.submit(here);
        stays("the job waits for the worker", || !job.is_finished());
        gate.open();
        let caller = guest.join().unwrap();
        assert_ne!(job.join().unwrap(), caller);
        other.join().unwrap();
    });
}

#[test]
fn as_many_threads_run_parts_as_the_pool_has() {
    let pool = Pool::builder().threads(3).prestart(3).build().unwrap();
    await_idle_workers(&pool, 3);
    let (begun, gate) = (AtomicUsize::new(0), Gate::closed());
    let have_begun = |count| begun.load(Ordering::SeqCst) == count;
    pool.enter(|| {
        brigade::scope(|s| {
            for _ in 0..6 {
                s.execute(|| {
                    begun.fetch_add(1, Ordering::SeqCst);
                    gate.wait();
                });
            }
            eventually("two run beside this thread", || have_begun(2));
            stays("the third worker sleeps", || have_begun(2));
            // A job wakes it.
            pool.submit(|| ()).join().unwrap();
            gate.open();
        });
    });
    assert!(have_begun(6));
}

/// While a guest ran, the fork woke no worker.
#[test]
fn a_fork_begins_once_a_guest_leaves_or_rests() {
    for rests in [false, true] {
        let pool = Pool::builder().threads(2).prestart(2).build().unwrap();
        await_idle_workers(&pool, 2);
        let (forks, leaves) = (Gate::closed(), Gate::closed());
        let job = thread::scope(|threads| {
            let guest = || {
                pool.enter(|| {
                    brigade::par_for(0..1, 1, |_| {
                        forks.open();
                        if rests {
                            brigade::blocking(|| leaves.wait());
                        } else {
                            leaves.wait();
                        }
                    });
                });
            };
            let guest = threads.spawn(guest);
            forks.wait();
            let (begun, meeting) = (Gate::closed(), Meeting::of(2));
            let forks = begun.clone();
            let job = pool.submit(move || {
                let attends = || {
                    forks.open();
                    meeting.attend()
                };
                join(attends, || meeting.attend())
            });
            begun.wait();
            if !rests {
                leaves.open();
                guest.join().unwrap();
            }
            let both = job.join().unwrap();
            leaves.open();
            both
        });
        assert_eq!(job, (true, true), "rests: {rests}");
    }
}

#[test]
fn the_pool_is_not_idle_and_does_not_end_beside_a_guest() {
    for how in [Shutdown::Finish, Shutdown::Drain, Shutdown::Discard] {
        let pool = Pool::new(2);
        let (begun, gate) = (Gate::closed(), Gate::closed());
        let ran = AtomicUsize::new(0);
        thread::scope(|threads| {
            let guest = || {
                let item = |_| {
                    begun.open();
                    gate.wait();
                    ran.fetch_add(1, Ordering::Relaxed);
                };
                pool.enter(|| brigade::par_for(0..10, 1, item));
                ran.load(Ordering::Relaxed)
            };
            let guest = threads.spawn(guest);
            begun.wait();
            assert_eq!(pool.metrics().threads, 2);
            assert!(!pool.wait_idle_timeout(Duration::from_millis(1)));
            let ends = threads.spawn(|| pool.handle().shutdown(how));
            eventually("it is closed", || pool.metrics().is_closed);
            stays("it has not ended", || !ends.is_finished());
            gate.open();
            assert_eq!(guest.join().unwrap(), 10);
            ends.join().unwrap();
        });
        let closed = || pool.enter(|| brigade::par_for(0..10, 1, |_| ()));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(closed)).is_err());
    }
}

/// Nothing but the end of the pool ends them.
#[test]
fn a_drain_cancels_the_futures_that_a_guest_waits_for() {
    let of_scope: fn(&Pool) = |_| brigade::scope(|s| drop(s.spawn(std::future::pending::<()>())));
    let of_pool: fn(&Pool) = |pool| {
        let job = pool.spawn(std::future::pending::<()>());
        assert!(brigade::scope(|_| job.join()).is_err_and(|error| error.is_cancelled()));
    };
    for (wait, closes_first) in [(of_scope, false), (of_scope, true), (of_pool, false)] {
        let pool = Pool::builder().threads(2).prestart(2).build().unwrap();
        let (begun, gate) = (Gate::closed(), Gate::closed());
        let item = |_| {
            begun.open();
            if closes_first {
                gate.wait();
            }
            wait(&pool);
        };
        thread::scope(|threads| {
            let guest = threads.spawn(|| pool.enter(|| brigade::par_for(0..1, 1, item)));
            begun.wait();
            if !closes_first {
                eventually("its future waits", || pool.metrics().running > 0);
            }
            let ends = threads.spawn(|| pool.handle().shutdown(Shutdown::Drain));
            eventually("it is closed", || pool.metrics().is_closed);
            gate.open();
            guest.join().unwrap();
            ends.join().unwrap();
        });
    }
}

/// Caught: it kept the ticket of the other scope for the next job of its own.
#[test]
fn a_scope_whose_body_ends_the_pool_holds_up_no_other_scope() {
    type Call = fn(&Pool, &(dyn Fn() + Sync));
    let as_guest: Call = |pool, body| pool.enter(|| brigade::scope(|_| body()));
    let as_worker: Call = |pool, body| pool.install(|| brigade::scope(|_| body())).unwrap();
    for call in [as_guest, as_worker] {
        let pool = Pool::builder().threads(2).prestart(2).build().unwrap();
        let (waits, ended) = (BlockedThread::default(), Gate::closed());
        let (thread, gate) = (waits.clone(), ended.clone());
        pool.execute(move || {
            brigade::scope(|s| {
                s.spawn(std::future::pending::<()>());
                thread.is_this();
            });
            gate.open();
        });
        waits.wait_until_blocked();
        call(&pool, &|| {
            pool.handle().shutdown(Shutdown::Discard.timeout(Duration::ZERO));
            ended.wait();
        });
    }
}

/// It drives its `LocalPool` in each wait, which a guest could not.
#[test]
fn an_owner_of_a_local_pool_is_no_guest() {
    let pool = Pool::new(1);
    outside(&pool, || {
        let local = LocalPool::new().unwrap();
        let (handle, caller) = (local.handle(), here());
        let waits = || {
            assert_ne!(here(), caller);
            handle.submit(here).join().unwrap()
        };
        assert_eq!(brigade::scope(|_| waits()), caller);
    });
}

#[test]
fn many_guests_share_a_pool() {
    let pool = Pool::new(2);
    let gate = Gate::closed();
    let unrelated = held(&pool, &gate);
    thread::scope(|threads| {
        for guest in 0..12_usize {
            let pool = &pool;
            threads.spawn(move || {
                for round in 0..200 {
                    let items = 1 + (guest * 31 + round * 7) % 100;
                    let sum = || brigade::map_reduce(0..items, 1, |item| item, |a, b| a + b);
                    assert_eq!(pool.enter(sum), Some(items * (items - 1) / 2));
                }
            });
        }
    });
    gate.open();
    unrelated.join().unwrap();
    pool.wait_idle();
}
