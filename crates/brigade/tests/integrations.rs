//! What features enable: spawning, time and streams by the traits of other crates.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use brigade::time::interval;
use brigade::{Missed, Pool, block_on};

use brigade_testkit::WakeCounter;
use brigade_testkit::Watchdog;

const FAR: Duration = Duration::from_secs(3600);

#[test]
fn a_handle_spawns_by_the_trait_of_futures_until_its_pool_is_closed() {
    use futures_task::Spawn;
    let _dog = Watchdog::start(20);
    let pool = Pool::new(1);
    let (handle, (sent, received)) = (pool.handle(), std::sync::mpsc::channel());
    let spawn: &dyn Spawn = &handle;
    assert!(spawn.status().is_ok());
    let future = Box::new(async move { sent.send(42).unwrap() });
    spawn.spawn_obj(future.into()).unwrap();
    assert_eq!(received.recv(), Ok(42));
    pool.close();
    assert!(spawn.status().is_err_and(|error| error.is_shutdown()));
    assert!(spawn.spawn_obj(Box::new(async {}).into()).is_err());
}

#[test]
fn a_handle_is_an_executor_of_hypers() {
    use hyper::rt::Executor;
    let _dog = Watchdog::start(20);
    let pool = Pool::new(1);
    let (sent, received) = std::sync::mpsc::channel();
    Executor::execute(&pool.handle(), async move { sent.send(42).unwrap() });
    assert_eq!(received.recv(), Ok(42));
    pool.close();
    Executor::execute(&pool.handle(), async { unreachable!("it is closed") });
}

#[test]
fn an_interval_is_a_stream_that_never_ends() {
    use futures_core::Stream;
    let _dog = Watchdog::start(20);
    let mut ticks = pin!(interval(Duration::from_millis(1)).missed(Missed::Burst));
    assert_eq!(ticks.size_hint().0, usize::MAX);
    let mut last = None;
    for _ in 0..5 {
        let tick = block_on(poll_fn(|context| ticks.as_mut().poll_next(context))).unwrap();
        assert!(last.is_none_or(|last| tick == last + ticks.period()));
        last = Some(tick);
    }
}

#[test]
fn hypers_timer_sleeps_and_can_be_set_again() {
    use brigade::time::HyperTimer;
    use hyper::rt::Timer;
    let _dog = Watchdog::start(20);
    let pool = Pool::new(1);
    let begun = Instant::now();
    let timer: &(dyn Timer + Send + Sync) = &HyperTimer;
    pool.spawn(timer.sleep(Duration::from_millis(2))).join().unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(2));
    let (mut sleep, bell) = (timer.sleep(FAR), Arc::<WakeCounter>::default());
    let waker = Waker::from(bell.clone());
    assert!(sleep.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    let sooner = Instant::now() + Duration::from_millis(2);
    timer.reset(&mut sleep, sooner);
    assert_eq!(Arc::strong_count(&bell), 2, "the first is forgotten");
    pool.spawn(sleep).join().unwrap();
    assert!(Instant::now() >= sooner);
}
