//! How many system calls a hop costs, counted by the kernel.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(brigade_loom),
    not(brigade_portable)
))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::future::Future;
use std::io;
use std::net;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use brigade_io::{Async, Driver, TcpStream, UnixStream, pipe};
use futures_lite::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, future};

use brigade_testkit::syscalls::{counted, mark};
use brigade_testkit::test;

/// Runs a future on the thread that drives: nothing else makes a call.
fn run(driver: &Driver, future: impl Future<Output = ()>) {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    while future.as_mut().poll(&mut context).is_pending() {
        driver.drive(None, &mut drop).unwrap();
    }
}

/// The calls of a byte that goes round two files this often, read into a buffer of this size, after a first
/// round.
fn calls_of_a_ring<R, W>(ends: fn() -> io::Result<(R, W)>, room: usize) -> Option<Vec<i64>>
where
    R: AsyncRead + Unpin + 'static,
    W: AsyncWrite + Unpin + 'static,
{
    let sections = counted(move || {
        let driver = Driver::new().unwrap();
        let [(mut reader, mut to_reader), (mut other, mut to_other)] =
            driver.enter(|| [ends().unwrap(), ends().unwrap()]);
        let ring = async {
            let mut buffer = vec![0; room];
            for round in 0..ROUNDS + 10 {
                if round == 10 {
                    mark();
                }
                to_other.write_all(b"x").await.unwrap();
                assert_eq!(reader.read(&mut buffer).await.unwrap(), 1);
            }
            mark();
        };
        let pass_on = async {
            let mut buffer = vec![0; room];
            loop {
                let length = other.read(&mut buffer).await.unwrap();
                to_reader.write_all(&buffer[..length]).await.unwrap();
            }
        };
        run(&driver, future::or(ring, pass_on));
    })?;
    Some(sections[0].clone())
}

const ROUNDS: usize = 100;
/// Two a round.
const HOPS: usize = 2 * ROUNDS;

/// The number of calls of this kind.
fn count(calls: &[i64], number: i64) -> usize {
    calls.iter().filter(|&&call| call == number).count()
}

/// As many calls of each kind as there are hops; `reads` is the number of reads per hop, wasted ones
/// included.
#[track_caller]
fn assert_hops(calls: &[i64], [read, write]: [i64; 2], reads: usize) {
    let counts = [libc::SYS_epoll_pwait, write, read].map(|number| count(calls, number));
    assert_eq!(counts, [HOPS, HOPS, reads * HOPS], "waits, writes, reads");
    assert_eq!(calls.len(), counts.iter().sum(), "and nothing else");
}

/// A TCP connection inside this machine.
fn connection() -> io::Result<(TcpStream, TcpStream)> {
    let listener = net::TcpListener::bind("127.0.0.1:0")?;
    let near = net::TcpStream::connect(listener.local_addr()?)?;
    let (far, _) = listener.accept()?;
    for end in [&near, &far] {
        end.set_nodelay(true)?;
    }
    Ok((Async::new(near)?, Async::new(far)?))
}

#[test]
fn a_pipe_hop_is_three_system_calls() {
    // That a read fills its buffer changes nothing.
    for room in [16, 1] {
        let Some(calls) = calls_of_a_ring(pipe, room) else { return };
        assert_hops(&calls, [libc::SYS_read, libc::SYS_write], 1);
    }
}

#[test]
fn a_socket_hop_is_three_or_four_system_calls() {
    for (room, reads) in [(16, 1), (1, 2)] {
        let Some(calls) = calls_of_a_ring(connection, room) else { return };
        assert_hops(&calls, [libc::SYS_recvfrom, libc::SYS_sendto], reads);
    }
}

/// A short read of a Unix socket may end where descriptors were passed.
#[test]
fn a_unix_socket_hop_is_four_system_calls() {
    for room in [16, 1] {
        let Some(calls) = calls_of_a_ring(UnixStream::pair, room) else { return };
        assert_hops(&calls, [libc::SYS_recvfrom, libc::SYS_sendto], 2);
    }
}

/// Events that come together say that messages do, too.
#[test]
fn small_reads_beside_other_events_do_not_wait_for_each_other() {
    let sections = counted(|| {
        let driver = Driver::new().unwrap();
        let [(mut one, mut to_one), (mut other, mut to_other)] =
            driver.enter(|| [pipe().unwrap(), pipe().unwrap()]);
        run(&driver, async {
            let (mut this, mut that) = ([0], [0]);
            let read = future::zip(one.read(&mut this), other.read(&mut that));
            let write = async {
                to_one.write_all(b"three").await.unwrap();
                to_other.write_all(b"three").await.unwrap();
            };
            _ = future::zip(read, write).await;
            mark();
            for _ in 0..4 {
                assert_eq!(one.read(&mut this).await.unwrap(), 1);
                assert_eq!(other.read(&mut that).await.unwrap(), 1);
            }
            mark();
        });
    });
    let Some(sections) = sections else { return };
    assert_eq!(sections[0], [libc::SYS_read; 8]);
}

#[test]
fn large_reads_do_not_wait_for_each_other() {
    const LARGE: usize = 8 * 1024;
    let sections = counted(|| {
        let driver = Driver::new().unwrap();
        let (mut reader, mut writer) = driver.enter(pipe).unwrap();
        let mut buffer = vec![0; LARGE];
        run(&driver, async {
            // The reader waits once, so that later operations follow events and not the first, untried
            // state.
            let wait = async { reader.read(&mut buffer).await.unwrap() };
            let (read, ()) =
                future::zip(wait, async { writer.write_all(b"x").await.unwrap() }).await;
            assert_eq!(read, 1);
            writer.write_all(&[0; 4 * LARGE]).await.unwrap();
            mark();
            for _ in 0..4 {
                assert_eq!(reader.read(&mut buffer).await.unwrap(), LARGE);
            }
            mark();
        });
    });
    let Some(sections) = sections else { return };
    let expected =
        [libc::SYS_epoll_pwait, libc::SYS_read, libc::SYS_read, libc::SYS_read, libc::SYS_read];
    assert_eq!(sections[0], expected);
}

#[test]
fn ready_and_unawaited_sources_cost_nothing() {
    let sections = counted(|| {
        let driver = Driver::new().unwrap();
        let (mut near, mut far) = driver.enter(pipe).unwrap();
        let mut buffer = [0; 16];
        mark();
        // Section 0: a notification while no thread waits, and a second one.
        driver.notify();
        driver.notify();
        mark();
        // 1: the wait that it ends.
        driver.drive(None, &mut drop).unwrap();
        mark();
        // 2: a look, and a wait of less than a millisecond.
        driver.notify();
        driver.drive(Some(Duration::ZERO), &mut drop).unwrap();
        driver.drive(None, &mut drop).unwrap();
        driver.drive(Some(Duration::from_micros(25)), &mut drop).unwrap();
        mark();
        // 3: there is room, and there are bytes: no wait, no change of interest.
        run(&driver, async {
            far.write_all(b"here").await.unwrap();
            near.read(&mut buffer).await.unwrap();
        });
        mark();
        // 4: a short read said that it is empty: one change of interest.
        let mut read = pin!(near.read(&mut buffer));
        let mut context = Context::from_waker(Waker::noop());
        assert!(read.as_mut().poll(&mut context).is_pending());
        mark();
        // 5: the same task again: none.
        assert!(matches!(read.as_mut().poll(&mut context), Poll::Pending));
        mark();
    });
    let Some(sections) = sections else { return };
    let expected = [
        vec![],
        vec![libc::SYS_epoll_pwait],
        vec![libc::SYS_epoll_pwait, libc::SYS_epoll_pwait, libc::SYS_ppoll],
        vec![libc::SYS_write, libc::SYS_read],
        vec![libc::SYS_epoll_ctl],
        vec![],
    ];
    for (number, expected) in expected.into_iter().enumerate() {
        assert_eq!(sections[number], expected, "section {number}");
    }
}

/// Workers poll between jobs, before the task that an event has woken has read.
#[test]
fn a_few_early_polls_change_no_interest() {
    const POLLS: usize = 3;
    let sections = counted(|| {
        let driver = Driver::new().unwrap();
        let (mut near, mut far) = driver.enter(pipe).unwrap();
        let mut context = Context::from_waker(Waker::noop());
        let mut buffer = [0; 16];
        let mut hop = |polls| {
            let mut read = pin!(near.read(&mut buffer));
            assert!(read.as_mut().poll(&mut context).is_pending());
            future::block_on(far.write_all(b"x")).unwrap();
            for _ in 0..1 + polls {
                driver.drive(Some(Duration::ZERO), &mut drop).unwrap();
            }
            assert!(read.as_mut().poll(&mut context).is_ready());
        };
        // It is tried without waiting at first.
        hop(0);
        mark();
        hop(POLLS);
        hop(POLLS);
        mark();
        hop(POLLS + 1);
        mark();
    });
    let Some(sections) = sections else { return };
    let changes = |section: usize| count(&sections[section], libc::SYS_epoll_ctl);
    assert_eq!((changes(0), changes(1)), (0, 1));
}
