//! Pools whose workers are all busy until the test releases them.

use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::Duration;

use brigade::{Handle, JoinHandle, Pool, Shutdown, current_worker_index};
use brigade_testkit::{Gate, eventually};

/// Keeps every worker of `pool` busy until the gate opens; returns once all of them are.
pub(crate) fn occupy(pool: &Pool, gate: &Gate) {
    let (started, starts): (_, Receiver<()>) = mpsc::channel();
    for _ in 0..*pool.size().end() {
        let (gate, started) = (gate.clone(), started.clone());
        pool.execute(move || {
            started.send(()).unwrap();
            gate.wait();
        });
    }
    for _ in 0..*pool.size().end() {
        starts.recv().unwrap();
    }
}

/// Keeps one worker of `pool` busy until the gate opens; returns its index.
pub(crate) fn occupy_one(pool: &Pool, gate: &Gate) -> usize {
    let (begun, begins) = mpsc::channel();
    let gate = gate.clone();
    pool.execute(move || {
        begun.send(current_worker_index().unwrap()).unwrap();
        gate.wait();
    });
    begins.recv().unwrap()
}

/// A job that has begun, and ends once the gate is open.
pub(crate) fn held(pool: &Pool, gate: &Gate) -> JoinHandle<()> {
    held_by(gate, |job| pool.submit(job))
}

/// As `held`, submitted by a closure.
pub(crate) fn held_by(
    gate: &Gate,
    submit: impl FnOnce(Box<dyn FnOnce() + Send>) -> JoinHandle<()>,
) -> JoinHandle<()> {
    let (begun, gate) = (Gate::closed(), gate.clone());
    let begins = begun.clone();
    let job = submit(Box::new(move || {
        begins.open();
        gate.wait();
    }));
    begun.wait();
    job
}

/// Opens the gate as soon as `pool` accepts nothing more: in the middle of its shutdown.
pub(crate) fn open_once_closed(gate: &Gate, pool: Handle) {
    let gate = gate.clone();
    thread::spawn(move || {
        eventually("the pool closes", || pool.metrics().is_closed);
        gate.open();
    });
}

/// Detaches a pool, which finishes by itself.
pub(crate) fn let_go(pool: Pool) {
    pool.shutdown(Shutdown::Drain.timeout(Duration::ZERO));
    drop(pool);
}
