//! What the loom models of the house share; there under `--cfg brigade_loom` alone.

use crate::atomic::{AtomicUsize, Ordering};

loom::lazy_static! {
    static ref TURNS: AtomicUsize = AtomicUsize::new(0);
}

/// Takes a step that collides with the same step of every other thread, and orders nothing.
///
/// Loom tries two steps in the other order only if they collide, and of each word it remembers the last
/// access alone: a thread that loads a word before it writes it hides the loads of the others, and it is
/// never tried first. So whoever begins an operation takes a turn, and loom tries those in all orders.
pub fn turn() {
    TURNS.fetch_add(1, Ordering::Relaxed);
}

/// Explores a model with at most so many preemptions. `LOOM_MAX_PREEMPTIONS` overrides that; with `BRIGADE_LOOM_SHORT` there is
/// one fewer, if that leaves any, which is for a look after every change.
///
/// # Panics
/// If the model fails, with the interleaving in which it did.
pub fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    /// Steps that one interleaving may have. Two workers that look at several injectors take more than
    /// loom's own thousand.
    const STEPS: usize = 10_000;
    let mut builder = loom::model::Builder::new();
    let short = std::env::var_os("BRIGADE_LOOM_SHORT").is_some();
    builder.preemption_bound.get_or_insert(if short {
        preemptions.saturating_sub(1).max(1)
    } else {
        preemptions
    });
    builder.max_branches = STEPS;
    builder.check(move || {
        turn();
        model();
    });
}
