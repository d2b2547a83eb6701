//! rusty_pool, of a fixed size or growing, with a clone of the pool in every task.

use std::io;

use rusty_pool::ThreadPool;

use crate::target::pool::{Cloned, FEW, KEEP_ALIVE, MANY, Own, Size, Start, StartSized, Submit};
use crate::target::{Entry, Listing};

/// All its threads are core threads, and exist from the start.
pub(crate) const FIXED: Listing<Start<Cloned<ThreadPool>>> = Listing {
    entry: Entry::peer("rusty_pool", "rusty_pool: core size and maximum alike"),
    start: |threads| {
        let pool = ThreadPool::new(threads, threads, KEEP_ALIVE);
        pool.start_core_threads();
        Ok(Cloned(pool))
    },
};

/// The same, but each thread starts when there is work for it.
pub(crate) const ELASTIC: Listing<Start<Cloned<ThreadPool>>> = Listing {
    entry: Entry::peer("rusty_pool-elastic", "rusty_pool: the same, started by tasks")
        .further()
        .cold(),
    start: |threads| sized(Size { core: threads, max: threads, keep_alive: KEEP_ALIVE }),
};

/// The same with [`FEW`] threads to [`MANY`], or to as many as requested if that is more.
pub(crate) const ELASTIC_50: Listing<Start<Cloned<ThreadPool>>> = Listing {
    entry: Entry::peer("rusty_pool-50", "rusty_pool: the same, with 2 to 50 threads or more")
        .further()
        .cold()
        .with_threads(|threads, _| threads + MANY as u64),
    start: |threads| sized(Size { core: FEW, max: threads.max(MANY), keep_alive: KEEP_ALIVE }),
};

/// The pool as an elastic one.
pub(crate) const SIZED: Listing<StartSized<Cloned<ThreadPool>>> =
    Listing { entry: Entry::peer("rusty_pool", "rusty_pool"), start: sized };

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
