//! The traits of `futures`.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::panic::Location;
use std::time::Instant;

use futures_core::{FusedFuture, Stream};
use futures_task::{FutureObj, LocalFutureObj, LocalSpawn, Spawn, SpawnError};

use brigade_task::JoinError;

use crate::handle::{Handle, JoinHandle};
use crate::pool::Pool;
use crate::spawn::{LocalPool, spawn_local_as};
use crate::task_set::{Map, MapError, MapUnordered, TaskSet};
use crate::time::{Interval, Sleep};

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

/// With the feature `futures`. For libraries that take [`Spawn`], pass the [`handle`](LocalPool::handle).
///
/// ```
/// use futures::task::LocalSpawnExt;
/// let pool = brigade::LocalPool::new()?;
/// let word = std::rc::Rc::new("here"); // It may not leave this thread.
/// let length = pool.spawn_local_with_handle(async move { word.len() })?;
/// assert_eq!(pool.run_until(length), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl LocalSpawn for LocalPool {
    /// Spawns a future without a handle for its outcome. The owner's calls poll it.
    ///
    /// # Errors
    /// Where [`spawn_local`](LocalPool::spawn_local) panics; the future is dropped.
    fn spawn_local_obj(&self, future: LocalFutureObj<'static, ()>) -> Result<(), SpawnError> {
        let key = self.handle().key;
        match spawn_local_as(Some(key), |own| own.is_of(key), future, Location::caller()) {
            Some(_) => Ok(()),
            None => Err(SpawnError::shutdown()),
        }
    }

    fn status_local(&self) -> Result<(), SpawnError> {
        Spawn::status(&self.handle())
    }
}

/// With the feature `futures`, for `futures::select!`.
impl<T> FusedFuture for JoinHandle<T> {
    fn is_terminated(&self) -> bool {
        self.is_taken()
    }
}

/// With the feature `futures`, for `futures::select!`.
impl FusedFuture for Sleep {
    fn is_terminated(&self) -> bool {
        self.is_over()
    }
}

/// With the feature `futures`: a stream of the outcomes, as the jobs end. It ends when the set is empty, and continues if jobs are added then.
impl<T> Stream for TaskSet<T> {
    type Item = Result<T, JoinError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_join_next(context)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

/// Implements `Stream` for an iterator of results.
macro_rules! stream_of_results {
    ($map:ident) => {
        /// With the feature `futures`.
        impl<I: Iterator<Item: Send + 'static> + Unpin, T: Send + 'static> Stream for $map<I, T> {
            type Item = Result<T, MapError<T>>;

            fn poll_next(
                mut self: Pin<&mut Self>,
                context: &mut Context<'_>,
            ) -> Poll<Option<Self::Item>> {
                self.poll_result(context)
            }

            fn size_hint(&self) -> (usize, Option<usize>) {
                Iterator::size_hint(self)
            }
        }
    };
}

stream_of_results!(Map);
stream_of_results!(MapUnordered);

/// With the feature `futures`: a stream of the times at which its ticks were due.
impl Stream for Interval {
    type Item = Instant;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.poll_tick(context).map(Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}
