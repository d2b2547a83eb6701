//! Functions shared by the loom models of all crates; only under `--cfg brigade_loom`.

use crate::atomic::{AtomicUsize, Ordering};

loom::lazy_static! {
    static ref TURNS: AtomicUsize = AtomicUsize::new(0);
}

/// Makes a step that conflicts with the same step of every other thread, and orders nothing.
///
/// Loom explores both orders of two steps only if they conflict, and it remembers only the last access to each atomic.
/// A thread that loads an atomic before it writes it hides the loads of the other threads, and loom never explores the
/// order in which it comes first. So each operation of a model begins with a turn, and loom explores all orders of the
/// turns.
pub fn turn() {
    TURNS.fetch_add(1, Ordering::Relaxed);
}

/// Explores a model with at most `preemptions` preemptions.
///
/// `LOOM_MAX_PREEMPTIONS` overrides the number. With `BRIGADE_LOOM_SHORT`, for a check after every change, it is
/// lower by 1, but at least 1.
///
/// # Panics
/// If the model fails, with the failing interleaving.
pub fn check(preemptions: usize, model: impl Fn() + Send + Sync + 'static) {
    /// The most steps of an interleaving. A search of several injectors by two workers makes more than loom's default
    /// of 1,000.
    const STEPS: usize = 10_000;
    let mut builder = loom::model::Builder::new();
    let is_short = std::env::var_os("BRIGADE_LOOM_SHORT").is_some();
    let short = preemptions.saturating_sub(1).max(1);
    builder.preemption_bound.get_or_insert(if is_short { short } else { preemptions });
    builder.max_branches = STEPS;
    builder.check(move || {
        turn();
        model();
    });
}
