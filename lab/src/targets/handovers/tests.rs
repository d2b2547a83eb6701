//! Every adapter means the same by what it calls the same.

use std::thread;
use std::time::Duration;

use super::*;
use crate::supervise::{Failure, supervise};
use crate::tally::{Sum, Tally};

/// Runs `$body` on every target, which is told whether the target keeps what nobody takes now.
macro_rules! on_every_target {
    ($body:ident) => {
        $body::<Receivers<BrigadeBurst>>("brigade-burst", false);
        $body::<BrigadePool>("brigade-pool", false);
        #[cfg(target_os = "linux")]
        $body::<Receivers<BurstPool>>("burst-pool", false);
        $body::<Receivers<Spmc>>("spmc", true);
        $body::<Receivers<CrossbeamUnbounded>>("crossbeam-channel", true);
        $body::<Receivers<CrossbeamZero>>("crossbeam-channel-0", false);
    };
}

/// Time for threads to begin to wait.
const SOON: Duration = Duration::from_millis(50);

/// Time after which a test fails in which nothing happens any more.
const PATIENCE: Duration = Duration::from_secs(5);

/// Runs `body` with three threads that are busy for a while with a value.
fn with_three<H: Handover>(
    name: &str,
    body: impl FnOnce(H, &'static Inbox, &'static Tally) + Send + 'static,
) {
    let tally = Tally::leak();
    let outcome = supervise(tally, 6, PATIENCE, move || {
        let inbox = Inbox::leak(tally, 5, Duration::from_millis(200));
        let target = H::start(3, inbox).map_err(Failure::Refused)?;
        thread::sleep(SOON);
        body(target, inbox, tally);
        Ok(())
    });
    assert!(outcome.is_ok(), "{name}: {outcome:?}");
}

/// The values of the burst with this number.
fn values(burst: u32, count: u32) -> impl ExactSizeIterator<Item = Value> {
    (0..count).map(move |index| Value { burst, index })
}

#[test]
fn threads_that_wait_receive_a_value_each() {
    fn body<H: Handover>(name: &'static str, _keeps: bool) {
        with_three(name, move |mut target: H, inbox, tally| {
            let (mut back, mut sent) = (Vec::new(), 0);
            for (burst, count) in [1, 3, 2].into_iter().enumerate() {
                target.burst(values(burst as u32, count), &mut back);
                assert_eq!(back, [], "{name}");
                sent += u64::from(count);
                tally.wait_for(sent).expect("received");
                // None of them had two, for which it would have had to be through with the first.
                assert_eq!(inbox.done(), sent - u64::from(count), "{name}");
                while inbox.done() < sent {
                    thread::sleep(SOON);
                }
                assert_eq!(inbox.times().count(), count as usize, "{name}");
                inbox.clear();
                thread::sleep(SOON);
            }
            target.shutdown();
            assert_eq!(tally.count(), sent, "{name}");
        });
    }
    on_every_target!(body);
}

#[test]
fn what_nobody_takes_now_is_kept_or_comes_back_as_the_target_says() {
    fn body<H: Handover>(name: &'static str, keeps: bool) {
        with_three(name, move |mut target: H, inbox, tally| {
            let mut back = Vec::new();
            target.burst(values(0, 5), &mut back);
            assert_eq!(back.len(), if keeps { 0 } else { 2 }, "{name}");
            back.into_iter().for_each(|value| inbox.refuse(value));
            tally.wait_for(5).expect("received");
            target.shutdown();
            tally.check(Sum::grid(5, 1)).expect("each value once");
            assert_eq!(inbox.done(), if keeps { 5 } else { 3 }, "{name}");
        });
    }
    on_every_target!(body);
}

#[test]
fn threads_that_wait_end_when_they_are_told_to() {
    fn body<H: Handover>(name: &'static str, _keeps: bool) {
        with_three(name, move |target: H, inbox, _| {
            // Returns only if all threads do.
            target.shutdown();
            assert_eq!(inbox.done(), 0, "{name}");
        });
    }
    on_every_target!(body);
}
