//! Panics in forks and jobs of scopes.

use std::ops::Range;
use std::panic::{self, AssertUnwindSafe, panic_any, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::pools::{for_every_pool, join_stolen};
use crate::support::crowd::for_both_queueings;
use crate::support::full::at_rest;
use brigade::{Builder, Pool, Scope, blocking, join, scope};
use brigade_testkit::{Bomb, Drops, Gate, Halt, eventually, test};

/// The number that a call panics with.
#[track_caller]
fn payload_of<R>(call: impl FnOnce() -> R) -> u32 {
    let Err(payload) = panic::catch_unwind(AssertUnwindSafe(call)) else { panic!("it returned") };
    *payload.downcast::<u32>().expect("its own payload")
}

#[test(for_every_pool)]
fn a_join_ends_with_either_or_the_first_panic(pool: &Pool) {
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
fn both_closures_end_before_a_join_panics(pool: &Pool) {
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

/// The number that a call panics with, if it does, and how many jobs of the pool panic meanwhile.
#[track_caller]
fn panics_of<R>(pool: &Pool, call: impl FnOnce() -> R) -> (Option<u32>, u64) {
    let before = at_rest(pool);
    let payload = panic::catch_unwind(AssertUnwindSafe(call)).err();
    let after = at_rest(pool);
    assert_eq!((before[3], before[4]), (after[3], after[4]), "none is cancelled");
    let number = payload.map(|payload| *payload.downcast::<u32>().expect("its own payload"));
    (number, after[2] - before[2])
}

/// Whether the part with this number panics.
type Panics = fn(u32) -> bool;

/// The number of a scope's body, after those of its jobs.
const BODY: u32 = 10;

/// The jobs of a scope and its body. Some panic, with their number, and the others are counted.
fn run_parts<'s>(s: &'s Scope<'s, '_>, panics: Panics, ended: &'s AtomicUsize) {
    let part = move |number| match panics(number) {
        true => panic_any(number),
        false => _ = ended.fetch_add(1, Ordering::SeqCst),
    };
    (0..BODY).for_each(|number| s.execute(move || part(number)));
    part(BODY);
}

/// Fault 45.
#[test(for_every_pool)]
fn a_scope_resumes_its_first_panic_after_all_jobs(pool: &Pool) {
    // Which of them panic, whose panic may be the first, and how many are counted: the body of `scope` is a job of the pool, too, and
    // panics with the first payload.
    let cases: [(&str, Panics, Range<u32>, u64); 6] = [
        ("none", |_| false, 0..0, 0),
        ("the first job", |number| number == 0, 0..1, 2),
        ("the last job", |number| number == 9, 9..10, 2),
        ("all jobs", |number| number < BODY, 0..BODY, 11),
        ("the body", |number| number == BODY, BODY..BODY + 1, 1),
        ("all", |_| true, 0..BODY + 1, 11),
    ];
    for (who, panics, first, counted) in cases {
        for in_place in [false, true] {
            let ended = AtomicUsize::new(0);
            let (payload, count) = panics_of(pool, || match in_place {
                true => pool.in_place_scope(|s| run_parts(s, panics, &ended)),
                false => pool.scope(|s| run_parts(s, panics, &ended)),
            });
            let is_first = payload.map_or(first.is_empty(), |number| first.contains(&number));
            assert!(is_first, "{who}, in place: {in_place}: {payload:?}");
            let is_job = !in_place || payload.is_none();
            assert_eq!(count, counted - u64::from(!is_job), "{who}, in place: {in_place}");
            let others = (0..=BODY).filter(|number| !panics(*number)).count();
            assert_eq!(ended.into_inner(), others, "{who}, in place: {in_place}");
        }
    }
}

/// Its drop panics too.
fn bomb() {
    panic_any(Bomb);
}

#[test(for_every_pool)]
fn captures_results_and_payloads_may_panic(pool: &Pool) {
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
#[test(for_every_pool)]
fn a_panicking_result_drops_once(pool: &Pool) {
    struct Volatile<'a>(&'a AtomicUsize);
    impl Drop for Volatile<'_> {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
            panic!("a result that panics when it is dropped");
        }
    }
    let dropped = AtomicUsize::new(0);
    pool.in_place_scope(|s| {
        // While the job runs.
        let halt = Halt::default();
        let stops = halt.job();
        let early = s.submit(|| {
            stops();
            Volatile(&dropped)
        });
        halt.await_thread();
        drop(early);
        halt.release();
        let late = s.submit(|| Volatile(&dropped));
        eventually("it has ended", || late.is_finished());
        drop(late);
        let late = s.spawn(async { Volatile(&dropped) });
        eventually("it has ended", || late.is_finished());
        drop(late);
    })
    .unwrap();
    assert_eq!(dropped.into_inner(), 3);
}

/// Fault 45. The handle is joined or dropped before the job begins, perhaps, or after it has ended.
#[test(for_every_pool)]
fn a_jobs_panic_goes_to_its_handle_or_scope(pool: &Pool) {
    let fails = || -> u32 { panic_any(7_u32) };
    for (kind, late, joins) in ["job", "future", "future that waits"]
        .into_iter()
        .flat_map(|kind| [false, true].map(|late| (kind, late)))
        .flat_map(|(kind, late)| [false, true].map(|joins| (kind, late, joins)))
    {
        let call = || {
            pool.scope(|s| {
                let handle = match kind {
                    "job" => s.submit(fails),
                    "future" => s.spawn(async move { fails() }),
                    _ => s.spawn(async move {
                        brigade::yield_now().await;
                        fails()
                    }),
                };
                if late {
                    blocking(|| eventually("it has ended", || handle.is_finished()));
                }
                if joins {
                    let payload = handle.join().unwrap_err().into_panic();
                    assert_eq!(payload.downcast_ref(), Some(&7_u32));
                }
            })
        };
        let expected = if joins { (None, 1) } else { (Some(7), 2) };
        assert_eq!(panics_of(pool, call), expected, "{kind}, late: {late}, joined: {joins}");
    }
}

#[test]
fn an_unwinding_threads_scope_runs_its_jobs() {
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

/// The handle has the closure, and a worker the job of which it was.
#[test(for_every_pool)]
fn a_handle_counts_the_panic_of_its_closure(pool: &Pool) {
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
    assert_eq!(panics_of(pool, joined), (None, 1));
}

/// The panics that workers have caught.
fn caught(pool: &Pool) -> u64 {
    at_rest(pool);
    pool.metrics().workers.iter().map(|worker| worker.panics).sum()
}

#[test(threads in [1, 2, 8], for_both_queueings)]
fn a_superseded_panic_is_counted_by_its_worker(builder: Builder, threads: usize) {
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
}
