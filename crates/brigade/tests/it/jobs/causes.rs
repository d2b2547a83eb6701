//! Why a job was cancelled: its handle, the hook and the counters tell the same cause, and that is the first.

use std::future::pending;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::busy::{occupy, open_once_closed};
use brigade::time::{advance, now};
use brigade::{
    Builder, Cause, Causes, End, JobBuilder, JoinError, JoinHandle, LocalPool, Outcome, Pool,
    Queueing, Shutdown, TaskSet, Timer, WhenFull, block_on, spawn_local, yield_now,
};
use brigade_testkit::{Gate, Latch, eventually, test};

/// Makes one job that ends without running to its end, on a pool of one thread; the gate is opened later. Returns what its handle tells
/// after the end, if there is a handle.
type Begin = fn(&Pool, &Gate) -> Told;
type Told = Box<dyn FnOnce() -> Option<Result<(), JoinError>>>;

/// A job of which nothing is left.
fn nothing() -> Told {
    Box::new(|| None)
}

fn of(handle: JoinHandle<()>) -> Told {
    Box::new(|| Some(handle.join()))
}

/// The first job of a set that has failed.
fn of_set(mut set: TaskSet<()>) -> Told {
    Box::new(move || set.outcomes().find(Result::is_err))
}

/// The outcome that another thread sends.
fn of_thread(call: impl FnOnce() -> Result<(), JoinError> + Send + 'static) -> Told {
    let thread = thread::spawn(call);
    Box::new(|| Some(thread.join().unwrap()))
}

/// A closure that is queued behind a busy thread.
fn closure(pool: &Pool, gate: &Gate) -> JoinHandle<()> {
    occupy(pool, gate);
    pool.submit(|| unreachable!("it never runs"))
}

/// A future that is queued behind a busy thread.
fn future(pool: &Pool, gate: &Gate) -> JoinHandle<()> {
    occupy(pool, gate);
    pool.spawn(async { unreachable!("it is never polled") })
}

/// A future that has been polled and waits.
fn waiting(pool: &Pool) -> JoinHandle<()> {
    let latch = Latch::default();
    let job = pool.spawn(latch.wait());
    eventually("it waits", || latch.waiting() == 1);
    job
}

/// A future that was asked to stop while it was polled, whose poll ends ready or pending.
fn asked_in_a_poll(pool: &Pool, gate: &Gate, is_ready: bool) -> JoinHandle<()> {
    let (begun, opens) = (Gate::closed(), gate.clone());
    let begins = begun.clone();
    let job = pool.spawn(async move {
        begins.open();
        opens.wait();
        if !is_ready {
            pending().await
        }
    });
    begun.wait();
    assert!(job.cancel());
    job
}

/// A local future that has been polled and waits.
fn local(pool: &Pool) -> JoinHandle<()> {
    let latch = Latch::default();
    let waits = latch.wait();
    let job = pool.submit(|| spawn_local(waits)).join().unwrap();
    eventually("it waits", || latch.waiting() == 1);
    job
}

/// A share for the busy thread.
fn share(pool: &Pool, gate: &Gate) -> JoinHandle<()> {
    occupy(pool, gate);
    pool.job().on_worker(0).submit(|| unreachable!("it never runs")).unwrap()
}

/// A share of a broadcast.
fn broadcast(pool: &Pool, gate: &Gate) -> JoinHandle<()> {
    occupy(pool, gate);
    pool.broadcast(|_| unreachable!("it never runs")).remove(0)
}

/// A closure for which room was reserved.
fn reserved(pool: &Pool, gate: &Gate) -> JoinHandle<()> {
    let room = block_on(pool.job().reserve()).unwrap();
    occupy(pool, gate);
    room.submit(|| unreachable!("it never runs")).unwrap()
}

/// A job of a set, with others in line if there is a limit.
fn set(pool: &Pool, gate: &Gate) -> TaskSet<()> {
    occupy(pool, gate);
    let mut set = TaskSet::new(pool);
    set.submit(|| unreachable!("it never runs"));
    set
}

/// A job that waits in its set until another one has ended.
fn in_line(pool: &Pool, gate: &Gate) -> TaskSet<()> {
    let mut set = TaskSet::new(pool).limit(1);
    let gate = gate.clone();
    set.submit(move || gate.wait());
    set.submit(|| unreachable!("it never runs"));
    set
}

/// The run of a timer that is queued behind another one, which is busy.
fn due(pool: &Pool, gate: &Gate) -> Timer {
    let (own, gate, is_busy) = (pool.handle(), gate.clone(), Gate::closed());
    let busy = is_busy.clone();
    let timers = pool.submit(move || {
        let now = Instant::now();
        let wait = move || {
            busy.open();
            gate.wait();
        };
        _ = own.job().at(now).execute(wait);
        own.job().at(now).execute(|| unreachable!("it never runs")).unwrap()
    });
    let timer = timers.join().unwrap();
    // Before that it may be the other one that is queued.
    is_busy.wait();
    eventually("it is due", || pool.metrics().queued == 1);
    timer
}

/// A future of a scope that waits, or whose scope is cancelled as it waits.
fn in_scope(pool: &Pool, cancels: bool) -> Told {
    let (handle, latch) = (pool.handle(), Latch::default());
    let (waits, waiting) = (latch.wait(), latch.clone());
    let told = of_thread(move || {
        let wait_for = |waits| {
            handle.in_place_scope(|s| {
                let job = s.spawn(waits);
                if cancels {
                    eventually("it waits", || latch.waiting() == 1);
                    s.cancel();
                }
                job.join()
            })
        };
        wait_for(waits).unwrap()
    });
    eventually("it waits", || cancels || waiting.waiting() == 1);
    told
}

/// A job that is cancelled now.
fn asked(job: JoinHandle<()>) -> Told {
    assert!(job.cancel());
    of(job)
}

const ASKED: &[(&str, Begin)] = &[
    ("a closure", |pool, gate| asked(closure(pool, gate))),
    ("a closure, by its cancel handle", |pool, gate| {
        let job = closure(pool, gate);
        assert!(job.cancel_handle().cancel());
        of(job)
    }),
    ("a closure, by the drop of its handle", |pool, gate| {
        drop(closure(pool, gate).cancel_on_drop());
        nothing()
    }),
    ("a future", |pool, gate| asked(future(pool, gate))),
    ("a future that waits", |pool, _| asked(waiting(pool))),
    ("a future that waits, by the drop of its handle", |pool, _| {
        drop(waiting(pool).cancel_on_drop());
        nothing()
    }),
    ("a future that is polled", |pool, gate| of(asked_in_a_poll(pool, gate, false))),
    ("a future that is ready", |pool, gate| of(asked_in_a_poll(pool, gate, true))),
    ("a local future", |pool, _| asked(local(pool))),
    ("a share", |pool, gate| asked(share(pool, gate))),
    ("a share of a broadcast", |pool, gate| asked(broadcast(pool, gate))),
    ("a reserved job", |pool, gate| asked(reserved(pool, gate))),
    ("a set's job", |pool, gate| {
        let mut set = set(pool, gate);
        set.cancel_all();
        of_set(set)
    }),
    ("a set's job in line", |pool, gate| {
        let mut set = in_line(pool, gate);
        assert!(set.cancel(1));
        of_set(set)
    }),
    ("a set's job, by the drop of the set", |pool, gate| {
        drop(set(pool, gate));
        nothing()
    }),
    ("a delayed job", |pool, _| {
        let later = pool.job().after(FAR).submit(|| unreachable!("it is never due")).unwrap();
        assert!(later.cancel());
        of(later)
    }),
    ("a timer's run", |pool, gate| {
        assert!(due(pool, gate).cancel());
        nothing()
    }),
    ("a scope's closure", |pool, gate| {
        occupy(pool, gate);
        let (handle, cancelled) = (pool.handle(), Gate::closed());
        let cancels = cancelled.clone();
        // The scope waits for its entry in the queue.
        let told = of_thread(move || {
            let outcome = handle.in_place_scope(|s| {
                let job = s.submit(|| unreachable!("it never runs"));
                s.cancel();
                cancels.open();
                job.join()
            });
            outcome.unwrap()
        });
        cancelled.wait();
        told
    }),
    ("a scope's future", |pool, _| in_scope(pool, true)),
];

const DEADLINE: &[(&str, Begin)] = &[
    ("a closure", |pool, _| of(late(pool).submit(|| unreachable!("it never runs")).unwrap())),
    ("a closure without a handle", |pool, _| {
        late(pool).execute(|| unreachable!("it never runs")).unwrap();
        nothing()
    }),
    ("a large closure", |pool, _| {
        let large = [0_u8; 4096];
        of(late(pool).submit(move || unreachable!("{large:?}")).unwrap())
    }),
    ("a future", |pool, _| {
        of(late(pool).spawn(async { unreachable!("it is never polled") }).unwrap())
    }),
    ("a share", |pool, _| {
        of(late(pool).on_worker(0).submit(|| unreachable!("it never runs")).unwrap())
    }),
    ("a reserved closure", |pool, _| {
        let room = block_on(late(pool).reserve()).unwrap();
        of(room.submit(|| unreachable!("it never runs")).unwrap())
    }),
    ("a reserved future", |pool, _| {
        let room = block_on(late(pool).reserve()).unwrap();
        of(room.spawn(async { unreachable!("it is never polled") }).unwrap())
    }),
    ("a closure that its caller would run", |pool, gate| {
        occupy(pool, gate);
        drop((pool.job().execute(|| ()), pool.job().execute(|| ())));
        let late = late(pool).when_full(WhenFull::RunInCaller);
        of(late.submit(|| unreachable!("it never runs")).unwrap())
    }),
];

/// Each is the oldest in a full queue, whose next job drops it.
const OLDEST: &[(&str, Begin)] = &[
    ("a closure", |pool, gate| of(closure(pool, gate))),
    ("a closure without a handle", |pool, gate| {
        drop(closure(pool, gate));
        nothing()
    }),
    ("a future", |pool, gate| of(future(pool, gate))),
    ("a reserved job", |pool, gate| of(reserved(pool, gate))),
    ("a set's job", |pool, gate| of_set(set(pool, gate))),
    ("a timer's run", |pool, gate| {
        drop(due(pool, gate));
        nothing()
    }),
];

const NEWEST: &[(&str, Begin)] = &[
    ("a closure", |pool, _| of(pool.submit(|| unreachable!("it never runs")))),
    ("a future", |pool, _| of(pool.spawn(async { unreachable!("it is never polled") }))),
];

const DISCARDED: &[(&str, Begin)] = &[
    ("a closure", |pool, gate| of(closure(pool, gate))),
    ("a future", |pool, gate| of(future(pool, gate))),
    ("a share", |pool, gate| of(share(pool, gate))),
    ("a share of a broadcast", |pool, gate| of(broadcast(pool, gate))),
    ("a reserved job", |pool, gate| of(reserved(pool, gate))),
    ("a set's job", |pool, gate| of_set(set(pool, gate))),
    ("a set's job in line", |pool, gate| of_set(in_line(pool, gate))),
    ("a timer's run", |pool, gate| {
        drop(due(pool, gate));
        nothing()
    }),
    ("a job that a running job joins", |pool, gate| {
        let (own, gate, (told, tells)) = (pool.handle(), gate.clone(), mpsc::channel());
        pool.execute(move || {
            let inner = own.try_submit(|| unreachable!("it never runs")).ok().unwrap();
            gate.wait();
            told.send(inner.join()).unwrap();
        });
        eventually("both are accepted", || pool.metrics().accepted == 2);
        Box::new(move || Some(tells.recv().unwrap()))
    }),
];

/// Also those that a drained pool does not wait for.
const ENDED: &[(&str, Begin)] = &[
    ("a future that waits", |pool, _| of(waiting(pool))),
    ("a local future", |pool, _| of(local(pool))),
    ("a delayed job", |pool, _| {
        of(pool.job().after(FAR).submit(|| unreachable!("it is never due")).unwrap())
    }),
    ("a scope's future", |pool, _| in_scope(pool, false)),
];

const FAR: Duration = Duration::from_secs(3600);

/// For jobs that are too late.
fn late(pool: &Pool) -> JobBuilder {
    pool.job().deadline(Instant::now())
}

/// How many jobs were cancelled for each of these causes.
type Counts = [u64; 4];

const CAUSES: [Cause; 4] = [Cause::Asked, Cause::Deadline, Cause::Evicted, Cause::Ended];

/// What the counters say.
fn counted(pool: &Pool) -> Counts {
    let metrics = pool.metrics();
    assert_eq!(metrics.causes.sum(), metrics.cancelled, "{metrics:?}");
    assert_eq!(metrics.causes.evicted, metrics.evicted, "{metrics:?}");
    let Causes { asked, deadline, evicted, ended, .. } = metrics.causes;
    [asked, deadline, evicted, ended]
}

/// What the hook was told.
type Ends = Arc<Mutex<Vec<End>>>;

fn hooked(ends: &Ends) -> Counts {
    let ends = ends.lock().unwrap();
    let count = |cause| ends.iter().filter(|end| **end == End::Cancelled(cause)).count() as u64;
    CAUSES.map(count)
}

/// A pool, and what its hook is told.
fn observed(builder: Builder) -> (Pool, Ends) {
    let ends = Ends::default();
    let told = ends.clone();
    let hook = move |outcome: &Outcome<'_>| told.lock().unwrap().push(outcome.end);
    (builder.on_outcome(hook).build().unwrap(), ends)
}

/// Begins each row on a pool of its own, goes `on`, and looks for a cause that is told wrong.
fn all_tell(cause: Cause, builder: fn() -> Builder, rows: &[(&str, Begin)], on: fn(&Pool, &Gate)) {
    let is_right = |counts: Counts| {
        CAUSES.iter().zip(counts).all(|(other, jobs)| (jobs > 0) == (*other == cause))
    };
    let mut wrong = Vec::new();
    for (what, begin) in rows {
        let (pool, ends) = observed(builder());
        let gate = Gate::closed();
        let told = begin(&pool, &gate);
        on(&pool, &gate);
        let outcome = told();
        eventually("it is counted", || pool.metrics().running == 0);
        let (counted, hooked) = (counted(&pool), hooked(&ends));
        let is_told = outcome.as_ref().is_none_or(
            |outcome| matches!(outcome, Err(JoinError::Cancelled(told)) if *told == cause),
        );
        // The hook is not told of jobs of a scope, nor of shares of a broadcast.
        let is_hooked = is_right(hooked) || what.contains("scope") || what.contains("broadcast");
        if !(is_told && is_right(counted) && is_hooked) {
            wrong.push(format!("{what}: {outcome:?}, counted {counted:?}, hooked {hooked:?}"));
        }
    }
    assert!(wrong.is_empty(), "{cause:?} is told as: {wrong:#?}");
}

fn plain() -> Builder {
    Pool::builder().threads(1).capacity(2)
}

/// The oldest job is the oldest of all.
fn drop_oldest() -> Builder {
    plain().queueing(Queueing::Shared).when_full(WhenFull::DropOldest)
}

/// Opens the gate, and waits until the pool is idle.
fn run_all(pool: &Pool, gate: &Gate) {
    gate.open();
    pool.wait_idle();
}

fn end(pool: &Pool, gate: &Gate, how: Shutdown) {
    open_once_closed(gate, pool.handle());
    pool.shutdown(how);
}

#[test]
fn a_job_cancelled_by_a_handle_was_asked() {
    all_tell(Cause::Asked, plain, ASKED, run_all);
}

#[test]
fn a_job_not_started_by_its_deadline_is_late() {
    all_tell(Cause::Deadline, plain, DEADLINE, run_all);
}

#[test]
fn the_next_job_evicts_the_oldest() {
    all_tell(Cause::Evicted, drop_oldest, OLDEST, |pool, gate| {
        // A timer's run takes no room.
        (0..3).for_each(|_| pool.execute(|| ()));
        run_all(pool, gate);
    });
}

#[test]
fn the_newest_job_is_evicted_by_itself() {
    fn full(pool: &Pool, gate: &Gate) {
        occupy(pool, gate);
        (0..2).for_each(|_| pool.execute(|| ()));
    }
    for &(what, begin) in NEWEST {
        let pool = Pool::builder().threads(1).capacity(2).when_full(WhenFull::DropNewest);
        let (pool, gate) = (pool.build().unwrap(), Gate::closed());
        full(&pool, &gate);
        let outcome = begin(&pool, &gate)().unwrap();
        assert!(matches!(outcome, Err(JoinError::Cancelled(Cause::Evicted))), "{what}");
        assert_eq!((pool.metrics().causes.evicted, pool.metrics().cancelled), (1, 1), "{what}");
        gate.open();
    }
}

#[test]
fn a_discard_has_the_cause_ended() {
    let discard = |pool: &Pool, gate: &Gate| end(pool, gate, Shutdown::Discard);
    all_tell(Cause::Ended, plain, DISCARDED, discard);
    all_tell(Cause::Ended, plain, ENDED, discard);
}

#[test]
fn an_end_while_pending_has_the_cause_ended() {
    all_tell(Cause::Ended, plain, ENDED, |pool, gate| end(pool, gate, Shutdown::Drain));
    for (what, begin) in ENDED {
        let pool = Pool::new(1);
        let told = begin(&pool, &Gate::closed());
        drop(pool);
        assert!(matches!(told(), Some(Err(JoinError::Cancelled(Cause::Ended)))), "{what}");
    }
}

/// A job of a pool that has ended is not asked any more, and so on.
#[test]
fn the_first_cause_wins() {
    let cause = |job: JoinHandle<()>| match job.join() {
        Err(JoinError::Cancelled(cause)) => cause,
        other => panic!("{other:?}"),
    };
    let new = || {
        let builder = Pool::builder().threads(1).capacity(1).when_full(WhenFull::DropOldest);
        (builder.build().unwrap(), Gate::closed())
    };
    for make in [closure, future] {
        // Asked, and then ended.
        let (pool, gate) = new();
        let job = make(&pool, &gate);
        assert!(job.cancel());
        end(&pool, &gate, Shutdown::Discard);
        assert_eq!(cause(job), Cause::Asked);
        // Ended, and then asked.
        let (pool, gate) = new();
        let job = make(&pool, &gate);
        end(&pool, &gate, Shutdown::Discard);
        assert!(!job.cancel());
        assert_eq!(cause(job), Cause::Ended);
        // Evicted, and then asked.
        let (pool, gate) = new();
        let job = make(&pool, &gate);
        pool.execute(|| ());
        assert!(!job.cancel());
        gate.open();
        assert_eq!(cause(job), Cause::Evicted);
        // Asked, and then evicted.
        let (pool, gate) = new();
        let job = make(&pool, &gate);
        assert!(job.cancel());
        (0..2).for_each(|_| pool.execute(|| ()));
        gate.open();
        assert_eq!(cause(job), Cause::Asked);
    }
    // A future that waits: asked, and then ended; the other way round.
    let (pool, gate) = new();
    let job = waiting(&pool);
    occupy(&pool, &gate);
    assert!(job.cancel());
    end(&pool, &gate, Shutdown::Discard);
    assert_eq!(cause(job), Cause::Asked);
    let (pool, _) = new();
    let job = waiting(&pool);
    drop(pool);
    assert!(!job.cancel());
    assert_eq!(cause(job), Cause::Ended);
}

/// A deadline is a limit for the start: it is no cause before the job's turn has come.
#[test]
fn a_deadline_is_a_cause_only_at_the_start() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    occupy(&pool, &gate);
    let [asked, late] = [(), ()].map(|()| late(&pool).submit(|| ()).unwrap());
    assert!(asked.cancel());
    assert!(matches!(asked.join(), Err(JoinError::Cancelled(Cause::Asked))));
    gate.open();
    assert!(matches!(late.join(), Err(JoinError::Cancelled(Cause::Deadline))));
}

#[test]
fn a_deadline_during_the_run_changes_nothing() {
    let pool = LocalPool::paused().unwrap();
    pool.run_until(async {
        let soon = || brigade::job().deadline(now() + FAR);
        let closure = soon().submit(|| block_on(advance(2 * FAR))).unwrap();
        assert!(closure.await.is_ok());
        let future = soon().spawn(async {
            advance(2 * FAR).await;
            yield_now().await;
        });
        assert!(future.unwrap().await.is_ok());
    });
    assert_eq!(pool.handle().metrics().causes, Causes::default());
}

/// The counters, the hook, the dump and the report agree after a mixed load.
#[test(policy in [WhenFull::DropOldest, WhenFull::DropNewest])]
fn the_causes_sum_to_the_cancelled_jobs(policy: WhenFull) {
    let (pool, ends) = observed(Pool::builder().threads(2).capacity(3).when_full(policy));
    thread::scope(|scope| {
        for thread in 0..2 {
            let pool = &pool;
            scope.spawn(move || {
                for n in 0..500 {
                    match (n + thread) % 4 {
                        0 => drop(pool.submit(|| ()).cancel_on_drop()),
                        1 => drop(late(pool).submit(|| ())),
                        2 => drop(pool.spawn(async {})),
                        _ => pool.execute(|| ()),
                    }
                    counted(pool);
                }
            });
        }
    });
    pool.wait_idle();
    // One of each, whatever came of those.
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let asked = pool.submit(|| ());
    assert!(asked.cancel());
    (0..4).for_each(|_| pool.execute(|| ()));
    gate.open();
    pool.wait_idle();
    assert!(late(&pool).submit(|| ()).unwrap().join().is_err());
    let gate = Gate::closed();
    occupy(&pool, &gate);
    pool.execute(|| ());
    open_once_closed(&gate, pool.handle());
    let report = pool.shutdown(Shutdown::Discard);
    let (counts, dump) = (counted(&pool), pool.dump());
    assert!(counts.iter().all(|jobs| *jobs > 0), "{counts:?}");
    assert_eq!((hooked(&ends), counts.iter().sum()), (counts, report.discarded));
    let [asked, late, evicted, ended] = counts;
    let says = format!("cancelled: {asked} asked, {late} late, {evicted} evicted, {ended} ended");
    assert!(dump.cancelled == pool.metrics().causes && dump.to_string().contains(&says), "{dump}");
}
