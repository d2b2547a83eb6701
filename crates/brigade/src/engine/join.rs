//! Workers that wait for jobs of their own pool.

use std::sync::Arc;
use std::task::{Wake, Waker};

use brigade_sync::Parker;
use brigade_task::JoinHandle;

use super::{Core, Worker};
use crate::idle::Join;
use crate::registry;

/// What such a worker sleeps on.
struct Joiner {
    core: Arc<Core>,
    join: Join,
    parker: Parker,
}

impl Wake for Joiner {
    fn wake(self: Arc<Self>) {
        // In a child that the job forked, who knows who held the crew's lock.
        if registry::is_here(self.core.key) {
            self.core.idle.end_join(&self.join);
        }
        self.parker.unpark();
    }
}

impl Worker {
    /// Waits, blocked, until a job of this pool has ended; `false`, and it has not, if nobody would be left to run it.
    #[cold]
    pub(crate) fn wait_for<T>(&self, job: &mut JoinHandle<T>) -> bool {
        let _blocked = self.block();
        let core = self.core.clone();
        let joiner = Arc::new(Joiner { core, join: Join::new(), parker: Parker::new() });
        // Before it is counted: nobody is who can't be taken out.
        if !job.wake_when_finished(&Waker::from(joiner.clone())) {
            return true;
        }
        if !self.core.idle.begin_join(&joiner.join) {
            return false;
        }
        while !job.is_finished() {
            joiner.parker.park(None);
        }
        // It is seen to have ended a moment before that is said.
        self.core.idle.end_join(&joiner.join);
        true
    }
}
