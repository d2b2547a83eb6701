//! Driving: one at a time, timeouts, notifications, panics, the end.

use std::fs::File;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use brigade_io::{Async, Driver, NoDriver, pipe};
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

use crate::machine::{Kind, drive_now, with_each_kind};
use brigade_testkit::{WakeCounter, eventually, poll_once, test};

/// For a driver without tasks.
fn no_task(_waker: Waker) {
    panic!("no task waits");
}

#[test]
fn one_thread_drives_until_a_notification() {
    let driver = Driver::new().unwrap();
    let other = driver.clone();
    let driving = thread::spawn(move || {
        loop {
            match other.drive(None, &mut no_task) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::yield_now(),
                driven => break driven,
            }
        }
    });
    // Until the other thread waits, this one drives, with a short timeout.
    loop {
        match driver.drive(Some(Duration::ZERO), &mut no_task) {
            Ok(_) => thread::yield_now(),
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
                break;
            }
        }
    }
    assert!(driver.is_driven());
    driver.notify();
    assert_eq!(driving.join().unwrap().unwrap(), 0);
    assert!(!driver.is_driven());
}

#[test]
fn an_early_notification_ends_one_wait() {
    let driver = Driver::new().unwrap();
    for _ in 0..1_000_000 {
        driver.notify();
    }
    assert_eq!(driver.drive(None, &mut no_task).unwrap(), 0);
    let begun = Instant::now();
    driver.drive(Some(Duration::from_millis(20)), &mut no_task).unwrap();
    assert!(begun.elapsed() >= Duration::from_millis(20));
}

#[test]
fn a_look_leaves_notifications_to_the_next_wait() {
    let driver = Driver::new().unwrap();
    for _ in 0..3 {
        driver.notify();
        driver.drive(Some(Duration::ZERO), &mut no_task).unwrap();
        driver.drive(None, &mut no_task).unwrap();
    }
}

#[test]
fn no_notification_is_lost() {
    const ROUNDS: usize = 20_000;
    let driver = Driver::new().unwrap();
    let (to_driver, told) = std::sync::mpsc::channel();
    let (to_teller, heard) = std::sync::mpsc::channel();
    let teller = driver.clone();
    let telling = thread::spawn(move || {
        for round in 0..ROUNDS {
            to_driver.send(round).unwrap();
            teller.notify();
            heard.recv().unwrap();
        }
    });
    for round in 0..ROUNDS {
        loop {
            match told.try_recv() {
                Ok(number) => break assert_eq!(number, round),
                // Like a worker: looks for work, then waits.
                Err(_) => drop(driver.drive(None, &mut no_task).unwrap()),
            }
        }
        to_teller.send(()).unwrap();
    }
    telling.join().unwrap();
}

#[test]
fn no_timeout_is_early() {
    let driver = Driver::new().unwrap();
    for nanos in [0, 1, 1_000, 50_000, 999_999, 1_000_000, 1_500_000, 12_345_678] {
        let timeout = Duration::from_nanos(nanos);
        let begun = Instant::now();
        driver.drive(Some(timeout), &mut no_task).unwrap();
        let waited = begun.elapsed();
        assert!(waited >= timeout, "{waited:?} of {timeout:?}");
    }
}

#[test(alone)]
fn timeouts_are_under_a_millisecond_late() {
    let driver = Driver::new().unwrap();
    for micros in [25, 999, 1_000, 1_500, 3_700] {
        let timeout = Duration::from_micros(micros);
        // Once: other threads may use the processor.
        let in_time = (0..500).any(|_| {
            let begun = Instant::now();
            driver.drive(Some(timeout), &mut no_task).unwrap();
            begun.elapsed() - timeout < Duration::from_millis(1)
        });
        assert!(in_time, "{timeout:?}");
    }
}

#[test]
fn timeouts_of_any_length_wait() {
    let day = Duration::from_secs(86_400);
    for timeout in [day * 24 + day * 9 / 10, day * 30, day * 365_000, Duration::MAX] {
        let driver = Driver::new().unwrap();
        let (reader, mut writer) = Kind::Pipe.reader(&driver);
        let mut wait = reader.readable();
        assert!(poll_once(&mut wait, &Arc::new(WakeCounter::default())).is_pending());
        let other = driver.clone();
        let driving = thread::spawn(move || other.drive(Some(timeout), &mut Waker::wake));
        // It waits, or is about to: had it ended before the byte, it would have woken no task.
        eventually("the thread drives", || driver.is_driven());
        writer.write_all(b"x").unwrap();
        assert_eq!(driving.join().unwrap().unwrap(), 1, "{timeout:?}");
    }
}

#[test]
fn a_wakes_panic_does_not_stop_the_others() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (near, mut far) = kind.reader(&driver);
        let counts = [(); 3].map(|()| Arc::new(WakeCounter::default()));
        let mut waits = [(); 3].map(|()| near.readable());
        drive_now(&driver);
        for (wait, count) in waits.iter_mut().zip(&counts) {
            assert!(poll_once(wait, count).is_pending());
        }
        far.write_all(b"x").unwrap();
        let drive = || driver.drive(None, &mut |_| panic!("the first wake"));
        assert!(catch_unwind(AssertUnwindSafe(drive)).is_err());
        assert_eq!(counts.map(|count| count.wakes()), [0, 1, 1]);
        drive_now(&driver);
    });
}

#[test]
fn a_wake_may_drive_and_make_sources() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (near, mut far) = kind.reader(&driver);
        let mut wait = near.readable();
        drive_now(&driver);
        assert!(poll_once(&mut wait, &Arc::new(WakeCounter::default())).is_pending());
        far.write_all(b"x").unwrap();
        let woken = driver.drive(None, &mut |waker| {
            let pipe = driver.enter(pipe).unwrap();
            driver.drive(Some(Duration::ZERO), &mut drop).unwrap();
            drop((pipe, waker));
        });
        assert_eq!(woken.unwrap(), 1);
        assert_eq!(driver.sources(), 1);
    });
}

#[test]
fn closing_ends_waits_and_nothing_else() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (mut reader, mut writer) = kind.ends(&driver);
        let other = driver.clone();
        let driving = thread::spawn(move || {
            // The notification of the close ends it.
            while other.enter(pipe).is_ok() {
                other.drive(None, &mut Waker::wake).unwrap();
            }
        });
        eventually("the thread drives", || driver.is_driven());
        let (count, mut buffer) = (Arc::new(WakeCounter::default()), [0; 2]);
        assert!(poll_once(&mut reader.read(&mut buffer), &count).is_pending());
        driver.close(&mut Waker::wake);
        assert_eq!(count.wakes(), 1);
        driving.join().unwrap();
        let is_closed = |reader: &Async<File>| {
            let error = future::block_on({ reader }.read(&mut [0; 2])).unwrap_err();
            error.get_ref().unwrap().downcast_ref() == Some(&NoDriver::Closed)
        };
        assert!(is_closed(&reader));
        future::block_on(writer.write_all(b"x")).unwrap();
        assert_eq!(future::block_on(reader.read(&mut [0; 2])).unwrap(), 1);
        assert!(is_closed(&reader));
    });
}

#[test(120)]
fn closing_beside_new_waits_ends_all_of_them() {
    for _ in 0..300 {
        let driver = Driver::new().unwrap();
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while let Ok((mut reader, _writer)) = driver.enter(pipe) {
                        future::block_on(reader.read(&mut [0])).unwrap_err();
                    }
                });
            }
            thread::yield_now();
            driver.close(&mut Waker::wake);
        });
        assert_eq!(driver.sources(), 0);
    }
}

#[test]
fn an_idle_driver_sleeps() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let [(one, _kept), (two, gone), (three, mut written), (four, mut filled)] =
            [(); 4].map(|()| kind.reader(&driver));
        let count = &Arc::new(WakeCounter::default());
        // Each reader has waited and left. One has a writer still, of one the writer has gone, two have something to read,
        // of which one was reported.
        for reader in [&one, &two, &three] {
            assert!(poll_once(&mut reader.readable(), count).is_pending());
        }
        filled.write_all(b"unread").unwrap();
        let mut wait = four.readable();
        if poll_once(&mut wait, count).is_pending() {
            drive_now(&driver);
            assert!(poll_once(&mut wait, count).is_ready());
        }
        drop((wait, gone));
        written.write_all(b"unread").unwrap();
        // After a few events that no task waits for, each wait takes its whole time.
        let timeout = Duration::from_millis(5);
        let whole = |driver: &Driver| {
            let begun = Instant::now();
            driver.drive(Some(timeout), &mut no_task).unwrap();
            begun.elapsed() >= timeout
        };
        for _ in 0..5 {
            whole(&driver);
        }
        assert!((0..10).all(|_| whole(&driver)), "{kind:?}");
    });
}
