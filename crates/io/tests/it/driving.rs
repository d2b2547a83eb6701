//! Driving: one at a time, timeouts, notifications, panics, the end.

use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Waker;
use std::thread;
use std::time::{Duration, Instant};

use brigade_io::{Async, Driver, NoDriver, pipe};
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

use super::machine::{Count, Machine, drive_now, poll_once, with_each_trigger};
use brigade_testkit::Watchdog;

/// Nobody is to be woken.
fn nobody(_waker: Waker) {
    panic!("nobody waits");
}

#[test]
fn one_drives_at_a_time_and_a_notification_ends_it() {
    let _dog = Watchdog::start(60);
    with_each_trigger(|trigger| {
        let driver = Driver::with_trigger(trigger).unwrap();
        let other = driver.clone();
        let driving = thread::spawn(move || {
            loop {
                match other.drive(None, &mut nobody) {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => thread::yield_now(),
                    driven => break driven,
                }
            }
        });
        // Until the other is in its wait this drives itself, and not for long.
        loop {
            match driver.drive(Some(Duration::ZERO), &mut nobody) {
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
    });
}

#[test]
fn a_notification_beforehand_ends_the_next_wait_and_no_other() {
    let _dog = Watchdog::start(60);
    with_each_trigger(|trigger| {
        let driver = Driver::with_trigger(trigger).unwrap();
        for _ in 0..1_000_000 {
            driver.notify();
        }
        assert_eq!(driver.drive(None, &mut nobody).unwrap(), 0);
        let begun = Instant::now();
        driver.drive(Some(Duration::from_millis(20)), &mut nobody).unwrap();
        assert!(begun.elapsed() >= Duration::from_millis(20));
    });
}

#[test]
fn a_look_leaves_a_notification_to_the_next_wait() {
    let _dog = Watchdog::start(60);
    with_each_trigger(|trigger| {
        let driver = Driver::with_trigger(trigger).unwrap();
        for _ in 0..3 {
            driver.notify();
            driver.drive(Some(Duration::ZERO), &mut nobody).unwrap();
            driver.drive(None, &mut nobody).unwrap();
        }
    });
}

#[test]
fn no_notification_is_lost() {
    const ROUNDS: usize = 20_000;
    let _dog = Watchdog::start(60);
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
                // As a worker does: look for work, then wait.
                Err(_) => drop(driver.drive(None, &mut nobody).unwrap()),
            }
        }
        to_teller.send(()).unwrap();
    }
    telling.join().unwrap();
}

#[test]
fn no_timeout_is_early() {
    let _dog = Watchdog::start(60);
    with_each_trigger(|trigger| {
        let driver = Driver::with_trigger(trigger).unwrap();
        for nanos in [0, 1, 1_000, 50_000, 999_999, 1_000_000, 1_500_000, 12_345_678] {
            let timeout = Duration::from_nanos(nanos);
            let begun = Instant::now();
            driver.drive(Some(timeout), &mut nobody).unwrap();
            let waited = begun.elapsed();
            assert!(waited >= timeout, "{waited:?} of {timeout:?}");
            assert!(waited < timeout + Duration::from_secs(5), "{waited:?} of {timeout:?}");
        }
    });
}

#[test]
fn timeouts_are_late_by_less_than_a_millisecond() {
    let _dog = Watchdog::start(60);
    with_each_trigger(|trigger| {
        let driver = Driver::with_trigger(trigger).unwrap();
        for micros in [25, 999, 1_000, 1_500, 3_700] {
            let timeout = Duration::from_micros(micros);
            // Once in fifty: others may want the processor.
            let in_time = (0..50).any(|_| {
                let begun = Instant::now();
                driver.drive(Some(timeout), &mut nobody).unwrap();
                begun.elapsed() - timeout < Duration::from_millis(1)
            });
            assert!(in_time, "{timeout:?}");
        }
    });
}

#[test]
fn timeouts_of_any_length_wait() {
    let _dog = Watchdog::start(60);
    let day = Duration::from_secs(86_400);
    for timeout in [day * 24 + day * 9 / 10, day * 30, day * 365_000, Duration::MAX] {
        with_each_trigger(|trigger| {
            let machine = Driver::with_trigger(trigger).unwrap();
            let other = machine.clone();
            let driving = thread::spawn(move || other.drive(Some(timeout), &mut nobody));
            thread::sleep(Duration::from_millis(5));
            assert!(!driving.is_finished(), "{timeout:?}");
            machine.notify();
            assert_eq!(driving.join().unwrap().unwrap(), 0);
        });
    }
}

#[test]
fn a_panic_of_one_wake_does_not_keep_others_from_theirs() {
    let _dog = Watchdog::start(60);
    with_each_trigger(|trigger| {
        let driver = Driver::with_trigger(trigger).unwrap();
        let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
        let near = Async::with_driver(&driver, near).unwrap();
        let counts = [(); 3].map(|()| Arc::new(Count::default()));
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
fn a_wake_may_drive_and_make_and_drop_sources() {
    let _dog = Watchdog::start(60);
    with_each_trigger(|trigger| {
        let driver = Driver::with_trigger(trigger).unwrap();
        let (near, mut far) = std::os::unix::net::UnixStream::pair().unwrap();
        let near = Async::with_driver(&driver, near).unwrap();
        let mut wait = near.readable();
        drive_now(&driver);
        assert!(poll_once(&mut wait, &Arc::new(Count::default())).is_pending());
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
fn closing_ends_all_waiting_and_leaves_the_rest() {
    let _dog = Watchdog::start(60);
    with_each_trigger(|trigger| {
        let driver = Driver::with_trigger(trigger).unwrap();
        let (mut reader, mut writer) = driver.enter(pipe).unwrap();
        let other = driver.clone();
        let driving = thread::spawn(move || {
            // The notification of the close ends it.
            while other.enter(pipe).is_ok() {
                other.drive(None, &mut Waker::wake).unwrap();
            }
        });
        let waiting = thread::spawn(move || {
            let error = future::block_on(reader.read(&mut [0])).unwrap_err();
            assert_eq!(error.get_ref().unwrap().downcast_ref(), Some(&NoDriver::Closed));
            reader
        });
        thread::sleep(Duration::from_millis(5));
        driver.close(&mut Waker::wake);
        let mut reader = waiting.join().unwrap();
        driving.join().unwrap();
        future::block_on(writer.write_all(b"x")).unwrap();
        assert_eq!(future::block_on(reader.read(&mut [0; 2])).unwrap(), 1);
        let error = future::block_on(reader.read(&mut [0])).unwrap_err();
        assert_eq!(error.get_ref().unwrap().downcast_ref(), Some(&NoDriver::Closed));
    });
}

#[test]
fn closing_beside_registering_and_waiting_leaves_nobody_waiting() {
    let _dog = Watchdog::start(120);
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
    let _dog = Watchdog::start(60);
    with_each_trigger(|trigger| {
        let machine = Machine::start(trigger);
        let mut pipes: Vec<_> = machine.driver.enter(|| (0..4).map(|_| pipe().unwrap()).collect());
        // One reader has waited and left; one writer has gone; one pipe has something to read.
        assert!(machine.run(future::poll_once(pipes[0].0.read(&mut [0]))).is_none());
        let (gone, _) = pipes.pop().unwrap();
        machine.run(pipes[1].1.write_all(b"unread")).unwrap();
        assert!(machine.run(future::poll_once(pipes[2].0.read(&mut [0]))).is_none());
        machine.run(pipes[2].1.write_all(b"unread")).unwrap();
        thread::sleep(Duration::from_millis(50));
        drop((pipes, gone));
        let drives = machine.stop();
        assert!(drives < 30, "{trigger:?}: it drove {drives} times for nobody");
    });
}
