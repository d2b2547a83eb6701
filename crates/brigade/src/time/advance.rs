//! Moving a paused clock by hand.

use core::time::Duration;

use crate::engine::with_member;
use crate::handle::Handle;

/// The panic message on a thread that runs no pool.
const NOT_HERE: &str =
    "no paused pool runs on this thread; call this in the `run_until` of a `LocalPool::paused`";

/// Moves the clock of a [paused pool](crate::LocalPool::paused) by `duration`, and runs the futures and closures
/// whose timers are then due.
///
/// The clock moves in a single jump, at the first poll. Each of these futures and closures sees the new time, and
/// has run once when `advance` returns, unless its [class](crate::Priority) is lower than the caller's. To stop the
/// clock at each deadline on the way, [`sleep`](crate::time::sleep) for `duration` instead.
///
/// # Panics
/// If the calling thread does not run a paused pool, as in [`run_until`](crate::LocalPool::run_until), or if the
/// clock would get a hundred years ahead.
///
/// # Examples
/// ```
/// use brigade::{LocalPool, time};
/// use std::time::Duration;
/// const HOUR: Duration = Duration::from_secs(3600);
/// let pool = LocalPool::paused()?;
/// pool.run_until(async {
///     let mut lunch = brigade::submit_after(HOUR, || "lunch");
///     time::advance(HOUR / 2).await;
///     assert!(lunch.try_join().is_none());
///     time::advance(HOUR / 2).await;
///     assert!(matches!(lunch.try_join(), Some(Ok("lunch"))));
/// });
/// # Ok::<(), std::io::Error>(())
/// ```
pub async fn advance(duration: Duration) {
    let advanced = with_member(|worker| {
        let worker = worker.ok_or(NOT_HERE)?;
        worker.shared.events.timers.clock().advance(duration)?;
        worker.poll_events();
        Ok(worker.shared.key)
    });
    let pool = advanced.unwrap_or_else(|what: &str| panic!("{what}"));
    // Queued behind all jobs just queued by the timers. A closed pool accepts no other job.
    if let Ok(behind) = Handle::new(pool).try_submit(|| ()) {
        let _ = behind.await;
    }
}
