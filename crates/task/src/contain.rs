//! Calls of user code whose panic must not unwind into the engine.

use core::any::Any;
use core::mem;
use std::panic::{self, AssertUnwindSafe};

/// Drops a value and contains a panic of the drop.
///
/// The panic's payload is leaked unless it is a message: the drop might panic again, without end
/// (rust-lang/rust#86027). The panic hook has reported the panic.
pub fn drop_contained<T>(value: T) {
    if let Err(payload) = catch_drop(value) {
        dispose(payload);
    }
}

/// Drops a value, and returns the payload of a panic of the drop.
///
/// # Errors
/// The payload.
pub(crate) fn catch_drop<T>(value: T) -> Result<(), Box<dyn Any + Send>> {
    if const { !mem::needs_drop::<T>() } {
        return Ok(());
    }
    let mut value = Some(value);
    catch(&mut || value = None)
}

/// Calls user code and contains a panic, whose payload is leaked unless it is a message.
pub fn contain(call: impl FnOnce()) {
    let mut call = Some(call);
    let called = catch(&mut || {
        if let Some(call) = call.take() {
            call();
        }
    });
    if let Err(payload) = called {
        dispose(payload);
    }
}

/// Calls user code, and returns the payload of a panic. The code is not a type parameter, so there is a single copy of this
/// function.
#[inline(never)]
pub(crate) fn catch(call: &mut dyn FnMut()) -> Result<(), Box<dyn Any + Send>> {
    panic::catch_unwind(AssertUnwindSafe(call))
}

/// Drops a message, and leaks any other payload.
#[cold]
pub(crate) fn dispose(payload: Box<dyn Any + Send>) {
    if !payload.is::<&'static str>() && !payload.is::<String>() {
        core::mem::forget(payload);
    }
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use std::panic::resume_unwind;

    use super::contain;

    /// Panics when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            resume_unwind(Box::new("a payload's drop"));
        }
    }

    #[test]
    fn a_payload_that_panics_is_not_dropped() {
        contain(|| resume_unwind(Box::new(Bomb)));
    }
}
