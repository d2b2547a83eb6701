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
struct Link<S> {
    /// Spawns the next task.
    inside: S,
    /// Which chain it is.
    message: u32,
    /// Tasks that follow this one.
    left: u32,
    /// The state shared by all tasks.
    shared: &'static Shared<Chains>,
}

/// Submits the first tasks of the chains of the producer `index`, each with as many further ones as `left` says.
pub(crate) fn producer<O: Submit, I: Submit>(
    pool: &Running<O, I>,
    bench: &Bench,
    shared: &'static Shared<Chains>,
    index: u32,
    [messages, left]: [u64; 2],
) -> impl Fn() + Send + use<O, I> {
    let (outside, inside, fault) = (pool.outside.clone(), pool.inside.clone(), bench.fault);
    let (messages, left) = (messages as u32, left as u32);
    move || {
        fault.tasks(index * messages..(index + 1) * messages).for_each(|message| {
            let link = Link { inside: inside.clone(), message, left, shared };
            outside.submit(move || link.run());
        });
    }
}

impl<S: Submit> Link<S> {
    /// Does this task's work, spawning the next one in the middle of it.
    #[inline]
    fn run(self) {
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
