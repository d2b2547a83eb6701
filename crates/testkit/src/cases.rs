//! Tests of a claim in several cases.

use std::panic::{self, AssertUnwindSafe};
use std::sync::Mutex;
use std::thread::{self, ThreadId};

/// The present cases of tests, with the threads of the tests.
static CASES: Mutex<Vec<(ThreadId, String)>> = Mutex::new(Vec::new());

/// Makes a claim of a case. A failure names the case, and so does the watchdog.
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

/// The present case of the test on this thread.
pub(crate) fn case_of(test: ThreadId) -> Option<String> {
    let cases = CASES.lock().unwrap();
    cases.iter().find(|(thread, _)| *thread == test).map(|(_, name)| name.clone())
}
