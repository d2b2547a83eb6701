//! Promises of time.

use std::time::Duration;

/// Checks that a promise of time holds: repeats a round, which returns a delay, until `ENOUGH` delays were within the limit.
///
/// A delay is the sum of what the pool does and of the time slices that the system gives to other programs first. No event tells the
/// two apart, so a single delay proves nothing, and neither does a sum or a mean. A defect delays all rounds, or nearly all; another
/// program delays some of them. So rounds in time are counted, and where the machine is busy there are more rounds.
#[track_caller]
pub(crate) fn assert_in_time(what: &str, limit: Duration, mut round: impl FnMut() -> Duration) {
    const ENOUGH: usize = 25;
    const MOST: usize = 250;
    let (mut in_time, mut delays) = (0, Vec::new());
    while in_time < ENOUGH {
        assert!(delays.len() < MOST, "{what}: {in_time} of {MOST} within {limit:?}: {delays:?}");
        let delay = round();
        in_time += usize::from(delay <= limit);
        delays.push(delay);
    }
}
