//! Executors of futures.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use crate::rejected::Rejected;

/// A future to poll.
pub type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A future to poll on the thread of its creation.
pub type LocalBoxFuture = Pin<Box<dyn Future<Output = ()>>>;

/// Polls futures to their end.
///
/// # Implementing
/// An accepted future must be polled until it ends, or dropped if the executor is discarded. `accept_future` must not
/// poll it: it may be called by a future.
pub trait Spawner {
    /// Accepts a future.
    ///
    /// # Errors
    /// Returns the future if the executor does not accept it.
    fn accept_future(&self, future: BoxFuture) -> Result<(), BoxFuture>;
}

/// The methods of every [`Spawner`], a `dyn Spawner` included.
pub trait SpawnerExt: Spawner {
    /// Spawns a future.
    ///
    /// # Panics
    /// If the executor does not accept it. [`try_spawn`](Self::try_spawn) returns it instead.
    #[track_caller]
    fn spawn<F: Future<Output = ()> + Send + 'static>(&self, future: F) {
        if let Err(rejected) = self.try_spawn(future) {
            panic!("{rejected}");
        }
    }

    /// Spawns a future, or returns it.
    ///
    /// # Errors
    /// If the executor does not accept it.
    fn try_spawn<F>(&self, future: F) -> Result<(), Rejected<BoxFuture>>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.accept_future(Box::pin(future)).map_err(Rejected::new)
    }
}

impl<S: Spawner + ?Sized> SpawnerExt for S {}

/// Polls futures to their end, on the calling thread.
///
/// # Implementing
/// As for [`Spawner`].
pub trait LocalSpawner {
    /// Accepts a future.
    ///
    /// # Errors
    /// Returns the future if the executor does not accept it.
    fn accept_local(&self, future: LocalBoxFuture) -> Result<(), LocalBoxFuture>;
}

/// The methods of every [`LocalSpawner`], a `dyn LocalSpawner` included.
pub trait LocalSpawnerExt: LocalSpawner {
    /// Spawns a future on this thread.
    ///
    /// # Panics
    /// If the executor does not accept it, because this thread is not the executor's, for example.
    /// [`try_spawn_local`](Self::try_spawn_local) returns it instead.
    #[track_caller]
    fn spawn_local<F: Future<Output = ()> + 'static>(&self, future: F) {
        if let Err(rejected) = self.try_spawn_local(future) {
            panic!("{rejected}");
        }
    }

    /// Spawns a future on this thread, or returns it.
    ///
    /// # Errors
    /// If the executor does not accept it.
    fn try_spawn_local<F>(&self, future: F) -> Result<(), Rejected<LocalBoxFuture>>
    where
        F: Future<Output = ()> + 'static,
    {
        self.accept_local(Box::pin(future)).map_err(Rejected::new)
    }
}

impl<S: LocalSpawner + ?Sized> LocalSpawnerExt for S {}

/// Implements the traits for pointers.
macro_rules! for_pointers {
    ($($pointer:ty)*) => {$(
        impl<S: Spawner + ?Sized> Spawner for $pointer {
            fn accept_future(&self, future: BoxFuture) -> Result<(), BoxFuture> {
                (**self).accept_future(future)
            }
        }

        impl<S: LocalSpawner + ?Sized> LocalSpawner for $pointer {
            fn accept_local(&self, future: LocalBoxFuture) -> Result<(), LocalBoxFuture> {
                (**self).accept_local(future)
            }
        }
    )*};
}

for_pointers!(&S Box<S> Arc<S> Rc<S>);
