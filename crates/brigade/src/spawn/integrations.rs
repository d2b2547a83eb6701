//! Implementations of other crates' traits for spawning.

#[cfg(feature = "futures")]
mod futures {
    use futures_task::{FutureObj, Spawn, SpawnError};

    use crate::handle::Handle;
    use crate::pool::Pool;

    /// With the feature `futures`.
    impl Spawn for Handle {
        /// Spawns a future without a handle for its outcome.
        ///
        /// # Errors
        /// If the pool does not accept it, for any reason of [`JobBuilder::spawn`](crate::JobBuilder::spawn); the future is
        /// dropped.
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
}

#[cfg(feature = "hyper")]
mod hyper {
    use core::future::Future;

    use hyper::rt::Executor;

    use crate::handle::Handle;

    /// With the feature `hyper`. A future that the pool does not accept is dropped, which hyper expects of an executor.
    impl<F> Executor<F> for Handle
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        fn execute(&self, future: F) {
            drop(self.job().spawn(future));
        }
    }
}
