//! A source's life: files that can't be waited for, numbers that are used again, drops while another thread drives.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Waker;
use std::thread;

use brigade_io::{Async, Driver, pipe};
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

use crate::machine::{Machine, drive_now, with_each_kind};
use brigade_testkit::{WakeCounter, poll_once, test};

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "elsewhere a regular file is always ready")]
fn an_unpollable_file_is_refused() {
    let driver = Driver::new().unwrap();
    for path in [std::env::current_exe().unwrap(), std::env::temp_dir(), "/dev/null".into()] {
        let file = File::open(path).unwrap();
        let shared = file.try_clone().unwrap();
        let error = Async::with_driver(&driver, file).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Unsupported);
        assert!(error.to_string().contains("is always ready"), "{error}");
        assert_eq!(driver.sources(), 0);
        let information = format!("/proc/self/fdinfo/{}", shared.as_raw_fd());
        let information = std::fs::read_to_string(information).unwrap();
        let flags = information.lines().find_map(|line| line.strip_prefix("flags:")).unwrap();
        let flags = u32::from_str_radix(flags.trim(), 8).unwrap();
        assert_eq!(flags & 0o4000, 0, "its other owner still blocks");
    }
}

#[test]
fn a_watched_file_is_refused_and_stays() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let [near, mut far] = kind.files();
        let file = Arc::new(near);
        let near = Async::with_driver(&driver, file.clone()).unwrap();
        let error = Async::with_driver(&driver, file.clone()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(driver.sources(), 1);
        let mut wait = near.readable();
        let count = Arc::new(WakeCounter::default());
        assert!(poll_once(&mut wait, &count).is_pending());
        far.write_all(b"x").unwrap();
        assert_eq!(drive_now(&driver), 1);
        assert!(poll_once(&mut wait, &count).is_ready());
        // By another driver it can be watched as well.
        let other = Driver::new().unwrap();
        Async::with_driver(&other, file).unwrap();
    });
}

#[test]
fn an_event_of_a_reused_file_number_wakes_nothing() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let (former, latter) = (Arc::new(WakeCounter::default()), Arc::new(WakeCounter::default()));
        let [near, mut far] = kind.files();
        let number = near.as_raw_fd();
        let near = Async::with_driver(&driver, near).unwrap();
        let mut wait = near.readable();
        assert!(poll_once(&mut wait, &former).is_pending());
        far.write_all(b"x").unwrap();
        drop(wait);
        drop(near);
        // The first free number: the one that has just been closed, unless another test was quicker.
        let [next, _other] = kind.files();
        println!("{number} and then {}", next.as_raw_fd());
        let next = Async::with_driver(&driver, next).unwrap();
        let mut wait = next.readable();
        assert!(poll_once(&mut wait, &latter).is_pending());
        assert_eq!(drive_now(&driver), 0);
        assert_eq!((former.wakes(), latter.wakes()), (0, 0));
    });
}

#[test]
fn a_registration_ends_beside_a_duplicate_file() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let [near, mut far] = kind.files();
        let duplicate = near.try_clone().unwrap();
        let near = Async::with_driver(&driver, near).unwrap();
        let count = Arc::new(WakeCounter::default());
        let mut wait = near.readable();
        assert!(poll_once(&mut wait, &count).is_pending());
        drop(wait);
        drop(near);
        // The kernel would report it under the old key at every wait, if it were still registered.
        far.write_all(b"x").unwrap();
        let begun = std::time::Instant::now();
        let rest = std::time::Duration::from_millis(20);
        driver.drive(Some(rest), &mut drop).unwrap();
        assert!(begun.elapsed() >= rest, "nothing is watched");
        // The duplicate is as good as the original was, and both can be registered at once.
        let again = Async::with_driver(&driver, duplicate.try_clone().unwrap()).unwrap();
        let duplicate = Async::with_driver(&driver, duplicate).unwrap();
        let counts = [(); 2].map(|()| Arc::new(WakeCounter::default()));
        let mut waits = [again.readable(), duplicate.readable()];
        for (wait, count) in waits.iter_mut().zip(&counts) {
            assert!(poll_once(wait, count).is_pending());
        }
        assert_eq!(drive_now(&driver), 2);
        assert_eq!(counts.map(|count| count.wakes()), [1, 1]);
    });
}

#[test]
fn a_value_comes_back_and_registers_again() {
    with_each_kind(|kind| {
        let driver = Driver::new().unwrap();
        let [mut near, mut far] = kind.files();
        for round in 0..100_u8 {
            let source = Async::with_driver(&driver, near).unwrap();
            let mut wait = source.readable();
            let count = Arc::new(WakeCounter::default());
            assert!(poll_once(&mut wait, &count).is_pending());
            far.write_all(&[round]).unwrap();
            assert_eq!(drive_now(&driver), 1);
            drop(wait);
            near = source.into_inner();
            let mut byte = [0];
            near.read_exact(&mut byte).unwrap();
            assert_eq!(byte, [round]);
        }
        assert_eq!(driver.sources(), 0);
    });
}

#[test(120)]
fn sources_come_and_go_beside_a_poll() {
    const THREADS: usize = 3;
    const ROUNDS: usize = 1_000;
    with_each_kind(|kind| {
        let machine = Machine::start();
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for round in 0..ROUNDS {
                        let (mut reader, mut writer) = kind.ends(&machine.driver);
                        let mut byte = [0];
                        // A third is dropped while it waits, with an event perhaps on its way.
                        if round % 3 == 0 {
                            assert!(
                                future::block_on(future::poll_once(reader.read(&mut byte)))
                                    .is_none()
                            );
                            future::block_on(writer.write_all(b"x")).unwrap();
                            continue;
                        }
                        let both = future::zip(reader.read_exact(&mut byte), async {
                            future::yield_now().await;
                            writer.write_all(&[round as u8]).await
                        });
                        let (read, written) = future::block_on(both);
                        read.and(written).unwrap();
                        assert_eq!(byte, [round as u8]);
                    }
                });
            }
        });
        assert_eq!(machine.driver.sources(), 0);
    });
}

#[test]
fn a_dropped_source_is_closed_at_once() {
    with_each_kind(|kind| {
        let machine = Machine::start();
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            // Keeps the driver busy with wakes.
            scope.spawn(|| {
                let (mut reader, mut writer) = kind.ends(&machine.driver);
                while !stop.load(Ordering::SeqCst) {
                    future::block_on(writer.write_all(b"x")).unwrap();
                    future::block_on(reader.read_exact(&mut [0])).unwrap();
                }
            });
            for _ in 0..500 {
                let (near, mut far) = kind.reader(&machine.driver);
                let mut wait = near.readable();
                assert!(poll_once(&mut wait, &Arc::new(WakeCounter::default())).is_pending());
                far.write_all(b"x").unwrap();
                drop(wait);
                drop(near);
                let error = far.write(b"y").unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "closed by the drop");
            }
            stop.store(true, Ordering::SeqCst);
        });
    });
}

#[test]
fn sources_outlive_their_drivers_maker() {
    let driver = Driver::new().unwrap();
    let (mut reader, mut writer) = driver.enter(pipe).unwrap();
    drop(driver);
    future::block_on(writer.write_all(b"x")).unwrap();
    future::block_on(reader.read_exact(&mut [0])).unwrap();
}

#[test(120)]
fn each_of_10_000_sources_gets_its_event() {
    const SOURCES: usize = 10_000;
    let driver = Driver::new().unwrap();
    let mut pipes = Vec::new();
    // Two for each pipe; what else is open leaves room for fewer.
    for number in 0..SOURCES / 2 {
        match driver.enter(pipe) {
            Ok(pipe) => pipes.push(pipe),
            Err(error) => {
                println!("skipped: {} sources, then: {error}", 2 * number);
                return;
            }
        }
    }
    assert_eq!(driver.sources(), SOURCES);
    let counts: Vec<_> = pipes.iter().map(|_| Arc::new(WakeCounter::default())).collect();
    let mut buffers = vec![[0; 1]; pipes.len()];
    let (mut readers, mut writers): (Vec<_>, Vec<_>) = pipes.into_iter().unzip();
    let mut reads: Vec<_> =
        readers.iter_mut().zip(&mut buffers).map(|(reader, buffer)| reader.read(buffer)).collect();
    for (read, count) in reads.iter_mut().zip(&counts) {
        assert!(poll_once(read, count).is_pending());
    }
    for writer in writers.iter_mut().step_by(2) {
        future::block_on(writer.write_all(b"x")).unwrap();
    }
    let mut woken = 0;
    while woken < SOURCES / 4 {
        woken += driver.drive(None, &mut Waker::wake).unwrap();
        // Taken as it comes: by level it would be reported again.
        for (read, count) in reads.iter_mut().zip(&counts).filter(|(_, count)| count.wakes() == 1) {
            if Arc::strong_count(count) == 1 {
                let _ = poll_once(read, count);
            }
        }
    }
    for (number, count) in counts.iter().enumerate() {
        assert_eq!(count.wakes(), (number + 1) % 2, "source {number}");
    }
}
