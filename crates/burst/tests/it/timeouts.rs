//! Receivers with timeouts.

use std::time::{Duration, Instant};

use brigade_burst::{Busy, RecvTimeoutError, channel};

use brigade_testkit::test;

#[test]
fn a_timeout_is_never_early_and_withdraws() {
    let (sender, mut receiver) = channel::<u32>();
    for micros in [0, 1, 50, 2_000] {
        let begun = Instant::now();
        let timeout = Duration::from_micros(micros);
        assert_eq!(receiver.recv_timeout(timeout), Err(RecvTimeoutError::Timeout));
        assert!(begun.elapsed() >= timeout);
        assert_eq!(sender.dispatch(1), Err(Busy(1)));
    }
}

#[test]
fn a_delivered_value_needs_no_wait() {
    let (sender, mut receiver) = channel();
    assert!(receiver.try_recv().is_err());
    sender.dispatch(1).unwrap();
    assert_eq!(receiver.recv_timeout(Duration::ZERO), Ok(1));
}

#[test]
fn values_beside_timeouts_are_never_lost() {
    const VALUES: u32 = 20_000;
    let (sender, mut receiver) = channel();
    let counter = std::thread::spawn(move || {
        let (mut received, mut timeouts) = (Vec::new(), 0_u32);
        loop {
            match receiver.recv_timeout(Duration::from_micros(u64::from(timeouts) % 40)) {
                Ok(value) => received.push(value),
                Err(RecvTimeoutError::Timeout) => timeouts += 1,
                Err(RecvTimeoutError::Disconnected) => return (received, timeouts),
            }
        }
    });
    for value in 0..VALUES {
        // It is returned until a receiver waits.
        while sender.dispatch(value).is_err() {
            std::hint::spin_loop();
        }
        // Some are left to a timeout or to the wake for a later value.
        if value % 3 > 0 {
            sender.wake();
        }
    }
    drop(sender);
    let (received, timeouts) = counter.join().unwrap();
    assert!(received.into_iter().eq(0..VALUES));
    println!("{timeouts} timeouts");
}
