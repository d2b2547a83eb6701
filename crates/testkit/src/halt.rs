//! A place where a thread stops.

use crate::Gate;

/// Stops a thread in a job or a hook until the test releases it.
#[derive(Clone, Debug, Default)]
pub struct Halt {
    reached: Gate,
    released: Gate,
}

impl Halt {
    /// The place itself: returns once it is released.
    pub fn here(&self) {
        self.reached.open();
        self.released.wait();
    }

    /// Makes a job that stops.
    pub fn job(&self) -> impl FnOnce() + Send + 'static {
        let halt = self.clone();
        move || halt.here()
    }

    /// Blocks until a thread has stopped.
    pub fn await_thread(&self) {
        self.reached.wait();
    }

    /// The gate behind which the thread goes on.
    pub fn gate(&self) -> &Gate {
        &self.released
    }

    /// Lets the thread go on.
    pub fn release(&self) {
        self.released.open();
    }
}
