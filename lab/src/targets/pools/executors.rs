//! The three pools of the crate executors, with handles cloned into tasks as its own harness does.

use std::io::{self, ErrorKind};

use executors::crossbeam_channel_pool::ThreadPool as ChannelPool;
use executors::crossbeam_workstealing_pool as stealing;
use executors::parker::{SmallThreadData, StaticParker};
use executors::threadpool_executor::ThreadPoolExecutor;

use crate::target::pool::{Offer, Start, VisitPool};
use crate::target::{Entry, Listing};

/// The handle of any pool of a crate with this interface, whose clones submit.
macro_rules! shared {
    ($executors:ident) => {
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

        impl<E: $executors::Executor + 'static> $crate::target::pool::Pool for Local<E> {
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

/// `crossbeam_channel_pool`.
pub(crate) const CHANNEL: Listing<Start<Any<ChannelPool>>> = Listing {
    entry: Entry::peer("executors-channel", "executors: crossbeam_channel_pool"),
    start: |threads| Ok(any(ChannelPool::new(threads))),
};

/// `crossbeam_workstealing_pool`; the number of threads decides its parker.
pub(crate) const STEALING: Listing<ByThreads> = Listing {
    entry: Entry::peer("executors-stealing", "executors: crossbeam_workstealing_pool"),
    start: ByThreads,
};

/// `threadpool_executor`.
pub(crate) const THREADPOOL: Listing<Start<Any<ThreadPoolExecutor>>> = Listing {
    entry: Entry::peer("executors-threadpool", "executors: threadpool_executor"),
    start: |threads| Ok(any(ThreadPoolExecutor::new(threads))),
};

/// The stealing pool, whose tasks spawn by `try_execute_locally`. For up to 32 threads.
pub(crate) const LOCAL: Listing<Start<Local<Small>>> = Listing {
    entry: Entry::peer("executors-local", "executors-stealing, tasks by try_execute_locally")
        .further(),
    start: |threads| match threads {
        0..=32 => Ok(Local(stealing::small_pool(threads))),
        _ => Err(io::Error::new(ErrorKind::Unsupported, "it has at most 32 threads here")),
    },
};

/// `crossbeam_workstealing_pool` with the feature `ws-no-park`. A feature is of a whole program, so this one is built by
/// `ci/lab.sh executors`.
pub(crate) const NO_PARK: Listing<ByThreads> = Listing {
    entry: Entry::peer("executors-no-park", "executors-stealing with the feature ws-no-park")
        .elsewhere("brigade-lab-executors-no-park", "executors-stealing"),
    start: ByThreads,
};

/// `crossbeam_workstealing_pool` without the feature `ws-timed-fairness`, built by the same script.
pub(crate) const COUNTED: Listing<ByThreads> = Listing {
    entry: Entry::peer("executors-counted", "executors-stealing without ws-timed-fairness")
        .elsewhere("brigade-lab-executors-counted", "executors-stealing"),
    start: ByThreads,
};

/// The stealing pool with its smallest parker.
type Small = stealing::ThreadPool<StaticParker<SmallThreadData>>;

/// Starts the stealing pool with the fastest parker that supports this many threads.
#[derive(Clone, Copy)]
pub(crate) struct ByThreads;

impl Offer for ByThreads {
    fn offer<V: VisitPool>(self, visitor: V) -> V::Output {
        match visitor.threads() {
            0..=32 => visitor.visit(|threads| Ok(any(stealing::small_pool(threads)))),
            33..=64 => visitor.visit(|threads| Ok(any(stealing::large_pool(threads)))),
            _ => visitor.visit(|threads| Ok(any(stealing::dyn_pool(threads)))),
        }
    }
}

shared!(executors);
