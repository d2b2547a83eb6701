//! The traits of `brigade-executor`.

use brigade_executor::{BoxFuture, Executor, Job, LocalBoxFuture, LocalSpawner, Spawner};

use crate::engine::with_member;
use crate::handle::Handle;
use crate::pool::Pool;
use crate::spawn::spawn_local;
use crate::values::Rejected;

/// Implements the traits for types that dereference to a [`Handle`].
macro_rules! impl_executor {
    ($($pool:ty),*) => {$(
        /// With the feature `executor`. A full pool follows its [`WhenFull`](crate::WhenFull): by default, the call
        /// waits for room.
        impl Executor for $pool {
            fn accept(&self, job: Job) -> Result<(), Job> {
                self.job().execute(job).map_err(Rejected::into_inner)
            }

            fn accept_closure<F: FnOnce() + Send + 'static>(&self, job: F) -> Result<(), Job> {
                self.job().execute(job).map_err(|rejected| Box::new(rejected.into_inner()) as Job)
            }
        }

        /// With the feature `executor`. A full pool follows its [`WhenFull`](crate::WhenFull): by default, the call
        /// waits for room.
        impl Spawner for $pool {
            fn accept_future(&self, future: BoxFuture) -> Result<(), BoxFuture> {
                self.job().spawn(future).map(drop).map_err(Rejected::into_inner)
            }
        }
    )*};
}

impl_executor!(Handle, Pool);

/// With the feature `executor`. Only a worker of the pool accepts futures, by [`spawn_local`](crate::spawn_local()).
impl LocalSpawner for Handle {
    fn accept_local(&self, future: LocalBoxFuture) -> Result<(), LocalBoxFuture> {
        if with_member(|own| own.map(|own| own.shared.key)) != Some(self.key) {
            return Err(future);
        }
        drop(spawn_local(future));
        Ok(())
    }
}
