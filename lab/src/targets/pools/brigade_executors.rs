//! The crate executors on brigade: the package of `crates/compat`, as [`executors`](super::executors) beside it.

use super::executors::shared;

shared!(brigade_executors);

/// Starts the stealing pool; the parker determines only the maximum of threads.
pub(super) fn auto(threads: usize) -> io::Result<Running<impl Submit, impl Submit>> {
    Ok(any(stealing::pool_with_auto_parker(threads)))
}
