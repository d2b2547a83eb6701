//! Histograms, the exporter for `metrics`, the spans of `tracing`, and traces for a viewer. The subscriber is the process's, so this is a binary of its
//! own.

#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]
#![forbid(unsafe_code)]

mod tasks;
mod traces;

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::{Duration, Instant};

use brigade::{MetricsExporter, Pool, WhenFull};
use brigade_testkit::{Gate, eventually, spin_for, test};
use metrics::atomics::AtomicU64;
use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    with_local_recorder,
};
use tracing::{info, info_span};
use tracing_subscriber::filter::dynamic_filter_fn;
use tracing_subscriber::layer::SubscriberExt;

// Histograms.

#[test]
fn the_histograms_have_each_run_job_once() {
    let pool = Pool::builder().threads(3).histograms().build().unwrap();
    (0..100).for_each(|_| pool.execute(|| ()));
    (0..100).for_each(|_| drop(pool.spawn(async { brigade::yield_now().await })));
    pool.execute(|| panic!("expected"));
    let gate = Gate::closed();
    (0..3).for_each(|_| pool.execute(gate.job()));
    let cancelled = pool.submit(|| ()).cancel();
    gate.open();
    pool.wait_idle();
    let times = pool.histograms().unwrap();
    let ran = 204 + u64::from(!cancelled);
    assert_eq!((times.waiting.count(), times.running.count()), (ran, ran));
}

#[test]
fn an_ended_job_enters_the_histograms_unless_cancelled() {
    let pool = Pool::builder().threads(1).histograms().build().unwrap();
    let handle = pool.handle();
    let inside = pool.submit(move || handle.histograms().unwrap().waiting.count());
    assert_eq!(inside.join().unwrap(), 0);

    let polled = Gate::closed();
    let gate = polled.clone();
    let cancelled = pool.spawn(poll_fn(move |_| {
        gate.open();
        Poll::<()>::Pending
    }));
    polled.wait();
    assert!(cancelled.cancel());
    pool.wait_idle();
    let times = pool.histograms().unwrap();
    assert_eq!((times.waiting.count(), times.running.count()), (1, 1));
}

#[test]
fn quantiles_match_the_recorded_times() {
    let pool = Pool::builder().threads(1).histograms().build().unwrap();
    let before = Instant::now();
    for _ in 0..10 {
        pool.submit(|| spin_for(Duration::from_millis(2))).join().unwrap();
    }
    let passed = before.elapsed();
    let times = pool.histograms().unwrap();
    let running = &times.running;
    // Recorded times are exact to 1 %.
    assert!(running.p50() >= Duration::from_micros(1980) && running.p50() <= running.p99());
    assert!(running.p99() <= running.max() && running.max() <= passed.mul_f64(1.01), "{times}");
    assert!(running.mean() >= Duration::from_micros(1980) && running.mean() <= running.max());
    assert_eq!(running.histogram().len(), 10);
    assert!(times.to_string().starts_with("waiting: 10 jobs, p50 "), "{times}");

    let gate = Gate::closed();
    let wait = gate.clone();
    pool.execute(move || wait.wait());
    let job = pool.submit(|| ());
    let queued = Instant::now();
    spin_for(Duration::from_millis(20));
    let least = queued.elapsed();
    gate.open();
    job.join().unwrap();
    assert!(pool.histograms().unwrap().waiting.max() >= least.mul_f64(0.99));
}

#[test]
fn a_future_runs_only_during_its_polls() {
    let pool = Pool::builder().threads(1).histograms().build().unwrap();
    let before = Instant::now();
    let mut polls = 0;
    let polled = poll_fn(move |context| {
        spin_for(Duration::from_millis(2));
        context.waker().wake_by_ref();
        polls += 1;
        if polls < 3 { Poll::Pending } else { Poll::Ready(()) }
    });
    pool.spawn(polled).join().unwrap();
    let nap = pool.spawn(brigade::time::sleep(Duration::from_millis(50)));
    nap.join().unwrap();
    let passed = before.elapsed();
    let running = pool.histograms().unwrap().running;
    assert_eq!(running.count(), 2);
    assert!(running.max() >= Duration::from_micros(5940), "{running}");
    assert!(running.max() + Duration::from_millis(49) <= passed, "{running}");
}

#[test]
fn a_pool_without_times_has_no_histograms() {
    let plain = Pool::new(1);
    plain.submit(|| ()).join().unwrap();
    assert!(plain.histograms().is_none());
    let observed = Pool::builder().threads(1).observe_jobs().build().unwrap();
    assert!(observed.histograms().is_none());
    let pool = Pool::builder().threads(1).histograms().build().unwrap();
    assert_eq!(pool.histograms().unwrap().running.count(), 0);
    let handle = pool.handle();
    drop(pool);
    assert!(handle.histograms().is_none());
}

// The facade.

/// What has been exported, by name and labels.
#[derive(Clone, Default)]
struct Exported(Arc<Mutex<BTreeMap<String, Arc<AtomicU64>>>>);

impl Exported {
    fn cell(&self, key: &Key) -> Arc<AtomicU64> {
        let labels: Vec<_> = key.labels().map(|l| format!("{}={}", l.key(), l.value())).collect();
        let name = format!("{}{{{}}}", key.name(), labels.join(","));
        self.0.lock().unwrap().entry(name).or_default().clone()
    }

    fn counter(&self, name: &str) -> u64 {
        let all = self.0.lock().unwrap();
        let Some(cell) = all.get(name) else { panic!("no {name} in {:?}", all.keys()) };
        cell.load(Ordering::SeqCst)
    }

    fn gauge(&self, name: &str) -> f64 {
        f64::from_bits(self.counter(name))
    }
}

impl Recorder for Exported {
    fn describe_counter(&self, name: KeyName, unit: Option<Unit>, _: SharedString) {
        let is_time = name.as_str().ends_with("_microseconds_total");
        assert_eq!(unit, Some(if is_time { Unit::Microseconds } else { Unit::Count }));
        self.cell(&Key::from_name(format!("described_{}", name.as_str())));
    }
    fn describe_gauge(&self, name: KeyName, _: Option<Unit>, _: SharedString) {
        self.cell(&Key::from_name(format!("described_{}", name.as_str())));
    }
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.cell(key))
    }
    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.cell(key))
    }
    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

#[test]
fn a_pools_work_is_exported_with_its_name() {
    let builder = Pool::builder().threads(2).capacity(1).when_full(WhenFull::Reject);
    let pool = builder.pool_name("mail").build().unwrap();
    let gate = Gate::closed();
    let second = gate.clone();
    let running = |jobs| eventually("they run", || pool.metrics().running == jobs);
    pool.execute(gate.job());
    running(1);
    // A job may run before its place in the queue is free.
    let insist = || pool.job().when_full(WhenFull::Block);
    insist()
        .execute(move || {
            second.wait();
            panic!("expected");
        })
        .unwrap();
    running(2);
    insist().execute(|| ()).unwrap();
    assert!(pool.try_execute(|| ()).is_err());
    let exported = Exported::default();
    let exporter = MetricsExporter::new(&pool);
    let export = || with_local_recorder(&exported, || exporter.export());
    export();
    assert_eq!(exported.gauge("brigade_jobs_queued{pool=mail}"), 1.0);
    assert_eq!(exported.gauge("brigade_jobs_running{pool=mail}"), 2.0);
    assert_eq!(exported.gauge("brigade_threads{pool=mail}"), 2.0);
    assert_eq!(exported.gauge("brigade_threads_busy{pool=mail}"), 2.0);
    assert_eq!(exported.gauge("brigade_threads_parked{pool=mail}"), 0.0);
    assert_eq!(exported.counter("brigade_jobs_rejected_total{pool=mail}"), 1);
    gate.open();
    pool.wait_idle();
    let gone = pool.submit(|| ());
    let cancelled = u64::from(gone.cancel());
    pool.wait_idle();
    export();
    assert_eq!(exported.counter("brigade_jobs_accepted_total{pool=mail}"), 4);
    assert_eq!(exported.counter("brigade_jobs_executed_total{pool=mail}"), 4 - cancelled);
    assert_eq!(exported.counter("brigade_jobs_panicked_total{pool=mail}"), 1);
    assert_eq!(exported.counter("brigade_jobs_cancelled_total{pool=mail}"), cancelled);
    assert_eq!(exported.counter("brigade_jobs_cancelled_asked_total{pool=mail}"), cancelled);
    for other in ["cancelled_deadline", "evicted", "cancelled_ended"] {
        assert_eq!(exported.counter(&format!("brigade_jobs_{other}_total{{pool=mail}}")), 0);
    }
    let metrics = pool.metrics();
    let parks: u64 = metrics.workers.iter().map(|worker| worker.parks).sum();
    assert!(exported.counter("brigade_parks_total{pool=mail}") <= parks);
    drop(pool);
    export();
    assert_eq!(exported.gauge("brigade_threads{pool=mail}"), 0.0);
    assert_eq!(exported.counter("brigade_jobs_accepted_total{pool=mail}"), 4, "it stays");
}

#[test]
fn an_ended_pools_gauges_are_zero() {
    let builder = Pool::builder().threads(2).pool_name("gone");
    let pool = builder.on_drop(brigade::Shutdown::Discard).build().unwrap();
    let exported = Exported::default();
    let exporter = MetricsExporter::new(&pool);
    let export = || with_local_recorder(&exported, || exporter.export());
    let gate = Gate::closed();
    // Each thread is in a job, and has queued another one on its own queue.
    let queue = || {
        let gate = gate.clone();
        move || {
            brigade::execute(|| ());
            gate.wait();
        }
    };
    pool.submit(|| ()).join().unwrap();
    pool.job().execute_batch([queue(), queue()]).unwrap();
    eventually("both run", || pool.metrics().busy_threads == 2);
    export();
    gate.open();
    drop(pool);
    export();
    let all = exported.0.lock().unwrap().clone();
    let gauges = all.iter().filter(|(name, _)| !name.contains("_total{"));
    let left: Vec<_> = gauges.filter(|(_, cell)| cell.load(Ordering::SeqCst) != 0).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn steals_are_exported() {
    let pool = Pool::builder().threads(2).pool_name("thieves").build().unwrap();
    let forks = || {
        // This worker is busy until another one has run the job.
        let child = brigade::submit(|| ());
        eventually("it is stolen", || child.is_finished());
    };
    (0..3).for_each(|_| pool.submit(forks).join().unwrap());
    pool.wait_idle();
    let exported = Exported::default();
    let exporter = MetricsExporter::new(&pool);
    with_local_recorder(&exported, || exporter.export());
    let stolen: u64 = pool.metrics().workers.iter().map(|worker| worker.stolen).sum();
    assert!(stolen > 0);
    assert_eq!(exported.counter("brigade_steals_total{pool=thieves}"), stolen);
}

#[test]
fn workers_and_times_are_exported_on_demand() {
    let pool = Pool::builder().threads(1).name("worker").histograms().build().unwrap();
    pool.submit(|| ()).join().unwrap();
    pool.wait_idle();
    let exported = Exported::default();
    let exporter = MetricsExporter::new(&pool).label("zone", "a").per_worker();
    with_local_recorder(&exported, || {
        exporter.export();
        exporter.describe();
    });
    let labels = "pool=worker,zone=a";
    let of_worker = format!("brigade_worker_jobs_executed_total{{{labels},worker=0}}");
    assert_eq!(exported.counter(&of_worker), 1);
    let busy = format!("brigade_worker_busy_microseconds_total{{{labels},worker=0}}");
    let known = pool.metrics().workers[0].busy.map(|busy| busy.as_micros() as u64);
    assert!((1..=known.unwrap()).contains(&exported.counter(&busy)), "{known:?}");
    let longest = exported.gauge(&format!("brigade_job_running_seconds{{{labels},quantile=1}}"));
    assert_eq!(longest, pool.histograms().unwrap().running.max().as_secs_f64());
    let all = exported.0.lock().unwrap();
    let (described, others): (Vec<_>, Vec<_>) =
        all.keys().partition(|name| name.starts_with("described_"));
    for name in others {
        let (name, labels) = name.split_once('{').unwrap();
        assert!(described.contains(&&format!("described_{name}{{}}")), "{name} {described:?}");
        assert!(labels.contains("pool=worker"), "{name}");
    }
}

// Spans.

/// What the subscriber writes.
#[derive(Clone, Default)]
struct Text(Arc<Mutex<Vec<u8>>>);

impl Write for Text {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the subscriber does not want spans of jobs.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// The log of the process, for one test at a time.
struct Traced(Text, Mutex<()>);

static TRACED: LazyLock<Traced> = LazyLock::new(|| {
    let text = Text::default();
    let writer = text.clone();
    let layer = tracing_subscriber::fmt::layer().without_time().with_target(false).with_ansi(false);
    let filter = dynamic_filter_fn(|metadata, _| {
        metadata.target() != "brigade" || !IS_QUIET.load(Ordering::SeqCst)
    });
    let layer = layer.with_writer(move || writer.clone());
    let subscriber = tracing_subscriber::registry().with(filter).with(layer);
    tracing::subscriber::set_global_default(subscriber).unwrap();
    Traced(text, Mutex::default())
});

impl Traced {
    fn begin() -> MutexGuard<'static, ()> {
        let turn = TRACED.1.lock().unwrap_or_else(PoisonError::into_inner);
        IS_QUIET.store(false, Ordering::SeqCst);
        turn
    }

    /// The spans around the event with this text, outermost first.
    #[track_caller]
    fn spans_of(event: &str) -> String {
        let text = TRACED.0.0.lock().unwrap();
        let text = std::str::from_utf8(&text).unwrap();
        let line = text.lines().find(|line| line.ends_with(event));
        let Some(line) = line else { panic!("no {event} in {text}") };
        line.trim().strip_prefix("INFO ").unwrap().strip_suffix(event).unwrap().to_owned()
    }
}

#[track_caller]
fn assert_is_job(spans: &str, parent: &str, fields: &[&str]) {
    let expected = format!("{parent}job{{");
    assert!(spans.starts_with(&expected), "{spans:?} is not {expected:?}…");
    for field in fields {
        assert!(spans.contains(field), "no {field} in {spans}");
    }
}

#[test]
fn a_jobs_span_is_its_submitters_child() {
    let _turn = Traced::begin();
    let pool = Pool::builder().threads(1).pool_name("traced").trace_jobs().build().unwrap();
    let request = info_span!("request", id = 1);
    request.in_scope(|| {
        pool.job().name("resize").submit(|| info!("in a closure")).unwrap().join().unwrap();
        let future = async {
            brigade::yield_now().await;
            info!("in a future");
        };
        pool.spawn(future).join().unwrap();
        let timer = pool.job().after(Duration::from_millis(1)).execute(|| info!("in a timer"));
        let timer = timer.unwrap();
        eventually("it has run", || timer.ticks() == 1);
        let child = || brigade::submit(|| info!("in a child")).join().unwrap();
        pool.job().name("outer").submit(child).unwrap().join().unwrap();
    });
    let fields = ["name=\"resize\"", "pool=\"traced\"", "worker=0", "telemetry/main.rs:"];
    assert_is_job(&Traced::spans_of("in a closure"), "request{id=1}:", &fields);
    assert_is_job(&Traced::spans_of("in a future"), "request{id=1}:", &fields[1..]);
    assert_is_job(&Traced::spans_of("in a timer"), "request{id=1}:", &fields[1..]);
    let spans = Traced::spans_of("in a child");
    assert_is_job(&spans, "request{id=1}:", &["name=\"outer\""]);
    assert_eq!(spans.matches("job{").count(), 2, "{spans}");
    // Neither the pool's thread nor this one is left in a span.
    pool.submit(|| info!("without a submitter's span")).join().unwrap();
    assert_is_job(&Traced::spans_of("without a submitter's span"), "", &fields[1..]);
}

#[test]
fn a_stolen_part_is_in_its_jobs_or_callers_span() {
    let _turn = Traced::begin();
    let pool = Pool::builder().threads(2).spare_threads(0).trace_jobs().build().unwrap();
    // The second half is over before the first.
    let forks = |text: &'static str| {
        let gate = Gate::closed();
        let tell = || {
            info!("{text}");
            gate.open();
        };
        brigade::join(|| gate.wait(), tell);
    };
    let scopes = |text: &'static str| {
        let gate = Gate::closed();
        brigade::scope(|s| {
            s.execute(|| {
                info!("{text}");
                gate.open();
            });
            gate.wait();
        });
    };
    info_span!("request", id = 5).in_scope(|| {
        let job = pool.job().name("resize").submit(move || {
            forks("in a stolen fork");
            scopes("in a stolen job");
        });
        job.unwrap().join().unwrap();
        pool.install(|| {
            info!("in a call");
            forks("in a fork of a call");
        })
        .unwrap();
        pool.scope(|s| s.execute(|| info!("in a scope"))).unwrap();
        pool.in_place_scope(|s| s.execute(|| info!("in a scope in place"))).unwrap();
    });
    for text in ["in a stolen fork", "in a stolen job"] {
        assert_is_job(&Traced::spans_of(text), "request{id=5}:", &["name=\"resize\""]);
    }
    for text in ["in a call", "in a fork of a call", "in a scope", "in a scope in place"] {
        assert_eq!(Traced::spans_of(text), "request{id=5}: ", "{text}");
    }
    // No thread is left in a span.
    pool.install(|| info!("without a span")).unwrap();
    assert_eq!(Traced::spans_of("without a span"), "");
}

#[test]
fn a_job_without_a_span_is_in_its_submitters() {
    let _turn = Traced::begin();
    IS_QUIET.store(true, Ordering::SeqCst);
    let pool = Pool::builder().threads(1).trace_jobs().build().unwrap();
    let request = info_span!("request", id = 2);
    request.in_scope(|| pool.submit(|| info!("quietly")).join().unwrap());
    assert_eq!(Traced::spans_of("quietly"), "request{id=2}: ");
}

#[test]
fn an_untraced_pool_leaves_the_submitters_span() {
    let _turn = Traced::begin();
    let pool = Pool::builder().threads(1).observe_jobs().build().unwrap();
    info_span!("request", id = 3).in_scope(|| pool.submit(|| info!("alone")).join().unwrap());
    assert_eq!(Traced::spans_of("alone"), "");
}

/// The submitter's thread may have a subscriber of its own, whose spans the worker's does not know.
#[test]
fn a_span_has_its_parents_subscriber() {
    let _turn = Traced::begin();
    let pool = Pool::builder().threads(1).trace_jobs().build().unwrap();
    let text = Text::default();
    let writer = text.clone();
    let layer = tracing_subscriber::fmt::layer().without_time().with_ansi(false);
    let layer = layer.with_span_events(tracing_subscriber::fmt::format::FmtSpan::CLOSE);
    let subscriber = tracing_subscriber::registry().with(layer.with_writer(move || writer.clone()));
    tracing::subscriber::with_default(subscriber, || {
        info_span!("request", id = 4).in_scope(|| pool.submit(|| ()).join().unwrap());
    });
    let text = text.0.lock().unwrap();
    let text = std::str::from_utf8(&text).unwrap();
    assert!(text.lines().any(|line| line.contains("request{id=4}:job{")), "{text}");
}
