//! Tests that go on for longer in a soak.

use std::time::Duration;

/// How long such a test goes on: `ci/soak.sh` sets it.
pub(crate) fn soak_time(otherwise: Duration) -> Duration {
    let given = std::env::var("BRIGADE_SOAK_SECONDS").ok();
    given
        .map_or(otherwise, |given| Duration::from_secs(given.parse().expect("a number of seconds")))
}
