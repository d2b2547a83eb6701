//! The global pool.

use std::io;
use std::sync::{Arc, OnceLock};

use brigade::Pool;
use brigade_sync::fork::PerProcess;

use crate::builder::{ThreadPoolBuilder, ThreadSpawn};
use crate::error::ThreadPoolBuildError;
use crate::registry::{Registry, as_worker, current, with_current};

/// The global pool, which is never dropped. A forked child has another.
static GLOBAL: PerProcess<OnceLock<Global>> = PerProcess::new();

struct Global {
    registry: Arc<Registry>,
    /// Keeps the pool, if it has its own threads.
    _pool: Option<Pool>,
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds the global pool and starts the threads.
    ///
    /// # Errors
    /// If there is a global pool, and as for [`build`](Self::build).
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        if GLOBAL.get().get().is_some() {
            return Err(ThreadPoolBuildError::global_exists());
        }
        GLOBAL.get().set(self.build_as_global()?).map_err(|_| ThreadPoolBuildError::global_exists())
    }

    fn build_as_global(self) -> Result<Global, ThreadPoolBuildError> {
        let (pool, registry) = self.build_parts()?;
        // All threads have called the start handler when this returns.
        for ready in pool.iter().flat_map(|pool| pool.broadcast(|_| ())) {
            ready.join().map_err(io::Error::other)?;
        }
        Ok(Global { registry, _pool: pool })
    }
}

/// The global pool, built on first use.
fn global() -> &'static Arc<Registry> {
    let global = GLOBAL.get().get_or_init(|| match ThreadPoolBuilder::new().build_as_global() {
        Ok(global) => global,
        Err(error) => panic!("cannot start the global thread pool: {error}"),
    });
    &global.registry
}

/// The pool of the calling thread, or the global pool.
pub(crate) fn current_or_global() -> Arc<Registry> {
    current().unwrap_or_else(|| global().clone())
}

/// Calls a closure on a thread of the current pool.
pub(crate) fn in_worker<F, R>(call: F) -> R
where
    F: FnOnce() -> R + Send,
    R: Send,
{
    if with_current(|current| current.is_some()) { as_worker(call) } else { global().install(call) }
}

/// The number of threads of the current pool: the calling thread's pool, or the global pool.
pub fn current_num_threads() -> usize {
    let here = with_current(|current| current.map(|current| current.num_threads));
    here.unwrap_or_else(|| global().num_threads)
}
