//! The futures of the crate executors, and of the package of the same name on brigade. It has no I/O and no timers; the
//! documentation uses smol's.

use super::smol::{Smol, Tasks, with};
use crate::target::runtime::Spawnable;

/// A pool of either crate, and a function to put smol's I/O and timers around it.
macro_rules! pool {
    ($on:ident, $Pool:ident, $executors:ident) => {
        /// Runs tasks in this pool.
        pub(super) fn $on<E: $executors::FuturesExecutor + Sync>(pool: E) -> Smol<$Pool<E>> {
            let end = pool.clone();
            // It gives up by itself after some seconds; unrun tasks are missing.
            with($Pool(pool), move || drop(end.shutdown()))
        }

        /// A pool as smol's executor.
        #[derive(Clone)]
        pub(crate) struct $Pool<E>(E);

        impl<E: $executors::FuturesExecutor + Sync> Tasks for $Pool<E> {
            #[inline]
            fn spawn_task<F: Spawnable>(&self, future: F) -> smol::Task<F::Output> {
                self.0.spawn(future)
            }
        }
    };
}

pool!(on, Pool, executors);
#[cfg(feature = "full")]
pool!(on_brigade, OnBrigade, brigade_executors);
