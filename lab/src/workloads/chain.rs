//! A chain of tasks, where each spawns the next: the base of `throughput` and `latency`.

use crate::workloads::prelude::*;

/// The state shared by the tasks of all chains.
pub(crate) struct Chains {
    /// Units of work before a task spawns the next.
    pub(crate) pre: u64,
    /// Units of work after that.
    pub(crate) post: u64,
    /// Whether a thread waits for the end of each.
    pub(crate) are_awaited: bool,
}

/// A task of a chain: three words with a submitter of one word.
pub(crate) struct Link<S> {
    /// Spawns the next task.
    pub(crate) inside: S,
    /// Which chain it is.
    pub(crate) message: u32,
    /// Tasks that follow this one.
    pub(crate) left: u32,
    /// The state shared by all tasks.
    pub(crate) shared: &'static Shared<Chains>,
}

impl<S: Submit> Link<S> {
    /// Does this task's work, spawning the next one in the middle of it.
    #[inline]
    pub(crate) fn run(self) {
        let Link { inside, message, left, shared } = self;
        grind(shared.own.pre);
        if let Some(next) = left.checked_sub(1) {
            let next = Link { inside: inside.clone(), message, left: next, shared };
            inside.submit(move || next.run());
        }
        grind(shared.own.post);
        shared.tally.ran(message, left);
        if left == 0 && shared.own.are_awaited {
            shared.latch.arrive(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Link;
    use std::mem::size_of;

    #[test]
    fn a_task_with_a_handle_is_three_words() {
        assert_eq!(size_of::<Link<brigade::Handle>>(), 24);
    }
}
