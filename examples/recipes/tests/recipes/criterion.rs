//! criterion's asynchronous benchmarks on a pool: `to_async(OnPool(&pool))`.

use std::future::Future;
use std::time::Duration;

use brigade::Pool;
use criterion::Criterion;
use criterion::async_executor::AsyncExecutor;

/// The benchmark runs on the calling thread, and its `brigade::spawn` and timers on the pool.
struct OnPool<'p>(&'p Pool);

impl AsyncExecutor for OnPool<'_> {
    fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.0.block_on(future)
    }
}

#[test]
fn criterion_measures_futures_of_a_pool() {
    let pool = Pool::new(1);
    let results = tempfile::tempdir().unwrap();
    let mut criterion = Criterion::default()
        .output_directory(results.path())
        .sample_size(10)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(1));
    criterion.bench_function("spawn", |bencher| {
        bencher
            .to_async(OnPool(&pool))
            .iter(|| async { brigade::spawn(async { 42 }).await.unwrap() });
    });
    assert!(pool.wait_idle());
    let metrics = pool.metrics();
    assert!(metrics.returned >= 10 && metrics.returned == metrics.accepted, "{metrics:?}");
}
