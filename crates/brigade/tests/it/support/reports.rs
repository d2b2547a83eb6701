//! Reports as numbers, since a test can't make one, and outcomes.

use brigade::{JoinError, Report};

/// Jobs that ran, were discarded, and still run.
pub(crate) fn counts(report: Report) -> (u64, u64, u64) {
    (report.ran, report.discarded, report.still_running)
}

pub(crate) fn is_cancelled<T>(outcome: Result<T, JoinError>) -> bool {
    matches!(outcome, Err(JoinError::Cancelled(_)))
}
