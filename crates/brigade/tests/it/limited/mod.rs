//! Limited views of a pool.

mod basics;
mod ends;
mod futures;
mod line;
mod waits;

use brigade::{JoinHandle, Limited};
use brigade_testkit::Gate;

use crate::support::busy::held_by;

/// A job that has begun, and ends once the gate is open.
fn held(limited: &Limited, gate: &Gate) -> JoinHandle<()> {
    held_by(gate, |job| limited.submit(job))
}
