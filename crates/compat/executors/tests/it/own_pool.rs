//! Executors that programs write themselves, and libraries that take any.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use brigade_testkit::test;
use executors::crossbeam_workstealing_pool::small_pool;
use executors::run_now::RunNowExecutor;
use executors::{CanExecute, Executor};

/// Counts what it passes on.
#[derive(Clone)]
struct Counting<E>(E, Arc<AtomicUsize>);

impl<E: CanExecute> CanExecute for Counting<E> {
    fn execute_job(&self, job: Box<dyn FnOnce() + Send + 'static>) {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.execute_job(job);
    }
}

/// Only what has no default.
impl<E: Executor> Executor for Counting<E> {
    fn shutdown_async(&self) {
        self.0.shutdown_async();
    }

    fn shutdown_borrowed(&self) -> Result<(), String> {
        self.0.shutdown_borrowed()
    }

    #[cfg(feature = "produce-metrics")]
    fn register_metrics(&self) {
        self.0.register_metrics();
    }
}

/// A library's function.
fn sum_of_squares<E: Executor>(executor: &E, numbers: std::ops::Range<u64>) -> u64 {
    let (sender, squares) = mpsc::channel();
    for number in numbers {
        let sender = sender.clone();
        executor.execute(move || sender.send(number * number).unwrap());
    }
    drop(sender);
    squares.iter().sum()
}

#[test]
fn a_custom_executor_needs_three_methods() {
    fn check<E: Executor>(inner: E) {
        let executor = Counting(inner, Arc::default());
        assert_eq!(sum_of_squares(&executor, 0..10), 285);
        assert_eq!(executor.1.load(Ordering::SeqCst), 10);
        assert_eq!(executor.shutdown(), Ok(()));
    }
    check(small_pool(2));
    check(RunNowExecutor::new());
}
