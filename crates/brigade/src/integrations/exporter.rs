//! The counters of a pool, for the facade of the crate `metrics`.

use core::fmt;
use std::collections::BTreeMap;
use std::sync::Arc;

use brigade_sync::Mutex;

use ::metrics::{Label, Unit, counter, describe_counter, describe_gauge, gauge};

use crate::handle::Handle;
use crate::values::{Metrics, WorkerMetrics};

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
/// | `brigade_jobs_accepted_total`, `…_executed_total`, `…_panicked_total`, `…_cancelled_total`, `…_evicted_total`, `…_rejected_total` | counter | jobs |
/// | `brigade_steals_total`, `brigade_parks_total`, `brigade_wakes_total` | counter | all workers |
/// | `brigade_jobs_queued`, `…_queued_high`, `…_queued_low`, `brigade_jobs_running` | gauge | jobs now |
/// | `brigade_threads`, `brigade_threads_busy`, `brigade_threads_parked` | gauge | threads now |
/// | `brigade_worker_jobs_executed_total`, `…_steals_total`, `…_parks_total`, `…_wakes_total`, `…_panics_total`, `…_jobs_queued` | as above | each worker, with [`per_worker`](Self::per_worker) |
/// | `brigade_worker_busy_microseconds_total` | counter | the same, if the pool [observes its jobs](crate::Builder::observe_jobs) |
/// | `brigade_job_waiting_seconds`, `brigade_job_running_seconds` | gauge | the label `quantile`: 0.5, 0.9, 0.99, 1; if the pool records [histograms](crate::Builder::histograms) |
///
/// Executed jobs are jobs that returned or panicked. Each metric has the label `pool`, the
/// [name](crate::Builder::pool_name) of the pool; metrics of a worker have the label `worker`, the worker's index.
///
/// Use a single exporter for all exports of a pool: a call increases the recorder's counters by the pool's increase
/// since the exporter's last call, and the first call by the full counts. So the counters of pools with the same
/// name and labels are added up. A gauge is set to the value of the pool exported last. So pools that exist at the
/// same time need different names, or different [`label`](Self::label)s.
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
    last: Mutex<Last>,
}

/// The values exported last.
#[derive(Default)]
struct Last {
    /// The counters of the pool, and of each worker by its index.
    counters: BTreeMap<(Option<usize>, &'static str), u64>,
    /// The number of workers with gauges.
    workers: usize,
    /// Whether times were exported.
    #[cfg(feature = "histograms")]
    times: bool,
}

/// The exported quantiles.
#[cfg(feature = "histograms")]
const QUANTILES: [(f64, &str); 4] = [(0.5, "0.5"), (0.9, "0.9"), (0.99, "0.99"), (1.0, "1")];

impl MetricsExporter {
    /// Returns an exporter for a pool. The exporter does not keep the pool alive.
    pub fn new(pool: impl Into<Handle>) -> Self {
        let pool = pool.into();
        let name: Arc<str> = pool.pool_name().unwrap_or_default();
        let labels = vec![Label::new("pool", name.to_string())];
        Self { pool, labels, has_workers: false, last: Mutex::default() }
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
        for (name, what) in [
            ("brigade_jobs_accepted_total", "Jobs accepted"),
            ("brigade_jobs_executed_total", "Jobs that returned or panicked"),
            ("brigade_jobs_panicked_total", "Jobs that panicked"),
            ("brigade_jobs_cancelled_total", "Jobs dropped before they started or were ready"),
            ("brigade_jobs_evicted_total", "Jobs cancelled because the queue was full"),
            ("brigade_jobs_rejected_total", "Jobs returned to their submitters"),
            ("brigade_steals_total", "Successful steals of workers from each other"),
            ("brigade_parks_total", "How often workers fell asleep"),
            ("brigade_wakes_total", "How often workers were woken"),
        ] {
            describe_counter!(name, Unit::Count, what);
        }
        for (name, what) in [
            ("brigade_jobs_queued", "Jobs that are queued"),
            ("brigade_jobs_queued_high", "High jobs that are queued"),
            ("brigade_jobs_queued_low", "Low jobs that are queued"),
            ("brigade_jobs_running", "Jobs that run, and pending futures"),
            ("brigade_threads", "Threads"),
            ("brigade_threads_busy", "Threads that have a job"),
            ("brigade_threads_parked", "Threads that sleep"),
        ] {
            describe_gauge!(name, Unit::Count, what);
        }
        if self.has_workers {
            describe_counter!("brigade_worker_jobs_executed_total", Unit::Count, "Jobs run");
            describe_counter!("brigade_worker_steals_total", Unit::Count, "Successful steals");
            describe_counter!(
                "brigade_worker_parks_total",
                Unit::Count,
                "How often it fell asleep"
            );
            describe_counter!("brigade_worker_wakes_total", Unit::Count, "How often it was woken");
            describe_counter!("brigade_worker_panics_total", Unit::Count, "Panics caught on it");
            let busy = "How long it has not slept";
            describe_counter!("brigade_worker_busy_microseconds_total", Unit::Microseconds, busy);
            describe_gauge!("brigade_worker_jobs_queued", Unit::Count, "Jobs on its own queue");
        }
        #[cfg(feature = "histograms")]
        if self.pool.histograms().is_some() {
            let waiting = "From the acceptance of a job to its start";
            describe_gauge!("brigade_job_waiting_seconds", Unit::Seconds, waiting);
            let running = "From the start of a job to its end";
            describe_gauge!("brigade_job_running_seconds", Unit::Seconds, running);
        }
    }

    /// Reads the counters of the pool, increases the recorder's counters by the difference, and sets the recorder's
    /// gauges.
    ///
    /// Costs a few microseconds. Once the pool no longer exists, gauges are set to 0, and counters stay as they are.
    pub fn export(&self) {
        let Metrics {
            accepted,
            returned,
            panicked,
            cancelled,
            evicted,
            rejected,
            queued,
            queued_high,
            queued_low,
            running,
            threads,
            idle_threads,
            busy_threads,
            is_closed: _,
            workers,
        } = self.pool.metrics();
        let sum = |pick: fn(&WorkerMetrics) -> u64| workers.iter().map(pick).sum();
        for (name, value) in [
            ("brigade_jobs_accepted_total", accepted),
            ("brigade_jobs_executed_total", returned + panicked),
            ("brigade_jobs_panicked_total", panicked),
            ("brigade_jobs_cancelled_total", cancelled),
            ("brigade_jobs_evicted_total", evicted),
            ("brigade_jobs_rejected_total", rejected),
            ("brigade_steals_total", sum(|worker| worker.stolen)),
            ("brigade_parks_total", sum(|worker| worker.parks)),
            ("brigade_wakes_total", sum(|worker| worker.wakes)),
        ] {
            self.count(None, &self.labels, name, value);
        }
        for (name, value) in [
            ("brigade_jobs_queued", queued as f64),
            ("brigade_jobs_queued_high", queued_high as f64),
            ("brigade_jobs_queued_low", queued_low as f64),
            ("brigade_jobs_running", running as f64),
            ("brigade_threads", threads as f64),
            ("brigade_threads_busy", busy_threads as f64),
            ("brigade_threads_parked", idle_threads as f64),
        ] {
            gauge!(name, self.labels.iter()).set(value);
        }
        if self.has_workers {
            self.export_workers(&workers);
        }
        self.export_times();
    }

    /// Increases a counter by the difference to its last value.
    fn count(&self, worker: Option<usize>, labels: &[Label], name: &'static str, value: u64) {
        let more = {
            let mut last = self.last.lock();
            let last = last.counters.entry((worker, name)).or_default();
            // The counters of a pool that no longer exists are 0.
            let more = value.saturating_sub(*last);
            *last += more;
            more
        };
        counter!(name, labels.iter()).increment(more);
    }

    /// Exports the current workers, and zeros for former workers.
    fn export_workers(&self, workers: &[WorkerMetrics]) {
        let count = {
            let mut last = self.last.lock();
            last.workers = last.workers.max(workers.len());
            last.workers
        };
        (0..count).for_each(|index| {
            self.export_worker(index, workers.get(index).copied().unwrap_or_default());
        });
    }

    fn export_worker(&self, index: usize, worker: WorkerMetrics) {
        let WorkerMetrics { run, stolen, parks, wakes, panics, queued, busy } = worker;
        let labels = self.with("worker", index.to_string());
        for (name, value) in [
            ("brigade_worker_jobs_executed_total", run),
            ("brigade_worker_steals_total", stolen),
            ("brigade_worker_parks_total", parks),
            ("brigade_worker_wakes_total", wakes),
            ("brigade_worker_panics_total", panics),
        ] {
            self.count(Some(index), &labels, name, value);
        }
        if let Some(busy) = busy {
            let name = "brigade_worker_busy_microseconds_total";
            self.count(Some(index), &labels, name, busy.as_micros() as u64);
        }
        gauge!("brigade_worker_jobs_queued", labels.iter()).set(queued as f64);
    }

    /// The common labels, and an additional label.
    fn with(&self, key: &'static str, value: String) -> Vec<Label> {
        let more = [Label::new(key, value)];
        self.labels.iter().cloned().chain(more).collect()
    }

    #[cfg(feature = "histograms")]
    fn export_times(&self) {
        let times = self.pool.histograms();
        let had_times = core::mem::replace(&mut self.last.lock().times, times.is_some());
        if times.is_none() && !had_times {
            return;
        }
        for (part, name) in QUANTILES {
            let labels = self.with("quantile", name.to_owned());
            let [waiting, running] = times.as_ref().map_or([0.0; 2], |times| {
                [&times.waiting, &times.running].map(|times| times.quantile(part).as_secs_f64())
            });
            gauge!("brigade_job_waiting_seconds", labels.iter()).set(waiting);
            gauge!("brigade_job_running_seconds", labels.iter()).set(running);
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
