//! Tests that make the same claim of several cases.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::thread::{self, ThreadId};

/// The cases that tests are at, with the threads of these tests.
static CASES: Mutex<Vec<(ThreadId, String)>> = Mutex::new(Vec::new());

/// Makes a claim of one case. A failure names the case, and so does the watchdog.
pub fn case(name: &str, claim: impl FnOnce()) {
    let me = thread::current().id();
    CASES.lock().unwrap().push((me, name.to_owned()));
    let result = panic::catch_unwind(AssertUnwindSafe(claim));
    CASES.lock().unwrap().retain(|(thread, _)| *thread != me);
    if let Err(payload) = result {
        eprintln!("failed with {name}");
        panic::resume_unwind(payload);
    }
}

/// The case that the test on this thread is at.
pub(crate) fn case_of(test: ThreadId) -> Option<String> {
    let cases = CASES.lock().unwrap();
    cases.iter().find(|(thread, _)| *thread == test).map(|(_, name)| name.clone())
}
