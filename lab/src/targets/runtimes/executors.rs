//! The futures of the crate executors, and those of the package of that name on brigade. It has no I/O and no timers; smol's
//! are those that its documentation uses.

use std::future::Future;

#[cfg(feature = "full")]
use brigade_executors::{Executor as _, FuturesExecutor as _};
use executors::{Executor as _, FuturesExecutor as _};

use super::smol::{Smol, Tasks, with};
use crate::target::runtime::Start;
use crate::target::{Entry, Listing};

/// A target: the constant, its entry, the type of the pool and what makes one of so many threads.
macro_rules! pool {
    ($name:ident, $entry:expr, $pool:ty, $make:expr) => {
        pub(crate) const $name: Listing<Start<Smol<$pool>>> = Listing {
            entry: $entry.further().with_threads(|threads, _| threads + 1),
            start: |threads| {
                let pool: $pool = $make(threads);
                let end = pool.clone();
                // It gives up by itself after some seconds; tasks that have not run are missing.
                Ok(with(pool, move || drop(end.shutdown())))
            },
        };

        impl Tasks for $pool {
            #[inline]
            fn spawn_task<F>(&self, future: F) -> smol::Task<F::Output>
            where
                F: Future<Output: Send + 'static> + Send + 'static,
            {
                self.spawn(future)
            }
        }
    };
}

pool!(
    CHANNEL,
    Entry::peer("executors-channel", "executors: crossbeam_channel_pool, with smol's I/O"),
    executors::crossbeam_channel_pool::ThreadPool,
    executors::crossbeam_channel_pool::ThreadPool::new
);
pool!(
    STEALING,
    Entry::peer("executors-stealing", "executors: crossbeam_workstealing_pool, with smol's I/O"),
    executors::crossbeam_workstealing_pool::ThreadPool<
        executors::parker::StaticParker<executors::parker::DynamicThreadData>,
    >,
    executors::crossbeam_workstealing_pool::dyn_pool
);
#[cfg(feature = "full")]
pool!(
    BRIGADE_CHANNEL,
    Entry::own("brigade-executors-channel", "executors' channel pool on brigade, with smol's I/O"),
    brigade_executors::crossbeam_channel_pool::ThreadPool,
    brigade_executors::crossbeam_channel_pool::ThreadPool::new
);
#[cfg(feature = "full")]
pool!(
    BRIGADE_STEALING,
    Entry::own("brigade-executors-ws", "executors' stealing pool on brigade, with smol's I/O"),
    brigade_executors::crossbeam_workstealing_pool::ThreadPool<
        brigade_executors::parker::StaticParker<brigade_executors::parker::DynamicThreadData>,
    >,
    brigade_executors::crossbeam_workstealing_pool::dyn_pool
);
