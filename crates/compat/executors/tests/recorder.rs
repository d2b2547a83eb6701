//! The metrics of executors, read by a recorder of the crate `metrics`.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, mpsc};

use brigade_testkit::{Gate, test};
use executors::run_now::RunNowExecutor;
use executors::threadpool_executor::ThreadPoolExecutor;
use executors::{Executor, FuturesExecutor};
use executors::{crossbeam_channel_pool, crossbeam_workstealing_pool};
use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, Key, KeyName, Metadata, Recorder, SharedString,
    Unit,
};

/// Values by name and labels, and descriptions by name.
#[derive(Default)]
struct Seen {
    values: BTreeMap<String, f64>,
    described: Vec<String>,
}

#[derive(Clone, Default)]
struct Recording(Arc<Mutex<Seen>>);

/// One counter or gauge.
struct Value(Recording, String);

impl Value {
    fn add(&self, more: f64) {
        *self.0.0.lock().unwrap().values.entry(self.1.clone()).or_default() += more;
    }
}

impl CounterFn for Value {
    fn increment(&self, value: u64) {
        self.add(value as f64);
    }

    fn absolute(&self, _value: u64) {
        unreachable!("jobs are counted one by one");
    }
}

impl GaugeFn for Value {
    fn increment(&self, value: f64) {
        self.add(value);
    }

    fn decrement(&self, value: f64) {
        self.add(-value);
    }

    fn set(&self, _value: f64) {
        unreachable!("jobs are counted one by one");
    }
}

impl Recording {
    fn value(&self, key: &Key) -> Arc<Value> {
        let labels = key.labels().map(|label| format!(" {}={}", label.key(), label.value()));
        Arc::new(Value(self.clone(), format!("{}{}", key.name(), labels.collect::<String>())))
    }

    fn describe(&self, key: KeyName) {
        self.0.lock().unwrap().described.push(key.as_str().to_owned());
    }
}

impl Recorder for Recording {
    fn describe_counter(&self, key: KeyName, _unit: Option<Unit>, _text: SharedString) {
        self.describe(key);
    }

    fn describe_gauge(&self, key: KeyName, _unit: Option<Unit>, _text: SharedString) {
        self.describe(key);
    }

    fn describe_histogram(&self, _key: KeyName, _unit: Option<Unit>, _text: SharedString) {
        unreachable!("there is none");
    }

    fn register_counter(&self, key: &Key, _metadata: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.value(key))
    }

    fn register_gauge(&self, key: &Key, _metadata: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.value(key))
    }

    fn register_histogram(&self, _key: &Key, _metadata: &Metadata<'_>) -> Histogram {
        unreachable!("there is none");
    }
}

/// The recorder of the process.
static RECORDING: LazyLock<Recording> = LazyLock::new(|| {
    let recording = Recording::default();
    assert!(metrics::set_global_recorder(recording.clone()).is_ok());
    recording
});

/// The sum over the threads, or the one value without a thread.
fn sum(name: &str, executor: &str) -> f64 {
    let seen = RECORDING.0.lock().unwrap();
    let (alone, by_thread) =
        (format!("{name} executor={executor}"), format!("{name} executor={executor} thread_id="));
    let is_one = |key: &&String| **key == alone || key.starts_with(&by_thread);
    seen.values.iter().filter(|(key, _)| is_one(key)).map(|(_, value)| value).sum()
}

fn executed(executor: &str) -> f64 {
    sum("executors.jobs_executed", executor)
}

fn queued(executor: &str) -> f64 {
    sum("executors.jobs_queued", executor)
}

/// Jobs that return, one that panics and some that wait meanwhile, on one thread.
fn counts(pool: &impl Executor, label: &str) {
    pool.register_metrics();
    let (gate, (started, starts)) = (Gate::closed(), mpsc::channel());
    let wait = gate.clone();
    pool.execute(move || {
        started.send(()).unwrap();
        wait.wait();
    });
    starts.recv().unwrap();
    (0..9).for_each(|_| pool.execute(|| ()));
    pool.execute(|| panic!("expected"));
    assert_eq!((executed(label), queued(label)), (0.0, 10.0), "{label}");
    gate.open();
    assert_eq!(pool.shutdown_borrowed(), Ok(()));
    assert_eq!((executed(label), queued(label)), (11.0, 0.0), "{label}");
    pool.execute(|| ());
    assert_eq!((executed(label), queued(label)), (11.0, 0.0), "{label}: it is ignored");
}

#[test]
fn each_executor_counts_finished_and_queued_jobs() {
    LazyLock::force(&RECORDING);
    counts(&crossbeam_workstealing_pool::small_pool(1), "crossbeam_workstealing_pool");
    counts(&crossbeam_channel_pool::ThreadPool::new(1), "crossbeam_channel_pool");
    counts(&ThreadPoolExecutor::new(1), std::any::type_name::<ThreadPoolExecutor>());

    let label = std::any::type_name::<RunNowExecutor>();
    let executor = RunNowExecutor::new();
    executor.register_metrics();
    executor.execute(|| ());
    assert_eq!(executed(label), 1.0);

    // Each poll of a future is a job.
    let pool = crossbeam_channel_pool::ThreadPool::new(2);
    futures::executor::block_on(pool.spawn(async {}));
    assert_eq!(pool.shutdown(), Ok(()));
    assert_eq!((executed("crossbeam_channel_pool"), queued("crossbeam_channel_pool")), (12.0, 0.0));

    let seen = RECORDING.0.lock().unwrap();
    assert!(seen.values.keys().all(|key| {
        key.contains("thread_id=") == (key.contains("executed") && key.contains("_pool"))
            || key.contains("threadpool_executor")
    }));
    let mut described = seen.described.clone();
    described.sort_unstable();
    assert_eq!(described[..4], ["executors.jobs_executed"; 4]);
    assert_eq!(described[4..], ["executors.jobs_queued"; 3]);
}
