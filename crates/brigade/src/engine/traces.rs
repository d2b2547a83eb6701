//! How a trace of a pool begins and ends.

use super::core::Core;
use crate::trace::{Label, Now, Session, Trace, TraceError, Worker};

impl Core {
    /// Begins a trace.
    ///
    /// # Errors
    /// If there is another.
    pub(crate) fn begin_trace(&self) -> Result<Session, TraceError> {
        if self.idle.snapshot().terminated() {
            return Err(TraceError::Ended);
        }
        let session = self.tracer.begin()?;
        self.idle.set_traced(true);
        Ok(session)
    }

    /// Ends a trace.
    pub(crate) fn end_trace(&self, session: Session) -> Trace {
        self.idle.set_traced(false);
        // Before the workers are counted: a new one records nothing from now on.
        let until = self.tracer.stop();
        let (present, parked) = self.idle.present();
        let peers = &self.queues.peers;
        let workers = peers.iter().map(|(index, peer)| {
            let now = match present.contains(&index) {
                false => Now::Absent,
                true if parked.contains(&index) => Now::Parked,
                true => Now::Running,
            };
            let outermost = peer.record.running().into_iter().next();
            let runs = outermost.map(|stretch| {
                let job = &stretch.job;
                (Label::new(job.name.as_ref(), Some(job.place)), stretch.since)
            });
            Worker { index, track: &peer.track, now, runs }
        });
        let (lasted, threads) = self.tracer.take(session, until, workers);
        Trace::new(self.config.observe.pool_name(), lasted, threads)
    }
}
