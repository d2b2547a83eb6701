//! The reason why a run has no number.

use std::fmt;
use std::io;

/// The results of a run: a value for each metric, in the order of the metrics. A value unknown to this system is NaN.
pub(crate) type Outcome = Result<Vec<f64>, Failure>;

/// The reason why a run has no number.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The machine did not allow the target to start.
    Refused(io::Error),
    /// Nothing ran any more, although the run had not ended.
    Stalled {
        /// Tasks that had run.
        ran: u64,
        /// Tasks that had to run.
        expected: u64,
    },
    /// The run ended, but not every task had run exactly once.
    Miscounted {
        /// Tasks that had run.
        ran: u64,
        /// Tasks that had to run.
        expected: u64,
    },
    /// Every sent value was returned.
    Unreceived,
    /// It was aborted, for this reason.
    Told(String),
    /// The submitting thread panicked.
    Panicked,
    /// The supervisor gave the run up, and reports the reason.
    Abandoned,
}

/// Starting the target, or its requirements.
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Refused(error)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Refused(error) => write!(f, "could not start: {error}"),
            Failure::Stalled { ran, expected } if ran < expected => {
                write!(f, "lost {} of {expected} tasks: nothing ran any more", expected - ran)
            }
            Failure::Stalled { ran, .. } => {
                write!(f, "nothing ran any more after {ran} tasks, but the run did not end")
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
