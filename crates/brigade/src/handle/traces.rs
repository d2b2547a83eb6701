//! Traces of a pool: the public API.

use std::sync::Arc;

use brigade_trace::{Session, Trace, TraceError};

use super::Handle;
use crate::engine::{Shared, find};
use crate::values::{Reason, opaque};

impl Handle {
    /// Records the activity of each thread of the pool until [`finish`](Tracing::finish) is called: the jobs it runs,
    /// its searches, steals and sleeps, and the threads it wakes. Requires the feature `trace`.
    ///
    /// [`Trace::save`] writes the record for [ui.perfetto.dev](https://ui.perfetto.dev) and `chrome://tracing`, which
    /// show a track for each thread. Any pool can be traced while it works, and any number of times. A job appears
    /// under its [name](crate::JobBuilder::name), or if the pool's jobs are [observed](crate::Builder::observe_jobs)
    /// under the line that submitted it, or else as `job`. A job that [runs in its
    /// caller](crate::WhenFull::RunInCaller) runs on no thread of the pool, and is not recorded.
    ///
    /// Recording adds about 200 ns to each job; otherwise the feature costs nothing.
    ///
    /// # Errors
    /// [`InProgress`](TraceError::InProgress) if a trace of the pool has not been finished,
    /// [`Ended`](TraceError::Ended) if the pool has ended, [`Forked`](TraceError::Forked) if it belongs to the parent
    /// of a fork.
    ///
    /// # Examples
    /// ```
    /// let pool = brigade::Pool::new(2);
    /// let tracing = pool.start_trace()?;
    /// assert!(pool.start_trace().is_err(), "one at a time");
    /// pool.job().name("resize").submit(|| 42)?.join()?;
    /// let trace = tracing.finish();
    /// assert!(trace.recorded() > 0);
    /// let file = std::env::temp_dir().join("brigade-trace-of-a-doctest.json");
    /// trace.save(&file)?; // Open it in ui.perfetto.dev.
    /// # std::fs::remove_file(file)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn start_trace(&self) -> Result<Tracing, TraceError> {
        match find(self.key) {
            Ok(shared) => {
                let session = shared.begin_trace()?;
                Ok(Tracing { shared: Some(shared), session })
            }
            Err(Reason::Forked) => Err(TraceError::Forked),
            Err(_) => Err(TraceError::Ended),
        }
    }
}

/// A pool that is being traced; see [`Handle::start_trace`](crate::Handle::start_trace).
///
/// Dropping it discards the record. The pool's memory is freed after this has been dropped. If it is forgotten, the
/// pool is traced until it ends, and can't be traced again.
#[must_use = "dropping it ends the trace"]
pub struct Tracing {
    /// `None` once the trace has been taken.
    shared: Option<Arc<Shared>>,
    session: Session,
}

impl Tracing {
    /// Ends the trace and returns the record. Unfinished jobs are shown as if they ended now.
    ///
    /// The pool may have been dropped in the meantime. In a forked child, the trace is empty.
    pub fn finish(mut self) -> Trace {
        self.take().unwrap_or_else(|| Trace::new("".into(), 0, Vec::new()))
    }

    fn take(&mut self) -> Option<Trace> {
        let shared = self.shared.take()?;
        if !shared.key.is_here() {
            // The parent's threads were using the pool, so this process can't drop it.
            core::mem::forget(shared);
            return None;
        }
        Some(shared.end_trace(self.session, shared.config.pool_name()))
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        drop(self.take());
    }
}

opaque!(Tracing);
