//! Pools that have loops alone: for the program of short loops. The waiting thread takes part.

use core::num::NonZeroUsize;
use std::cell::{RefCell, RefMut};
use std::io;

use paralight::prelude::{ExactParallelSourceExt, IntoExactParallelSource, ParallelIteratorExt};
use paralight::threads::{
    CpuPinningPolicy, RangeStrategy, ThreadCount, ThreadPool, ThreadPoolBuilder,
};

use crate::target::fork::{ForkJoin, IndexFn};

/// A pool whose only operation is a loop.
pub(crate) trait Loops: 'static {
    /// Calls `work` with each number below `count`.
    fn for_each_below(&mut self, count: usize, work: impl IndexFn);
}

/// Such a pool as one whose tasks fork, one after the other.
pub(crate) struct LoopsOnly<P>(RefCell<P>);

impl<P: Loops> ForkJoin for LoopsOnly<P> {
    type Outside<'o> = RefMut<'o, P>;
    type Context<'c> = ();

    fn attach<R>(&self, body: impl FnOnce(&mut RefMut<'_, P>) -> R) -> R {
        body(&mut self.0.borrow_mut())
    }

    fn enter<R: Send>(_: &mut RefMut<'_, P>, root: impl FnOnce(&mut ()) -> R + Send) -> R {
        root(&mut ())
    }

    fn for_each_below(pool: &mut RefMut<'_, P>, count: usize, _: usize, work: impl IndexFn) {
        pool.for_each_below(count, work);
    }
}

/// Starts paralight's pool.
pub(super) fn paralight(threads: usize) -> io::Result<LoopsOnly<ThreadPool>> {
    let Some(threads) = NonZeroUsize::new(threads) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let builder = ThreadPoolBuilder {
        num_threads: ThreadCount::Count(threads),
        range_strategy: RangeStrategy::WorkStealing,
        cpu_pinning: CpuPinningPolicy::No,
    };
    Ok(LoopsOnly(RefCell::new(builder.build())))
}

impl Loops for ThreadPool {
    fn for_each_below(&mut self, count: usize, work: impl IndexFn) {
        (0..count).into_par_iter().with_thread_pool(self).for_each(work);
    }
}

/// Starts the pool of fork_union, whose threads spin.
#[cfg(feature = "full")]
pub(super) fn fork_union(threads: usize) -> io::Result<LoopsOnly<fork_union::ThreadPool>> {
    let pool = fork_union::ThreadPool::try_spawn(threads);
    let failed = |error| io::Error::other(format!("{error:?}"));
    Ok(LoopsOnly(RefCell::new(pool.map_err(failed)?)))
}

#[cfg(feature = "full")]
impl Loops for fork_union::ThreadPool {
    fn for_each_below(&mut self, count: usize, work: impl IndexFn) {
        // It runs when this is dropped.
        drop(self.for_n(count, |prong| work(prong.task_index)));
    }
}
