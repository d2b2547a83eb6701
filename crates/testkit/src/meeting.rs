//! A barrier with a time limit.

use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Blocks a number of threads until all of them have arrived.
#[derive(Clone, Debug)]
pub struct Meeting {
    there: Arc<(Mutex<usize>, Condvar)>,
    invited: usize,
}

impl Meeting {
    /// Makes a meeting of `invited` threads.
    pub fn of(invited: usize) -> Self {
        Self { there: Arc::default(), invited }
    }

    /// Waits for all others, 60 seconds at most; `true` if they arrived.
    pub fn attend(&self) -> bool {
        let (count, changed) = &*self.there;
        let mut there = count.lock().unwrap();
        *there += 1;
        changed.notify_all();
        let some_missing = |there: &mut usize| *there < self.invited;
        let limit = Duration::from_secs(60);
        !changed.wait_timeout_while(there, limit, some_missing).unwrap().1.timed_out()
    }

    /// Makes a job that attends.
    pub fn job(&self) -> impl FnOnce() -> bool + Send + 'static {
        let meeting = self.clone();
        move || meeting.attend()
    }
}
