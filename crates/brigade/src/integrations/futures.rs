//! The traits of `futures`.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::time::Instant;

use futures_core::Stream;
use futures_task::{FutureObj, Spawn, SpawnError};

use crate::handle::Handle;
use crate::pool::Pool;
use crate::time::Interval;

/// With the feature `futures`.
impl Spawn for Handle {
    /// Spawns a future without a handle for its outcome.
    ///
    /// # Errors
    /// If the pool does not accept the future, for any reason of [`JobBuilder::spawn`](crate::JobBuilder::spawn);
    /// the future is dropped.
    fn spawn_obj(&self, future: FutureObj<'static, ()>) -> Result<(), SpawnError> {
        self.job().spawn(future).map(drop).map_err(|_| SpawnError::shutdown())
    }

    fn status(&self) -> Result<(), SpawnError> {
        if self.is_closed() { Err(SpawnError::shutdown()) } else { Ok(()) }
    }
}

/// With the feature `futures`; as for [`Handle`].
impl Spawn for Pool {
    fn spawn_obj(&self, future: FutureObj<'static, ()>) -> Result<(), SpawnError> {
        self.handle().spawn_obj(future)
    }

    fn status(&self) -> Result<(), SpawnError> {
        Spawn::status(&self.handle())
    }
}

/// With the feature `futures`: a stream of the times at which the ticks were due.
impl Stream for Interval {
    type Item = Instant;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.poll_tick(context).map(Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}
