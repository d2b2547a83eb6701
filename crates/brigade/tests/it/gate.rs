//! A gate that jobs wait at, so that a test decides what is running and what is queued.

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

use brigade::{Handle, Pool};

use crate::watchdog::eventually;

/// Closed at first; opened once and for all.
#[derive(Clone, Default)]
pub(crate) struct Gate(Arc<(Mutex<bool>, Condvar)>);

impl Gate {
    pub(crate) fn closed() -> Self {
        Self::default()
    }

    pub(crate) fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    pub(crate) fn wait(&self) {
        let mut open = self.0.0.lock().unwrap();
        while !*open {
            open = self.0.1.wait(open).unwrap();
        }
    }

    /// Opens as soon as `pool` takes nothing more: in the middle of its shutdown.
    pub(crate) fn open_once_closed(&self, pool: Handle) {
        let gate = self.clone();
        thread::spawn(move || {
            eventually("the pool closes", || pool.is_closed());
            gate.open();
        });
    }
}

/// A test that fails lets its jobs go, so that its pool can end and the message is shown.
impl Drop for Gate {
    fn drop(&mut self) {
        if thread::panicking() {
            self.open();
        }
    }
}

/// Keeps every worker of `pool` busy until the gate opens; returns once all of them are.
pub(crate) fn occupy(pool: &Pool, gate: &Gate) {
    let (started, starts): (_, Receiver<()>) = mpsc::channel();
    for _ in 0..pool.threads() {
        let (gate, started) = (gate.clone(), started.clone());
        pool.execute(move || {
            started.send(()).unwrap();
            gate.wait();
        });
    }
    for _ in 0..pool.threads() {
        starts.recv().unwrap();
    }
}
