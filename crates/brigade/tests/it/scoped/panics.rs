//! Panics in forks and jobs of scopes.

use std::panic::{self, AssertUnwindSafe, panic_any, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use super::pools::{for_every_pool, join_stolen};
use crate::support::crowd::for_both_queueings;
use crate::support::full::at_rest;
use brigade::{JoinError, Pool, blocking, join, scope};
use brigade_testkit::{Bomb, Drops, Gate, eventually, test};

/// The number that a call panics with.
#[track_caller]
fn payload_of<R>(call: impl FnOnce() -> R) -> u32 {
    let Err(payload) = panic::catch_unwind(AssertUnwindSafe(call)) else { panic!("it returned") };
    *payload.downcast::<u32>().expect("its own payload")
}

#[test(for_every_pool)]
fn a_join_ends_with_the_panic_of_either_closure_and_that_of_the_first(pool: &Pool) {
    let drops = Drops::default();
    let (works, token) = (|| drops.token(), || drops.token());
    let (in_a, in_b) = (|| -> u32 { panic_any(1_u32) }, || -> u32 { panic_any(2_u32) });
    assert_eq!(payload_of(|| pool.install(|| brigade::join(in_a, works))), 1);
    assert_eq!(payload_of(|| pool.install(|| brigade::join(works, in_b))), 2);
    assert_eq!(payload_of(|| pool.install(|| brigade::join(in_a, in_b))), 1);
    assert_eq!(payload_of(|| pool.install(|| join_stolen(in_a, token))), 1);
    assert_eq!(payload_of(|| pool.install(|| join_stolen(token, in_b))), 2);
    assert_eq!(payload_of(|| pool.install(|| join_stolen(in_a, in_b))), 1);
    assert_eq!(drops.count(), 4, "the other's result is dropped");
    // Inside of a job that catches it, several deep.
    let caught = pool.install(|| payload_of(|| join(|| join(|| join(in_a, works), in_b), works)));
    assert_eq!(caught.unwrap(), 1);
    assert_eq!(pool.install(|| brigade::join(|| 3, || 4)).unwrap(), (3, 4));
}

#[test(for_every_pool)]
fn both_closures_have_ended_when_a_join_panics(pool: &Pool) {
    let (gate, ended) = (Gate::closed(), AtomicUsize::new(0));
    let opens = gate.clone();
    pool.execute(move || opens.open());
    let late = || {
        brigade::blocking(|| gate.wait());
        ended.fetch_add(1, Ordering::SeqCst);
    };
    assert_eq!(payload_of(|| pool.install(|| join_stolen(|| panic_any(5_u32), late))), 5);
    assert_eq!(ended.into_inner(), 1);
}

#[test(for_every_pool)]
fn a_scope_resumes_the_first_panic_once_all_jobs_have_ended(pool: &Pool) {
    for (panics_in, expected) in [("first", 0), ("last", 9), ("body", 100), ("none", 0)] {
        let ended = AtomicUsize::new(0);
        let job = |number: u32| {
            if (number == 0 && panics_in == "first") || (number == 9 && panics_in == "last") {
                panic_any(number);
            }
            ended.fetch_add(1, Ordering::SeqCst);
        };
        let run = || {
            pool.scope(|s| {
                (0..10).for_each(|number| s.execute(move || job(number)));
                if panics_in == "body" {
                    panic_any(100_u32);
                }
            })
        };
        if panics_in == "none" {
            run().unwrap();
        } else {
            assert_eq!(payload_of(run), expected, "{panics_in}");
        }
        let panics = usize::from(panics_in == "first" || panics_in == "last");
        assert_eq!(ended.into_inner(), 10 - panics, "{panics_in}");
    }
    // All of them, and the body last.
    let (told, tells) = mpsc::channel();
    let first = payload_of(|| {
        pool.in_place_scope(|s| {
            for number in 0..10_u32 {
                let told = told.clone();
                s.execute(move || {
                    told.send(()).unwrap();
                    panic_any(number);
                });
            }
            (0..10).for_each(|_| tells.recv().unwrap());
            panic_any(200_u32)
        })
    });
    assert!(first < 10 || first == 200, "{first}");
}

/// Its drop panics too.
fn bomb() {
    panic_any(Bomb);
}

#[test(for_every_pool)]
fn captures_results_and_payloads_may_panic_in_their_drops(pool: &Pool) {
    // Payloads: the first is the caller's, and leaked here.
    let caught = panic::catch_unwind(AssertUnwindSafe(|| {
        pool.scope(|s| (0..5).for_each(|_| s.execute(bomb)))
    }));
    std::mem::forget(caught.unwrap_err());
    let caught = panic::catch_unwind(AssertUnwindSafe(|| {
        pool.install(|| join_stolen(|| panic_any(Bomb), || -> u32 { panic_any(Bomb) }))
    }));
    std::mem::forget(caught.unwrap_err());
    // Results that the other's panic, or a dropped handle, drops.
    assert_eq!(
        payload_of(|| pool.install(|| brigade::join(|| Bomb, || -> u32 { panic_any(1_u32) }))),
        1
    );
    assert_eq!(
        payload_of(|| pool.install(|| brigade::join(|| -> u32 { panic_any(2_u32) }, || Bomb))),
        2
    );
    pool.scope(|s| {
        let kept = s.submit(|| Bomb);
        scope(|_| ());
        drop(kept);
    })
    .unwrap();
    // Captures that are dropped unused, and after the call.
    pool.scope(|s| {
        s.cancel();
        let bomb = Bomb;
        s.execute(move || std::mem::forget(bomb));
    })
    .unwrap();
    let captured = Bomb;
    let unwound =
        panic::catch_unwind(AssertUnwindSafe(|| pool.scope(|s| s.execute(move || drop(captured)))));
    assert!(unwound.is_err());
    pool.scope(|s| s.execute(|| ())).unwrap();
}

/// Fault 38.
#[test]
fn a_result_whose_drop_panics_is_dropped_once_whenever_its_handle_goes() {
    struct Volatile<'a>(&'a AtomicUsize);
    impl Drop for Volatile<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic!("a result that panics when it is dropped");
        }
    }
    for_every_pool(|pool| {
        let dropped = AtomicUsize::new(0);
        pool.in_place_scope(|s| {
            // While the job runs.
            let (begun, gate) = (Gate::closed(), Gate::closed());
            let (begins, waits) = (begun.clone(), gate.clone());
            let early = s.submit(|| {
                begins.open();
                waits.wait();
                drop((begins, waits));
                Volatile(&dropped)
            });
            begun.wait();
            drop(early);
            gate.open();
            let late = s.submit(|| Volatile(&dropped));
            brigade_testkit::eventually("it has ended", || late.is_finished());
            drop(late);
            let late = s.spawn(async { Volatile(&dropped) });
            brigade_testkit::eventually("it has ended", || late.is_finished());
            drop(late);
        })
        .unwrap();
        assert_eq!(dropped.into_inner(), 3);
    });
}

#[test(for_every_pool)]
fn the_panic_of_a_job_is_its_handles_or_else_the_scopes(pool: &Pool) {
    let fails = || -> u32 { panic_any(7_u32) };
    pool.scope(|s| {
        let error = s.submit(fails).join().unwrap_err();
        assert_eq!(*error.into_panic().downcast::<u32>().unwrap(), 7);
        let error = s.spawn(async move { fails() }).join().unwrap_err();
        assert_eq!(*error.into_panic().downcast::<u32>().unwrap(), 7);
    })
    .unwrap();
    // Dropped before the job begins, and after it has ended.
    assert_eq!(payload_of(|| pool.scope(|s| drop(s.submit(fails)))), 7);
    assert_eq!(payload_of(|| pool.scope(|s| drop(s.spawn(async move { fails() })))), 7);
    let late = || {
        pool.in_place_scope(|s| {
            let job = s.submit(fails);
            brigade_testkit::eventually("it has ended", || job.is_finished());
            drop(job);
        })
    };
    assert_eq!(payload_of(late), 7);
}

#[test]
fn a_scope_inside_an_unwinding_thread_runs_its_jobs() {
    struct Scoped<'a>(&'a AtomicUsize);
    impl Drop for Scoped<'_> {
        fn drop(&mut self) {
            let ran = self.0;
            scope(|s| s.execute(|| _ = ran.fetch_add(1, Ordering::SeqCst)));
            join(|| ran.fetch_add(1, Ordering::SeqCst), || ran.fetch_add(1, Ordering::SeqCst));
        }
    }
    let (pool, ran) = (Pool::new(2), AtomicUsize::new(0));
    let payload = payload_of(|| {
        pool.install(|| {
            let _scoped = Scoped(&ran);
            resume_unwind(Box::new(9_u32));
        })
    });
    assert_eq!((payload, ran.into_inner()), (9, 3));
}

/// How many jobs of the pool panic during a call, which must end with a panic if it `panics`.
#[track_caller]
fn panicked<R>(pool: &Pool, panics: bool, call: impl FnOnce() -> R) -> u64 {
    let [before, after] = {
        let before = at_rest(pool);
        assert_eq!(panic::catch_unwind(AssertUnwindSafe(call)).is_err(), panics);
        [before, at_rest(pool)]
    };
    assert_eq!((before[3], before[4]), (after[3], after[4]), "none is cancelled");
    after[2] - before[2]
}

/// Fault 45. The body of `scope` is a job of the pool, too, and panics with the first payload.
#[test(for_every_pool)]
fn each_job_of_a_scope_that_panics_is_counted_once(pool: &Pool) {
    let run = |panics: fn(u32) -> bool, body: bool| {
        move || {
            pool.scope(|s| {
                for number in 0..10_u32 {
                    s.execute(move || {
                        if panics(number) {
                            panic_any(number)
                        }
                    });
                }
                if body {
                    panic_any(100_u32);
                }
            })
        }
    };
    assert_eq!(panicked(pool, false, run(|_| false, false)), 0);
    assert_eq!(panicked(pool, true, run(|number| number == 0, false)), 2);
    assert_eq!(panicked(pool, true, run(|number| number == 9, false)), 2);
    assert_eq!(panicked(pool, true, run(|_| true, false)), 11);
    assert_eq!(panicked(pool, true, run(|_| false, true)), 1);
    assert_eq!(panicked(pool, true, run(|_| true, true)), 11);
}

/// Fault 45.
#[test(for_every_pool)]
fn the_panic_of_a_job_with_a_handle_is_counted_once(pool: &Pool) {
    let fails = || -> u32 { panic_any(7_u32) };
    let fails_late = || async move {
        brigade::yield_now().await;
        fails()
    };
    let is_panic = |result: Result<u32, JoinError>| assert!(result.unwrap_err().is_panic());
    // Joined: before the job begins, and after it has ended.
    let joined = || pool.scope(|s| is_panic(s.submit(fails).join())).unwrap();
    assert_eq!(panicked(pool, false, joined), 1);
    let joined = || {
        pool.scope(|s| {
            let job = s.submit(fails);
            blocking(|| eventually("it has ended", || job.is_finished()));
            is_panic(job.join());
        })
        .unwrap()
    };
    assert_eq!(panicked(pool, false, joined), 1);
    for future in [true, false] {
        let joined = || {
            pool.scope(|s| match future {
                true => is_panic(s.spawn(async move { fails() }).join()),
                false => is_panic(s.spawn(fails_late()).join()),
            })
            .unwrap()
        };
        assert_eq!(panicked(pool, false, joined), 1);
    }
    // Dropped early, and late; the scope resumes the first.
    let dropped = || {
        pool.scope(|s| {
            drop(s.submit(fails));
            drop(s.spawn(fails_late()));
        })
    };
    assert_eq!(panicked(pool, true, dropped), 3);
    let dropped = || {
        pool.scope(|s| {
            let (job, future) = (s.submit(fails), s.spawn(fails_late()));
            let is_over = || job.is_finished() && future.is_finished();
            blocking(|| eventually("they have ended", is_over));
            drop((job, future));
        })
    };
    assert_eq!(panicked(pool, true, dropped), 3);
}

/// The handle has the closure, and a worker the job of which it was.
#[test(for_every_pool)]
fn a_job_whose_handle_runs_its_closure_is_counted_with_its_panic_by_the_handle(pool: &Pool) {
    let joined = || {
        pool.scope(|s| {
            let gate = Gate::closed();
            let opens = gate.clone();
            let job = s.submit(move || -> u32 {
                // Older jobs are taken first: this one's by now.
                blocking(|| gate.wait());
                panic_any(7_u32)
            });
            s.execute(move || opens.open());
            assert!(job.join().unwrap_err().is_panic());
        })
        .unwrap()
    };
    assert_eq!(panicked(pool, false, joined), 1);
}

/// The panics that workers have caught.
fn caught(pool: &Pool) -> u64 {
    at_rest(pool);
    pool.metrics().workers.iter().map(|worker| worker.panics).sum()
}

#[test]
fn a_panic_that_gives_way_to_another_is_counted_by_its_worker() {
    for threads in [1, 2, 8] {
        for_both_queueings(|builder| {
            let pool = builder.threads(threads).build().unwrap();
            let (in_a, in_b) = (|| -> u32 { panic_any(1_u32) }, || -> u32 { panic_any(2_u32) });
            // That of the installed job is one.
            assert_eq!(payload_of(|| pool.install(|| brigade::join(in_a, in_b))), 1);
            assert_eq!(caught(&pool), 2);
            assert_eq!(payload_of(|| pool.install(|| join_stolen(in_a, in_b))), 1);
            assert_eq!(caught(&pool), 4);
            // The body panics after a job has.
            let body = || {
                pool.scope(|s| {
                    let (job, panics) = (s.submit(in_a), s.submit(in_b));
                    blocking(|| eventually("it has ended", || panics.is_finished()));
                    drop(panics);
                    drop(job.join());
                    panic_any(3_u32)
                })
            };
            assert_eq!(payload_of(body), 2);
            assert_eq!(caught(&pool), 8);
        });
    }
}
