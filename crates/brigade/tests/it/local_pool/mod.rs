//! `LocalPool`: a pool that its owner runs.

mod ending;
#[cfg(feature = "test-util")]
mod paused;
mod running;
mod waiting;

use std::sync::{Arc, Mutex};

use brigade::LocalPool;

fn local_pool() -> LocalPool {
    LocalPool::new().unwrap()
}

/// What has run, in order.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u32>>>);

impl Log {
    fn note(&self, number: u32) {
        self.0.lock().unwrap().push(number);
    }

    /// A job that notes a number.
    fn job(&self, number: u32) -> impl FnOnce() + Send + 'static {
        let log = self.clone();
        move || log.note(number)
    }

    fn take(&self) -> Vec<u32> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}
