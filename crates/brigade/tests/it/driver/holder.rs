//! Timers and I/O resources of pools of every kind: the driver holder changes, and one is never missing.

use std::future::Future;
use std::pin::Pin;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use crate::support::crowd::await_idle_workers;
use crate::support::staging::{numbered, refused};
#[cfg(feature = "io")]
use brigade::Shutdown;
#[cfg(feature = "io")]
use brigade::block_on;
use brigade::time::sleep;
use brigade::{Builder, Idle, NewThread, Order, Placement, Pool, Queueing};
use brigade_testkit::{BlockedThread, Gate, Halt, eventually, on_wake, test};

/// Pools that differ in how their workers wait, and in how many there are.
fn for_every_kind(mut test: impl FnMut(&Pool)) {
    let idles = [
        Idle::Park,
        Idle::Spin,
        Idle::SpinThenPark(Duration::from_micros(50)),
        Idle::SpinThenPark(Duration::from_millis(3)),
    ];
    for idle in idles {
        for threads in [1..=1, 2..=2, 1..=3, 0..=2] {
            let kinds: [fn(Builder) -> Builder; 3] = [
                |builder| builder.queueing(Queueing::Shared),
                |builder| builder.order(Order::Lifo),
                |builder| builder.placement(Placement::Spread),
            ];
            for kind in kinds {
                let builder = Pool::builder().threads(threads.clone()).idle(idle);
                let builder = builder.keep_alive(Duration::from_micros(700));
                test(&kind(builder).build().unwrap());
            }
        }
    }
}

/// Everything waits, and then one job is submitted.
#[test(100, for_every_kind)]
fn no_timer_is_lost_when_the_holder_changes(pool: &Pool) {
    for round in 0..20_u64 {
        let tasks = [1, 5, 2].map(|part| {
            let delay = Duration::from_micros(part * 150 + round * 31);
            pool.spawn(async move {
                let start = Instant::now();
                sleep(delay).await;
                start.elapsed() >= delay
            })
        });
        pool.execute(|| ());
        drop(pool.job().dispatch([|| ()]));
        assert!(tasks.into_iter().all(|task| task.join().unwrap()));
    }
}

/// A wait does not wait for a timer that is far away, and ends between two ticks: the next is due a while after the end of the
/// last.
#[test(for_every_kind)]
fn a_wait_ends_beside_timers(pool: &Pool) {
    let far = pool.spawn(sleep(Duration::from_secs(3600)));
    let ticks = pool
        .job()
        .every(Duration::from_millis(1))
        .missed(brigade::Missed::Delay)
        .execute(|| ())
        .unwrap();
    for _ in 0..10 {
        pool.execute(|| ());
        assert!(pool.wait_idle_timeout(Duration::from_secs(20)));
    }
    ticks.cancel();
    pool.close();
    eventually("it ends with a driver holder", || pool.handle().metrics().is_closed);
    drop(far);
}

#[cfg(feature = "io")]
mod files {
    use crate::support::pipes::pipe;
    use brigade_testkit::{Seed, test};
    use futures_lite::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    #[test(100, for_every_kind)]
    fn no_event_is_lost_when_the_holder_changes(pool: &Pool) {
        let (mut reader, mut writer) = pool.handle().enter(pipe).unwrap();
        let (say, hear) = std::sync::mpsc::channel();
        let echo = pool.spawn(async move {
            let mut byte = [0];
            while reader.read(&mut byte).await.unwrap() == 1 {
                say.send(byte[0]).unwrap();
            }
        });
        for byte in 0..40 {
            if byte % 3 == 0 {
                pool.execute(|| ());
                drop(pool.job().dispatch([|| ()]));
            }
            if byte % 7 == 0 {
                drop(pool.spawn(sleep(Duration::from_micros(100))));
            }
            brigade::block_on(writer.write_all(&[byte])).unwrap();
            assert_eq!(hear.recv().unwrap(), byte);
        }
        drop(writer);
        echo.join().unwrap();
    }

    /// Its last worker sleeps in the driver, or is about to.
    #[test(100)]
    fn a_pool_ends_beside_a_worker_on_the_driver() {
        let mut seed = Seed::printed();
        for round in 0..20 {
            for_every_kind(|pool| {
                let (mut reader, mut writer) = pool.handle().enter(pipe).unwrap();
                let task = pool.spawn(async move { reader.read_exact(&mut [0; 2]).await });
                brigade::block_on(writer.write_all(&[1])).unwrap();
                brigade_testkit::spin_for(seed.micros(200));
                if round % 2 == 0 {
                    pool.close();
                }
                // Without effect if the task has been cancelled.
                let _ = brigade::block_on(writer.write_all(&[2]));
                drop(task);
            });
        }
    }

    /// The driver is made beside the end.
    #[test]
    fn a_file_made_beside_the_end_does_not_hang() {
        let mut seed = Seed::printed();
        for round in 0..200 {
            let pool = Pool::new(1 + round % 2);
            let handle = pool.handle();
            let maker = std::thread::spawn(move || {
                let Ok((mut reader, _writer)) = handle.enter(pipe) else { return };
                assert!(brigade::block_on(reader.read(&mut [0])).is_err());
            });
            brigade_testkit::spin_for(seed.micros(100));
            pool.shutdown(Shutdown::Drain);
            maker.join().unwrap();
        }
    }

    #[test(threads in [1, 2])]
    fn a_task_may_drop_its_own_pool_and_files(threads: usize) {
        let (give, take) = std::sync::mpsc::channel::<Pool>();
        let pool = Pool::new(threads);
        let (mut reader, mut writer) = pool.handle().enter(pipe).unwrap();
        let (say, hear) = std::sync::mpsc::channel();
        drop(pool.spawn(async move {
            reader.read_exact(&mut [0]).await.unwrap();
            drop(take.recv());
            say.send(()).unwrap();
            reader.read(&mut [0]).await
        }));
        give.send(pool).unwrap();
        brigade::block_on(writer.write_all(&[1])).unwrap();
        hear.recv().unwrap();
    }
}

type Waits = Pin<Box<dyn Future<Output = ()>>>;

/// An event that wakes a waker once, and the call after which it comes.
type Event = fn(&Pool) -> (Waits, Box<dyn FnOnce()>);

const EVENTS: &[Event] = &[
    |_| (Box::pin(sleep(Duration::from_millis(5))), Box::new(|| ())),
    #[cfg(feature = "io")]
    |pool| {
        use futures_lite::{AsyncReadExt, AsyncWriteExt};
        let (mut reader, mut writer) = pool.handle().enter(crate::support::pipes::pipe).unwrap();
        let reads = async move { assert_eq!(reader.read(&mut [0]).await.unwrap(), 1) };
        (Box::pin(reads), Box::new(move || block_on(writer.write_all(&[0])).unwrap()))
    },
];

/// A pool of two parked workers.
fn two() -> Pool {
    let pool = Pool::builder().threads(2).prestart(2).build().unwrap();
    await_idle_workers(&pool, 2);
    pool
}

/// Has a worker call a waker, while the returned value exists.
fn have_called(pool: &Pool, event: Event, waker: &Waker) -> Waits {
    let (mut waits, happens) = event(pool);
    let poll = || waits.as_mut().poll(&mut Context::from_waker(waker)).is_pending();
    assert!(pool.handle().enter(poll));
    happens();
    waits
}

/// Caught: the worker counted as a searcher while it called the waker, so a submission woke no other worker.
#[test(event in EVENTS.iter().copied())]
fn a_job_runs_beside_a_parked_waker_call(event: Event) {
    let (pool, halt) = (two(), Halt::default());
    let stops = halt.clone();
    let _waits = have_called(&pool, event, &on_wake(move || stops.here()));
    halt.await_thread();
    let outcome = pool.submit(|| 7).join_timeout(Duration::from_secs(10));
    halt.release();
    assert_eq!(outcome.expect("another worker runs it").unwrap(), 7);
}

/// Caught: as above. The waker waited forever.
#[test(event in EVENTS.iter().copied())]
fn a_waker_may_wait_for_a_job(event: Event) {
    let pool = two();
    let ((told, tells), handle) = (mpsc::channel(), pool.handle());
    let waker = on_wake(move || {
        let (sends, receives) = mpsc::channel();
        handle.execute(move || _ = sends.send(()));
        told.send(receives.recv_timeout(Duration::from_secs(10))).unwrap();
    });
    let _waits = have_called(&pool, event, &waker);
    assert_eq!(tells.recv().unwrap(), Ok(()));
}

/// All jobs lie on the stack of the only worker, and the last one waits for a job of another pool, when the event is added. The worker
/// could run a further job above one wait, but not above so many, where the size of the stack is not known.
///
/// Caught: the start of a thread that holds the driver failed, and no waiter that could run no job was called.
#[test(event in EVENTS.iter().copied(), jobs in [1, 64 + 2])]
fn a_waiter_polls_without_any_thread(event: Event, jobs: usize) {
    let only_the_first = |number, thread: NewThread| match number {
        0 => thread.start(),
        _ => refused(),
    };
    let pool = Pool::builder().threads(1).spawner(numbered(only_the_first)).build().unwrap();
    let (other, busy) = (Pool::new(1), Halt::default());
    other.execute(busy.job());
    let there = other.handle();
    let waiters: Vec<_> = (0..jobs).map(|_| BlockedThread::default()).collect();
    for waiter in waiters.clone() {
        pool.execute(move || {
            waiter.is_this();
            there.submit(|| ()).join().unwrap();
        });
    }
    eventually("all jobs wait", || waiters.iter().all(BlockedThread::is_blocked));
    let called = Gate::closed();
    let calls = called.clone();
    let _waits = have_called(&pool, event, &on_wake(move || calls.open()));
    eventually("the waker is called", || called.is_open());
    busy.release();
    assert!(pool.wait_idle());
}
