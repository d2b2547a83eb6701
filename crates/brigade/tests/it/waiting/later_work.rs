//! What runs beside the jobs that `wait_idle` waits for: it does not delay them, and is not kept from running.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use brigade::{JoinHandle, Shutdown};

use crate::support::attempts::in_one_of_three_attempts;
use crate::support::busy::{occupy, open_once_closed};
use crate::support::crowd::for_both_queueings;
use crate::support::policy::queue_kinds;
use crate::support::trees::Trees;
use crate::waiting::waves::waits_briefly;
use brigade_testkit::{Gate, Watchdog, eventually};

/// What is left of a wait that gave up keeps nobody from running, joining or ending.
#[test]
fn a_wait_that_was_given_up_leaves_a_pool_that_works_as_before() {
    let _dog = Watchdog::start(60);
    for how in [Shutdown::Drain, Shutdown::Discard] {
        for_both_queueings(|builder| {
            let (pool, gate) = (builder.threads(2).build().unwrap(), Gate::closed());
            let held = gate.clone();
            pool.execute(move || held.wait());
            assert!(!pool.wait_idle_timeout(Duration::from_millis(1)));
            let trees = Trees::default();
            for _ in 0..100 {
                pool.submit(trees.job(2)).join().unwrap();
            }
            eventually("all but the one that is held", || trees.unfinished() == 0);
            (0..100).for_each(|_| pool.execute(trees.job(1)));
            let accepted = pool.metrics().accepted;
            open_once_closed(&gate, pool.handle());
            let report = pool.shutdown(how);
            assert_eq!(report.still_running, 0);
            if how == Shutdown::Drain {
                assert_eq!((trees.unfinished(), report.discarded), (0, 0));
            }
            assert!(report.ran + report.discarded >= accepted, "{report:?} of {accepted}");
        });
    }
}

#[test]
fn what_is_queued_and_runs_is_exact_during_a_wait() {
    let _dog = Watchdog::start(20);
    for (kind, pool) in queue_kinds(2) {
        // Twice, as the two inlets take turns.
        for round in 1..=2 {
            let gate = Gate::closed();
            occupy(&pool, &gate);
            pool.execute(|| ());
            assert!(!pool.wait_idle_timeout(Duration::from_millis(1)));
            (0..10).for_each(|_| pool.execute(|| ()));
            let sums = pool.metrics();
            let all = 13 * round;
            assert_eq!((sums.accepted, sums.queued, sums.running), (all, 11, 2), "{kind}");
            gate.open();
            assert!(pool.wait_idle());
            let sums = pool.metrics();
            assert_eq!((sums.returned, sums.queued, sums.running), (all, 0, 0), "{kind}");
        }
    }
}

#[test]
fn an_old_job_is_taken_before_later_ones_that_have_waited_longer() {
    let _dog = Watchdog::start(20);
    for (kind, pool) in queue_kinds(2) {
        let ([go, held, inside], (ran, order)) = (gates(), mpsc::channel());
        pool.execute({
            let ([go, held, inside], ran) = ([&go, &held, &inside].map(Gate::clone), ran.clone());
            move || {
                go.wait();
                brigade::execute(move || ran.send("old").unwrap()).unwrap();
                inside.open();
                held.wait();
            }
        });
        assert!(!pool.wait_idle_timeout(Duration::from_millis(1)));
        let (child_is_there, stays) = (inside.clone(), go.clone());
        pool.execute(move || {
            stays.open();
            child_is_there.wait();
        });
        for _ in 0..3 {
            let ran = ran.clone();
            pool.execute(move || ran.send("later").unwrap());
        }
        drop(ran);
        assert_eq!(order.iter().take(4).next(), Some("old"), "{kind}");
        held.open();
    }
}

/// A job that a later one runs inside itself, as it joins it, is an old one nevertheless.
#[test]
fn a_wait_waits_for_an_old_job_that_a_later_one_joins() {
    let _dog = Watchdog::start(60);
    for_both_queueings(|builder| {
        let pool = builder.threads(2).build().unwrap();
        let (handles, handed) = mpsc::channel::<JoinHandle<()>>();
        let ([began, inner, grandchild], ended) = (gates(), Arc::new(AtomicUsize::new(0)));
        let (go, both) = (Gate::closed(), Arc::clone(&ended));
        pool.execute({
            let [go, began, inner, grandchild] =
                [&go, &began, &inner, &grandchild].map(Gate::clone);
            move || {
                go.wait();
                let begins = began.clone();
                let child = move || {
                    begins.open();
                    inner.wait();
                    let last = Arc::clone(&both);
                    let grandchild = move || {
                        grandchild.wait();
                        last.fetch_add(1, Ordering::Relaxed);
                    };
                    brigade::execute(grandchild).unwrap();
                    both.fetch_add(1, Ordering::Relaxed);
                };
                handles.send(brigade::submit(child).unwrap()).unwrap();
                // Stays until the other has begun it.
                began.wait();
            }
        });
        thread::scope(|scope| {
            let (returned, returns) = mpsc::channel();
            let waiter = &pool;
            scope.spawn(move || returned.send(waiter.wait_idle()));
            // Should the waiter not have got so far, this shows nothing; it fails nowhere.
            thread::sleep(Duration::from_millis(20));
            pool.execute(move || handed.recv().unwrap().join().unwrap());
            go.open();
            began.wait();
            let early = Duration::from_millis(20);
            assert!(returns.recv_timeout(early).is_err(), "the child has not ended");
            inner.open();
            assert!(returns.recv_timeout(early).is_err(), "the grandchild has not ended");
            grandchild.open();
            assert_eq!(returns.recv(), Ok(true));
            assert_eq!(ended.load(Ordering::Relaxed), 2);
        });
    });
}

fn gates<const COUNT: usize>() -> [Gate; COUNT] {
    core::array::from_fn(|_| Gate::closed())
}

/// Runs itself again and again until told to stop.
fn chain(stop: Arc<AtomicBool>, hops: Arc<AtomicUsize>) {
    hops.fetch_add(1, Ordering::Relaxed);
    if !stop.load(Ordering::Relaxed) {
        let _ = brigade::execute(move || chain(stop, hops));
    }
}

#[test]
fn a_later_job_that_submits_itself_for_ever_does_not_delay_a_wait() {
    let _dog = Watchdog::start_alone(60);
    // Old work that is one long job leaves later work to the other workers, a row of jobs is interrupted for it.
    for (threads, is_row) in [(1, true), (2, false), (2, true), (4, false)] {
        for_both_queueings(|builder| {
            let pool = builder.threads(threads).build().unwrap();
            in_one_of_three_attempts(|| {
                let (old_stops, stop) = (Arc::new(AtomicBool::new(false)), Arc::default());
                let (gate, hops) = (Gate::closed(), Arc::new(AtomicUsize::new(0)));
                let (held, old_stop) = (gate.clone(), Arc::clone(&old_stops));
                pool.execute(
                    move || if is_row { chain(old_stop, Arc::default()) } else { held.wait() },
                );
                let result = thread::scope(|scope| {
                    let waiter = scope.spawn(|| waits_briefly(&pool));
                    // If that is too short the chain is an old one; hence three attempts.
                    thread::sleep(Duration::from_millis(30));
                    let (end, count) = (Arc::clone(&stop), Arc::clone(&hops));
                    pool.execute(move || chain(end, count));
                    eventually("the chain runs", || hops.load(Ordering::Relaxed) > 100);
                    old_stops.store(true, Ordering::Relaxed);
                    gate.open();
                    waiter.join().unwrap()
                });
                stop.store(true, Ordering::Relaxed);
                assert!(pool.wait_idle());
                result
            });
        });
    }
}

/// The bound of fairness holds while somebody waits: nobody who comes later waits for ever.
#[test]
fn later_jobs_and_their_children_run_although_old_ones_go_on_for_ever() {
    let _dog = Watchdog::start(60);
    for threads in [1, 2] {
        for_both_queueings(|builder| {
            let pool = builder.threads(threads).build().unwrap();
            let stop = Arc::new(AtomicBool::new(false));
            for _ in 0..2 * threads {
                let (stop, hops) = (Arc::clone(&stop), Arc::default());
                pool.execute(move || chain(stop, hops));
            }
            let trees = Trees::default();
            assert!(!pool.wait_idle_timeout(Duration::from_millis(10)));
            for _ in 0..10 {
                pool.submit(trees.job(2)).join().unwrap();
            }
            eventually("the children too", || trees.unfinished() == 0);
            stop.store(true, Ordering::Relaxed);
            assert!(pool.wait_idle());
        });
    }
}
