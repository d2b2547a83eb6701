//! Parks the threads of a scheduler, each under a separate number, and wakes any of them.
//!
//! It is for your schedulers. The pools of this crate take a [`Parker`] for the number of threads it allows, and their
//! threads sleep as those of every pool of brigade.
//!
//! A thread that finds nothing to do calls [`prepare_park`](Parker::prepare_park) and looks once more. Then it calls
//! [`park`](Parker::park), or [`abort_park`](Parker::abort_park) if there is something now. A thread that adds something calls
//! [`unpark_one`](Parker::unpark_one) afterwards. So no thread sleeps through an addition.
//!
//! ```
//! use executors::parker::{self, Parker};
//! use std::sync::mpsc::channel;
//!
//! let parker = parker::small();
//! let (sleeper, (add, added)) = (parker.clone(), channel());
//! let thread = std::thread::spawn(move || loop {
//!     sleeper.prepare_park(0);
//!     if let Ok(thing) = added.try_recv() {
//!         sleeper.abort_park(0);
//!         return thing;
//!     }
//!     sleeper.park(0);
//! });
//! add.send(42).unwrap();
//! parker.unpark_one();
//! assert_eq!(thread.join().unwrap(), 42);
//! ```

mod sleepers;

use std::fmt::Debug;
use std::sync::Arc;

use sleepers::Sleepers;

/// Returns a parker for up to 32 threads.
///
/// ```
/// use executors::parker::{Parker, small};
/// assert_eq!(small().max_threads(), Some(32));
/// ```
pub fn small() -> StaticParker<SmallThreadData> {
    StaticParker::new(SmallThreadData(Sleepers::default()))
}

/// Returns a parker for up to 64 threads.
///
/// ```
/// use executors::parker::{Parker, large};
/// assert_eq!(large().max_threads(), Some(64));
/// ```
pub fn large() -> StaticParker<LargeThreadData> {
    StaticParker::new(LargeThreadData(Sleepers::default()))
}

/// Returns a parker for any number of threads.
///
/// ```
/// use executors::parker::{Parker, dynamic};
/// assert_eq!(dynamic().max_threads(), None);
/// ```
pub fn dynamic() -> StaticParker<DynamicThreadData> {
    StaticParker::new(DynamicThreadData(Sleepers::default()))
}

/// The parker of any size whose type does not tell it.
#[cfg(feature = "workstealing-exec")]
pub(crate) fn for_threads(threads: usize) -> DynParker {
    match threads {
        0..=SmallThreadData::MAX_THREADS => StaticParker { inner: small().inner },
        33..=LargeThreadData::MAX_THREADS => StaticParker { inner: large().inner },
        _ => StaticParker { inner: dynamic().inner },
    }
}

/// How a call of [`Parker::park`] ended.
#[derive(Clone, Copy, Debug)]
pub enum ParkResult {
    /// The thread has not slept, and is still prepared: it calls `park` again. The parkers of this crate don't return it.
    Retry,
    /// The thread has not slept, and is no longer prepared: it looks for something to do before it prepares again.
    Abort,
    /// The thread has slept and been woken. It is no longer prepared.
    Woken,
}

/// Parks threads. Clones are the same parker.
///
/// A number beyond the parker's limit is a panic. Each is used by a single thread at a time.
pub trait Parker: Sync + Send + Clone {
    /// Returns how many threads it allows, with numbers from 0; `None` for any number.
    fn max_threads(&self) -> Option<usize>;

    /// Makes the thread awake, whatever it was before. For a thread that takes the number of a panicked thread.
    fn init(&self, thread_id: usize);

    /// Prepares the thread to sleep: from now on it can be woken.
    ///
    /// After this the thread must look once more for something to do, and then call [`park`](Self::park) or
    /// [`abort_park`](Self::abort_park).
    fn prepare_park(&self, thread_id: usize);

    /// Takes [`prepare_park`](Self::prepare_park) back.
    fn abort_park(&self, thread_id: usize);

    /// Blocks the calling thread, which must be this thread, until it is woken. Returns at once if it has been woken since it
    /// prepared to sleep.
    fn park(&self, thread_id: usize) -> ParkResult;

    /// Wakes at least one of the threads that sleep or are prepared to, if there are any.
    fn unpark_one(&self);

    /// Wakes all threads that sleep or are prepared to.
    fn unpark_all(&self);
}

/// The behaviour of a parker, without the sharing of clones.
pub trait ThreadData: Debug {
    /// See [`Parker::max_threads`].
    fn max_threads(&self) -> Option<usize>;

    /// See [`Parker::init`].
    fn init(&self, thread_id: usize);

    /// See [`Parker::prepare_park`].
    fn prepare_park(&self, thread_id: usize);

    /// See [`Parker::abort_park`].
    fn abort_park(&self, thread_id: usize);

    /// See [`Parker::park`].
    fn park(&self, thread_id: usize) -> ParkResult;

    /// Whether no thread sleeps or is prepared to.
    fn all_awake(&self) -> bool;

    /// See [`Parker::unpark_one`].
    fn unpark_one(&self);

    /// See [`Parker::unpark_all`].
    fn unpark_all(&self);
}

/// A parker whose type tells how many threads it allows.
#[derive(Debug)]
pub struct StaticParker<T>
where
    T: ThreadData + Sync + Send + ?Sized + 'static,
{
    inner: Arc<T>,
}

impl<T> StaticParker<T>
where
    T: ThreadData + Sync + Send + 'static,
{
    fn new(data: T) -> Self {
        Self { inner: Arc::new(data) }
    }

    /// Returns the parker under a type that does not tell how many threads it allows.
    ///
    /// # Errors
    /// Returns it as it is if it has clones.
    ///
    /// # Examples
    /// ```
    /// use executors::parker::{Parker, small};
    /// let parker = small();
    /// let clone = parker.clone();
    /// let parker = parker.dynamic().unwrap_err();
    /// drop(clone);
    /// assert_eq!(parker.dynamic().unwrap().max_threads(), Some(32));
    /// ```
    pub fn dynamic(self) -> Result<DynParker, Self> {
        match Arc::try_unwrap(self.inner) {
            Ok(data) => Ok(StaticParker { inner: Arc::new(data) }),
            Err(inner) => Err(Self { inner }),
        }
    }
}

impl<T> Clone for StaticParker<T>
where
    T: ThreadData + Sync + Send + ?Sized + 'static,
{
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner) }
    }
}

/// A parker whose type does not tell how many threads it allows; made by [`StaticParker::dynamic`].
pub type DynParker = StaticParker<dyn ThreadData + Sync + Send>;

impl<T> Parker for StaticParker<T>
where
    T: ThreadData + Sync + Send + ?Sized + 'static,
{
    fn max_threads(&self) -> Option<usize> {
        self.inner.max_threads()
    }

    fn init(&self, thread_id: usize) {
        self.inner.init(thread_id);
    }

    fn prepare_park(&self, thread_id: usize) {
        self.inner.prepare_park(thread_id);
    }

    fn abort_park(&self, thread_id: usize) {
        self.inner.abort_park(thread_id);
    }

    fn park(&self, thread_id: usize) -> ParkResult {
        self.inner.park(thread_id)
    }

    fn unpark_one(&self) {
        self.inner.unpark_one();
    }

    fn unpark_all(&self) {
        self.inner.unpark_all();
    }
}

/// Parks up to 32 threads; see [`small`].
#[derive(Debug)]
pub struct SmallThreadData(Sleepers);

/// Parks up to 64 threads; see [`large`].
#[derive(Debug)]
pub struct LargeThreadData(Sleepers);

/// Parks any number of threads; see [`dynamic`].
#[derive(Debug)]
pub struct DynamicThreadData(Sleepers);

impl SmallThreadData {
    /// How many threads it allows.
    pub const MAX_THREADS: usize = 32;
}

impl LargeThreadData {
    /// How many threads it allows.
    pub const MAX_THREADS: usize = 64;
}

/// Implements the trait by [`Sleepers`], for so many threads.
macro_rules! by_sleepers {
    ($($data:ty: $most:expr;)*) => {$(
        impl $data {
            /// The sleepers, if they may have a thread with this number.
            #[track_caller]
            fn of(&self, thread: usize) -> &Sleepers {
                let most: Option<usize> = $most;
                let is_allowed = most.is_none_or(|most| thread < most);
                assert!(is_allowed, "this parker has no number {thread}: it allows {most:?} threads");
                &self.0
            }
        }

        impl ThreadData for $data {
            fn max_threads(&self) -> Option<usize> {
                $most
            }

            fn init(&self, thread_id: usize) {
                self.of(thread_id).init(thread_id);
            }

            fn prepare_park(&self, thread_id: usize) {
                self.of(thread_id).prepare(thread_id);
            }

            fn abort_park(&self, thread_id: usize) {
                self.of(thread_id).abort(thread_id);
            }

            fn park(&self, thread_id: usize) -> ParkResult {
                self.of(thread_id).park(thread_id)
            }

            fn all_awake(&self) -> bool {
                self.0.is_empty()
            }

            fn unpark_one(&self) {
                self.0.wake_one();
            }

            fn unpark_all(&self) {
                self.0.wake_all();
            }
        }
    )*};
}

by_sleepers! {
    SmallThreadData: Some(Self::MAX_THREADS);
    LargeThreadData: Some(Self::MAX_THREADS);
    DynamicThreadData: None;
}
