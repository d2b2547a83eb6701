//! A future has its turn at each poll.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::thread;

use brigade::{Builder, Limited, Pool, Queueing};
use brigade_testkit::{Gate, Latch, eventually, test};

use super::held;
use crate::support::crowd::for_both_queueings;

/// A future whose polls are alone, which yields so many times.
async fn alone(is_running: Arc<AtomicBool>, mut times: u32) {
    std::future::poll_fn(|context| {
        assert!(!is_running.swap(true, Ordering::Relaxed), "another job runs");
        thread::yield_now();
        is_running.store(false, Ordering::Relaxed);
        if times == 0 {
            return Poll::Ready(());
        }
        times -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[test(for_both_queueings)]
fn polls_and_closures_take_turns(builder: Builder) {
    let pool = builder.threads(4).build().unwrap();
    let (serial, is_running) = (pool.limited(1), Arc::new(AtomicBool::new(false)));
    let polled: Vec<_> = (0..50).map(|_| serial.spawn(alone(is_running.clone(), 5))).collect();
    let run = |is_running: Arc<AtomicBool>| {
        move || {
            assert!(!is_running.swap(true, Ordering::Relaxed), "another job runs");
            thread::yield_now();
            is_running.store(false, Ordering::Relaxed);
        }
    };
    let run: Vec<_> = (0..50).map(|_| serial.submit(run(is_running.clone()))).collect();
    polled.into_iter().for_each(|job| job.join().unwrap());
    run.into_iter().for_each(|job| job.join().unwrap());
}

#[test(for_both_queueings)]
fn a_pending_future_has_no_turn(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let (limited, latch) = (pool.limited(1), Latch::default());
    let waits = limited.spawn(latch.wait());
    limited.submit(|| ()).join().unwrap();
    assert!(!waits.is_finished());
    latch.open();
    waits.join().unwrap();
}

/// Each awaits the next, which is submitted later.
fn chain(limited: Limited, length: u32) -> impl Future<Output = u32> + Send {
    let future: std::pin::Pin<Box<dyn Future<Output = u32> + Send>> = Box::pin(async move {
        match length {
            0 => 0,
            _ => 1 + limited.spawn(chain(limited.clone(), length - 1)).await.unwrap(),
        }
    });
    future
}

#[test(queueing in [Queueing::Stealing, Queueing::Shared])]
fn futures_that_await_each_other_end(queueing: Queueing) {
    for threads in [1, 3] {
        let pool = Pool::builder().queueing(queueing).threads(threads).build().unwrap();
        for limit in [1, 2] {
            let limited = pool.limited(limit);
            assert_eq!(limited.spawn(chain(limited.clone(), 30)).join().unwrap(), 30);
            assert_eq!(brigade::block_on(chain(limited.clone(), 30)), 30);
        }
    }
}

/// A woken future whose turn has not come is cancelled there, and the next has its turn.
#[test(for_both_queueings)]
fn a_future_that_waits_for_its_turn_can_be_cancelled(builder: Builder) {
    let pool = builder.threads(3).build().unwrap();
    let (limited, latch, gate) = (pool.limited(1), Latch::default(), Gate::closed());
    let waits = limited.spawn(latch.wait());
    eventually("it waits", || latch.waiting() == 1);
    let runs = held(&limited, &gate);
    latch.open();
    eventually("it has been polled", || pool.metrics().queued == 0);
    let last = limited.submit(|| 42);
    assert!(waits.cancel());
    gate.open();
    runs.join().unwrap();
    assert_eq!(last.join().unwrap(), 42);
    assert!(waits.join().is_err_and(|error| error.is_cancelled()));
}

/// The wait polls the future, whose turn has not come, and goes on once it has.
#[test(for_both_queueings)]
fn a_future_in_line_may_be_joined(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let (limited, gate) = (pool.limited(1), Gate::closed());
    limited.execute(gate.job());
    let in_line = limited.spawn(async { 42 });
    let awaited = limited.spawn(async { 43 });
    let joins = pool.submit(move || in_line.join().unwrap());
    let awaits = pool.spawn(async move { pin!(awaited).await.unwrap() });
    eventually("they wait", || pool.metrics().queued == pool.metrics().queued_limited);
    gate.open();
    assert_eq!((joins.join().unwrap(), awaits.join().unwrap()), (42, 43));
}
