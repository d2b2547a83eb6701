//! Joins that would wait for themselves return an error.

use std::sync::mpsc;

use crate::support::crowd::for_both_queueings;
use brigade::{Builder, JoinError, JoinHandle, Pool, spawn_local};
use brigade_testkit::{BlockedThread, Gate, Latch, eventually, test};

/// Passes a job the handle of another, or its own.
fn letterbox<T: Send + 'static>()
-> (mpsc::Sender<JoinHandle<T>>, impl FnOnce() -> JoinHandle<T> + Send + 'static) {
    let (sender, receiver) = mpsc::channel();
    (sender, move || receiver.recv().unwrap())
}

fn would_deadlock<T>(outcome: Result<T, JoinError>) -> bool {
    matches!(outcome, Err(JoinError::WouldDeadlock))
}

/// The last to join gets the error, and the others have outcomes. In a circle of one, a job joins itself.
#[test(length in [1, 2, 3, 8], are_futures in [false, true])]
fn one_join_of_a_circle_fails_and_all_jobs_end(length: usize, are_futures: bool) {
    for threads in [1, 2, 8] {
        let pools: Vec<_> = (0..length).map(|_| Pool::new(threads)).collect();
        check_circle(&pools.iter().collect::<Vec<_>>(), are_futures);
    }
    for_both_queueings(|builder| {
        let pool = builder.threads(length).build().unwrap();
        check_circle(&vec![&pool; length], are_futures);
        assert!(pool.wait_idle());
        assert_eq!(pool.metrics().returned, length as u64);
    });
}

/// A job on each of these pools, all of them running at once, joins the next one's.
fn check_circle(pools: &[&Pool], are_futures: bool) {
    let (told, tells) = mpsc::channel();
    let boxes: Vec<_> = pools.iter().map(|_| letterbox::<bool>()).collect();
    let (senders, takers): (Vec<_>, Vec<_>) = boxes.into_iter().unzip();
    let jobs: Vec<_> = pools
        .iter()
        .zip(takers)
        .map(|(pool, take)| {
            let told = told.clone();
            let job = move || {
                told.send(would_deadlock(take().join())).unwrap();
                true
            };
            if are_futures { pool.spawn(async { job() }) } else { pool.submit(job) }
        })
        .collect();
    // Each goes to the job before it.
    for (number, job) in jobs.into_iter().enumerate() {
        senders[(number + pools.len() - 1) % pools.len()].send(job).unwrap();
    }
    let heard: Vec<_> = tells.iter().take(pools.len()).collect();
    let circle = format!("{heard:?}, futures: {are_futures}");
    assert_eq!(heard.iter().filter(|heard| **heard).count(), 1, "{circle}");
}

/// The inner job is run by the outer one that joins it, and joins that one in turn.
#[test(for_both_queueings)]
fn a_circle_through_an_inner_job_gets_an_error(builder: Builder) {
    let pool = builder.threads(1).build().unwrap();
    let (outer_box, take_outer) = letterbox::<bool>();
    let outer = pool.submit(move || {
        let inner = brigade::submit(move || would_deadlock(take_outer().join()));
        inner.join().unwrap()
    });
    outer_box.send(outer).unwrap();
    pool.wait_idle();
    assert_eq!(pool.metrics().returned, 2);
}

#[test(for_both_queueings)]
fn many_joins_without_a_circle_get_no_error(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    for _ in 0..50 {
        let leaf = pool.submit(|| 0_u64);
        let last = (0..40).fold(leaf, |former, _| pool.submit(move || former.join().unwrap() + 1));
        assert_eq!(last.join().unwrap(), 40);
    }
}

/// More than there may be threads.
#[test(spare in 0..3, for_both_queueings)]
fn jobs_joining_futures_on_all_threads_end(builder: Builder, spare: usize) {
    let pool = builder.threads(2).spare_threads(spare).build().unwrap();
    let (latch, (told, tells)) = (Latch::default(), mpsc::channel());
    let jobs = 2 + spare + 5;
    for _ in 0..jobs {
        let (handle, latch, told) = (pool.handle(), latch.clone(), told.clone());
        pool.execute(move || {
            let future = handle.spawn(async move { latch.wait().await });
            told.send(future.join().is_ok()).unwrap();
        });
    }
    eventually("the last thread runs the others", || latch.waiting() == jobs);
    assert_eq!(pool.metrics().threads, 2 + spare);
    latch.open();
    assert!(tells.iter().take(jobs).all(|joined| joined));
}

/// The thread that will poll it has not been started, as there is nothing to poll yet.
#[test(for_both_queueings)]
fn a_pending_join_is_no_deadlock_below_the_limit(builder: Builder) {
    let pool = builder.threads(1).spare_threads(1).build().unwrap();
    let latch = Latch::default();
    let future = pool.spawn(latch.wait());
    eventually("it waits", || latch.waiting() == 1);
    let worker = BlockedThread::default();
    let joiner = worker.clone();
    let joins = pool.submit(move || {
        joiner.is_this();
        future.join()
    });
    worker.wait_until_blocked();
    latch.open();
    assert!(joins.join().unwrap().is_ok());
}

/// One job waits for the other, which waits for a future that no other thread is left to poll.
#[test(for_both_queueings)]
fn the_last_waiting_thread_polls_its_future(builder: Builder) {
    let pool = builder.threads(2).spare_threads(0).build().unwrap();
    let (goes_on, begun) = (Gate::closed(), Gate::closed());
    let (gate, begins, handle) = (goes_on.clone(), begun.clone(), pool.handle());
    let inner = pool.submit(move || {
        begins.open();
        gate.wait();
        would_deadlock(handle.spawn(async {}).join())
    });
    begun.wait();
    let worker = BlockedThread::default();
    let joiner = worker.clone();
    let outer = pool.submit(move || {
        joiner.is_this();
        inner.join().unwrap()
    });
    worker.wait_until_blocked();
    goes_on.open();
    assert!(!outer.join().unwrap());
}

/// A thread whose job has ended no longer counts as waiting, although it has not woken up yet.
#[test(for_both_queueings)]
fn a_join_beside_an_ended_one_is_no_deadlock(builder: Builder) {
    /// A job that joins a future, which leaves another such job behind as it ends.
    fn chain(length: u32) {
        let future = brigade::spawn(async move {
            if length > 1 {
                brigade::execute(move || chain(length - 1));
            }
        });
        assert!(future.join().is_ok(), "one thread is free to run it");
    }
    let pool = builder.threads(2).spare_threads(0).build().unwrap();
    pool.execute(|| chain(2000));
    pool.wait_idle();
    let metrics = pool.metrics();
    assert_eq!((metrics.returned, metrics.panicked), (4000, 0));
}

#[test]
fn the_message_names_the_deadlock() {
    let error = JoinError::WouldDeadlock;
    assert!(error.to_string().contains("would deadlock"), "{error}");
    // Caught: the message named blocked threads, which fail no wait.
    assert!(!error.to_string().contains("thread"), "{error}");
    assert_eq!(error.panic_message(), None);
    assert_eq!(format!("{error:?}"), "WouldDeadlock");
}

/// A local future is polled while its worker waits in a join, and joins too.
#[test]
fn a_circle_is_seen_after_an_ended_inner_wait() {
    let (pool, other, gate) = (Pool::new(2), Pool::new(1), Gate::closed());
    let ((own, take_own), (peer, take_peer)) = (letterbox::<()>(), letterbox::<()>());
    let (joined, has_joined) = mpsc::channel();
    let (told, tells) = mpsc::channel();
    let (held, tell, begun) = (gate.clone(), told.clone(), Gate::closed());
    let begins = begun.clone();
    let elsewhere = other.submit(move || held.wait());
    let first = pool.submit(move || {
        let peer = take_peer();
        // Else it would be run here.
        begun.wait();
        drop(spawn_local(async move {
            elsewhere.join().unwrap();
            joined.send(()).unwrap();
        }));
        tell.send(would_deadlock(peer.join())).unwrap();
    });
    let second = pool.submit(move || {
        begins.open();
        let first = take_own();
        gate.open();
        has_joined.recv().unwrap();
        told.send(would_deadlock(first.join())).unwrap();
    });
    own.send(first).unwrap();
    peer.send(second).unwrap();
    let heard: Vec<_> = tells.iter().collect();
    assert!(heard.contains(&true) && heard.contains(&false), "{heard:?}");
}
