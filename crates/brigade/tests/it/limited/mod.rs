//! Limited views of a pool.

mod basics;
mod ends;
mod futures;
mod line;
mod waits;

use brigade::{JoinHandle, Limited};
use brigade_testkit::Gate;

/// A job that has begun, and ends once the gate is open.
fn held(limited: &Limited, gate: &Gate) -> JoinHandle<()> {
    let (begun, gate) = (Gate::closed(), gate.clone());
    let begins = begun.clone();
    let job = limited.submit(move || {
        begins.open();
        gate.wait();
    });
    begun.wait();
    job
}
