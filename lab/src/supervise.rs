//! Runs a measurement on a separate thread and gives it up if it makes no progress.
//!
//! If a target loses a task, blocks in a submission or hangs in the shutdown, the laboratory
//! continues: the thread is abandoned, and the run has no number.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::tally::Tally;

/// Pause between two looks at the run.
const LOOK: Duration = Duration::from_millis(100);

/// Runs `run` on a separate thread; gives it up when `tally` has seen no progress for all of `patience`.
pub(crate) fn supervise<R: Send + 'static>(
    tally: &'static Tally,
    patience: Duration,
    run: impl FnOnce() -> Result<R, Failure> + Send + 'static,
) -> Result<R, Failure> {
    let (report, reported) = mpsc::channel();
    thread::Builder::new()
        .name("submitter".to_owned())
        // A supervisor doesn't listen any more after it gave up.
        .spawn(move || drop(report.send(run())))
        .map_err(Failure::Refused)?;
    let (mut seen, mut since) = (tally.progress(), Instant::now());
    loop {
        match reported.recv_timeout(LOOK) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::Panicked),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let progress = tally.progress();
        if progress != seen {
            (seen, since) = (progress, Instant::now());
        } else if since.elapsed() > patience {
            tally.abandon();
            return Err(Failure::Stalled { ran: progress.0, expected: tally.expected().tasks });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::supervise;
    use crate::failure::Failure;
    use crate::tally::{Sum, Tally};
    use std::thread;
    use std::time::{Duration, Instant};

    const SHORT: Duration = Duration::from_millis(150);

    #[test]
    fn a_stalled_run_is_given_up() {
        let tally = Tally::leak();
        tally.expect(Sum::grid(2, 1));
        let outcome = supervise(tally, SHORT, move || {
            tally.ran(0, 0);
            tally.wait_for(2)
        });
        assert!(matches!(outcome, Err(Failure::Stalled { ran: 1, expected: 2 })), "{outcome:?}");
    }

    #[test]
    fn a_slow_but_active_run_is_not_given_up() {
        let (tally, patience) = (Tally::leak(), Duration::from_millis(600));
        let outcome = supervise(tally, patience, move || {
            let begun = Instant::now();
            // It is given up only if the machine stops this thread for all of the patience.
            for message in 0.. {
                if message % 2 == 0 {
                    tally.ran(message, 0)
                } else {
                    tally.step()
                }
                thread::sleep(Duration::from_millis(1));
                if begun.elapsed() > 2 * patience {
                    break;
                }
            }
            Ok("done")
        });
        assert_eq!(outcome.unwrap(), "done");
    }
}
