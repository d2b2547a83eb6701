//! Calls of user code whose panic must not unwind into the engine.

use core::any::Any;
use std::panic::{self, AssertUnwindSafe};

/// Drops a value and contains a panic of its drop.
///
/// The panic's payload is leaked unless it is a message: its drop might panic again, without end
/// (rust-lang/rust#86027). The panic hook has reported the panic.
pub fn drop_contained<T>(value: T) {
    contain(|| drop(value));
}

/// Calls user code and contains its panic, whose payload is leaked unless it is a message.
pub fn contain(call: impl FnOnce()) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(call)) {
        dispose(payload);
    }
}

/// Drops a message, and leaks any other payload.
#[cold]
fn dispose(payload: Box<dyn Any + Send>) {
    if !payload.is::<&'static str>() && !payload.is::<String>() {
        core::mem::forget(payload);
    }
}
