//! How many system calls a hop costs, counted by the kernel.

#![cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64"),
    not(brigade_loom),
    not(brigade_portable)
))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use brigade_io::{Driver, PipeReader, PipeWriter, Trigger, UnixStream, pipe};
use futures_lite::{AsyncReadExt, AsyncWriteExt, future};

use brigade_testkit::Watchdog;
use brigade_testkit::syscalls::{counted, mark};

/// Runs a future on the thread that drives: nothing else makes a call.
fn run(driver: &Driver, future: impl Future<Output = ()>) {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    while future.as_mut().poll(&mut context).is_pending() {
        driver.drive(None, &mut drop).unwrap();
    }
}

/// Passes bytes on for ever, as many as `ROOM` at a time.
async fn stage<const ROOM: usize>(mut reader: PipeReader, mut writer: PipeWriter) {
    let mut buffer = [0; ROOM];
    loop {
        let length = reader.read(&mut buffer).await.unwrap();
        writer.write_all(&buffer[..length]).await.unwrap();
    }
}

/// The calls of a byte that goes round a ring of two pipes so often, when it has gone round a few times before.
fn calls_of_a_ring<const ROOM: usize>(trigger: Trigger, rounds: usize) -> Option<Vec<i64>> {
    let sections = counted(move || {
        let driver = Driver::with_trigger(trigger).unwrap();
        let [(first, to_first), (second, to_second)] =
            driver.enter(|| [pipe().unwrap(), pipe().unwrap()]);
        let (mut reader, mut writer) = (first, to_second);
        let ring = async {
            let mut buffer = [0; ROOM];
            for round in 0..rounds + 10 {
                if round == 10 {
                    mark();
                }
                writer.write_all(b"x").await.unwrap();
                assert_eq!(reader.read(&mut buffer).await.unwrap(), 1);
            }
            mark();
        };
        run(&driver, future::or(ring, stage::<ROOM>(second, to_first)));
    })?;
    Some(sections[0].clone())
}

#[test]
fn a_hop_of_a_pipe_is_three_system_calls() {
    const ROUNDS: usize = 100;
    /// Two hops a round.
    const HOPS: usize = 2 * ROUNDS;
    let _dog = Watchdog::start(60);
    for (trigger, most) in [(Trigger::Level, 3), (Trigger::Edge, 3), (Trigger::Oneshot, 4)] {
        let Some(calls) = calls_of_a_ring::<16>(trigger, ROUNDS) else { return };
        let each = |number: i64| calls.iter().filter(|&&call| call == number).count();
        let waits = each(libc::SYS_epoll_pwait);
        let reads = each(libc::SYS_read);
        let writes = each(libc::SYS_write);
        let changes = each(libc::SYS_epoll_ctl);
        println!("{trigger:?}: {waits} waits, {reads} reads, {writes} writes, {changes} changes");
        assert_eq!(calls.len(), waits + reads + writes + changes, "{trigger:?}: and nothing else");
        assert_eq!((reads, writes), (HOPS, HOPS), "{trigger:?}: none in vain");
        assert!(calls.len() <= most * HOPS, "{trigger:?}: {} in {HOPS} hops", calls.len());
    }
}

/// A read that fills its buffer may leave something. That it never does here is learnt.
#[test]
fn a_hop_of_a_pipe_that_is_read_byte_by_byte_is_three_system_calls_too() {
    const ROUNDS: usize = 640;
    let _dog = Watchdog::start(60);
    let Some(calls) = calls_of_a_ring::<1>(Trigger::ByKind, ROUNDS) else { return };
    let hops = 2 * ROUNDS;
    // One read of 64 is a try.
    assert!((3 * hops..3 * hops + hops / 32).contains(&calls.len()), "{} in {hops}", calls.len());
}

#[test]
fn what_is_ready_and_what_nobody_waits_for_cost_nothing_beside() {
    let _dog = Watchdog::start(60);
    let sections = counted(|| {
        let driver = Driver::with_trigger(Trigger::Level).unwrap();
        let (mut near, mut far) = driver.enter(UnixStream::pair).unwrap();
        let mut buffer = [0; 16];
        mark();
        // Section 0: a notification that nobody waits for, and one that ends nothing.
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
        // 3: there is room, and there are bytes: no wait, no question.
        run(&driver, async {
            far.write_all(b"here").await.unwrap();
            near.read(&mut buffer).await.unwrap();
        });
        mark();
        // 4: a short read said that it is empty: asked once, then told.
        let mut read = pin!(near.read(&mut buffer));
        let mut context = Context::from_waker(Waker::noop());
        assert!(read.as_mut().poll(&mut context).is_pending());
        mark();
        // 5: the same task again: nothing is asked twice.
        assert!(matches!(read.as_mut().poll(&mut context), Poll::Pending));
        mark();
    });
    let Some(sections) = sections else { return };
    let expected = [
        vec![],
        vec![libc::SYS_epoll_pwait],
        vec![libc::SYS_epoll_pwait, libc::SYS_epoll_pwait, libc::SYS_ppoll],
        vec![libc::SYS_sendto, libc::SYS_recvfrom],
        vec![libc::SYS_epoll_ctl],
        vec![],
    ];
    for (number, expected) in expected.into_iter().enumerate() {
        assert_eq!(sections[number], expected, "section {number}");
    }
}
