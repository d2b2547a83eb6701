//! brigade pools whose telemetry is read while they run: each as the configuration of [`brigade`](super::brigade) beside it, and with what
//! a program has at the other end.

use std::collections::HashMap;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use brigade::{MetricsExporter, Timer};
use metrics::atomics::AtomicU64;
use metrics::{
    Counter, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit,
    with_local_recorder,
};
use tracing::span::{Attributes, Id};
use tracing::subscriber::{Interest, set_global_default};
use tracing::{Subscriber, callsite};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::registry::{LookupSpan, Registry};

use super::brigade::{Brigade, With, built, of};
use crate::target::pool::Start;
use crate::target::{Entry, Listing};

/// How often telemetry is read: far oftener than a program would.
const EVERY: Duration = Duration::from_millis(1);

pub(crate) const METRICS: Listing<Start<With<Timer>>> = Listing {
    entry: Entry::own("brigade-metrics", "metrics are exported to a recorder each ms").further(),
    start: |n| {
        let pool = built(of(n))?;
        let (exporter, recorder) = (MetricsExporter::new(&*pool.0), Recorded::default());
        each_ms(pool, move || with_local_recorder(&recorder, || exporter.export()))
    },
};

pub(crate) const DUMP: Listing<Start<With<Timer>>> = Listing {
    entry: Entry::own("brigade-dump", "what runs is known, and dumped each ms").further(),
    start: |n| {
        let pool = built(of(n).observe_jobs())?;
        let handle = pool.0.handle();
        each_ms(pool, move || drop(black_box(handle.dump())))
    },
};

pub(crate) const TRACING_ON: Listing<Start<With<SpansOn>>> = Listing {
    entry: Entry::own("brigade-tracing-on", "a span for each task, which a subscriber records")
        .further(),
    start: |n| {
        let more = SpansOn::new()?;
        Ok(With { pool: built(of(n).trace_jobs())?, _more: more })
    },
};

/// The pool, which calls this each millisecond.
fn each_ms(pool: Brigade, call: impl FnMut() + Send + 'static) -> io::Result<With<Timer>> {
    let timer = pool.0.job().every(EVERY).execute(call)?;
    Ok(With { pool, _more: timer })
}

/// A recorder that remembers the last value of everything.
#[derive(Default)]
struct Recorded(Mutex<HashMap<Key, Arc<AtomicU64>>>);

impl Recorded {
    /// The value with this key.
    fn value(&self, key: &Key) -> Arc<AtomicU64> {
        let mut values = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match values.get(key) {
            Some(value) => value.clone(),
            None => values.entry(key.clone()).or_default().clone(),
        }
    }
}

impl Recorder for Recorded {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(self.value(key))
    }

    fn register_gauge(&self, key: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(self.value(key))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}

/// The values of this type that exist; spans are recorded while there are any.
static ON: AtomicUsize = AtomicUsize::new(0);

/// While it exists, the subscriber of this process records spans. At other times it wants none, as if there were no subscriber.
pub(crate) struct SpansOn;

impl SpansOn {
    fn new() -> io::Result<Self> {
        static SET: OnceLock<bool> = OnceLock::new();
        let set = || set_global_default(Registry::default().with(Spans)).is_ok();
        if !SET.get_or_init(set) {
            return Err(io::Error::other("this process has another subscriber"));
        }
        ON.fetch_add(1, Ordering::Relaxed);
        callsite::rebuild_interest_cache();
        Ok(Self)
    }
}

impl Drop for SpansOn {
    fn drop(&mut self) {
        ON.fetch_sub(1, Ordering::Relaxed);
        callsite::rebuild_interest_cache();
    }
}

fn is_on() -> bool {
    ON.load(Ordering::Relaxed) > 0
}

/// Records how long each span exists, with what it is beneath and its fields, which the registry has.
struct Spans;

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn register_callsite(&self, _: &'static tracing::Metadata<'static>) -> Interest {
        if is_on() { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, _: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        is_on()
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(if is_on() { LevelFilter::TRACE } else { LevelFilter::OFF })
    }

    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        black_box(attributes.values());
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(Instant::now());
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id);
        let begun = span.and_then(|span| span.extensions().get::<Instant>().copied());
        black_box(begun.map(|begun| begun.elapsed()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::pool::{Pool, Submit};
    use std::sync::mpsc;
    use tracing::Span;

    /// Whether a task of this target has a span that something records.
    fn has_span<T: Pool>(pool: io::Result<T>) -> bool {
        let (pool, (told, tells)) = (pool.expect("a pool"), mpsc::channel());
        let outside = pool.outside();
        outside.submit(move || told.send(!Span::current().is_none()).expect("the test waits"));
        let has = tells.recv().expect("it runs");
        drop(outside);
        pool.shutdown();
        has
    }

    #[test]
    fn spans_are_recorded_for_the_target_with_a_subscriber_and_not_for_the_next() {
        let without = super::super::brigade::TRACING.start;
        for _ in 0..2 {
            assert!(has_span((TRACING_ON.start)(1)));
            assert!(!has_span(without(1)));
        }
    }

    #[test]
    fn the_recorder_has_the_last_value() {
        let (recorder, pool) = (Recorded::default(), built(of(1)).expect("a pool"));
        let exporter = MetricsExporter::new(&*pool.0);
        for count in 1..=2 {
            pool.0.submit(|| ()).join().expect("a value");
            with_local_recorder(&recorder, || exporter.export());
            let accepted = |key: &&Key| key.name() == "brigade_jobs_accepted_total";
            let values = recorder.0.lock().expect("values");
            let key = values.keys().find(accepted).expect("it is exported");
            assert_eq!(values[key].load(Ordering::Relaxed), count);
        }
    }
}
