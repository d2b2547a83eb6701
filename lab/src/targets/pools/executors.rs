//! The three pools of the crate executors, with handles cloned into tasks as in the crate's harness.

use crate::failure::Outcome;
use crate::target::pool::VisitPool;

/// The handle of any pool of a crate with this interface, whose clones submit.
macro_rules! shared {
    ($executors:ident) => {
        use std::io;

        use $crate::target::pool::{Running, Submit};
        use $executors::crossbeam_channel_pool::ThreadPool as ChannelPool;
        use $executors::crossbeam_workstealing_pool as stealing;
        use $executors::threadpool_executor::ThreadPoolExecutor;

        /// Starts a `crossbeam_channel_pool`.
        pub(super) fn channel(threads: usize) -> io::Result<Running<impl Submit, impl Submit>> {
            Ok(any(ChannelPool::new(threads)))
        }

        /// Starts a `threadpool_executor`.
        pub(super) fn threadpool(threads: usize) -> io::Result<Running<impl Submit, impl Submit>> {
            Ok(any(ThreadPoolExecutor::new(threads)))
        }

        /// Starts a `crossbeam_workstealing_pool` with the smallest parker; its tasks spawn by `try_execute_locally`: for up to
        /// 32 threads.
        pub(super) fn local(threads: usize) -> io::Result<Running<impl Submit, impl Submit>> {
            if threads > 32 {
                let reason = "it has at most 32 threads here";
                return Err(io::Error::new(io::ErrorKind::Unsupported, reason));
            }
            let pool = stealing::small_pool(threads);
            Ok(Running::new(Shared(pool.clone()), OwnWorker, || end(pool)))
        }

        /// Any pool of the crate, which is also the handle.
        fn any<E: $executors::Executor + 'static>(pool: E) -> Running<Shared<E>, Shared<E>> {
            Running::alike(Shared(pool.clone()), || end(pool))
        }

        /// Ends this pool. It gives up by itself after a few seconds: the tally reports tasks that did not run.
        fn end(pool: impl $executors::Executor) {
            drop(pool.shutdown());
        }

        /// A clone of the pool's handle.
        #[derive(Clone)]
        pub(crate) struct Shared<E>(E);

        impl<E: $executors::Executor + 'static> Submit for Shared<E> {
            #[inline]
            fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
                self.0.execute(job);
            }
        }

        /// Spawns on the task's worker.
        #[derive(Clone)]
        pub(crate) struct OwnWorker;

        // Off a worker the task is lost, which the count shows.
        $crate::target::pool::submits!(OwnWorker, |_, job| {
            drop($executors::try_execute_locally(job))
        });
    };
}

#[cfg(feature = "full")]
pub(super) use shared;

/// Visits the stealing pool with the fastest parker for this many threads.
pub(super) fn by_threads<V: VisitPool>(visitor: V) -> Outcome {
    match visitor.threads() {
        0..=32 => visitor.visit(|threads| Ok(any(stealing::small_pool(threads)))),
        33..=64 => visitor.visit(|threads| Ok(any(stealing::large_pool(threads)))),
        _ => visitor.visit(|threads| Ok(any(stealing::dyn_pool(threads)))),
    }
}

shared!(executors);
