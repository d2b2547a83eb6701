//! Scopes with a value, for crates with the API of a foreign pool.

use std::panic;

use brigade_task::{HeldPanic, Job, Outcome, Part, ScopeWith, Work};

use super::scoped::{OpenScope, ScopePool, in_place};
use crate::engine::reach;
use crate::handle::Handle;
use crate::values::Reason;

/// Like [`Handle::in_place_scope`], with a value for the jobs; see [`ScopeWith`].
///
/// # Errors
/// As for [`Handle::in_place_scope`].
#[track_caller]
pub fn in_place_scope_with<'scope, X, F, R>(pool: Handle, value: X, body: F) -> Result<R, Reason>
where
    X: Sync + 'scope,
    F: FnOnce(&ScopeWith<'scope, X>) -> R,
{
    in_place(pool, WithValue(value, body))
}

/// The value and the body of a scope.
struct WithValue<X, F>(X, F);

impl<'scope, X, F, R> OpenScope<R> for WithValue<X, F>
where
    X: Sync + 'scope,
    F: FnOnce(&ScopeWith<'scope, X>) -> R,
{
    fn open(self, pool: &ScopePool) -> R {
        brigade_task::scope_with(pool, self.0, self.1)
    }
}

/// A worker's share of a broadcast of a scope.
struct Share(Part);

impl Work for Share {
    type Output = ();

    fn run(self) {
        // The job is counted once, by this share. The scope holds the panic.
        if self.0.into_job().run() == Outcome::Panicked {
            panic::resume_unwind(Box::new(HeldPanic));
        }
    }
}

/// Sends a share of a scope to each worker of its pool.
pub(super) fn broadcast(pool: &ScopePool, make: &mut dyn FnMut() -> Part) {
    let Some(shared) = pool.here() else { return };
    reach(pool.key(), &mut |at| {
        // A rejected share is dropped, and so cancelled; a dropped handle detaches its share.
        drop(shared.broadcast(at.worker().is_some(), || Job::with_handle(Share(make()))));
    });
}
