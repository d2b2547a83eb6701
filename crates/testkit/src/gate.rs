//! A gate for threads.

use std::sync::{Arc, Condvar, Mutex};
use std::thread;

/// Blocks threads until it is opened, once and for all.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    /// Makes a closed gate.
    pub fn closed() -> Self {
        Self::default()
    }

    /// Lets every thread pass from now on.
    pub fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    /// Whether it is open.
    pub fn is_open(&self) -> bool {
        *self.0.0.lock().unwrap()
    }

    /// Blocks until the gate is open.
    pub fn wait(&self) {
        let mut open = self.0.0.lock().unwrap();
        while !*open {
            open = self.0.1.wait(open).unwrap();
        }
    }

    /// Makes a job that waits for the gate.
    pub fn job(&self) -> impl FnOnce() + Send + 'static {
        let gate = self.clone();
        move || gate.wait()
    }
}

/// A failing test opens its gates: the jobs end, the pool can be dropped, and the message is shown.
impl Drop for Gate {
    fn drop(&mut self) {
        if thread::panicking() {
            self.open();
        }
    }
}
