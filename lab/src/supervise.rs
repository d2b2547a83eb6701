//! Runs one measurement on a thread of its own and gives it up if nothing happens any more.
//!
//! Whatever a target does (lose a task, block in a submission, hang in its shutdown), the laboratory
//! goes on: the thread is left behind, and the run has no number.

use std::fmt;
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::tally::Tally;

/// Why a run has no number.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The machine would not let the target start.
    Refused(io::Error),
    /// Nothing ran any more, though the run wasn't over.
    Stalled {
        /// Tasks that had run.
        ran: u64,
        /// Tasks that had to run.
        expected: u64,
    },
    /// The run was over, but not every task had run exactly once.
    Miscounted {
        /// Tasks that had run.
        ran: u64,
        /// Tasks that had to run.
        expected: u64,
    },
    /// Every value that was sent came back.
    Unreceived,
    /// It broke off, for this reason.
    Told(String),
    /// The thread that submits panicked.
    Panicked,
    /// The run was given up by its supervisor, who says why.
    Abandoned,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(error) => write!(f, "could not start: {error}"),
            Failure::Stalled { ran, expected } if ran < expected => {
                write!(f, "lost {} of {expected} tasks: nothing ran any more", expected - ran)
            }
            Failure::Stalled { expected, .. } => {
                write!(f, "all {expected} tasks ran, but the run did not end")
            }
            Failure::Miscounted { ran, expected } if ran < expected => {
                write!(f, "lost {} of {expected} tasks", expected - ran)
            }
            Failure::Miscounted { ran, expected } if ran > expected => {
                write!(f, "repeated {} of {expected} tasks", ran - expected)
            }
            Failure::Miscounted { expected, .. } => {
                write!(f, "ran {expected} tasks, but lost some and repeated others")
            }
            Failure::Unreceived => f.write_str("nothing was received: every value came back"),
            Failure::Told(reason) => f.write_str(reason),
            Failure::Panicked => f.write_str("a submitting thread panicked"),
            Failure::Abandoned => f.write_str("given up"),
        }
    }
}

/// Pause between two looks at the run.
const LOOK: Duration = Duration::from_millis(100);

/// Runs `run` on a thread of its own; gives it up when `tally` stood still for all of `patience`.
pub(crate) fn supervise<R: Send + 'static>(
    tally: &'static Tally,
    expected: u64,
    patience: Duration,
    run: impl FnOnce() -> Result<R, Failure> + Send + 'static,
) -> Result<R, Failure> {
    let (report, reported) = mpsc::channel();
    thread::Builder::new()
        .name("submitter".to_owned())
        // A supervisor that gave up doesn't listen any more.
        .spawn(move || drop(report.send(run())))
        .map_err(Failure::Refused)?;
    let (mut seen, mut since) = (tally.count(), Instant::now());
    loop {
        match reported.recv_timeout(LOOK) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Disconnected) => return Err(Failure::Panicked),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let ran = tally.count();
        if ran != seen {
            (seen, since) = (ran, Instant::now());
        } else if since.elapsed() > patience {
            tally.abandon();
            return Err(Failure::Stalled { ran, expected });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Failure, supervise};
    use crate::tally::Tally;
    use std::thread;
    use std::time::Duration;

    const SHORT: Duration = Duration::from_millis(150);

    #[test]
    fn a_run_that_stands_still_is_given_up() {
        let tally = Tally::leak();
        let outcome = supervise(tally, 2, SHORT, move || {
            tally.ran(0, 0);
            tally.wait_for(2)
        });
        assert!(matches!(outcome, Err(Failure::Stalled { ran: 1, expected: 2 })), "{outcome:?}");
    }

    #[test]
    fn a_slow_run_that_goes_on_is_not_given_up() {
        let tally = Tally::leak();
        let outcome = supervise(tally, 4, SHORT, move || {
            for message in 0..4 {
                thread::sleep(SHORT - Duration::from_millis(50));
                tally.ran(message, 0);
            }
            Ok("done")
        });
        assert_eq!(outcome.unwrap(), "done");
    }
}
