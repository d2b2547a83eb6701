//! Waiting for a value: several tasks, cancelled, reported once, and wakers with a drop that uses the driver.

use std::fs::File;
use std::future::Future;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

use brigade_io::{Async, Driver, NoDriver};
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

use crate::machine::{Machine, drive_now, on_each_machine, with_each_kind};
use brigade_testkit::{WakeCounter, poll_once, test};

#[test]
fn every_waiting_task_is_woken() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (near, mut far) = kind.reader(&driver);
        drive_now(&driver);
        let counts: Vec<_> = (0..5).map(|_| Arc::new(WakeCounter::default())).collect();
        let mut waits: Vec<_> = counts.iter().map(|_| near.readable()).collect();
        for (wait, count) in waits.iter_mut().zip(&counts) {
            assert!(poll_once(wait, count).is_pending());
        }
        assert_eq!(drive_now(&driver), 0, "nothing to read");
        far.write_all(b"x").unwrap();
        assert_eq!(drive_now(&driver), 5);
        for (wait, count) in waits.iter_mut().zip(&counts) {
            assert_eq!(count.wakes(), 1);
            assert!(poll_once(wait, count).is_ready());
        }
    });
}

#[test]
fn a_cancelled_read_takes_and_wakes_nothing() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (near, mut far) = kind.reader(&driver);
        let count = Arc::new(WakeCounter::default());
        let mut buffer = [0; 8];
        let mut read = Box::pin(near.read_with(|mut io| io.read(&mut buffer)));
        assert!(poll_once(&mut read, &count).is_pending());
        drop(read);
        assert_eq!(Arc::strong_count(&count), 1, "its waker is gone at once");
        far.write_all(b"kept").unwrap();
        assert_eq!(drive_now(&driver), 0);
        assert_eq!(count.wakes(), 0);
        let length = future::block_on(near.read_with(|mut io| io.read(&mut buffer))).unwrap();
        assert_eq!(&buffer[..length], b"kept");
    });
}

#[test]
fn an_unawaited_event_is_told_no_more() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (near, mut far) = kind.reader(&driver);
        let count = Arc::new(WakeCounter::default());
        let mut wait = near.readable();
        assert!(poll_once(&mut wait, &count).is_pending());
        drop(wait);
        far.write_all(b"x").unwrap();
        drop(far);
        // The byte is told once or twice, and so is the end.
        let short = std::time::Duration::from_millis(1);
        for _ in 0..3 {
            driver.drive(Some(short), &mut Waker::wake).unwrap();
        }
        // Otherwise it would return at once each time, as the byte and the end have not been read.
        let begun = std::time::Instant::now();
        let rest = std::time::Duration::from_millis(20);
        driver.drive(Some(rest), &mut Waker::wake).unwrap();
        assert!(begun.elapsed() >= rest);
        // And it is reported again to a task that waits again.
        assert_eq!(future::block_on(near.read_with(|mut io| io.read(&mut [0; 8]))).unwrap(), 1);
        assert_eq!(future::block_on(near.read_with(|mut io| io.read(&mut [0; 8]))).unwrap(), 0);
    });
}

#[test]
fn a_future_waits_for_the_present_readiness() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (near, mut far) = kind.reader(&driver);
        let count = Arc::new(WakeCounter::default());
        let mut wait = near.readable();
        assert!(poll_once(&mut wait, &count).is_pending(), "not by a guess");
        far.write_all(b"x").unwrap();
        drive_now(&driver);
        assert!(poll_once(&mut wait, &count).is_ready());
        // The user's own operation, outside of the driver.
        near.get_ref().read_exact(&mut [0]).unwrap();
        let mut wait = near.readable();
        drive_now(&driver);
        assert!(poll_once(&mut wait, &count).is_pending(), "{kind:?}: it is empty");
        drive_now(&driver);
        assert_eq!(count.wakes(), 1);
        // And one that was reported, but not read, is reported again.
        far.write_all(b"yz").unwrap();
        for byte in *b"yz" {
            drive_now(&driver);
            assert!(poll_once(&mut wait, &count).is_ready());
            let mut taken = [0];
            near.get_ref().read_exact(&mut taken).unwrap();
            assert_eq!(taken, [byte]);
            wait = near.readable();
            let _ = poll_once(&mut wait, &count);
        }
    });
}

#[test]
fn an_untaken_event_stays_for_the_next_reader() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        for told_by_poll in [false, true] {
            let (mut near, mut far) = kind.reader(&driver);
            let count = Arc::new(WakeCounter::default());
            let mut context = Context::from_waker(Waker::noop());
            if told_by_poll {
                assert!(near.poll_readable(&mut context).is_pending());
            } else {
                assert!(poll_once(&mut near.readable(), &count).is_pending());
            }
            far.write_all(b"x").unwrap();
            drive_now(&driver);
            if told_by_poll {
                assert!(near.poll_readable(&mut context).is_ready());
            } else {
                let mut wait = near.readable();
                let _ = poll_once(&mut wait, &count);
                drive_now(&driver);
                assert!(poll_once(&mut wait, &count).is_ready());
            }
            // Reported and not read: no other event will follow.
            let (reads, mut buffer) = (Arc::new(WakeCounter::default()), [0; 2]);
            let mut read = near.read(&mut buffer);
            if poll_once(&mut read, &reads).is_pending() {
                drive_now(&driver);
                assert_eq!(reads.wakes(), 1, "by poll: {told_by_poll}");
                assert!(poll_once(&mut read, &reads).is_ready());
            }
        }
    });
}

/// A read at the other end makes room, which is an event only for a task that waits for room.
#[test]
fn room_is_an_event_only_while_a_task_waits_for_it() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (near, far) = kind.ends(&driver);
        let read = |buffer: &mut [u8]| io::Read::read(&mut near.get_ref(), buffer);
        let write = || Box::pin(far.write_with(|mut io| io.write(&[0; 4096])));
        let counter = Arc::new(WakeCounter::default());
        let mut buffer = [0; 4096];

        assert!(poll_once(&mut write(), &counter).is_ready());
        assert_eq!(drive_now(&driver), 0);
        assert_eq!(read(&mut buffer).unwrap(), 4096);
        let (begun, pause) = (Instant::now(), Duration::from_millis(20));
        assert_eq!(driver.drive(Some(pause), &mut Waker::wake).unwrap(), 0);
        assert!(begun.elapsed() >= pause, "an event ended the wait");

        // The second time it has waited before.
        for wakes in 1..=2 {
            let waiting = loop {
                let mut next = write();
                if poll_once(&mut next, &counter).is_pending() {
                    break next;
                }
            };
            assert_eq!(drive_now(&driver), 0, "it is full");
            while read(&mut buffer).is_ok() {}
            assert_eq!(drive_now(&driver), 1);
            assert_eq!(counter.wakes(), wakes);
            drop(waiting);
        }
    });
}

#[test]
fn polled_readiness_is_told_once() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (near, mut far) = kind.reader(&driver);
        let count = Arc::new(WakeCounter::default());
        let waker = Waker::from(count.clone());
        let mut context = Context::from_waker(&waker);
        assert!(near.poll_readable(&mut context).is_pending());
        far.write_all(b"x").unwrap();
        assert_eq!(drive_now(&driver), 1);
        assert!(near.poll_readable(&mut context).is_ready());
        near.get_ref().read_exact(&mut [0]).unwrap();
        let blocked = near.get_ref().read(&mut [0]).unwrap_err();
        assert_eq!(blocked.kind(), io::ErrorKind::WouldBlock);
        drive_now(&driver);
        assert!(near.poll_readable(&mut context).is_pending(), "so that a loop of the two ends");
    });
}

#[test]
fn only_an_event_wakes_tasks_of_a_direction() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (near, mut far) = kind.reader(&driver);
        let counts = [(); 3].map(|()| Arc::new(WakeCounter::default()));
        // Each of them twice, as after a wake-up for something else.
        for count in counts.iter().chain(&counts) {
            let waker = Waker::from(count.clone());
            assert!(near.poll_readable(&mut Context::from_waker(&waker)).is_pending());
        }
        assert_eq!(counts.each_ref().map(|count| count.wakes()), [0; 3]);
        far.write_all(b"x").unwrap();
        assert_eq!(drive_now(&driver), 3);
        assert_eq!(counts.each_ref().map(|count| count.wakes()), [1; 3]);
        assert_eq!(counts.map(|count| Arc::strong_count(&count)), [1; 3], "no waker is left");
    });
}

/// Caught: `readable` and its siblings were ready when the driver closed.
#[test]
fn the_drivers_close_reaches_waiting_tasks() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (near, _far) = kind.reader(&driver);
        let is_closed = |outcome: Poll<io::Result<()>>| match outcome {
            Poll::Ready(Err(error)) => {
                error.get_ref().unwrap().downcast_ref() == Some(&NoDriver::Closed)
            }
            _ => false,
        };
        let count = Arc::new(WakeCounter::default());
        let waker = Waker::from(Arc::clone(&count));
        let context = &mut Context::from_waker(&waker);
        let (mut readable, mut writable) = (near.readable(), near.writable());
        while near.poll_writable(context).is_ready() {}
        while Pin::new(&mut writable).poll(context).is_ready() {
            writable = near.writable();
        }
        assert!(Pin::new(&mut readable).poll(context).is_pending());
        assert!(near.poll_readable(context).is_pending());
        driver.close(&mut Waker::wake);
        assert_eq!(count.wakes(), 4);
        assert!(is_closed(Pin::new(&mut readable).poll(context)));
        assert!(is_closed(Pin::new(&mut writable).poll(context)));
        assert!(is_closed(near.poll_readable(context)));
        assert!(is_closed(near.poll_writable(context)));
    });
}

/// Caught: each of more than 65 tasks that polled woke another task, without end.
#[test]
fn one_event_wakes_many_polling_tasks() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (near, mut far) = kind.reader(&driver);
        let tasks: Vec<_> = (0..200).map(|_| Arc::new(WakeCounter::default())).collect();
        for task in tasks.iter().chain(&tasks) {
            let waker = Waker::from(Arc::clone(task));
            assert!(near.poll_readable(&mut Context::from_waker(&waker)).is_pending());
        }
        assert!(tasks.iter().all(|task| task.wakes() == 0));
        far.write_all(b"x").unwrap();
        assert_eq!(drive_now(&driver), tasks.len());
        assert!(tasks.iter().all(|task| task.wakes() == 1));
    });
}

/// A waker that drives for a while when it is dropped, and says for how long.
struct Sleeper(Arc<Driver>, Arc<Mutex<Duration>>);

impl Wake for Sleeper {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let begun = Instant::now();
        let _ = self.0.drive(Some(REST), &mut Waker::wake);
        *self.1.lock().unwrap() = begun.elapsed();
    }
}

/// How long a sleeper drives if nothing is reported.
const REST: Duration = Duration::from_millis(20);

#[test]
fn a_source_in_its_drop_is_not_reported() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (near, mut far) = kind.reader(&driver);
        drive_now(&driver);
        let slept = Arc::default();
        let waker = Waker::from(Arc::new(Sleeper(driver.clone(), Arc::clone(&slept))));
        assert!(near.poll_readable(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        far.write_all(b"x").unwrap();
        drop(near);
        assert!(*slept.lock().unwrap() >= REST);
    });
}

/// A waker that uses the driver and its source when it is dropped for the last time.
struct Meddler {
    driver: Arc<Driver>,
    source: OnceLock<Arc<Async<File>>>,
    drops: Arc<AtomicUsize>,
}

impl Wake for Meddler {
    fn wake(self: Arc<Self>) {}
}

impl Drop for Meddler {
    fn drop(&mut self) {
        // Would hang under either lock.
        self.driver.sources();
        if let Some(source) = self.source.get() {
            let waker = Waker::noop();
            let _ = Pin::new(&mut source.readable()).poll(&mut Context::from_waker(waker));
        }
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_wakers_drop_may_use_the_driver() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let drops = Arc::new(AtomicUsize::new(0));
        let meddler = |source: Option<&Arc<Async<File>>>| {
            let meddler =
                Meddler { driver: driver.clone(), source: OnceLock::new(), drops: drops.clone() };
            source.map(|source| meddler.source.set(source.clone()));
            Waker::from(Arc::new(meddler))
        };
        let (near, mut far) = kind.reader(&driver);
        let near = Arc::new(near);
        // Taken by an event, with the one that it replaced; then cancelled; then dropped with its source.
        for _ in 0..2 {
            let waker = meddler(Some(&near));
            assert!(near.poll_readable(&mut Context::from_waker(&waker)).is_pending());
        }
        far.write_all(b"x").unwrap();
        assert_eq!(driver.drive(None, &mut drop).unwrap(), 2);
        assert_eq!(drops.load(Ordering::SeqCst), 2);
        let _ = near.get_ref().read(&mut [0]);
        let mut wait = near.writable();
        let waker = meddler(Some(&near));
        let _ = Pin::new(&mut wait).poll(&mut Context::from_waker(&waker));
        drop(waker);
        drop(wait);
        assert_eq!(drops.load(Ordering::SeqCst), 3);
        let waker = meddler(None);
        while near.poll_readable(&mut Context::from_waker(&waker)).is_ready() {}
        drop(waker);
        drop(near);
        assert_eq!(drops.load(Ordering::SeqCst), 4);
        assert_eq!(driver.sources(), 0);
    });
}

#[test]
fn many_tasks_share_a_value() {
    const TASKS: usize = 8;
    const BYTES: usize = 8_000;
    with_each_kind(|kind| {
        let machine = Machine::start();
        let (near, mut far) = kind.reader(&machine.driver);
        let taken = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..TASKS {
                scope.spawn(|| {
                    future::block_on(async {
                        let read = |mut io: &File| io.read(&mut [0; 1]);
                        while near.read_with(read).await.unwrap() != 0 {
                            taken.fetch_add(1, Ordering::SeqCst);
                        }
                    });
                });
            }
            for _ in 0..BYTES / 10 {
                far.write_all(&[0; 10]).unwrap();
            }
            drop(far);
        });
        assert_eq!(taken.into_inner(), BYTES);
    });
}

#[test]
fn a_task_may_move_from_waker_to_waker() {
    on_each_machine(|mut reader, writer| async move {
        let count = Arc::new(WakeCounter::default());
        let mut buffer = [0; 4];
        let mut read = reader.read(&mut buffer);
        assert!(poll_once(&mut read, &count).is_pending());
        assert!(future::poll_once(&mut read).await.is_none());
        drop(writer);
        assert!(matches!(
            future::poll_fn(|context| Pin::new(&mut read).poll(context)).await,
            Ok(0)
        ));
        Ok(())
    });
}

#[test]
fn unread_bytes_are_readable_again() {
    on_each_machine(|reader, mut writer| async move {
        writer.write_all(b"0123456789").await?;
        for digit in b'0'..=b'9' {
            reader.readable().await?;
            let mut byte = [0];
            assert_eq!(io::Read::read(&mut reader.get_ref(), &mut byte)?, 1);
            assert_eq!(byte, [digit]);
        }
        Ok(())
    });
}
