//! Jobs as tasks of tokio-console: the spans and events that console-subscriber reads.

use std::collections::BTreeMap;
use std::fmt::{self, Debug};
use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

use async_channel::Sender;
use brigade::Pool;
use brigade_testkit::{Gate, eventually, test};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::subscriber::with_default;
use tracing::{Event, Subscriber, info_span};
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// What a subscriber is told of a task.
#[derive(Clone, Debug, Default)]
struct Task {
    fields: BTreeMap<&'static str, String>,
    has_parent: bool,
    polls: usize,
    is_polled: bool,
    is_over: bool,
    /// How often each operation of a waker has been reported, and how often during a poll.
    ops: BTreeMap<String, (usize, usize)>,
}

impl Task {
    fn ops(&self, op: &str) -> usize {
        self.ops.get(op).map_or(0, |(all, _)| *all)
    }

    /// How many wakers are left.
    fn wakers(&self) -> usize {
        self.ops("waker.clone") - self.ops("waker.drop")
    }
}

/// A layer that reads what console-subscriber reads.
#[derive(Clone, Default)]
struct Console(Arc<Mutex<BTreeMap<u64, Task>>>);

impl Console {
    /// The tasks, in the order of their starts.
    fn tasks(&self) -> Vec<Task> {
        let mut tasks: Vec<_> = self.0.lock().unwrap().values().cloned().collect();
        tasks.sort_by_key(|task| task.fields["task.id"].parse::<u64>().unwrap());
        tasks
    }

    /// Calls a closure with a subscriber of this layer, whose filter is that of console-subscriber.
    fn listen<R>(&self, call: impl FnOnce() -> R) -> R {
        let filter = filter_fn(|metadata| match metadata.is_event() {
            true => metadata.target().starts_with("runtime"),
            false => metadata.name().starts_with("runtime.") || metadata.name() == "request",
        });
        let subscriber = tracing_subscriber::registry().with(self.clone().with_filter(filter));
        with_default(subscriber, call)
    }

    /// The same in a span, so that workers have the subscriber too.
    fn listen_everywhere<R>(&self, call: impl FnOnce() -> R) -> R {
        self.listen(|| info_span!("request").in_scope(call))
    }

    fn change(&self, id: &Id, change: impl FnOnce(&mut Task)) {
        if let Some(task) = self.0.lock().unwrap().get_mut(&id.into_u64()) {
            change(task);
        }
    }
}

#[derive(Default)]
struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.into());
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Console {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        if attributes.metadata().name() == "runtime.spawn" {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            let has_parent = context.span(id).unwrap().parent().is_some();
            let task = Task { fields: fields.0, has_parent, ..Task::default() };
            self.0.lock().unwrap().insert(id.into_u64(), task);
        }
    }

    fn on_enter(&self, id: &Id, _: Context<'_, S>) {
        self.change(id, |task| {
            task.polls += 1;
            task.is_polled = true;
        });
    }

    fn on_exit(&self, id: &Id, _: Context<'_, S>) {
        self.change(id, |task| task.is_polled = false);
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        self.change(&id, |task| task.is_over = true);
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "runtime::waker" {
            let mut fields = Fields::default();
            event.record(&mut fields);
            self.change(&Id::from_u64(fields.0["task.id"].parse().unwrap()), |task| {
                let is_polled = usize::from(task.is_polled);
                let (all, during) = task.ops.entry(fields.0["op"].clone()).or_default();
                (*all, *during) = (*all + 1, *during + is_polled);
            });
        }
    }
}

impl fmt::Debug for Console {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tasks().fmt(f)
    }
}

fn traced() -> Pool {
    Pool::builder().threads(1).pool_name("traced").trace_jobs().build().unwrap()
}

/// A future that sends its waker at the first poll, and is ready at the second.
fn lends_waker(wakers: Sender<Waker>) -> impl Future<Output = ()> + Send {
    let mut is_first = true;
    poll_fn(move |context| {
        if std::mem::take(&mut is_first) {
            wakers.try_send(context.waker().clone()).unwrap();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
}

#[test]
fn a_job_is_a_task_with_its_kind_name_and_place() {
    let (pool, console) = (traced(), Console::default());
    let line = line!() + 2;
    console.listen_everywhere(|| {
        pool.job().name("resize").spawn(brigade::yield_now()).unwrap().join().unwrap();
        pool.submit(|| ()).join().unwrap();
    });
    let tasks = console.tasks();
    let [future, closure] = &tasks[..] else { panic!("{tasks:?}") };
    for (task, kind, name, line) in
        [(future, "task", Some("resize"), line), (closure, "blocking", None, line + 1)]
    {
        let field = |name| task.fields.get(name).map(String::as_str);
        assert_eq!((field("kind"), field("task.name")), (Some(kind), name), "{task:?}");
        assert_eq!((field("pool"), field("loc.file")), (Some("traced"), Some(file!())), "{task:?}");
        assert_eq!(field("loc.line"), Some(&*line.to_string()), "{task:?}");
        assert!(field("loc.col").is_some() && !task.has_parent, "{task:?}");
    }
    assert_eq!((future.polls, closure.polls), (2, 1));
    assert_eq!(future.ops["waker.wake_by_ref"], (1, 1), "it woke itself");
    assert!(closure.ops.is_empty(), "a closure has no waker");
    eventually("both are over", || console.tasks().iter().all(|task| task.is_over));
}

#[test]
fn a_task_has_a_waker_until_the_last_is_dropped() {
    let (pool, console) = (traced(), Console::default());
    let (sender, wakers) = async_channel::bounded(1);
    let job = console.listen_everywhere(|| pool.spawn(lends_waker(sender)));
    let waker = wakers.recv_blocking().unwrap();
    eventually("it is pending", || !console.tasks()[0].is_polled);
    let clone = waker.clone();
    assert_eq!(console.tasks()[0].wakers(), 1);
    drop(clone);
    assert_eq!(console.tasks()[0].wakers(), 1);
    waker.wake_by_ref();
    job.join().unwrap();
    eventually("it is over", || console.tasks()[0].is_over);
    assert_eq!(console.tasks()[0].ops["waker.wake_by_ref"], (1, 0), "woken from outside");
    drop(waker);
    assert_eq!(console.tasks()[0].wakers(), 0);
}

#[test]
fn a_task_that_has_lost_its_waker_has_none() {
    let (pool, console) = (traced(), Console::default());
    let job = console.listen_everywhere(|| pool.spawn(std::future::pending::<()>()));
    let is_pending = |task: &Task| task.polls == 1 && !task.is_polled;
    eventually("it is pending", || console.tasks().iter().any(is_pending));
    assert_eq!(console.tasks()[0].wakers(), 0);
    assert!(job.cancel());
}

/// The filter disables the spans of jobs, so the current span of a job is the task.
///
/// Caught: that was the submitter's span, which is open as long as the job, and entered for each poll.
#[test]
fn a_task_ends_before_the_jobs_that_it_has_submitted() {
    let pool = Pool::builder().without_threads().trace_jobs().build().unwrap();
    let (console, (sender, wakers)) = (Console::default(), async_channel::bounded(1));
    let parent_then_child = async {
        let child = pool.submit(|| brigade::spawn(lends_waker(sender))).await.unwrap();
        let waker = wakers.recv().await.unwrap();
        let [parent, other] = &console.tasks()[..] else { panic!("{console:?}") };
        assert!(parent.is_over && !other.is_over, "{console:?}");
        waker.wake();
        child.await.unwrap();
    };
    console.listen(|| pool.block_on(parent_then_child));
    let polls: Vec<_> = console.tasks().iter().map(|task| task.polls).collect();
    assert_eq!(polls, [1, 2]);
}

#[test]
fn a_part_on_another_thread_is_no_poll() {
    let pool = Pool::builder().threads(2).spare_threads(0).trace_jobs().build().unwrap();
    let (console, gate) = (Console::default(), Gate::closed());
    let scope = move || {
        brigade::scope(|s| {
            s.execute(|| gate.open());
            gate.wait(); // Until another thread has run the part.
        });
    };
    console.listen_everywhere(|| pool.submit(scope).join().unwrap());
    assert_eq!(console.tasks()[0].polls, 1);
}

#[test]
fn a_future_keeps_its_waker_without_a_console() {
    let pool = traced();
    let mut first: Option<Waker> = None;
    let same = poll_fn(move |context| {
        let waker = context.waker();
        let Some(first) = &first else {
            first = Some(waker.clone());
            waker.wake_by_ref();
            return Poll::Pending;
        };
        Poll::Ready(first.will_wake(waker))
    });
    let quiet = tracing_subscriber::registry().with(LevelFilter::INFO);
    let job = with_default(quiet, || info_span!("request").in_scope(|| pool.spawn(same)));
    assert!(job.join().unwrap());
}
