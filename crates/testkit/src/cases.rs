//! Tests that make the same claim of several cases.

use std::panic::{self, AssertUnwindSafe};

/// Makes a claim of one case; a failure names it.
pub fn case(name: &str, claim: impl FnOnce()) {
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(claim)) {
        eprintln!("failed with {name}");
        panic::resume_unwind(payload);
    }
}
