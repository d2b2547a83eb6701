//! Jobs that borrow from a waiting stack.
//!
//! A job is `'static` for any queue. A borrowing job refers to a fork, or a scope, on the stack of the thread that made it, which does
//! not leave it before the job has been run or dropped. The rules are in `fork`, `scope`, `scope_with` and `latch`.

mod fork;
mod latch;
#[cfg(all(test, brigade_loom))]
mod loom_tests;
mod parcel;
mod part;
mod scope;
#[cfg(feature = "unstable-foreign")]
mod scope_with;
#[cfg(all(test, not(brigade_loom)))]
mod tests;
mod tickets;
mod wakers;

pub use fork::{Forks, Wait, install, join};
pub use parcel::ScopedJoinHandle;
pub use part::Part;
pub use scope::{HeldPanic, Scope, Scopes, scope};
#[cfg(feature = "unstable-foreign")]
pub use scope_with::{ScopeWith, scope_with};
pub use tickets::{KeptTickets, keep_tickets, return_tickets};

/// Aborts the process when it is dropped: an unwinding must not leave a stack with borrowed data.
struct Abort;

impl Drop for Abort {
    fn drop(&mut self) {
        brigade_sync::fork::abort(
            "brigade: a panic in the middle of forking or waiting for borrowing jobs",
        );
    }
}

/// Calls `by` until the wait is over.
fn wait_by(wait: Wait<'_>, mut by: impl FnMut(Wait<'_>)) {
    let bomb = Abort;
    while !wait.is_over() {
        by(wait);
    }
    core::mem::forget(bomb);
}
