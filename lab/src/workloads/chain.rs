//! A chain of tasks, each of which spawns the next: what `throughput` and `latency` are made of.

use crate::workloads::prelude::*;

/// The state that all tasks of a run share. Leaked, so that a task needs one word for it and no
/// reference count; it is some cache lines per run.
pub(crate) struct Shared {
    /// Counts the tasks.
    tally: &'static Tally,
    /// Units of work before a task spawns the next.
    pre: u64,
    /// Units of work after that.
    post: u64,
    /// Told of the end of each chain, if a thread waits for it.
    latch: Option<Latch>,
}

impl Shared {
    /// Chains whose tasks do `pre` and `post` units of work and whose ends are reported to `latch`.
    pub(crate) fn leak(bench: &Bench, pre: u64, post: u64, latch: Option<Latch>) -> &'static Self {
        Box::leak(Box::new(Shared { tally: bench.tally, pre, post, latch }))
    }

    /// What is told of the end of each chain.
    pub(crate) fn latch(&self) -> Option<&Latch> {
        self.latch.as_ref()
    }
}

/// A task of a chain: three words with a submitter of one.
pub(crate) struct Link<S> {
    /// Spawns the next one.
    pub(crate) inside: S,
    /// Which chain it is.
    pub(crate) message: u32,
    /// Tasks that follow this one.
    pub(crate) left: u32,
    /// What all tasks share.
    pub(crate) shared: &'static Shared,
}

impl<S: Submit> Link<S> {
    /// Does this task's work, spawning the next one in the middle of it.
    #[inline]
    pub(crate) fn run(self) {
        let Link { inside, message, left, shared } = self;
        grind(shared.pre);
        if let Some(next) = left.checked_sub(1) {
            let next = Link { inside: inside.clone(), message, left: next, shared };
            inside.submit(move || next.run());
        }
        grind(shared.post);
        shared.tally.ran(message, left);
        if left == 0 {
            if let Some(latch) = &shared.latch {
                latch.arrive(message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Link;
    use std::mem::size_of;

    #[test]
    fn a_task_with_a_handle_of_brigade_is_three_words() {
        assert_eq!(size_of::<Link<brigade::Handle>>(), 24);
    }
}
