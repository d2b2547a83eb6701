//! Futures that wait for a time: the pool that they belong to, and their end.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use brigade::time::{Elapsed, Sleep, interval, sleep, sleep_until, timeout};
use brigade::{Missed, Pool, Shutdown, block_on};
use brigade_testkit::{Gate, WakeCounter, at_exit, eventually, on_wake, stays, test};

const FAR: Duration = Duration::from_secs(3600);

fn poll(sleep: &mut Sleep, bell: &Arc<WakeCounter>) -> Poll<()> {
    pin!(sleep).poll(&mut Context::from_waker(&Waker::from(bell.clone())))
}

/// A sleep of this length that a worker of the pool has polled once.
fn polled_on(pool: &Pool, duration: Duration, bell: &Arc<WakeCounter>) -> Sleep {
    let bell = bell.clone();
    let polled = pool.submit(move || {
        // Begun here: it may take long to start a thread.
        let mut sleep = sleep(duration);
        assert!(poll(&mut sleep, &bell).is_pending());
        sleep
    });
    polled.join().unwrap()
}

#[test]
fn a_due_sleep_is_ready_at_the_first_poll() {
    let bell = Arc::default();
    assert!(poll(&mut sleep(Duration::ZERO), &bell).is_ready());
    assert!(poll(&mut sleep_until(Instant::now()), &bell).is_ready());
    let mut again = sleep(Duration::ZERO);
    assert!(poll(&mut again, &bell).is_ready() && poll(&mut again, &bell).is_ready());
    assert_eq!(bell.wakes(), 0);
}

#[test]
fn the_longest_sleeps_never_end_or_panic() {
    let (pool, bell) = (Pool::new(1), Arc::default());
    let far = [Duration::MAX, Duration::from_secs(u64::MAX / 4), Duration::from_secs(2_142_720)];
    let sleeps = far.map(|far| polled_on(&pool, far, &bell));
    assert!(sleeps.iter().all(|sleep| sleep.deadline() > Instant::now() + FAR));
    let limited = pool.spawn(timeout(Duration::MAX, async { 42 }));
    assert_eq!(limited.join().unwrap(), Ok(42));
    drop(pool.spawn(async { interval(Duration::MAX).tick().await }));
    assert_eq!(bell.wakes(), 0);
}

/// Its waker, and with it the task, must not outlive it.
#[test]
fn a_dropped_sleep_leaves_nothing_behind() {
    let (pool, bell) = (Pool::new(1), Arc::default());
    let sleep = polled_on(&pool, FAR, &bell);
    assert_eq!(Arc::strong_count(&bell), 2);
    drop(sleep);
    assert_eq!(Arc::strong_count(&bell), 1);
    assert_eq!(bell.wakes(), 0);
}

#[test]
fn only_the_last_waker_is_woken() {
    let (pool, [first, second]) = (Pool::new(1), [Arc::default(), Arc::default()]);
    let mut sleep = polled_on(&pool, Duration::from_millis(20), &first);
    if poll(&mut sleep, &second).is_ready() {
        return; // So slow a machine that it is due.
    }
    assert_eq!(Arc::strong_count(&first), 1, "a waker that was replaced is let go");
    eventually("the second is woken", || second.wakes() == 1);
    assert_eq!(first.wakes(), 0);
    assert!(poll(&mut sleep, &second).is_ready());
}

#[test]
fn a_sleep_belongs_to_its_first_polling_pool() {
    let (pool, gate, bell) = (Pool::new(1), Gate::closed(), Arc::default());
    let mut sleep = polled_on(&pool, Duration::from_millis(50), &bell);
    crate::support::busy::occupy(&pool, &gate);
    let due = sleep.deadline();
    eventually("it is due", || Instant::now() >= due);
    // Its pool's only worker is busy, and no other pool polls it.
    stays("it is not woken", || bell.wakes() == 0);
    gate.open();
    eventually("it is woken", || bell.wakes() == 1);
    assert!(poll(&mut sleep, &bell).is_ready());
}

#[test]
fn a_sleep_outlives_its_pool_on_the_default_one() {
    let (pool, bell) = (Pool::new(1), Arc::default());
    let begun = Instant::now();
    let mut sleep = polled_on(&pool, Duration::from_millis(20), &bell);
    drop(pool);
    assert_eq!(bell.wakes(), 1, "it hears of the end");
    while poll(&mut sleep, &bell).is_pending() {
        let heard = bell.wakes();
        eventually("it is woken", || bell.wakes() > heard);
    }
    assert!(begun.elapsed() >= Duration::from_millis(20));
}

/// A pool that is drained waits for its jobs, and they for timers.
#[test(threads in [1, 2], how in [Shutdown::Drain, Shutdown::Discard])]
fn a_sleeping_job_ends_although_its_pool_closes(threads: usize, how: Shutdown) {
    let (pool, (begun, begins)) = (Pool::new(threads), mpsc::channel());
    let job = pool.submit(move || {
        block_on(async {
            let mut rest = pin!(sleep(Duration::from_millis(10)));
            poll_fn(|context| {
                let polled = rest.as_mut().poll(context);
                _ = begun.send(());
                polled
            })
            .await;
            // And this one begins when it has been closed.
            sleep(Duration::from_millis(5)).await;
        });
        42
    });
    begins.recv().unwrap();
    pool.shutdown(how);
    assert_eq!(job.join().unwrap(), 42);
}

#[test]
fn a_panicking_waker_costs_no_thread_or_timer() {
    let pool = Pool::new(1);
    let before = crate::support::roll_call::thread_ids(&pool);
    for _ in 0..20 {
        let polled = pool.submit(|| {
            let mut sleep = sleep(Duration::from_millis(10));
            let waker = on_wake(|| panic!("expected: a waker"));
            assert!(pin!(&mut sleep).poll(&mut Context::from_waker(&waker)).is_pending());
            sleep
        });
        let bomb = polled.join().unwrap();
        pool.spawn(sleep_until(bomb.deadline())).join().unwrap();
    }
    assert_eq!(crate::support::roll_call::thread_ids(&pool), before);
}

#[test]
fn a_timeout_ends_at_its_time_and_not_before() {
    let pool = Pool::new(1);
    for millis in [0, 1, 5] {
        let limit = Duration::from_millis(millis);
        let limited = pool.spawn(async move {
            let begun = Instant::now();
            let outcome = timeout(limit, std::future::pending::<()>()).await;
            (outcome, begun.elapsed())
        });
        let (outcome, took) = limited.join().unwrap();
        assert_eq!(outcome, Err(Elapsed));
        assert!(took >= limit);
    }
    assert_eq!(block_on(timeout(Duration::ZERO, async { 42 })), Ok(42), "the future comes first");
    let slow = async {
        sleep(Duration::from_millis(2)).await;
        42
    };
    assert_eq!(block_on(timeout(FAR, slow)), Ok(42));
    assert!(!Elapsed.to_string().is_empty());
}

/// One of the two goes on in a `select` while the other is dropped again and again.
#[test]
fn an_unawaited_tick_is_not_lost() {
    let period = Duration::from_millis(2);
    block_on(async {
        let begun = Instant::now();
        let mut interval = interval(period).missed(Missed::Burst);
        let mut ticks = 0;
        while ticks < 5 {
            if timeout(Duration::from_micros(300), interval.tick()).await.is_ok() {
                ticks += 1;
            }
        }
        assert!(begun.elapsed() >= period * 5);
    });
}

#[test]
fn a_sleep_may_be_forgotten() {
    let (pool, bell) = (Pool::new(1), Arc::default());
    std::mem::forget(polled_on(&pool, Duration::from_millis(20), &bell));
    eventually("its waker is woken all the same", || bell.wakes() == 1);
    std::mem::forget(polled_on(&pool, FAR, &bell));
    drop(pool);
    assert_eq!(Arc::strong_count(&bell), 1);
}

/// Its thread-locals are dropped after the worker has ended.
#[cfg_attr(windows, ignore = "waits in a destructor of a thread-local")]
#[test]
fn a_workers_thread_local_may_sleep_in_its_drop() {
    let (pool, (slept, sleeps)) = (Pool::new(1), mpsc::channel());
    let last = move || {
        block_on(sleep(Duration::from_millis(1)));
        slept.send(()).unwrap();
    };
    pool.submit(|| at_exit(last)).join().unwrap();
    drop(pool);
    assert_eq!(sleeps.try_recv(), Ok(()));
}
