//! Keeps intended panics of tests out of the output.

use std::any::Any;
use std::panic;
use std::sync::Once;

/// Silences panics whose payload is no string, or a string that begins with `expected`.
pub fn silence_expected() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if text(info.payload()).is_some_and(|said| !said.starts_with("expected")) {
                loud(info);
            }
        }));
    });
}

/// The message of a panic, if its payload is a string.
pub fn text(payload: &dyn Any) -> Option<&str> {
    let fixed = payload.downcast_ref::<&'static str>().copied();
    fixed.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
}
