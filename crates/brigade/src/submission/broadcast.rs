//! Running one closure on each thread of a pool.

use std::sync::Arc;

use brigade_task::{Job, Work};

use crate::engine::{CURRENT, Worker};
use crate::handle::Handle;
use crate::join::JoinHandle;
use crate::registry::reach;
use crate::rejected::{Reason, refuse};

/// A worker's share of a broadcast, which only that worker runs.
struct Share<F>(Arc<F>);

impl<F, R> Work for Share<F>
where
    F: Fn(usize) -> R + Send + Sync + 'static,
{
    type Output = R;

    fn run(self) -> R {
        let Some(index) = CURRENT.with(|worker| worker.map(Worker::index)) else {
            unreachable!("only a worker runs it")
        };
        (self.0)(index)
    }
}

impl Handle {
    /// Runs a closure on each thread of the pool, once.
    #[doc(alias = "spawn_broadcast")]
    #[track_caller]
    pub fn broadcast<F, R>(&self, call: F) -> Vec<JoinHandle<R>>
    where
        F: Fn(usize) -> R + Send + Sync + 'static,
        R: Send + 'static,
    {
        match self.share(call) {
            Ok(handles) => handles,
            Err(reason) => refuse(reason),
        }
    }

    fn share<F, R>(&self, call: F) -> Result<Vec<JoinHandle<R>>, Reason>
    where
        F: Fn(usize) -> R + Send + Sync + 'static,
        R: Send + 'static,
    {
        let call = Arc::new(call);
        let shares = reach(self.key, |at| {
            let core = at.core().ok_or_else(|| at.refusal())?;
            core.broadcast(at.worker().is_some(), || Job::with_handle(Share(call.clone())))
        })?;
        let of_worker = |(index, handle)| JoinHandle::of_worker(handle, self.key, index);
        Ok(shares.into_iter().map(of_worker).collect())
    }
}
