//! Maps over iterators, a window of jobs ahead of the caller.

use core::fmt;
#[cfg(feature = "futures")]
use core::future::Future;
use core::iter::Fuse;
#[cfg(feature = "futures")]
use core::pin::Pin;
#[cfg(feature = "futures")]
use core::task::{Context, Poll};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use brigade_task::JoinError;

use super::TaskSet;
use crate::handle::{Handle, JoinHandle};
use crate::values::Rejected;

impl Handle {
    /// Calls a closure on the pool for each item of an iterator, and returns an iterator of the results, in the order of the
    /// items.
    ///
    /// Nothing happens before [`next`](Iterator::next), which takes items until `window` jobs are queued, running, or ended with a
    /// result that has not been taken, and waits for the first of them. So the iterator of the items may be endless, and stays on the thread that calls `next`. A window of twice
    /// the number of threads keeps all threads busy with items that take equally long; 0 counts as 1.
    ///
    /// A panic of the closure is the error of that item, and a panic of the iterator unwinds in `next`. If the pool does not
    /// accept a job, `next` returns the [rejection](MapError::Rejected) in the place of the result. Dropping the iterator
    /// cancels the jobs that have not started, and does not wait for the others.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(4);
    /// let squares = pool.map(1_u32.., 8, |number| number * number);
    /// let first: Result<Vec<_>, _> = squares.take(5).collect();
    /// assert_eq!(first?, [1, 4, 9, 16, 25]);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[doc(alias = "parallel_map")]
    #[doc(alias = "par_bridge")]
    pub fn map<I, F, T>(&self, items: I, window: usize, call: F) -> Map<I::IntoIter, T>
    where
        I: IntoIterator<Item: Send + 'static>,
        F: Fn(I::Item) -> T + Send + Sync + 'static,
        T: Send + 'static,
    {
        let calls = Calls::new(items.into_iter(), window, call);
        Map { pool: *self, calls, jobs: VecDeque::new() }
    }

    /// Like [`map`](Self::map), with the results in the order in which the jobs end. A slow item holds up no other.
    ///
    /// A full pool never rejects these jobs, nor makes `next` wait for room, as those of a [`TaskSet`].
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let sum: u32 = pool.map_unordered([1, 2, 3], 2, |number| number * 2).map(Result::unwrap).sum();
    /// assert_eq!(sum, 12);
    /// ```
    pub fn map_unordered<I, F, T>(
        &self,
        items: I,
        window: usize,
        call: F,
    ) -> MapUnordered<I::IntoIter, T>
    where
        I: IntoIterator<Item: Send + 'static>,
        F: Fn(I::Item) -> T + Send + Sync + 'static,
        T: Send + 'static,
    {
        MapUnordered {
            calls: Calls::new(items.into_iter(), window, call),
            set: TaskSet::new(*self),
        }
    }
}

/// The calls of a map that have not been submitted.
struct Calls<I: Iterator, T> {
    items: Fuse<I>,
    window: usize,
    call: Arc<dyn Fn(I::Item) -> T + Send + Sync>,
}

impl<I: Iterator<Item: Send + 'static>, T: Send + 'static> Calls<I, T> {
    fn new(items: I, window: usize, call: impl Fn(I::Item) -> T + Send + Sync + 'static) -> Self {
        Self { items: items.fuse(), window: window.max(1), call: Arc::new(call) }
    }

    /// The next call, if fewer than the window are on the pool.
    fn next(&mut self, on_pool: usize) -> Option<impl FnOnce() -> T + Send + 'static + use<I, T>> {
        let item = if on_pool < self.window { self.items.next()? } else { return None };
        let call = Arc::clone(&self.call);
        Some(move || call(item))
    }

    /// How many results are left, with this many on the pool.
    fn size_hint(&self, on_pool: usize) -> (usize, Option<usize>) {
        let (least, most) = self.items.size_hint();
        (least.saturating_add(on_pool), most.and_then(|most| most.checked_add(on_pool)))
    }
}

/// The iterator of [`Handle::map`]. With the feature `futures` also a stream, which blocks its thread only for room in a
/// bounded pool.
#[must_use = "an iterator does nothing before `next`"]
pub struct Map<I: Iterator, T> {
    pool: Handle,
    calls: Calls<I, T>,
    /// The jobs whose results have not been taken, in the order of the items.
    jobs: VecDeque<Result<JoinHandle<T>, MapError<T>>>,
}

impl<I: Iterator<Item: Send + 'static>, T: Send + 'static> Map<I, T> {
    #[track_caller]
    fn fill(&mut self) {
        while let Some(call) = self.calls.next(self.jobs.len()) {
            let job = self.pool.job().submit(call);
            self.jobs.push_back(job.map(JoinHandle::cancel_on_drop).map_err(MapError::rejected));
        }
    }

    /// Polls for the next result.
    #[cfg(feature = "futures")]
    pub(crate) fn poll_result(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, MapError<T>>>> {
        self.fill();
        let Some(first) = self.jobs.pop_front() else { return Poll::Ready(None) };
        let mut job = match first {
            Ok(job) => job,
            Err(refused) => return Poll::Ready(Some(Err(refused))),
        };
        if let Poll::Ready(result) = Pin::new(&mut job).poll(context) {
            return Poll::Ready(Some(result.map_err(MapError::Job)));
        }
        self.jobs.push_front(Ok(job));
        Poll::Pending
    }
}

impl<I: Iterator<Item: Send + 'static>, T: Send + 'static> Iterator for Map<I, T> {
    type Item = Result<T, MapError<T>>;

    #[track_caller]
    fn next(&mut self) -> Option<Self::Item> {
        self.fill();
        let first = self.jobs.pop_front()?;
        Some(first.and_then(|job| job.join().map_err(MapError::Job)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.calls.size_hint(self.jobs.len())
    }
}

/// The iterator of [`Handle::map_unordered`]. With the feature `futures` also a stream.
#[must_use = "an iterator does nothing before `next`"]
pub struct MapUnordered<I: Iterator, T> {
    calls: Calls<I, T>,
    set: TaskSet<T>,
}

impl<I: Iterator<Item: Send + 'static>, T: Send + 'static> MapUnordered<I, T> {
    /// # Errors
    /// If the pool does not accept a job.
    #[track_caller]
    fn fill(&mut self) -> Result<(), MapError<T>> {
        while let Some(call) = self.calls.next(self.set.len()) {
            self.set.try_submit(call).map_err(MapError::rejected)?;
        }
        Ok(())
    }

    /// Polls for the next result.
    #[cfg(feature = "futures")]
    pub(crate) fn poll_result(
        &mut self,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, MapError<T>>>> {
        match self.fill() {
            Ok(()) => self.set.poll_join_next(context).map_err(MapError::Job),
            Err(refused) => Poll::Ready(Some(Err(refused))),
        }
    }
}

impl<I: Iterator<Item: Send + 'static>, T: Send + 'static> Iterator for MapUnordered<I, T> {
    type Item = Result<T, MapError<T>>;

    #[track_caller]
    fn next(&mut self) -> Option<Self::Item> {
        match self.fill() {
            Ok(()) => self.set.join_next().map(|result| result.map_err(MapError::Job)),
            Err(refused) => Some(Err(refused)),
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.calls.size_hint(self.set.len())
    }
}

/// The error of an item of a [map](Handle::map).
#[non_exhaustive]
pub enum MapError<T> {
    /// The job has no result: the closure panicked, or the job was cancelled.
    Job(JoinError),
    /// The pool did not accept the job, which can run on this thread.
    Rejected(Rejected<Box<dyn FnOnce() -> T + Send>>),
}

impl<T> MapError<T> {
    fn rejected(job: Rejected<impl FnOnce() -> T + Send + 'static>) -> Self {
        Self::Rejected(job.map(|job| Box::new(job) as _))
    }
}

impl<T> fmt::Debug for MapError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(error) => error.fmt(f),
            Self::Rejected(rejected) => rejected.fmt(f),
        }
    }
}

impl<T> fmt::Display for MapError<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(error) => error.fmt(f),
            Self::Rejected(rejected) => rejected.fmt(f),
        }
    }
}

impl<T> std::error::Error for MapError<T> {}

impl<T> From<MapError<T>> for io::Error {
    fn from(error: MapError<T>) -> Self {
        match error {
            MapError::Job(error) => error.into(),
            MapError::Rejected(rejected) => rejected.into(),
        }
    }
}

brigade_sync::opaque!([I: Iterator, T] Map<I, T>);
brigade_sync::opaque!([I: Iterator, T] MapUnordered<I, T>);
