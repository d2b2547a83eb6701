//! Whether queues have moved between two looks of the monitor.

use brigade_sync::atomic::{Ordering, fence};

use super::Worker;

/// The result of a look.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    /// A job has been waiting since the last look. (Where several wait, their submitter has woken a worker.)
    Stuck,
    /// Queues have moved since the last look.
    Moving,
    /// Nothing is queued and nothing has moved.
    Still,
}

impl Worker {
    /// Compares every queue with its mark from the last look.
    pub(super) fn look(&self) -> Look {
        fence(Ordering::SeqCst);
        let queues = &self.core.queues;
        let mut marks = self.relief.marks.borrow_mut();
        marks.resize(queues.peers.len(), 0);
        let mut seen = if queues.has_shared() { Look::Stuck } else { Look::Still };
        for (index, last) in marks.iter_mut().enumerate() {
            let Some(peer) = queues.peers.get(index) else { continue };
            let mark = peer.mark();
            let moved = core::mem::replace(last, mark) != mark;
            if !moved && peer.len() > 0 {
                seen = Look::Stuck;
            } else if moved && seen == Look::Still {
                seen = Look::Moving;
            }
        }
        seen
    }
}
