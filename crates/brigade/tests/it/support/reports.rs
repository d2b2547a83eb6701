//! Reports as numbers, since a test can't make one.

use brigade::Report;

/// Jobs that ran, were discarded, and still run.
pub(crate) fn counts(report: Report) -> (u64, u64, u64) {
    (report.ran, report.discarded, report.still_running)
}
