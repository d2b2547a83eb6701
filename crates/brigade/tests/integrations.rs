//! What features enable: spawning, time and streams by the traits of other crates.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use brigade::time::interval;
use brigade::{LocalPool, Missed, Pool, Shutdown, TaskSet, WhenFull, block_on};

use brigade_testkit::WakeCounter;
use brigade_testkit::test;

const FAR: Duration = Duration::from_secs(3600);

#[test]
fn a_handle_spawns_until_its_pool_is_closed() {
    use futures_task::Spawn;
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
fn a_local_pool_spawns_local_futures_until_it_has_ended() {
    use futures_task::LocalSpawn;
    let (pool, ran) = (LocalPool::new().unwrap(), Rc::new(Cell::new(0)));
    let spawn: &dyn LocalSpawn = &pool;
    let future = |more: u32| {
        let ran = ran.clone();
        Box::new(async move { ran.set(ran.get() + more) })
    };
    assert!(spawn.status_local().is_ok());
    spawn.spawn_local_obj(future(1).into()).unwrap();
    assert_eq!(ran.get(), 0, "the owner has not run it");
    pool.run_until_idle();
    assert_eq!(ran.get(), 1);
    // Inside a future of the pool, too.
    pool.run_until(async {
        spawn.spawn_local_obj(future(2).into()).unwrap();
        brigade::yield_now().await;
    });
    assert_eq!(ran.get(), 3);
    pool.shutdown(Shutdown::Drain);
    assert!(spawn.status_local().is_err_and(|error| error.is_shutdown()));
    assert!(spawn.spawn_local_obj(future(4).into()).is_err_and(|error| error.is_shutdown()));
    assert_eq!((ran.get(), Rc::strong_count(&ran)), (3, 1), "the future is dropped");
}

#[test]
fn traits_submit_until_the_pool_is_closed() {
    use brigade_executor::{Executor, ExecutorExt, LocalSpawner, LocalSpawnerExt, SpawnerExt};
    let (pool, (sent, received)) = (Pool::new(2), std::sync::mpsc::channel());
    let handle = pool.handle();
    let say = |word: u32| {
        let sent = sent.clone();
        move || sent.send(word).unwrap()
    };
    let object: &dyn Executor = &pool;
    object.execute(say(1));
    ExecutorExt::execute(&handle, say(2));
    SpawnerExt::spawn(&handle, {
        let say = say(3);
        async move { say() }
    });
    let say_here = say(4);
    assert!(handle.try_spawn_local(async {}).is_err(), "this is no worker");
    pool.submit(move || {
        let here: &dyn LocalSpawner = &handle;
        let local = std::rc::Rc::new(say_here);
        here.spawn_local(async move { local() });
        let other = Pool::new(1).handle();
        assert!(other.try_spawn_local(async {}).is_err(), "a worker of another pool");
    })
    .join()
    .unwrap();
    let mut said: Vec<_> = received.iter().take(4).collect();
    said.sort_unstable();
    assert_eq!(said, [1, 2, 3, 4]);
    pool.close();
    for rejected in [object.try_execute(say(5)), ExecutorExt::try_execute(&handle, say(5))] {
        rejected.unwrap_err().into_inner()();
        assert_eq!(received.recv(), Ok(5));
    }
    assert!(SpawnerExt::try_spawn(&handle, async {}).is_err());
}

#[test]
fn a_full_pool_rejects_or_blocks_executor_callers() {
    use brigade_executor::ExecutorExt;
    for when_full in [WhenFull::Block, WhenFull::Reject] {
        let pool = Pool::builder().threads(1).capacity(1).when_full(when_full).build().unwrap();
        let (open, opened) = std::sync::mpsc::channel::<()>();
        pool.execute(move || _ = opened.recv());
        // One runs and one is queued: of three, one is too many.
        let outcomes = std::thread::scope(|scope| {
            let all =
                scope.spawn(|| [(); 3].map(|()| ExecutorExt::try_execute(&pool, || ()).is_ok()));
            if when_full == WhenFull::Reject {
                return all.join().unwrap();
            }
            // Whether they wait already or come later, they find room after this.
            drop(open);
            all.join().unwrap()
        });
        assert_eq!(outcomes.contains(&false), when_full == WhenFull::Reject, "{outcomes:?}");
    }
}

#[test]
fn a_handle_is_an_executor_of_hypers() {
    use hyper::rt::Executor;
    let pool = Pool::new(1);
    let (sent, received) = std::sync::mpsc::channel();
    Executor::execute(&pool.handle(), async move { sent.send(42).unwrap() });
    assert_eq!(received.recv(), Ok(42));
    pool.close();
    Executor::execute(&pool.handle(), async { unreachable!("it is closed") });
}

#[test]
fn an_interval_is_an_endless_stream() {
    use futures_core::Stream;
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
fn a_set_is_a_stream_resuming_after_its_end() {
    use futures_core::Stream;
    let pool = Pool::new(1);
    let mut set = TaskSet::new(&pool);
    for round in 0..2 {
        set.spawn(async move { round });
        set.submit(|| 40);
        assert_eq!(set.size_hint(), (2, Some(2)));
        let mut next = || block_on(poll_fn(|context| pin!(&mut set).poll_next(context)));
        let sum = next().unwrap().unwrap() + next().unwrap().unwrap();
        assert_eq!((sum, next().is_none()), (40 + round, true));
    }
}

#[test]
fn maps_are_streams() {
    use futures_core::Stream;
    let pool = Pool::new(2);
    let mut ordered = pool.map(0..10, 3, |index| index);
    let mut next = || block_on(poll_fn(|context| pin!(&mut ordered).poll_next(context)));
    assert!((0..10).all(|index| next().unwrap().unwrap() == index) && next().is_none());
    let mut unordered = pool.map_unordered(0..10, 3, |index| index);
    let mut next = || block_on(poll_fn(|context| pin!(&mut unordered).poll_next(context)));
    assert_eq!((0..10).map(|_| next().unwrap().unwrap()).sum::<i32>(), 45);
    assert!(next().is_none());
    pool.close();
    let mut closed = pool.map(0..1, 3, |index| index);
    let mut next = || block_on(poll_fn(|context| pin!(&mut closed).poll_next(context)));
    assert!(next().unwrap().is_err() && next().is_none());
}

#[test]
fn ready_handles_and_sleeps_are_terminated() {
    use futures_core::FusedFuture;
    let pool = Pool::new(1);
    let mut job = pool.submit(|| 42);
    pool.wait_idle();
    assert!(job.is_finished() && !job.is_terminated(), "its outcome is still there");
    assert_eq!(block_on(&mut job).unwrap(), 42);
    assert!(job.is_terminated());
    let mut sleep = brigade::sleep(Duration::ZERO);
    assert!(!sleep.is_terminated(), "its time is over, but it has not been polled");
    block_on(&mut sleep);
    assert!(sleep.is_terminated());
}

#[test]
fn hypers_timer_sleeps_and_can_be_set_again() {
    use brigade::time::HyperTimer;
    use hyper::rt::Timer;
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
