//! rusty_pool, of a fixed size or growing, with a clone of the pool in every task; and the same interface on brigade, the package
//! of `crates/compat`.

use std::io;

use crate::target::pool::{Cloned, FEW, KEEP_ALIVE, MANY, Own, Size, Start, StartSized, Submit};
use crate::target::{Entry, Listing};

/// A module with the configurations of one of the two crates. Their entries are in this order: the threads are there from the
/// start; each starts when there is work for it; from [`FEW`] threads to [`MANY`]; and an elastic pool.
macro_rules! configurations {
    ($module:ident, $from:ident, [$fixed:expr, $elastic:expr, $elastic_50:expr, $sized:expr]) => {
        pub(super) mod $module {
            use super::*;
            use ::$from::ThreadPool;

            /// All its threads are core threads, and exist from the start.
            pub(crate) const FIXED: Listing<Start<Cloned<ThreadPool>>> = Listing {
                entry: $fixed,
                start: |threads| {
                    let pool = ThreadPool::new(threads, threads, KEEP_ALIVE);
                    pool.start_core_threads();
                    Ok(Cloned(pool))
                },
            };

            /// The same, but each thread starts when there is work for it.
            pub(crate) const ELASTIC: Listing<Start<Cloned<ThreadPool>>> = Listing {
                entry: $elastic.further().cold(),
                start: |threads| {
                    sized(Size { core: threads, max: threads, keep_alive: KEEP_ALIVE })
                },
            };

            /// The same with [`FEW`] threads to [`MANY`], or to as many as requested if that is more.
            pub(crate) const ELASTIC_50: Listing<Start<Cloned<ThreadPool>>> = Listing {
                entry: $elastic_50
                    .further()
                    .cold()
                    .with_threads(|threads, _| threads + MANY as u64),
                start: |threads| {
                    sized(Size { core: FEW, max: threads.max(MANY), keep_alive: KEEP_ALIVE })
                },
            };

            /// The pool as an elastic one.
            pub(crate) const SIZED: Listing<StartSized<Cloned<ThreadPool>>> =
                Listing { entry: $sized, start: sized };

            /// Makes a pool that starts its threads as tasks arrive.
            fn sized(size: Size) -> io::Result<Cloned<ThreadPool>> {
                Ok(Cloned(ThreadPool::new(size.core, size.max, size.keep_alive)))
            }

            impl Own for ThreadPool {
                fn shutdown(self) {
                    self.shutdown_join();
                }
            }

            impl Submit for ThreadPool {
                #[inline]
                fn submit<F: FnOnce() + Send + 'static>(&self, job: F) {
                    self.execute(job);
                }
            }
        }
    };
}

configurations!(
    rusty_pool,
    rusty_pool,
    [
        Entry::peer("rusty_pool", "rusty_pool: core size and maximum alike"),
        Entry::peer("rusty_pool-elastic", "rusty_pool: the same, started by tasks"),
        Entry::peer("rusty_pool-50", "rusty_pool: the same, with 2 to 50 threads or more"),
        Entry::peer("rusty_pool", "rusty_pool")
    ]
);

#[cfg(feature = "full")]
configurations!(
    brigade_rusty_pool,
    brigade_rusty_pool,
    [
        Entry::own("brigade-rusty_pool", "rusty_pool's interface on brigade").further(),
        Entry::own("brigade-rusty_pool-elastic", "that, started by tasks"),
        Entry::own("brigade-rusty_pool-50", "that, with 2 to 50 threads or more"),
        Entry::own("brigade-rusty_pool", "rusty_pool's interface on brigade").further()
    ]
);
