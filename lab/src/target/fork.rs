//! The traits of fork-join pools: a program is written once, and each pool runs it as in the pool's documentation.
//!
//! A fork may take nanoseconds. So everything here is generic and inlined, and the value a pool passes from fork to fork
//! is an argument: chili and forte have such a context, and for the others it is `()`, which takes no register.

use core::ops::Range;
use std::io;

use crate::failure::Outcome;
use crate::tally::{Sum, Tally};

/// A node of a tree, known only when visited. The answer is the sum of the values of all nodes.
pub(crate) trait Tree: Copy + Send + Sync + 'static {
    /// The root of the tree of this size.
    fn of_size(size: usize) -> Self;

    /// The node's contribution to the answer.
    fn value(self) -> u64;

    /// How many children it has.
    fn width(self) -> u32;

    /// The child with this number.
    fn child(self, index: u32) -> Self;

    /// All of them.
    #[inline]
    fn children(self) -> impl Iterator<Item = Self> {
        (0..self.width()).map(move |index| self.child(index))
    }

    /// Adds the value to this thread's part of the answer. Returning it from task to task would be a join, and a counter
    /// for all threads would dominate the measurement.
    #[inline]
    fn count(self, answer: &'static Tally) {
        answer.add([self.value()].into_iter().collect::<Sum>());
    }
}

/// The work of a loop over numbers.
pub(crate) trait IndexFn: Fn(usize) + Send + Sync {}

impl<W: Fn(usize) + Send + Sync> IndexFn for W {}

/// The work of a loop over chunks, each with a number.
pub(crate) trait ChunkFn<T>: Fn(usize, &mut [T]) + Send + Sync {}

impl<T, W: Fn(usize, &mut [T]) + Send + Sync> ChunkFn<T> for W {}

/// A pool whose tasks fork and join, and may borrow from the waiting tasks. It ends with the owner.
pub(crate) trait ForkJoin: Sized + 'static {
    /// The means of a thread to start the root of a program.
    type Outside<'o>;
    /// The means of a task to fork.
    type Context<'c>;

    /// Whether tasks may borrow. A pool whose tasks may not has nothing but [`explore`](Self::explore).
    const BORROWS: bool = true;

    /// Calls `body` on this thread, which may then start programs. Where a pool makes the thread a worker, this ends
    /// with `body`.
    fn attach<R>(&self, body: impl FnOnce(&mut Self::Outside<'_>) -> R) -> R;

    /// Runs `root` in the pool and waits for the end.
    fn enter<R: Send>(
        outside: &mut Self::Outside<'_>,
        root: impl FnOnce(&mut Self::Context<'_>) -> R + Send,
    ) -> R;

    /// Runs both, at the same time if a thread is idle, and waits for both. Without a pool, or in one without forks, a fork is two
    /// calls.
    #[inline]
    fn join<A: Send, B: Send>(
        context: &mut Self::Context<'_>,
        a: impl FnOnce(&mut Self::Context<'_>) -> A + Send,
        b: impl FnOnce(&mut Self::Context<'_>) -> B + Send,
    ) -> (A, B) {
        (a(context), b(context))
    }

    /// Visits all nodes of the tree, with a task for each if the pool has scopes, and counts their values.
    fn explore<T: Tree>(_context: &mut Self::Context<'_>, root: T, answer: &'static Tally) {
        root.count(answer);
        root.children().for_each(|child| Self::explore(_context, child, answer));
    }

    /// Calls `work` with each chunk of `length` items, and the chunk's number. The last may be shorter.
    #[inline]
    fn for_each_chunk<T: Send>(
        context: &mut Self::Context<'_>,
        items: &mut [T],
        length: usize,
        work: impl ChunkFn<T>,
    ) {
        each_half_of_chunks::<Self, T>(context, 0, items, length, &work);
    }

    /// Calls `work` with each number below `count`, at least `grain` of them in a task, from a thread outside.
    #[inline]
    fn for_each_below(
        outside: &mut Self::Outside<'_>,
        count: usize,
        grain: usize,
        work: impl IndexFn,
    ) {
        Self::enter(outside, |context| {
            each_half_of_numbers::<Self>(context, 0..count, grain, &work);
        });
    }
}

/// A loop over numbers, as a pool without loops has it.
fn each_half_of_numbers<F: ForkJoin>(
    context: &mut F::Context<'_>,
    numbers: Range<usize>,
    grain: usize,
    work: &impl IndexFn,
) {
    if numbers.len() < 2 * grain {
        return numbers.for_each(work);
    }
    let middle = numbers.start + numbers.len() / 2;
    F::join(
        context,
        |context| each_half_of_numbers::<F>(context, numbers.start..middle, grain, work),
        |context| each_half_of_numbers::<F>(context, middle..numbers.end, grain, work),
    );
}

/// A loop as a pool without loops has it: forks over halves of the chunks, the first of which has the number `from`.
fn each_half_of_chunks<F: ForkJoin, T: Send>(
    context: &mut F::Context<'_>,
    from: usize,
    items: &mut [T],
    length: usize,
    work: &impl ChunkFn<T>,
) {
    match items.len().div_ceil(length) {
        0 => {}
        1 => work(from, items),
        count => {
            let (left, right) = items.split_at_mut(count / 2 * length);
            F::join(
                context,
                |context| each_half_of_chunks::<F, T>(context, from, left, length, work),
                |context| {
                    each_half_of_chunks::<F, T>(context, from + count / 2, right, length, work)
                },
            );
        }
    }
}

/// Starts a pool with this many threads, the waiting thread included if it takes part.
pub(crate) type Start<F> = fn(usize) -> io::Result<F>;

/// An operation on a pool, generic over the pool.
pub(crate) trait VisitFork {
    /// Runs it with the pool of `start`.
    fn visit<F: ForkJoin>(self, start: Start<F>) -> Outcome;
}
