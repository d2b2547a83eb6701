//! Work in a separate box.

use crate::block::Boxed;
use crate::cause::Cause;
use crate::work::Work;

/// Closures and futures of this size or more are never a part of a cell: a cell lives as long as the handle. From here on a second
/// allocation costs less than to move the memory; a smaller value does not free much.
const LARGE: usize = 2048;

/// Returns whether closures and futures of this type are large. A large closure or future belongs in a separate box, which is
/// freed when it ends. [`Job`](crate::Job) boxes a closure; a future is boxed before it becomes a [`Spawned`](crate::Spawned),
/// because each call that takes it by value holds a copy on the stack.
pub const fn is_large<F>() -> bool {
    size_of::<F>() >= LARGE
}

/// Work in a box, which is freed when the work has run or is dropped.
pub(crate) struct BoxedWork<W>(Boxed<W>);

impl<W> BoxedWork<W> {
    #[inline(always)]
    pub(crate) fn new(work: W) -> Self {
        Self(Boxed::new(work))
    }

    pub(crate) fn into_inner(self) -> W {
        self.0.into_inner()
    }
}

impl<W: Work> Work for BoxedWork<W> {
    type Output = W::Output;

    #[inline(always)]
    fn may_start(&self) -> Result<(), Cause> {
        self.0.get().may_start()
    }

    #[inline(always)]
    fn is_stale(&self) -> bool {
        self.0.get().is_stale()
    }

    #[inline(always)]
    fn run(self) -> W::Output {
        self.0.into_inner().run()
    }
}
