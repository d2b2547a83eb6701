//! Unawaited jobs.

use std::sync::Arc;

use crate::global::current_or_global;
use crate::registry::Registry;

/// Runs a closure on the current pool.
pub fn spawn<F: FnOnce() + Send + 'static>(call: F) {
    spawn_in(&current_or_global(), call);
}

/// Like [`spawn`](spawn()); the closures that a thread spawns so start in the order of their spawns.
pub fn spawn_fifo<F: FnOnce() + Send + 'static>(call: F) {
    spawn_fifo_in(&current_or_global(), call);
}

pub(crate) fn spawn_in<F: FnOnce() + Send + 'static>(registry: &Registry, call: F) {
    registry.handle().execute(call);
}

pub(crate) fn spawn_fifo_in<F: FnOnce() + Send + 'static>(registry: &Arc<Registry>, call: F) {
    let Some(index) = registry.index_here() else { return spawn_in(registry, call) };
    registry.fifos.push(index, Box::new(call));
    let fifos = registry.clone();
    spawn_in(registry, move || fifos.fifos.pop(index)());
}
