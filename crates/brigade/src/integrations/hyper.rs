//! hyper's trait `Executor`.

use core::future::Future;

use ::hyper::rt::Executor;

use crate::handle::Handle;

/// With the feature `hyper`. A future rejected by the pool is dropped, as hyper expects of an executor.
impl<F> Executor<F> for Handle
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    fn execute(&self, future: F) {
        drop(self.job().spawn(future));
    }
}
