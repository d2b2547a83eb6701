//! No pool: a fork is a call. The other targets are to be faster, and their answers are compared with this target's.

use crate::target::fork::{ChunkFn, ForkJoin, IndexFn};

/// Calls.
pub(crate) struct Sequential;

impl ForkJoin for Sequential {
    type Outside<'o> = ();
    type Context<'c> = ();

    fn attach<R>(&self, body: impl FnOnce(&mut ()) -> R) -> R {
        body(&mut ())
    }

    fn enter<R: Send>(_: &mut (), root: impl FnOnce(&mut ()) -> R + Send) -> R {
        root(&mut ())
    }

    fn for_each_below((): &mut (), count: usize, _: usize, work: impl IndexFn) {
        (0..count).for_each(work);
    }

    fn for_each_chunk<T: Send>(_: &mut (), items: &mut [T], length: usize, work: impl ChunkFn<T>) {
        items.chunks_mut(length).enumerate().for_each(|(index, chunk)| work(index, chunk));
    }
}
