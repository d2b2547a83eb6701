//! The three pools of the crate executors, with handles cloned into tasks as its own harness does.

use crate::failure::Outcome;
use crate::target::pool::VisitPool;

/// The handle of any pool of a crate with this interface, whose clones submit.
macro_rules! shared {
    ($executors:ident) => {
        use std::io;

        use $crate::target::pool::Pool;
        use $executors::crossbeam_channel_pool::ThreadPool as ChannelPool;
        use $executors::crossbeam_workstealing_pool as stealing;
        use $executors::threadpool_executor::ThreadPoolExecutor;

        /// Starts a `crossbeam_channel_pool`.
        pub(super) fn channel(threads: usize) -> io::Result<impl Pool> {
            Ok(any(ChannelPool::new(threads)))
        }

        /// Starts a `threadpool_executor`.
        pub(super) fn threadpool(threads: usize) -> io::Result<impl Pool> {
            Ok(any(ThreadPoolExecutor::new(threads)))
        }

        /// Starts a `crossbeam_workstealing_pool` with its smallest parker, whose tasks spawn by `try_execute_locally`: for up to
        /// 32 threads.
        pub(super) fn local(threads: usize) -> io::Result<impl Pool> {
            match threads {
                0..=32 => Ok(Local(stealing::small_pool(threads))),
                _ => Err(io::Error::new(
                    io::ErrorKind::Unsupported,
                    "it has at most 32 threads here",
                )),
            }
        }

        /// Any pool of the crate: its handle is the pool, and so are its clones.
        type Any<E> = $crate::target::pool::Cloned<Shared<E>>;

        /// This pool.
        fn any<E>(pool: E) -> Any<E> {
            $crate::target::pool::Cloned(Shared(pool))
        }

        /// A clone of the pool's handle.
        #[derive(Clone)]
        pub(crate) struct Shared<E>(E);

        impl<E: $executors::Executor + 'static> $crate::target::pool::Own for Shared<E> {
            fn shutdown(self) {
                // It gives up by itself after a few seconds. The tally reports the tasks that did not run.
                drop(self.0.shutdown());
            }
        }

        impl<E: $executors::Executor + 'static> $crate::target::pool::Submit for Shared<E> {
            #[inline]
            fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
                self.0.execute(job);
            }
        }

        /// A pool whose tasks spawn on their own worker.
        pub(crate) struct Local<E>(E);

        /// Spawns on the worker that runs the task.
        #[derive(Clone)]
        pub(crate) struct OwnWorker;

        impl<E: $executors::Executor + 'static> Pool for Local<E> {
            type Outside = Shared<E>;
            type Inside = OwnWorker;

            fn outside(&self) -> Shared<E> {
                Shared(self.0.clone())
            }

            fn inside(&self) -> OwnWorker {
                OwnWorker
            }

            fn shutdown(self) {
                drop(self.0.shutdown());
            }
        }

        impl $crate::target::pool::Submit for OwnWorker {
            #[inline]
            fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
                // Off a worker the task is lost, which its count shows.
                drop($executors::try_execute_locally(job));
            }
        }
    };
}

#[cfg(feature = "full")]
pub(super) use shared;

/// Visits the stealing pool with the fastest parker that supports this many threads.
pub(super) fn by_threads<V: VisitPool>(visitor: V) -> Outcome {
    match visitor.threads() {
        0..=32 => visitor.visit(|threads| Ok(any(stealing::small_pool(threads)))),
        33..=64 => visitor.visit(|threads| Ok(any(stealing::large_pool(threads)))),
        _ => visitor.visit(|threads| Ok(any(stealing::dyn_pool(threads)))),
    }
}

shared!(executors);
