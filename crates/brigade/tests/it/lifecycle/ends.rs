//! Each end of a pool runs or cancels each kind of work, and drops it once.

use std::time::Duration;

use crate::support::busy::{let_go, occupy, open_once_closed};
use crate::support::policy::for_every_row;
use brigade::time::sleep;
use brigade::{JoinHandle, Pool, Queueing, Report, Shutdown, ShutdownOptions, spawn_local};
use brigade_testkit::{Drops, Gate, Token, eventually, test};

const FAR: Duration = Duration::from_secs(3600);
const SOON: Duration = Duration::from_millis(1);

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A job that is queued, as all threads are busy.
    Queued,
    /// A job that waits for a time.
    Waits,
    /// Work that waits for a time and is no job before that.
    Timer,
    /// The same, and it repeats.
    Repeats,
}

impl Kind {
    fn is_run_by(self, how: Shutdown) -> bool {
        match self {
            Kind::Queued => how != Shutdown::Discard,
            Kind::Waits | Kind::Timer => how == Shutdown::Finish,
            Kind::Repeats => false,
        }
    }

    fn is_job(self) -> bool {
        matches!(self, Kind::Queued | Kind::Waits)
    }
}

/// Begins work that may wait so long, and holds a token.
type Begin = fn(&Pool, Duration, Token) -> HasRun;

/// Whether the work has run, once the pool has ended. Otherwise it was cancelled.
type HasRun = Box<dyn FnOnce() -> bool>;

fn by_handle<T: 'static>(job: JoinHandle<T>) -> HasRun {
    Box::new(|| job.join().map_err(|error| assert!(error.is_cancelled(), "{error}")).is_ok())
}

const WORK: [(&str, Kind, Begin); 7] = [
    ("a closure", Kind::Queued, |pool, _, token| by_handle(pool.submit(move || drop(token)))),
    ("a future", Kind::Queued, |pool, _, token| by_handle(pool.spawn(async { drop(token) }))),
    ("a future that sleeps", Kind::Waits, |pool, time, token| {
        by_handle(pool.spawn(async move {
            sleep(time).await;
            drop(token);
        }))
    }),
    ("a local future that sleeps, and then spawns one", Kind::Waits, |pool, time, token| {
        let local = async move {
            sleep(time).await;
            spawn_local(sleep(time)).await.unwrap();
            drop(token);
        };
        by_handle(pool.submit(|| spawn_local(local)).join().unwrap())
    }),
    ("a timed closure with a handle", Kind::Waits, |pool, time, token| {
        by_handle(pool.job().after(time).submit(|| drop(token)).unwrap())
    }),
    ("a timed closure", Kind::Timer, |pool, time, token| {
        let timer = pool.job().after(time).execute(|| drop(token)).unwrap();
        Box::new(move || timer.is_over() && timer.ticks() == 1)
    }),
    ("a closure that repeats", Kind::Repeats, |pool, _, token| {
        let timer = pool.job().every(FAR).execute(move || _ = &token).unwrap();
        Box::new(move || !timer.is_over() || timer.ticks() > 0)
    }),
];

type End = fn(Pool) -> Option<Report>;

/// The only end that does not wait.
const LET_GO: &str = "let go";

/// Ends a pool with this work, as that kind of shutdown does.
fn check(pool: Pool, work: (&str, Kind, Begin), how: Shutdown, (name, end): (&str, End)) {
    let (work, kind, begin) = work;
    let case = format!("{work}, {name}, {pool:?}");
    let (gate, drops) = (Gate::closed(), Drops::default());
    if kind == Kind::Queued {
        occupy(&pool, &gate);
    }
    // Where the end waits for it, soon.
    let time = if how == Shutdown::Finish { SOON } else { FAR };
    let has_run = begin(&pool, time, drops.token());
    open_once_closed(&gate, pool.handle());
    let report = end(pool);
    assert!(drops.count() == 1 || name == LET_GO, "{case}");
    assert_eq!(has_run(), kind.is_run_by(how), "{case}");
    eventually("it is dropped", || drops.count() == 1);
    if let Some(report) = report {
        let discarded = u64::from(kind.is_job() && !kind.is_run_by(how));
        assert_eq!((report.discarded, report.still_running), (discarded, 0), "{case}");
    }
}

fn shut_down(pool: Pool, how: Shutdown) -> Option<Report> {
    let report = pool.shutdown(how);
    assert_eq!(report.ran + report.discarded, pool.metrics().accepted);
    Some(report)
}

fn dropped(pool: Pool) -> Option<Report> {
    drop(pool);
    None
}

const DRAIN: (&str, End) = ("drain", |pool| shut_down(pool, Shutdown::Drain));
const FINISH: (&str, End) = ("finish", |pool| shut_down(pool, Shutdown::Finish));
const DISCARD: (&str, End) = ("discard", |pool| shut_down(pool, Shutdown::Discard));

#[test]
fn each_end_settles_each_kind_of_work() {
    use Shutdown::{Discard, Drain, Finish};
    let ends: [(Shutdown, Option<ShutdownOptions>, (&str, End)); 10] = [
        (Drain, None, ("drop", dropped)),
        (Drain, Some(ShutdownOptions::default()), ("drop with the default", dropped)),
        (Drain, Some(Drain.into()), ("drop that drains", dropped)),
        (Finish, Some(Finish.timeout(Duration::MAX)), ("drop that finishes", dropped)),
        (Discard, Some(Discard.into()), ("drop that discards", dropped)),
        (Drain, None, ("close and drop", |pool| (pool.close(), dropped(pool)).1)),
        (Drain, None, (LET_GO, |pool| (let_go(pool), None).1)),
        (Drain, None, DRAIN),
        (Finish, None, FINISH),
        (Discard, None, DISCARD),
    ];
    for (how, on_drop, end) in ends {
        for work in WORK {
            let elastic = Pool::builder().threads(0..=2).keep_alive(Duration::ZERO);
            let shared = Pool::builder().threads(2).queueing(Queueing::Shared);
            for builder in [Pool::builder().threads(1), shared, elastic] {
                let builder =
                    on_drop.into_iter().fold(builder, |builder, how| builder.on_drop(how));
                check(builder.build().unwrap(), work, how, end);
            }
        }
    }
}

#[test(120)]
fn no_end_waits_for_a_time_in_every_row() {
    for (how, end) in [(Shutdown::Drain, DRAIN), (Shutdown::Discard, DISCARD)] {
        for work in WORK.into_iter().filter(|(_, kind, _)| *kind != Kind::Queued) {
            for_every_row(|pool| check(pool, work, how, end));
        }
    }
}
