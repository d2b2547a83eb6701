//! What a trace has, and that a viewer can read it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use brigade::{LocalPool, Pool, Shutdown, Trace, TraceError, WhenFull};
use brigade_testkit::{Halt, Meeting, eventually, test};
use serde_json::Value;

/// Something that a thread did, in nanoseconds.
#[derive(Debug)]
struct Shown {
    kind: String,
    track: u64,
    from: u64,
    until: u64,
    name: String,
    args: Value,
    id: Option<u64>,
}

/// What a viewer reads from a trace, once all that must be so of any trace is so.
struct Read {
    shown: Vec<Shown>,
    /// The names of the tracks.
    tracks: HashMap<u64, String>,
    whole: Value,
}

fn nanoseconds(value: &Value) -> u64 {
    value.as_f64().map_or(0, |micros| (micros * 1000.0).round() as u64)
}

fn read(trace: &Trace) -> Read {
    let mut text = Vec::new();
    trace.write_to(&mut text).unwrap();
    let whole: Value = serde_json::from_slice(&text).unwrap();
    let events = whole["traceEvents"].as_array().unwrap();
    let (mut shown, mut tracks) = (Vec::new(), HashMap::new());
    for event in events {
        let (kind, name) = (event["ph"].as_str().unwrap(), event["name"].as_str().unwrap());
        let track = event["tid"].as_u64().unwrap();
        if kind == "M" {
            if name == "thread_name" {
                tracks.insert(track, event["args"]["name"].as_str().unwrap().to_owned());
            }
            continue;
        }
        let from = nanoseconds(&event["ts"]);
        shown.push(Shown {
            kind: kind.to_owned(),
            track,
            from,
            until: from + nanoseconds(&event["dur"]),
            name: name.to_owned(),
            args: event["args"].clone(),
            id: event["id"].as_u64(),
        });
    }
    let read = Read { shown, tracks, whole };
    read.check(trace);
    read
}

impl Read {
    fn slices(&self) -> impl Iterator<Item = &Shown> {
        self.shown.iter().filter(|shown| shown.kind == "X")
    }

    fn named(&self, name: &str) -> Vec<&Shown> {
        self.shown.iter().filter(|shown| shown.name == name).collect()
    }

    fn check(&self, trace: &Trace) {
        let lasted = trace.duration().as_nanos() as u64;
        for &track in self.tracks.keys() {
            let mut ends: Vec<u64> = Vec::new();
            let mut before = 0;
            for slice in self.slices().filter(|slice| slice.track == track) {
                assert!(before <= slice.from && slice.until <= lasted, "{slice:?}");
                before = slice.from;
                while ends.last().is_some_and(|&end| end <= slice.from) {
                    ends.pop();
                }
                assert!(
                    ends.last().is_none_or(|&end| slice.until <= end),
                    "half inside: {slice:?}"
                );
                ends.push(slice.until);
            }
        }
        assert!(self.shown.iter().all(|shown| self.tracks.contains_key(&shown.track)));
        let arrows = |kind| self.shown.iter().filter(move |shown| shown.kind == kind);
        let ends: HashMap<_, _> = arrows("f").map(|end| (end.id, end)).collect();
        assert_eq!(arrows("s").count(), ends.len());
        for start in arrows("s") {
            let end = ends[&start.id];
            assert!(start.from <= end.from, "{start:?} {end:?}");
            for arrow in [start, end] {
                let holds = |slice: &&Shown| {
                    slice.track == arrow.track && (slice.from..=slice.until).contains(&arrow.from)
                };
                assert!(self.slices().any(|slice| holds(&slice)), "{arrow:?} is bound to nothing");
            }
        }
        assert_eq!(self.whole["otherData"]["lost"], trace.lost());
        assert_eq!(self.whole["otherData"]["recorded"], trace.recorded());
    }
}

/// A pool whose threads all sleep.
fn parked(threads: usize) -> Pool {
    let pool = Pool::builder().threads(threads).spare_threads(0).prestart(threads).build().unwrap();
    // A worker counts as idle before its last look.
    eventually("all sleep", || {
        let read = read(&pool.start_trace().unwrap().finish());
        read.shown.len() == threads && read.slices().all(|slice| slice.name.starts_with("parked"))
    });
    pool
}

#[test(observed in [false, true])]
fn a_job_with_a_name_is_there_once(observed: bool) {
    let builder = Pool::builder().threads(2);
    let pool = if observed { builder.observe_jobs() } else { builder }.build().unwrap();
    let tracing = pool.start_trace().unwrap();
    let handle = pool.handle();
    pool.job().name("closure").execute(|| ()).unwrap();
    pool.job().name("future").spawn(async {}).unwrap().join().unwrap();
    let outer = pool.job().name("outer").submit(move || {
        let inner = handle.job().name("inner").submit(|| ()).unwrap();
        inner.join().unwrap();
    });
    outer.unwrap().join().unwrap();
    pool.job().name("timer").after(Duration::from_micros(1)).execute(|| ()).unwrap();
    let (sender, ends) = mpsc::channel();
    pool.job()
        .name("panic")
        .execute(move || {
            let _sender: mpsc::Sender<()> = sender;
            panic!("expected");
        })
        .unwrap();
    assert!(ends.recv().is_err());
    eventually("the timer fires", || pool.metrics().returned >= 5);
    pool.wait_idle();
    let read = read(&tracing.finish());
    for name in ["closure", "future", "outer", "inner", "timer", "panic"] {
        let shown = read.named(name);
        assert_eq!(shown.len(), 1, "{name}, observed: {observed}");
        assert_eq!(shown[0].args.get("submitted at").is_some(), observed, "{name}");
    }
}

#[test]
fn an_observed_nameless_job_shows_its_place() {
    let pool = Pool::builder().threads(1).observe_jobs().build().unwrap();
    let tracing = pool.start_trace().unwrap();
    let line = line!() + 1;
    pool.submit(|| ()).join().unwrap();
    let read = read(&tracing.finish());
    assert!(read.slices().any(|job| job.name.ends_with(&format!("traces.rs:{line}"))));
    assert!(read.named("job").is_empty());
}

#[test]
fn a_stolen_job_shows_the_steal() {
    let pool = parked(2);
    let tracing = pool.start_trace().unwrap();
    let handle = pool.handle();
    let parent = pool.job().name("parent").submit(move || {
        let (ran, runs) = mpsc::channel();
        handle.job().name("child").execute(move || ran.send(()).unwrap()).unwrap();
        runs.recv().unwrap();
    });
    parent.unwrap().join().unwrap();
    let read = read(&tracing.finish());
    let (parent, child) = (&read.named("parent")[0], &read.named("child")[0]);
    assert_ne!(parent.track, child.track);
    assert!((parent.from..parent.until).contains(&child.from));
    let steal = read.named(&format!("steal from worker {}", parent.track - 1));
    assert_eq!(steal.len(), 1);
    assert_eq!((steal[0].track, steal[0].args["jobs"].as_u64()), (child.track, Some(1)));
    assert!(steal[0].from <= child.from);
}

#[test]
fn a_guest_has_a_track_while_it_is_there() {
    let pool = parked(2);
    let tracing = pool.start_trace().unwrap();
    let meeting = Meeting::of(2);
    let call = || brigade::join(|| meeting.attend(), || meeting.attend());
    thread::scope(|s| {
        let main = thread::Builder::new().name("main".into());
        let guest = main.spawn_scoped(s, || pool.enter(call)).unwrap();
        assert_eq!(guest.join().unwrap(), (true, true));
    });
    let read = read(&tracing.finish());
    let track = read.tracks.iter().find(|(_, name)| *name == "guest 0 (main)").unwrap().0;
    assert_eq!(read.named("job").iter().filter(|job| job.track == *track).count(), 1);
    let steal = read.named("steal from guest 0");
    assert_eq!((steal.len(), steal[0].args["forks"].as_u64()), (1, Some(1)));
    assert!(!read.shown.iter().any(|shown| shown.track == *track && shown.name.contains("before")));
}

#[test]
fn an_arrow_leads_from_waker_to_worker() {
    let pool = parked(1);
    let tracing = pool.start_trace().unwrap();
    let submitter = thread::Builder::new().name("submitter".into());
    thread::scope(|s| {
        let job = || pool.submit(|| ()).join().unwrap();
        submitter.spawn_scoped(s, job).unwrap().join().unwrap();
    });
    let read = read(&tracing.finish());
    let (sent, seen) = (read.named("wake worker 0"), read.named("wake-up"));
    assert_eq!((sent.len(), seen.len()), (1, 2));
    assert_eq!(read.tracks[&sent[0].track], "thread (submitter)");
    assert_eq!(read.tracks[&1], "worker 0 (brigade-0)");
    let end = seen.iter().find(|arrow| arrow.kind == "f").unwrap();
    assert_eq!((end.track, sent[0].track), (1, seen.iter().find(|a| a.kind == "s").unwrap().track));
    let parked = read.named("parked");
    assert!(parked.iter().any(|slept| slept.until == end.from), "it slept until then");
    assert_eq!(read.named("job").len(), 1);
}

#[test(observed in [false, true])]
fn a_trace_has_jobs_without_begin_or_end(observed: bool) {
    let builder = Pool::builder().threads(2).spare_threads(0).prestart(2);
    let pool = if observed { builder.observe_jobs() } else { builder }.build().unwrap();
    let halts = [Halt::default(), Halt::default()];
    let stuck = |name, halt: &Halt| {
        let job = pool.job().name(name).submit(halt.job()).unwrap();
        halt.await_thread();
        job
    };
    let earlier = stuck("earlier", &halts[0]);
    eventually("the other one sleeps", || pool.metrics().idle_threads == 1);
    let tracing = pool.start_trace().unwrap();
    let later = stuck("later", &halts[1]);
    let trace = tracing.finish();
    halts.iter().for_each(Halt::release);
    earlier.join().unwrap();
    later.join().unwrap();
    let read = read(&trace);
    let earlier =
        if observed { "earlier (began before the trace)" } else { "(began before the trace)" };
    let (earlier, later) = (read.named(earlier), read.named("later"));
    assert_eq!((earlier.len(), earlier[0].from), (1, 0));
    assert_eq!((later.len(), later[0].until), (1, earlier[0].until), "both are cut off");
    assert_ne!(earlier[0].track, later[0].track);
}

/// How many events of each thread a trace keeps.
const LIMIT: u64 = 1 << 17;

#[test]
fn a_full_track_keeps_the_newest() {
    let pool = Pool::new(1);
    let tracing = pool.start_trace().unwrap();
    pool.job().name("job 0").submit(|| ()).unwrap().join().unwrap();
    (0..LIMIT).for_each(|_| pool.execute(|| ()));
    pool.wait_idle();
    let trace = tracing.finish();
    assert!(trace.lost() > 0 && trace.recorded() <= 2 * LIMIT + 2, "{trace}");
    assert!(trace.to_string().ends_with(&format!("{} lost", trace.lost())), "{trace}");
    let read = read(&trace);
    assert!(read.named("job 0").is_empty());
    assert_eq!(read.named("(lost)").len(), 1);
    assert!(read.tracks[&1].contains("events lost"), "{:?}", read.tracks);
}

#[test]
fn names_with_anything_in_them_are_escaped() {
    let hostile =
        "\"},{\\\u{0}\u{1f}\n\r\t\u{7f}\u{85}\u{2028}</script>\u{1f980}\u{10ffff}\u{202e}";
    let pool = Pool::builder().threads(1).pool_name(hostile).build().unwrap();
    let tracing = pool.start_trace().unwrap();
    pool.job().name(hostile).execute(|| ()).unwrap();
    pool.wait_idle();
    let read = read(&tracing.finish());
    assert_eq!(read.named(hostile).len(), 1);
    assert_eq!(read.whole["otherData"]["pool"], hostile);
}

#[test]
fn there_is_one_trace_at_a_time() {
    let pool = Pool::new(1);
    let handle = pool.handle();
    let tracing = pool.start_trace().unwrap();
    assert_eq!(handle.start_trace().unwrap_err(), TraceError::InProgress);
    pool.job().name("first").submit(|| ()).unwrap().join().unwrap();
    drop(tracing);
    let tracing = pool.start_trace().unwrap();
    pool.job().name("second").submit(|| ()).unwrap().join().unwrap();
    let read = read(&tracing.finish());
    assert_eq!((read.named("first").len(), read.named("second").len()), (0, 1));
    drop(pool);
    assert_eq!(handle.start_trace().unwrap_err(), TraceError::Ended);
}

#[test]
fn a_tracing_worker_keeps_its_pool_working() {
    let pool = Pool::builder().threads(1).build().unwrap();
    let handle = pool.handle();
    let traced = pool.submit(move || {
        loop {
            let (ran, runs) = mpsc::channel();
            handle.job().name("meanwhile").execute(move || ran.send(()).unwrap()).unwrap();
            let tracing = handle.start_trace().unwrap();
            brigade::blocking(|| thread::sleep(Duration::from_millis(2)));
            let read = read(&tracing.finish());
            // Not so if the other thread has begun before the trace, or begins after it.
            if let (Some(blocked), Some(ran)) =
                (read.named("blocked").first(), read.named("meanwhile").first())
            {
                assert_ne!(blocked.track, ran.track);
                return runs.recv();
            }
        }
    });
    assert_eq!(traced.join().unwrap(), Ok(()));
}

/// The pool changes in every way while it is traced, again and again.
#[test]
fn traces_of_a_changing_pool_are_whole() {
    for round in 0..4 {
        let builder = Pool::builder().threads(1..=3);
        let pool = match round {
            1 => builder.capacity(4).when_full(WhenFull::RunInCaller),
            _ => builder,
        };
        let pool = pool.build().unwrap();
        let (handle, (began, begins)) = (pool.handle(), mpsc::channel());
        let traces = thread::spawn(move || {
            let mut traces = Vec::new();
            loop {
                match handle.start_trace() {
                    Ok(tracing) => {
                        let _ = began.send(());
                        let returned = handle.metrics().returned;
                        while !handle.metrics().is_closed && handle.metrics().returned == returned {
                            thread::yield_now();
                        }
                        traces.push(tracing.finish());
                    }
                    Err(error) => return (traces, error),
                }
            }
        });
        begins.recv().unwrap();
        for number in 0..60_u32 {
            let handle = pool.handle();
            pool.execute(move || {
                handle.job().name("child").execute(|| ()).unwrap();
                let forked = || brigade::join(|| 1, || brigade::blocking(|| 2));
                assert_eq!(brigade::join(forked, || 3), ((1, 2), 3));
                let part = || brigade::scope(|s| s.execute(|| ()));
                assert!(handle.submit(part).join().is_ok());
                if number % 10 == 0 {
                    panic!("expected");
                }
            });
            if number % 30 == 0 {
                pool.resize(1 + number as usize % 4).unwrap();
            }
        }
        let timer = pool.job().after(Duration::from_micros(50)).execute(|| ());
        pool.shutdown(Shutdown::Finish);
        drop((timer, pool));
        let (traces, error) = traces.join().unwrap();
        assert_eq!(error, TraceError::Ended);
        assert!(traces.iter().any(|trace| trace.recorded() > 0));
        traces.iter().for_each(|trace| _ = read(trace));
    }
}

#[test]
fn the_end_of_the_pool_is_in_its_trace() {
    let pool = parked(2);
    let tracing = pool.start_trace().unwrap();
    pool.resize(1).unwrap();
    eventually("one leaves", || pool.metrics().threads == 1);
    drop(pool);
    let read = read(&tracing.finish());
    assert_eq!(read.named("thread ends").len(), 2);
}

#[test]
fn a_pool_without_threads_is_traced() {
    let pool = LocalPool::new().unwrap();
    let tracing = pool.handle().start_trace().unwrap();
    pool.handle().job().name("here").execute(|| ()).unwrap();
    pool.run_until_idle();
    let read = read(&tracing.finish());
    assert_eq!((read.named("here").len(), read.named("here")[0].track), (1, 1));
}

#[test]
fn a_job_begun_before_the_trace_is_around_its_inner_jobs() {
    let pool = Pool::builder().threads(1).spare_threads(0).build().unwrap();
    let (handle, halt) = (pool.handle(), Halt::default());
    let stops = halt.clone();
    let outer = pool.submit(move || {
        stops.here();
        let part = || brigade::scope(|s| s.execute(|| ()));
        handle.job().name("inner").submit(part).unwrap().join().unwrap();
    });
    halt.await_thread();
    let tracing = pool.start_trace().unwrap();
    halt.release();
    outer.join().unwrap();
    // The entry of the inner job, which ran inside the outer one, is still queued.
    pool.wait_idle();
    let read = read(&tracing.finish());
    let (before, inner) = (read.named("(began before the trace)"), read.named("inner"));
    assert_eq!((before.len(), before[0].from, inner.len()), (1, 0, 1));
    assert!(inner[0].until <= before[0].until, "{before:?} {inner:?}");
    let part = read.named("job");
    assert_eq!(part.len(), 1);
    assert!((inner[0].from..=inner[0].until).contains(&part[0].until));
    assert_eq!(part[0].args["runs"], "in the job that waits for it");
}

#[test(observed in [false, true])]
fn another_pools_job_keeps_the_outer_jobs_name(observed: bool) {
    let pool = Pool::new(1);
    let builder = Pool::builder().threads(1).capacity(1).when_full(WhenFull::RunInCaller);
    let full = if observed { builder.observe_jobs() } else { builder }.build().unwrap();
    let halt = Halt::default();
    full.execute(halt.job());
    halt.await_thread();
    full.execute(|| ());
    let tracing = pool.start_trace().unwrap();
    let foreign = full.handle();
    let outer = pool.job().name("outer").submit(move || {
        foreign.job().name("foreign").execute(|| ()).unwrap();
    });
    outer.unwrap().join().unwrap();
    pool.wait_idle();
    let read = read(&tracing.finish());
    halt.release();
    assert_eq!((read.named("outer").len(), read.named("foreign").len()), (1, 0));
    assert!(read.named("outer")[0].args.get("submitted at").is_none());
}

/// A thief that has jobs of its own takes those of a worker that is stuck.
#[test]
fn a_steal_counts_only_stolen_jobs() {
    fn go_on(pool: brigade::Handle, is_over: Arc<AtomicBool>) {
        if !is_over.load(Ordering::SeqCst) {
            pool.execute(move || go_on(pool, is_over));
        }
    }
    let pool = Pool::builder().threads(2).spare_threads(0).prestart(2).build().unwrap();
    let (is_over, (ran, runs)) = (Arc::new(AtomicBool::new(false)), mpsc::channel());
    let [thief, victim] = [Halt::default(), Halt::default()];
    let (handle, over, stops) = (pool.handle(), is_over.clone(), thief.clone());
    pool.execute(move || {
        stops.here();
        (0..50).for_each(|_| go_on(handle, over.clone()));
    });
    thief.await_thread();
    let (handle, stops) = (pool.handle(), victim.clone());
    pool.execute(move || {
        for _ in 0..4 {
            let ran = ran.clone();
            handle.execute(move || ran.send(()).unwrap());
        }
        stops.here();
    });
    victim.await_thread();
    let tracing = pool.start_trace().unwrap();
    thief.release();
    (0..4).for_each(|_| runs.recv().unwrap());
    let trace = tracing.finish();
    is_over.store(true, Ordering::SeqCst);
    victim.release();
    let read = read(&trace);
    let steals = read.shown.iter().filter(|shown| shown.name.starts_with("steal from worker"));
    let counts: Vec<_> = steals.map(|steal| steal.args["jobs"].as_u64().unwrap()).collect();
    assert_eq!(counts.iter().sum::<u64>(), 4, "{counts:?}");
}
