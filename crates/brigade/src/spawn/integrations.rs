//! Implementations of other crates' traits for spawning.

#[cfg(feature = "executor")]
mod executor {
    use brigade_executor::{BoxFuture, Executor, Job, LocalBoxFuture, LocalSpawner, Spawner};

    use crate::engine::CURRENT;
    use crate::handle::Handle;
    use crate::pool::Pool;
    use crate::rejected::Rejected;
    use crate::spawn::local::spawn_local;

    /// With the feature `executor`. A full pool follows its [`WhenFull`](crate::WhenFull): by default, it waits for room.
    impl Executor for Handle {
        fn accept(&self, job: Job) -> Result<(), Job> {
            self.job().execute(job).map_err(Rejected::into_inner)
        }

        fn accept_closure<F: FnOnce() + Send + 'static>(&self, job: F) -> Result<(), Job> {
            self.job().execute(job).map_err(|rejected| Box::new(rejected.into_inner()) as Job)
        }
    }

    /// With the feature `executor`; as for [`Handle`].
    impl Executor for Pool {
        fn accept(&self, job: Job) -> Result<(), Job> {
            self.handle().accept(job)
        }

        fn accept_closure<F: FnOnce() + Send + 'static>(&self, job: F) -> Result<(), Job> {
            self.handle().accept_closure(job)
        }
    }

    /// With the feature `executor`. A full pool follows its [`WhenFull`](crate::WhenFull): by default, it waits for room.
    impl Spawner for Handle {
        fn accept_future(&self, future: BoxFuture) -> Result<(), BoxFuture> {
            self.job().spawn(future).map(drop).map_err(Rejected::into_inner)
        }
    }

    /// With the feature `executor`; as for [`Handle`].
    impl Spawner for Pool {
        fn accept_future(&self, future: BoxFuture) -> Result<(), BoxFuture> {
            self.handle().accept_future(future)
        }
    }

    /// With the feature `executor`. Only a worker of the pool accepts futures, by [`spawn_local`](crate::spawn_local()).
    impl LocalSpawner for Handle {
        fn accept_local(&self, future: LocalBoxFuture) -> Result<(), LocalBoxFuture> {
            if CURRENT.with(|worker| worker.map(|worker| worker.key())) != Some(self.key) {
                return Err(future);
            }
            drop(spawn_local(future));
            Ok(())
        }
    }
}

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
