//! Work that a pool rejects, by each verb.

use std::future::Future;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use brigade::{Handle, JobBuilder, Reason, Rejected, TaskSet, WhenFull, block_on};
use brigade_testkit::Drops;

type Job = Box<dyn FnOnce() + Send>;

/// The reason, from a verb that gives one, and the returned jobs in their order.
type Back = (Option<Reason>, Vec<Job>);
type Verb = fn(Handle, JobBuilder, &mut dyn FnMut() -> Job) -> Back;

fn back<T>(result: Result<T, Rejected<Job>>) -> Back {
    let rejected = result.err().expect("rejected");
    (Some(rejected.reason()), vec![rejected.into_inner()])
}

fn batch_back<T>(result: Result<T, Rejected<Vec<Job>>>) -> Back {
    let rejected = result.err().expect("rejected");
    (Some(rejected.reason()), rejected.into_inner())
}

fn future_back<T, F>(result: Result<T, Rejected<F>>) -> Back
where
    F: Future<Output = ()> + Send + 'static,
{
    let rejected = result.err().expect("rejected");
    (Some(rejected.reason()), vec![Box::new(|| block_on(Box::pin(rejected.into_inner())))])
}

async fn future(job: Job) {
    job();
}

/// Verbs that a pool rejects for any reason.
const VERBS: [(&str, Verb); 9] = [
    ("try_execute", |pool, _, next| back(pool.try_execute(next()))),
    ("try_submit", |pool, _, next| back(pool.try_submit(next()))),
    ("try_spawn", |pool, _, next| future_back(pool.try_spawn(future(next())))),
    ("execute", |_, job, next| back(job.execute(next()))),
    ("submit", |_, job, next| back(job.submit(next()))),
    ("spawn", |_, job, next| future_back(job.spawn(future(next())))),
    ("execute_batch", |_, job, next| batch_back(job.execute_batch([next(), next(), next()]))),
    ("submit_batch", |_, job, next| batch_back(job.submit_batch([next(), next(), next()]))),
    ("dispatch", |_, job, next| (None, job.dispatch([next(), next(), next()]).collect())),
];

/// Verbs for a timed closure. They take no deadline, and the first three are rejected by a closed pool in its own jobs too.
const TIMED: [(&str, Verb); 4] = [
    ("after, execute", |_, job, next| back(job.after(far()).execute(next()))),
    ("at, execute", |_, job, next| back(job.at(Instant::now()).execute(next()))),
    ("every, execute", |_, job, next| {
        let mut tick = Some(next());
        let result = job.every(far()).execute(move || tick.take().unwrap()());
        let rejected = result.expect_err("rejected");
        (Some(rejected.reason()), vec![Box::new(rejected.into_inner())])
    }),
    ("after, submit", |_, job, next| back(job.after(far()).submit(next()))),
];

/// Verbs that a closed pool rejects.
const CLOSED: [(&str, Verb); 4] = [
    ("on_worker, execute", |_, job, next| back(job.on_worker(0).execute(next()))),
    ("on_worker, submit", |_, job, next| back(job.on_worker(0).submit(next()))),
    ("a set's try_submit", |pool, _, next| back(TaskSet::new(pool).try_submit(next()))),
    ("a set's try_spawn", |pool, _, next| {
        future_back(TaskSet::new(pool).try_spawn(future(next())))
    }),
];

fn far() -> Duration {
    Duration::from_secs(3600)
}

/// A job builder with each setting, and whether that is a deadline.
fn settings(pool: Handle, reason: Reason) -> Vec<(&'static str, bool, JobBuilder)> {
    let (job, deadline) = (|| pool.job(), Instant::now() + far());
    let wait = |time| job().when_full(WhenFull::BlockFor(time));
    let mut settings = vec![
        ("plain", false, job()),
        ("named", false, job().name("named")),
        ("deadline", true, job().deadline(deadline)),
        ("waits", false, wait(Duration::from_millis(1))),
        ("does not wait", false, wait(Duration::ZERO)),
    ];
    if reason != Reason::Full {
        let last = job().name("all").deadline(deadline).when_full(WhenFull::DropNewest);
        settings.extend([
            ("runs in its caller", false, job().when_full(WhenFull::RunInCaller)),
            ("is dropped", false, job().name("named").when_full(WhenFull::DropNewest)),
            ("all", true, last),
        ]);
    }
    settings
}

/// Submits by a verb; each job must come back, in order and neither run nor dropped, with the reason.
fn comes_back(case: &str, reason: Reason, submit: impl Fn(&mut dyn FnMut() -> Job) -> Back) {
    for is_run in [true, false] {
        let (drops, (told, tells), mut made) = (Drops::default(), mpsc::channel(), 0);
        let (why, jobs) = submit(&mut || {
            let (token, told, number) = (drops.token(), told.clone(), made);
            made += 1;
            Box::new(move || {
                drop(token);
                told.send(number).unwrap();
            })
        });
        assert_eq!(why.unwrap_or(reason), reason, "{case}");
        assert_eq!(jobs.len(), made, "{case}");
        assert_eq!((drops.count(), tells.try_iter().count()), (0, 0), "{case}");
        jobs.into_iter().filter(|_| is_run).for_each(|job| job());
        assert_eq!(drops.count(), made, "{case}");
        assert!(tells.try_iter().eq(0..if is_run { made } else { 0 }), "{case}");
    }
}

fn timed_comes_back(pool: Handle, reason: Reason, verbs: &[(&str, Verb)]) {
    for (setting, has_deadline, job) in settings(pool, reason) {
        for (verb, submit) in verbs.iter().filter(|_| !has_deadline) {
            let case = format!("{verb}, {setting}: {reason:?}");
            comes_back(&case, reason, |next| submit(pool, job.clone(), next));
        }
    }
}

/// Closures that are executed at a time must come back, in a job of the pool too.
pub(crate) fn timed_work_comes_back(pool: Handle, reason: Reason) {
    timed_comes_back(pool, reason, &TIMED[..3]);
}

/// The work of each verb that this reason is for must come back, and none is accepted.
pub(crate) fn all_work_comes_back(pool: Handle, reason: Reason) {
    let accepted = pool.metrics().accepted;
    let is_closed = reason == Reason::Closed;
    for (setting, _, job) in settings(pool, reason) {
        for (verb, submit) in VERBS.into_iter().chain(CLOSED.into_iter().filter(|_| is_closed)) {
            let case = format!("{verb}, {setting}: {reason:?}");
            comes_back(&case, reason, |next| submit(pool, job.clone(), next));
        }
        // A job of the pool finds room, which is of no use to it.
        if is_closed && Handle::current() != Some(pool) {
            assert_eq!(block_on(job.reserve()).unwrap_err(), reason, "reserve, {setting}");
        }
    }
    if reason != Reason::Full {
        timed_comes_back(pool, reason, &TIMED);
    }
    assert_eq!(pool.metrics().accepted, accepted);
}
