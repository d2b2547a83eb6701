//! A hook is told once how each job ended, whatever kind of job it was.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::full::{POLICIES, with_capacity};
use brigade::{Builder, Cause, End, Outcome, Pool, Shutdown, TaskSet, WhenFull};
use brigade_testkit::{Gate, Latch, eventually, spin_for, test};

/// What a hook has been told.
#[derive(Clone, Debug, PartialEq)]
struct Told {
    name: Option<String>,
    end: End,
    line: u32,
    message: Option<String>,
    waited: Duration,
    ran: Duration,
    worker: Option<usize>,
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<Told>>>);

impl Log {
    fn hook(&self) -> impl Fn(&Outcome<'_>) + Send + Sync + 'static {
        let log = self.clone();
        move |outcome| {
            assert!(outcome.place.file().ends_with("outcomes.rs"), "{outcome:?}");
            let told = Told {
                name: outcome.name.map(String::from),
                end: outcome.end,
                line: outcome.place.line(),
                message: outcome.panic_message.map(String::from),
                waited: outcome.waited,
                ran: outcome.ran,
                worker: outcome.worker,
            };
            log.0.lock().unwrap().push(told);
        }
    }

    fn build(&self, builder: Builder) -> Pool {
        builder.on_outcome(self.hook()).build().unwrap()
    }

    fn take(&self) -> Vec<Told> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// The only outcome since the last call.
    #[track_caller]
    fn one(&self) -> Told {
        let mut told = self.take();
        assert_eq!(told.len(), 1, "{told:?}");
        told.remove(0)
    }

    /// How many jobs from each line ended so.
    fn by_line(&self, end: End) -> BTreeMap<u32, usize> {
        let mut lines = BTreeMap::new();
        for told in self.take() {
            assert_eq!(told.end, end, "{told:?}");
            *lines.entry(told.line).or_default() += 1;
        }
        lines
    }
}

fn one_thread() -> (Pool, Log) {
    let log = Log::default();
    (log.build(Pool::builder().threads(1)), log)
}

#[test]
fn the_hook_returns_before_the_handle_resolves() {
    let told = Arc::new(AtomicUsize::new(0));
    let count = told.clone();
    let hook = move |_: &Outcome<'_>| {
        thread::yield_now();
        count.fetch_add(1, Ordering::SeqCst);
    };
    let pool = Pool::builder().threads(2).on_outcome(hook).build().unwrap();
    for jobs in 1..=200 {
        pool.submit(|| ()).join().unwrap();
        assert_eq!(told.load(Ordering::SeqCst), jobs);
    }
}

#[test]
fn the_hook_gets_a_panics_message() {
    let (pool, log) = one_thread();
    let error = pool.submit(|| panic!("expected: {}", 1)).join().unwrap_err();
    assert_eq!(error.panic_message(), Some("expected: 1"));
    let told = log.one();
    assert_eq!((told.end, told.message.as_deref()), (End::Panicked, Some("expected: 1")));
    pool.execute(|| panic!("expected"));
    pool.wait_idle();
    let told = log.one();
    assert_eq!((told.end, told.message.as_deref()), (End::Panicked, Some("expected")));
    assert_eq!(pool.metrics().panicked, 2);
}

#[test]
fn every_submission_names_the_callers_line() {
    let (pool, log) = one_thread();
    let handle = pool.handle();
    let mut lines = BTreeMap::new();
    /// Evaluates a call on one line, from which so many jobs come.
    macro_rules! jobs {
        ($count:expr, $call:expr) => {{
            lines.insert(line!(), $count);
            $call
        }};
    }
    jobs!(1, pool.execute(|| ()));
    jobs!(1, pool.try_execute(|| ()).unwrap());
    jobs!(1, pool.submit(|| ()).join().unwrap());
    jobs!(1, handle.execute(|| ()));
    jobs!(1, handle.submit(|| ()).join().unwrap());
    jobs!(1, handle.try_submit(|| ()).unwrap().join().unwrap());
    jobs!(1, pool.spawn(async {}).join().unwrap());
    jobs!(1, pool.try_spawn(async {}).unwrap().join().unwrap());
    jobs!(1, pool.enter(|| brigade::execute(|| ())));
    jobs!(1, pool.enter(|| brigade::try_execute(|| ())).unwrap());
    jobs!(1, pool.enter(|| brigade::submit(|| ())).join().unwrap());
    jobs!(1, pool.enter(|| brigade::try_submit(|| ())).unwrap().join().unwrap());
    jobs!(1, pool.enter(|| brigade::spawn(async {})).join().unwrap());
    jobs!(1, pool.enter(|| brigade::try_spawn(async {})).unwrap().join().unwrap());
    jobs!(1, pool.job().execute(|| ()).unwrap());
    jobs!(1, pool.job().name("n").submit(|| ()).unwrap().join().unwrap());
    jobs!(1, pool.job().name("n").spawn(async {}).unwrap().join().unwrap());
    jobs!(3, pool.job().execute_batch((0..3).map(|_| || ())).unwrap());
    jobs!(3, drop(pool.job().submit_batch((0..3).map(|_| || ())).unwrap()));
    let room = || brigade::block_on(pool.job().reserve()).unwrap();
    jobs!(1, room().execute(|| ()).unwrap());
    jobs!(1, room().submit(|| ()).unwrap().join().unwrap());
    jobs!(1, room().spawn(async {}).unwrap().join().unwrap());
    jobs!(1, drop(pool.broadcast(|_| ())));
    jobs!(1, pool.job().on_worker(0).execute(|| ()).unwrap());
    jobs!(1, pool.job().name("n").on_worker(0).submit(|| ()).unwrap().join().unwrap());
    let soon = Duration::from_millis(1);
    let timer = jobs!(1, pool.job().after(soon).execute(|| ()).unwrap());
    eventually("it has run", || timer.ticks() == 1);
    jobs!(1, pool.job().after(soon).submit(|| ()).unwrap().join().unwrap());
    let mut set = TaskSet::new(&pool);
    jobs!(1, set.submit(|| ()));
    jobs!(1, set.try_submit(|| ()).unwrap());
    jobs!(1, set.spawn(async {}));
    jobs!(1, set.try_spawn(async {}).unwrap());
    while set.join_next().is_some() {}
    // The last two run as jobs of the jobs.
    let job = move || {
        let (local, line) = (brigade::spawn_local(async {}), line!());
        drop(local);
        line
    };
    lines.insert(pool.submit(job).join().unwrap(), 1);
    let job = move || (brigade::try_execute_locally(|| ()).unwrap(), line!()).1;
    lines.insert(pool.submit(job).join().unwrap(), 1);
    pool.wait_idle();
    let seen = log.by_line(End::Returned);
    let known: BTreeMap<_, _> =
        seen.iter().filter(|(line, _)| lines.contains_key(line)).map(|(a, b)| (*a, *b)).collect();
    assert_eq!(known, lines);
    assert_eq!(seen.len(), lines.len() + 2, "and those that ran the last two: {seen:?}");
}

#[test]
fn the_hook_gets_only_accepted_dispatches() {
    let log = Log::default();
    let pool = log.build(Pool::builder().threads(2).prestart(2));
    eventually("both park", || pool.metrics().idle_threads == 2);
    let rejected = pool.job().dispatch((0..5).map(|_| || ())).count();
    assert_eq!(rejected, 3);
    pool.wait_idle();
    assert_eq!(log.by_line(End::Returned).into_values().collect::<Vec<_>>(), [2]);
    let rejected = pool.job().name("n").dispatch((0..5).map(|_| || ())).count();
    pool.wait_idle();
    let told = log.take();
    assert_eq!(told.len(), 5 - rejected);
    assert!(told.iter().all(|told| told.name.as_deref() == Some("n")));
}

#[test]
fn the_hook_gets_each_queued_job_as_cancelled() {
    let (pool, log) = one_thread();
    let gate = Gate::closed();
    occupy_here(&pool, &gate);
    assert!(pool.submit(|| ()).cancel());
    let told = log.one();
    assert_eq!(
        (told.end, told.ran, told.worker),
        (End::Cancelled(Cause::Asked), Duration::ZERO, None)
    );
    let late = pool.job().deadline(Instant::now()).submit(|| ()).unwrap();
    let timer = pool.job().after(Duration::from_secs(3600)).execute(|| ()).unwrap();
    assert!(timer.cancel(), "it was never a job");
    gate.open();
    assert!(late.join().unwrap_err().is_cancelled());
    pool.wait_idle();
    let ends: Vec<_> = log.take().into_iter().map(|told| told.end).collect();
    assert_eq!(ends, [End::Returned, End::Cancelled(Cause::Deadline)]);

    let gate = Gate::closed();
    occupy_here(&pool, &gate);
    let queued: Vec<_> = (0..3).map(|_| pool.submit(|| ())).collect();
    let never_polled = pool.spawn(async {});
    let waits = gate.clone();
    thread::scope(|scope| {
        let ends = scope.spawn(|| pool.shutdown(Shutdown::Discard));
        queued.into_iter().for_each(|job| assert!(job.join().is_err()));
        waits.open();
        ends.join().unwrap();
    });
    assert!(never_polled.join().is_err());
    let mut ends: Vec<_> = log.take().into_iter().map(|told| told.end).collect();
    ends.sort_by_key(|end| *end != End::Returned);
    assert_eq!(ends[0], End::Returned);
    assert_eq!(ends[1..], [End::Cancelled(Cause::Ended); 4]);
}

/// It is taken from the iterator for an idle thread, which is busy when it would be handed over.
#[test]
fn a_job_taken_for_a_vain_dispatch_has_no_end() {
    let ((pool, log), gate) = (one_thread(), Gate::closed());
    eventually("it parks", || pool.metrics().idle_threads == 1);
    let jobs = std::iter::once_with(|| {
        occupy_here(&pool, &gate);
        || ()
    });
    drop(pool.job().dispatch(jobs));
    assert!(log.take().is_empty());
    gate.open();
    pool.wait_idle();
    assert_eq!(log.one().end, End::Returned);
}

/// Occupies the one thread of a pool.
fn occupy_here(pool: &Pool, gate: &Gate) {
    let (wait, started) = (gate.job(), Gate::closed());
    let starts = started.clone();
    pool.execute(move || {
        starts.open();
        wait();
    });
    started.wait();
}

#[test]
fn the_hook_gets_a_future_once() {
    let (pool, log) = one_thread();
    let latch = Latch::default();
    let waits = pool.spawn(latch.wait());
    eventually("it waits", || latch.waiting() == 1);
    assert!(log.take().is_empty());
    latch.open();
    waits.join().unwrap();
    assert_eq!(log.one().end, End::Returned);

    let never = Latch::default();
    let waits = pool.spawn(never.wait());
    eventually("it waits", || never.waiting() == 1);
    assert!(waits.cancel());
    pool.wait_idle();
    assert_eq!(log.one().end, End::Cancelled(Cause::Asked));

    let panics = pool.spawn(async { panic!("expected") });
    assert!(panics.join().unwrap_err().is_panic());
    assert_eq!(log.one().end, End::Panicked);

    let never = Latch::default();
    let waits = pool.spawn(never.wait());
    eventually("it waits", || never.waiting() == 1);
    drop(pool);
    assert!(waits.join().is_err());
    assert_eq!(log.one().end, End::Cancelled(Cause::Ended));
}

#[test]
fn each_run_of_a_periodic_closure_is_told() {
    let (pool, log) = one_thread();
    let every = pool.job().name("tick").every(Duration::from_millis(1)).execute(|| ()).unwrap();
    eventually("three runs", || every.ticks() >= 3);
    every.cancel();
    pool.wait_idle();
    let told = log.take();
    assert!(told.len() >= 3);
    assert!(told.iter().all(|told| told.name.as_deref() == Some("tick")), "{told:?}");
}

#[test]
fn the_times_are_of_the_wait_and_the_run() {
    let (pool, log) = one_thread();
    let gate = Gate::closed();
    let before = Instant::now();
    occupy_here(&pool, &gate);
    let submitted = Instant::now();
    let job = pool.submit(|| spin_for(Duration::from_millis(3)));
    let accepted = Instant::now();
    spin_for(Duration::from_millis(2));
    let opened = Instant::now();
    gate.open();
    job.join().unwrap();
    let told = log.take();
    assert!(told[0].ran >= opened - submitted && told[0].ran <= before.elapsed(), "{told:?}");
    assert!(told[1].waited >= opened - accepted, "{told:?}");
    assert!(told[1].ran >= Duration::from_millis(3), "{told:?}");
    assert!(told[1].waited + told[1].ran <= submitted.elapsed(), "{told:?}");
}

#[test]
fn the_hook_gets_name_and_worker_of_joined_jobs() {
    let (pool, log) = one_thread();
    let outer = pool.job().name("outer").submit(|| {
        let inner = brigade::job().name("inner").submit(|| 42).unwrap();
        inner.join().unwrap()
    });
    assert_eq!(outer.unwrap().join().unwrap(), 42);
    let told = log.take();
    let names: Vec<_> = told.iter().map(|told| told.name.as_deref().unwrap()).collect();
    assert_eq!(names, ["inner", "outer"]);
    let is_plain =
        |told: &Told| (told.end, &told.message, told.worker) == (End::Returned, &None, Some(0));
    assert!(told.iter().all(is_plain), "{told:?}");
}

#[test]
fn a_panicking_hook_is_contained_and_counted() {
    let pool = Pool::builder().threads(1).on_outcome(|_| panic!("expected")).build().unwrap();
    assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
    assert!(pool.submit(|| panic!("expected")).join().unwrap_err().is_panic());
    pool.wait_idle();
    let metrics = pool.metrics();
    assert_eq!((metrics.returned, metrics.panicked), (1, 1));
    assert_eq!(metrics.workers[0].panics, 3);
}

#[test(capacity in [None, Some(1)], is_dropped in [true, false])]
fn the_hook_gets_every_set_job_once(capacity: Option<usize>, is_dropped: bool) {
    let log = Log::default();
    let builder = with_capacity(Pool::builder().threads(1), capacity);
    let (pool, gate) = (log.build(builder), Gate::closed());
    occupy_here(&pool, &gate);
    let mut set = TaskSet::new(&pool).limit(2);
    for number in 0..20 {
        match number % 2 {
            0 => _ = set.submit(|| ()),
            _ => _ = set.spawn(async {}),
        }
    }
    if is_dropped {
        drop(set);
    } else {
        set.cancel_all();
        assert_eq!(std::iter::from_fn(|| set.join_next()).count(), 20);
    }
    gate.open();
    pool.wait_idle();
    let (told, metrics) = (log.take(), pool.metrics());
    let cancelled = told.iter().filter(|told| told.end == End::Cancelled(Cause::Asked)).count();
    assert_eq!((told.len(), cancelled), (21, 20), "{metrics:?}");
    assert_eq!((metrics.accepted, metrics.cancelled), (21, 20), "{metrics:?}");
}

#[test(policy in POLICIES)]
fn the_hook_gets_every_bounded_job_once(policy: WhenFull) {
    let log = Log::default();
    let pool = log.build(Pool::builder().threads(2).capacity(3).when_full(policy));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for n in 0..500 {
                    let handle = pool.handle();
                    let child = move || _ = handle.job().execute(|| ());
                    match n % 3 {
                        0 => drop(pool.job().execute(child)),
                        1 => drop(pool.job().submit(child)),
                        _ => drop(pool.job().spawn(async {})),
                    }
                }
            });
        }
    });
    pool.wait_idle();
    let metrics = pool.metrics();
    let told = log.take();
    let count = |end| told.iter().filter(|told| told.end == end).count() as u64;
    assert_eq!(told.len() as u64, metrics.accepted, "{metrics:?}");
    assert_eq!(count(End::Returned), metrics.returned, "{metrics:?}");
    assert_eq!(count(End::Cancelled(Cause::Evicted)), metrics.cancelled, "{metrics:?}");
    let submitted = metrics.accepted + metrics.rejected;
    assert_eq!(submitted, 1000 + ran_parents(&told), "{metrics:?}");
}

/// How many jobs have run that submit another one.
fn ran_parents(told: &[Told]) -> u64 {
    let lines: std::collections::BTreeSet<_> = told.iter().map(|told| told.line).collect();
    // The child is submitted on the first of the four lines; those with a child come next.
    let parents: Vec<_> = lines.into_iter().skip(1).take(2).collect();
    let ran = |told: &&Told| told.end == End::Returned && parents.contains(&told.line);
    told.iter().filter(ran).count() as u64
}

#[test]
fn a_dropped_pool_reports_all_its_jobs() {
    let ((pool, log), gate) = (one_thread(), Gate::closed());
    occupy_here(&pool, &gate);
    (0..100).for_each(|_| pool.execute(|| ()));
    gate.open();
    drop(pool);
    assert_eq!(log.by_line(End::Returned).into_values().sum::<usize>(), 101);
}
