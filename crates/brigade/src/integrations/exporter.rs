//! The counters of a pool, for the facade of the crate `metrics`.

use core::fmt;

use ::metrics::{Label, Unit, counter, describe_counter, describe_gauge, gauge};

use crate::handle::Handle;
use crate::values::{Metrics, WorkerMetrics};

/// A metric: its name, its description, and its value.
type Metric<T> = (&'static str, &'static str, fn(&T) -> u64);

const COUNTERS: [Metric<Metrics>; 12] = [
    ("brigade_jobs_accepted_total", "Jobs accepted", |pool| pool.accepted),
    ("brigade_jobs_executed_total", "Jobs that returned or panicked", |pool| {
        pool.returned + pool.panicked
    }),
    ("brigade_jobs_panicked_total", "Jobs that panicked", |pool| pool.panicked),
    ("brigade_jobs_cancelled_total", "Jobs dropped before their end", |pool| pool.cancelled),
    ("brigade_jobs_cancelled_asked_total", "Jobs cancelled by a handle", |pool| pool.causes.asked),
    ("brigade_jobs_cancelled_deadline_total", "Jobs cancelled too late", |pool| {
        pool.causes.deadline
    }),
    ("brigade_jobs_cancelled_ended_total", "Jobs cancelled by the pool's end", |pool| {
        pool.causes.ended
    }),
    ("brigade_jobs_evicted_total", "Jobs cancelled for want of room", |pool| pool.causes.evicted),
    ("brigade_jobs_rejected_total", "Jobs returned to their submitters", |pool| pool.rejected),
    ("brigade_steals_total", "Steals of workers from each other", |pool| sum(pool, |of| of.stolen)),
    ("brigade_parks_total", "How often workers fell asleep", |pool| sum(pool, |of| of.parks)),
    ("brigade_wakes_total", "How often workers were woken", |pool| sum(pool, |of| of.wakes)),
];

const GAUGES: [Metric<Metrics>; 8] = [
    ("brigade_jobs_queued", "Jobs that are queued", |pool| pool.queued),
    ("brigade_jobs_queued_high", "High jobs that are queued", |pool| pool.queued_high),
    ("brigade_jobs_queued_low", "Low jobs that are queued", |pool| pool.queued_low),
    ("brigade_jobs_queued_limited", "Jobs that wait for a `Limited`", |pool| pool.queued_limited),
    ("brigade_jobs_running", "Jobs that run, and pending futures", |pool| pool.running),
    ("brigade_threads", "Threads", |pool| pool.threads as u64),
    ("brigade_threads_busy", "Threads that have a job", |pool| pool.busy_threads as u64),
    ("brigade_threads_parked", "Threads that sleep", |pool| pool.idle_threads as u64),
];

const OF_WORKER: [Metric<WorkerMetrics>; 5] = [
    ("brigade_worker_jobs_executed_total", "Jobs run", |worker| worker.run),
    ("brigade_worker_steals_total", "Successful steals", |worker| worker.stolen),
    ("brigade_worker_parks_total", "How often it fell asleep", |worker| worker.parks),
    ("brigade_worker_wakes_total", "How often it was woken", |worker| worker.wakes),
    ("brigade_worker_panics_total", "Panics caught on it", |worker| worker.panics),
];

/// How long a worker has not slept, in microseconds.
const BUSY: &str = "brigade_worker_busy_microseconds_total";
const QUEUED: &str = "brigade_worker_jobs_queued";

/// The times of jobs.
#[cfg(feature = "histograms")]
const TIMES: [(&str, &str); 2] = [
    ("brigade_job_waiting_seconds", "From the acceptance of a job to its start"),
    ("brigade_job_running_seconds", "From the start of a job to its end"),
];

/// The exported quantiles.
#[cfg(feature = "histograms")]
const QUANTILES: [(f64, &str); 4] = [(0.5, "0.5"), (0.9, "0.9"), (0.99, "0.99"), (1.0, "1")];

fn sum(pool: &Metrics, count: fn(&WorkerMetrics) -> u64) -> u64 {
    pool.workers.iter().map(count).sum()
}

/// Exports the [metrics](Handle::metrics) of a pool by the facade of the crate `metrics`, to the recorder installed
/// by the program (for Prometheus, StatsD, …).
///
/// The counters of a pool are always on, and the recorder is not called while jobs run. [`export`](Self::export)
/// reads the pool's counters and sets the recorder's: call it for each scrape, or every few seconds. Exporters for
/// processes and for other runtimes work in the same way. To call the recorder for each job would cost more than
/// most jobs.
///
/// | name | is | of |
/// |---|---|---|
/// | `brigade_jobs_accepted_total`, `…_executed_total`, `…_panicked_total`, `…_cancelled_total`, `…_rejected_total` | counter | jobs |
/// | `brigade_jobs_cancelled_asked_total`, `brigade_jobs_cancelled_deadline_total`, `brigade_jobs_evicted_total`, `brigade_jobs_cancelled_ended_total` | counter | the cancelled jobs, by [cause](crate::Cause) |
/// | `brigade_steals_total`, `brigade_parks_total`, `brigade_wakes_total` | counter | all workers |
/// | `brigade_jobs_queued`, `…_queued_high`, `…_queued_low`, `…_queued_limited`, `brigade_jobs_running` | gauge | jobs now |
/// | `brigade_threads`, `brigade_threads_busy`, `brigade_threads_parked` | gauge | threads now |
/// | `brigade_worker_jobs_executed_total`, `…_steals_total`, `…_parks_total`, `…_wakes_total`, `…_panics_total`, `…_jobs_queued` | as above | each worker, with [`per_worker`](Self::per_worker) |
/// | `brigade_worker_busy_microseconds_total` | counter | the same, if the pool [observes its jobs](crate::Builder::observe_jobs) |
/// | `brigade_job_waiting_seconds`, `brigade_job_running_seconds` | gauge | the label `quantile`: 0.5, 0.9, 0.99, 1; if the pool records [histograms](crate::Builder::histograms) |
///
/// Executed jobs are jobs that returned or panicked. Each metric has the label `pool`, the
/// [name](crate::Builder::pool_name) of the pool; metrics of a worker have the label `worker`, the worker's index.
///
/// A call sets the recorder's counters to the pool's counters. A counter never falls, so of pools with the same name
/// and labels it shows the largest count, and a gauge shows the value of the pool exported last. So the pools of a
/// program need different names, or different [`label`](Self::label)s.
///
/// ```
/// use brigade::{MetricsExporter, Pool};
/// use std::time::Duration;
/// let pool = Pool::builder().threads(2).pool_name("thumbnails").build()?;
/// let exporter = MetricsExporter::new(&pool).per_worker();
/// exporter.describe();
/// exporter.export(); // Now, and from now on by the pool itself:
/// let timer = pool.job().every(Duration::from_secs(5)).execute(move || exporter.export())?;
/// assert_eq!(timer.ticks(), 0);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct MetricsExporter {
    pool: Handle,
    labels: Vec<Label>,
    has_workers: bool,
}

impl MetricsExporter {
    /// Returns an exporter for a pool. The exporter does not keep the pool alive.
    pub fn new(pool: impl Into<Handle>) -> Self {
        let pool = pool.into();
        let labels = vec![Label::new("pool", pool.metrics().pool.to_string())];
        Self { pool, labels, has_workers: false }
    }

    /// Exports the counters of each worker too.
    #[must_use = "the exporter with that is returned"]
    pub fn per_worker(mut self) -> Self {
        self.has_workers = true;
        self
    }

    /// Adds a label to all exported metrics.
    ///
    /// ```
    /// use brigade::{MetricsExporter, Pool};
    /// let pool = Pool::new(1);
    /// MetricsExporter::new(&pool).label("service", "mail").export();
    /// # assert!(!pool.metrics().is_closed);
    /// ```
    #[must_use = "the exporter with the label is returned"]
    pub fn label(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.labels.push(Label::new(key, value.into()));
        self
    }

    /// Tells the recorder the units and the descriptions of the metrics set by [`export`](Self::export).
    pub fn describe(&self) {
        for (name, about, _) in COUNTERS {
            describe_counter!(name, Unit::Count, about);
        }
        for (name, about, _) in GAUGES {
            describe_gauge!(name, Unit::Count, about);
        }
        if self.has_workers {
            for (name, about, _) in OF_WORKER {
                describe_counter!(name, Unit::Count, about);
            }
            describe_counter!(BUSY, Unit::Microseconds, "How long it has not slept");
            describe_gauge!(QUEUED, Unit::Count, "Jobs on its own queue");
        }
        #[cfg(feature = "histograms")]
        if self.pool.histograms().is_some() {
            for (name, about) in TIMES {
                describe_gauge!(name, Unit::Seconds, about);
            }
        }
    }

    /// Reads the counters of the pool, and sets the recorder's counters and gauges.
    ///
    /// Costs a few microseconds. Once the pool no longer exists, its gauges are set to 0. Its counters, and the gauges
    /// of workers and times, stay as they are.
    pub fn export(&self) {
        let metrics = self.pool.metrics();
        for (name, _, value) in COUNTERS {
            counter!(name, self.labels.iter()).absolute(value(&metrics));
        }
        for (name, _, value) in GAUGES {
            gauge!(name, self.labels.iter()).set(value(&metrics) as f64);
        }
        if self.has_workers {
            for (index, worker) in metrics.workers.iter().enumerate() {
                self.export_worker(index, worker);
            }
        }
        self.export_times();
    }

    fn export_worker(&self, index: usize, worker: &WorkerMetrics) {
        let labels = self.with("worker", index.to_string());
        for (name, _, value) in OF_WORKER {
            counter!(name, labels.iter()).absolute(value(worker));
        }
        if let Some(busy) = worker.busy {
            counter!(BUSY, labels.iter()).absolute(busy.as_micros() as u64);
        }
        gauge!(QUEUED, labels.iter()).set(worker.queued as f64);
    }

    /// The common labels, and an additional label.
    fn with(&self, key: &'static str, value: String) -> Vec<Label> {
        let more = [Label::new(key, value)];
        self.labels.iter().cloned().chain(more).collect()
    }

    #[cfg(feature = "histograms")]
    fn export_times(&self) {
        let Some(times) = self.pool.histograms() else { return };
        for (part, quantile) in QUANTILES {
            let labels = self.with("quantile", quantile.to_owned());
            for ((name, _), times) in TIMES.into_iter().zip([&times.waiting, &times.running]) {
                gauge!(name, labels.iter()).set(times.quantile(part).as_secs_f64());
            }
        }
    }

    #[cfg(not(feature = "histograms"))]
    fn export_times(&self) {}
}

impl fmt::Debug for MetricsExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsExporter").field("labels", &self.labels).finish_non_exhaustive()
    }
}
