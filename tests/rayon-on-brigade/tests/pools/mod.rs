//! The pools that each test runs in.

use brigade_testkit::Watchdog;
use rayon::ThreadPoolBuilder;

/// Calls a test in pools of 1, 2 and 8 threads, and outside of them.
#[allow(dead_code)]
pub fn in_each(test: impl Fn() + Sync) {
    let _watchdog = Watchdog::start(20);
    for threads in [1, 2, 8] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(&test);
    }
    test();
}

/// The number of the panic payload, which is that of `panic_any`.
#[allow(dead_code)]
pub fn payload_of<R>(call: impl FnOnce() -> R) -> u32 {
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    let payload = result.err().expect("it panics");
    *payload.downcast_ref().expect("a number")
}
