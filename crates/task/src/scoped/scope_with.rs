//! Scopes with a value, for crates that build another kind of scope on them.
//!
//! **Value rule.** The value lies beside the scope, on the stack of the opening thread, and is dropped after the last
//! ticket. So a job, which has a ticket, may refer to both.

use std::sync::Arc;

use super::scope::{Here, Scope, Scopes};

/// A [`Scope`] and a value shared by the jobs.
///
/// The scope is borrowed for less than `'scope`, so a job gets it as an argument, to add more.
pub struct ScopeWith<'scope, X> {
    scope: Scope<'scope, 'scope>,
    value: X,
}

impl<'scope, X: Sync + 'scope> ScopeWith<'scope, X> {
    /// The value.
    pub fn value(&self) -> &X {
        &self.value
    }

    /// Runs a closure on the pool, as [`Scope::execute_with`] does.
    pub fn execute_with<F: FnOnce(&Self) + Send + 'scope>(&self, closure: F) {
        // SAFETY: Value rule: the job has a ticket.
        let here = unsafe { Here::new(self) };
        self.scope.execute(move || closure(here.get()));
    }

    /// Runs a closure once on each worker of the pool; only the chosen worker may run it (see [`Scopes::broadcast`]).
    pub fn broadcast_with<F: Fn(&Self) + Send + Sync + 'scope>(&self, closure: F) {
        // SAFETY: Value rule: each job has a ticket.
        let here = unsafe { Here::new(self) };
        let shared = Arc::new((here, closure));
        self.scope.pool().broadcast(&mut || {
            let shared = shared.clone();
            self.scope.part(move || {
                let (here, closure) = &*shared;
                closure(here.get());
            })
        });
    }
}

brigade_sync::opaque!([X] ScopeWith<'_, X>);

/// Like [`scope`](super::scope()), with a value for the jobs. `'scope` must outlive everything the jobs borrow.
///
/// # Panics
/// As for [`scope`](super::scope()).
pub fn scope_with<'scope, X, F, R>(pool: &dyn Scopes, value: X, body: F) -> R
where
    X: Sync + 'scope,
    F: FnOnce(&ScopeWith<'scope, X>) -> R,
{
    let scope = ScopeWith { scope: Scope::new(pool), value };
    scope.scope.run(|| body(&scope))
}
