//! What the models of cells share: a thread that runs a job, and a waker of a thread that waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

use brigade_sync::Parker;
use brigade_sync::model::turn;
use brigade_task::{Job, Outcome};
use loom::thread;

/// A waker with a parker, and a count of its wakes.
#[derive(Default)]
pub(crate) struct ParkingWaker {
    pub(crate) parker: Parker,
    pub(crate) wakes: AtomicUsize,
}

impl Wake for ParkingWaker {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::Relaxed);
        self.parker.unpark();
    }
}

/// Runs a job on a thread of its own.
pub(crate) fn run(job: Job) -> thread::JoinHandle<Outcome> {
    thread::spawn(move || {
        turn();
        job.run()
    })
}
