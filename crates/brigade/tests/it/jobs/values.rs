//! Values that follow a job: which code sees them, which jobs inherit them, and when they are dropped.

use std::future::{Future, pending};
use std::hint::black_box;
use std::pin::pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Waker};
use std::time::Duration;

use crate::support::busy::occupy;
use crate::support::full::full;
use brigade::{
    Builder, JobBuilder, JoinHandle, LocalPool, Pool, Priority, Queueing, Shutdown, TaskSet,
    WhenFull, block_on, current_worker_index, inherited, join, par_for, scope, spawn_local, time,
    yield_now,
};
use brigade_testkit::{Bomb, Drops, Gate, Latch, Meeting, OnDrop, eventually, test};

struct Request(u32);

/// The value that the calling code sees.
fn seen() -> Option<u32> {
    inherited::<Request>().map(|request| request.0)
}

/// A job with a value.
fn with(pool: &Pool) -> JobBuilder {
    pool.job().with(Request(7))
}

#[test]
fn only_the_job_with_a_value_sees_it() {
    let pool = Pool::new(1);
    let see = || (seen(), inherited::<&'static str>().as_deref().copied());
    let job = with(&pool).submit(see).unwrap();
    assert_eq!(job.join().unwrap(), (Some(7), None));
    let job = with(&pool).with("word").name("named").submit(see).unwrap();
    assert_eq!(job.join().unwrap(), (Some(7), Some("word")));
    assert_eq!(pool.submit(see).join().unwrap(), (None, None));
    let (told, tells) = mpsc::channel();
    with(&pool).execute(move || told.send(seen()).unwrap()).unwrap();
    assert_eq!(tells.recv(), Ok(Some(7)));
    with(&pool).submit(|| panic!("expected: with a value")).unwrap().join().unwrap_err();
    assert_eq!((pool.submit(seen).join().unwrap(), seen()), (None, None));
}

#[test]
fn the_last_value_of_a_type_hides_the_others() {
    let pool = Pool::new(2);
    let handle = pool.handle();
    let job = pool.job().with("outer").with(Request(1)).with(Request(2)).submit(move || {
        let see = || (seen(), inherited::<&'static str>().as_deref().copied());
        let child = handle.job().with(Request(3)).submit(see).unwrap().join().unwrap();
        (see(), child)
    });
    let (own, child) = job.unwrap().join().unwrap();
    assert_eq!((own, child), ((Some(2), Some("outer")), (Some(3), Some("outer"))));
}

/// A hidden value is not kept by the jobs that can't see it: a chain of jobs would keep them all.
#[test]
fn a_hidden_value_is_dropped_with_its_own_jobs() {
    let (pool, drops, gate) = (Pool::new(1), Drops::default(), Gate::closed());
    let (handle, token, inside) = (pool.handle(), drops.token(), gate.clone());
    let job = pool.job().with(token).submit({
        let (hiding, drops) = (drops.token(), drops.clone());
        move || {
            handle.job().with(hiding).execute(move || inside.wait()).unwrap();
            assert_eq!(drops.count(), 0);
        }
    });
    job.unwrap().join().unwrap();
    assert_eq!(drops.count(), 1);
    gate.open();
    eventually("the last job has ended", || drops.count() == 2);
}

/// Tells what its jobs see.
#[derive(Clone)]
struct Tell(mpsc::Sender<Option<u32>>);

impl Tell {
    fn now(&self) {
        self.0.send(seen()).unwrap();
    }

    fn job(&self) -> impl FnOnce() + Send + 'static + use<> {
        let tell = self.clone();
        move || tell.now()
    }

    fn large(&self) -> impl FnOnce() + Send + 'static + use<> {
        let (tell, captures) = (self.clone(), [0_u8; 5000]);
        move || {
            black_box(&captures);
            tell.now();
        }
    }

    /// A future that is polled twice.
    fn future(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        let tell = self.clone();
        async move {
            tell.now();
            yield_now().await;
            tell.now();
        }
    }

    fn large_future(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        let (future, captures) = (self.future(), [0_u8; 5000]);
        async move {
            future.await;
            black_box(&captures);
        }
    }
}

/// A way to submit jobs to a pool.
type Way = fn(&'static Pool, &Tell);

#[rustfmt::skip]
const WAYS: [(&str, Way); 40] = [
    ("execute", |pool, tell| pool.handle().execute(tell.job())),
    ("execute, by the owner", |pool, tell| pool.execute(tell.job())),
    ("execute, large", |pool, tell| pool.execute(tell.large())),
    ("try_execute", |pool, tell| pool.try_execute(tell.job()).unwrap()),
    ("submit", |pool, tell| drop(pool.handle().submit(tell.job()))),
    ("submit, by the owner", |pool, tell| drop(pool.submit(tell.job()))),
    ("submit, large", |pool, tell| drop(pool.submit(tell.large()))),
    ("try_submit", |pool, tell| drop(pool.try_submit(tell.job()).unwrap())),
    ("spawn", |pool, tell| drop(pool.spawn(tell.future()))),
    ("spawn, large", |pool, tell| drop(pool.spawn(tell.large_future()))),
    ("try_spawn", |pool, tell| drop(pool.try_spawn(tell.future()).unwrap())),
    ("broadcast", |pool, tell| { let tell = Mutex::new(tell.clone()); drop(pool.broadcast(move |_| tell.lock().unwrap().now())); }),
    ("map", |pool, tell| assert!(pool.map([tell.clone()], 1, |tell| tell.now()).all(|told| told.is_ok()))),
    ("map_unordered", |pool, tell| assert!(pool.map_unordered([tell.clone()], 1, |tell| tell.now()).all(|told| told.is_ok()))),
    ("job, execute", |pool, tell| pool.job().execute(tell.job()).unwrap()),
    ("job, named, submit", |pool, tell| drop(pool.job().name("named").submit(tell.job()).unwrap())),
    ("job, another value", |pool, tell| drop(pool.job().with("other").submit(tell.job()).unwrap())),
    ("job, high", |pool, tell| pool.job().priority(Priority::High).execute(tell.job()).unwrap()),
    ("job, normal", |pool, tell| drop(pool.job().priority(Priority::Normal).submit(tell.job()).unwrap())),
    ("job, low, spawn", |pool, tell| drop(pool.job().priority(Priority::Low).spawn(tell.future()).unwrap())),
    ("job, deadline, spawn", |pool, tell| drop(pool.job().deadline(time::now() + Duration::from_secs(3600)).spawn(tell.future()).unwrap())),
    ("execute_batch", |pool, tell| pool.job().execute_batch([tell.job(), tell.job()]).unwrap()),
    ("submit_batch", |pool, tell| drop(pool.job().submit_batch([tell.job(), tell.job()]).unwrap())),
    ("dispatch", |pool, tell| pool.job().dispatch([tell.job(), tell.job()]).for_each(|job| job())),
    ("on_worker", |pool, tell| pool.job().on_worker(0).execute(tell.job()).unwrap()),
    ("reserve, execute", |pool, tell| block_on(pool.job().reserve()).unwrap().execute(tell.job()).unwrap()),
    ("reserve, spawn", |pool, tell| drop(block_on(pool.job().reserve()).unwrap().spawn(tell.future()).unwrap())),
    ("after, execute", |pool, tell| drop(pool.job().after(Duration::ZERO).execute(tell.job()).unwrap())),
    ("after, submit", |pool, tell| drop(pool.job().after(Duration::ZERO).submit(tell.job()).unwrap())),
    ("every", |pool, tell| {
        let tell = tell.clone();
        let timer = pool.job().every(Duration::from_millis(1)).execute(move || tell.now()).unwrap();
        eventually("it has run twice", || timer.ticks() >= 2);
        timer.cancel();
    }),
    ("set, submit", |pool, tell| { let mut set = TaskSet::new(pool); set.submit(tell.job()); set.wait_all(); }),
    ("set, spawn", |pool, tell| { let mut set = TaskSet::new(pool); set.spawn(tell.future()); set.wait_all(); }),
    ("set, limited", |pool, tell| { let mut set = TaskSet::new(pool).limit(1); set.submit(tell.job()); set.spawn(tell.future()); set.wait_all(); }),
    ("set, named", |pool, tell| { let mut set = TaskSet::new(pool); set.job().name("named").spawn(tell.future()).unwrap(); set.wait_all(); }),
    ("set, another value", |pool, tell| { let mut set = TaskSet::new(pool); set.job().with("other").submit(tell.job()).unwrap(); set.wait_all(); }),
    ("limited", |pool, tell| { let limited = pool.limited(1); limited.execute(tell.job()); limited.submit(tell.job()).join().unwrap(); }),
    ("limited, in line", |pool, tell| { let limited = pool.limited(1); limited.execute(tell.job()); limited.execute(tell.job()); drop(limited.spawn(tell.future())); }),
    ("free functions", |pool, tell| pool.enter(|| {
        brigade::execute(tell.job());
        drop(brigade::submit(tell.job()));
        drop(brigade::spawn(tell.future()));
        drop(brigade::execute_after(Duration::ZERO, tell.job()));
    })),
    ("try_execute_locally", |_, tell| {
        brigade::try_execute_locally(tell.job()).unwrap_or_else(|rejected| rejected.into_inner()());
    }),
    ("spawn_local", |_, tell| if current_worker_index().is_some() { drop(spawn_local(tell.future())) } else { tell.now() }),
];

fn submit_in_every_way(pool: &'static Pool, tells: &[Tell]) {
    for ((_, way), tell) in WAYS.iter().zip(tells) {
        way(pool, tell);
    }
}

/// Code of a job with a value, which calls a closure.
type Place = fn(&'static Pool, &'static Pool, Box<dyn FnMut() + Send>);

#[rustfmt::skip]
const PLACES: [(&str, Place); 18] = [
    ("a job", |pool, _, call| with(pool).submit(call).unwrap().join().unwrap()),
    ("a job without a handle", |pool, _, call| with(pool).execute(call).unwrap()),
    ("a high job", |pool, _, call| with(pool).priority(Priority::High).submit(call).unwrap().join().unwrap()),
    ("a low job", |pool, _, call| with(pool).priority(Priority::Low).execute(call).unwrap()),
    ("a job of another pool", |_, other, call| with(other).submit(call).unwrap().join().unwrap()),
    ("a child", |pool, other, call| with(other).submit(move || pool.submit(call).join().unwrap()).unwrap().join().unwrap()),
    ("a future", |pool, _, mut call| with(pool).spawn(async move { yield_now().await; call() }).unwrap().join().unwrap()),
    ("an installed call", |pool, other, call| {
        with(other).submit(move || pool.install(call).unwrap()).unwrap().join().unwrap();
    }),
    ("a future of a scope", |pool, other, mut call| {
        let open = move || pool.scope(|s| drop(s.spawn(async move { yield_now().await; call() }))).unwrap();
        with(other).submit(open).unwrap().join().unwrap();
    }),
    ("a future in block_on", |pool, other, mut call| with(other).submit(move || pool.block_on(async { yield_now().await; call() })).unwrap().join().unwrap()),
    ("a future in run_until", |pool, _, mut call| {
        with(pool).submit(move || LocalPool::new().unwrap().run_until(async { yield_now().await; call() })).unwrap().join().unwrap();
    }),
    ("a future on a LocalPool in block_on", |pool, _, mut call| {
        with(pool).submit(move || LocalPool::new().unwrap().block_on(async { yield_now().await; call() })).unwrap().join().unwrap();
    }),
    ("a local future", |pool, _, mut call| {
        with(pool).submit(move || spawn_local(async move { yield_now().await; call() })).unwrap().join().unwrap().join().unwrap();
    }),
    ("a job for a worker", |pool, _, call| with(pool).on_worker(1).submit(call).unwrap().join().unwrap()),
    ("a delayed closure", |pool, _, call| with(pool).after(Duration::ZERO).submit(call).unwrap().join().unwrap()),
    ("a periodic closure's second run", |pool, _, call| {
        let (mut call, mut runs) = (Some(call), 0);
        let run = move || { runs += 1; if runs == 2 { call.take().unwrap()(); } };
        let timer = with(pool).every(Duration::from_millis(1)).execute(run).unwrap();
        eventually("it has run", || timer.ticks() >= 2);
        assert!(timer.cancel());
    }),
    ("a destructor, on this thread", |pool, _, call| {
        let held = OnDrop(call);
        assert!(with(pool).after(Duration::MAX).submit(move || drop(held)).unwrap().cancel());
        pool.wait_idle();
    }),
    ("a job run by its submitter", |_, _, call| {
        let (pool, gate) = full(Pool::builder(), 1, WhenFull::RunInCaller);
        with(&pool).execute(call).unwrap();
        gate.open();
    }),
];

fn kinds() -> [(&'static str, Builder); 6] {
    let builder = Pool::builder;
    [
        ("plain", builder()),
        ("shared", builder().queueing(Queueing::Shared)),
        ("bounded", builder().capacity(100)),
        ("observed", builder().observe_jobs()),
        ("newest first", builder().order(brigade::Order::Lifo)),
        ("low latency", builder().idle(brigade::Idle::Spin)),
    ]
}

/// Among the places are threads that are no worker of the pool, or act as another worker meanwhile.
#[test((kind, builder) in kinds())]
fn each_submission_from_each_place_inherits(builder: Builder) {
    // Left to the process, as jobs borrow it.
    let pool: &'static Pool = Box::leak(Box::new(builder.threads(2).build().unwrap()));
    let other: &'static Pool = Box::leak(Box::new(Pool::new(1)));
    for (place, call) in PLACES {
        let (tells, told): (Vec<_>, Vec<_>) = WAYS.map(|_| mpsc::channel()).into_iter().unzip();
        let mut tells: Option<Vec<_>> = Some(tells.into_iter().map(Tell).collect());
        let submit = move || {
            if let Some(tells) = tells.take() {
                assert_eq!(seen(), Some(7), "{place}");
                submit_in_every_way(pool, &tells);
            }
        };
        call(pool, other, Box::new(submit));
        for ((way, _), told) in WAYS.iter().zip(told) {
            let told: Vec<_> = told.iter().collect();
            assert!(!told.is_empty(), "{way} in {place}");
            assert!(told.iter().all(|told| *told == Some(7)), "{way} in {place}: {told:?}");
        }
        assert_eq!((pool.submit(seen).join().unwrap(), seen()), (None, None), "after {place}");
        let (tell, told) = mpsc::channel();
        pool.execute(move || pool.execute(Tell(tell).job()));
        assert!(told.iter().eq([None]), "after {place}");
    }
    pool.shutdown(Shutdown::Drain);
    other.shutdown(Shutdown::Drain);
}

#[test]
fn parts_on_other_threads_see_the_values() {
    let (pool, other) = (Pool::new(2), Pool::new(2));
    let handle = other.handle();
    let job = with(&pool).submit(move || {
        let meeting = Meeting::of(2);
        let part = || {
            meeting.attend();
            seen()
        };
        let mut all = Vec::from(<[_; 2]>::from(join(part, part)));
        let meeting = Meeting::of(2);
        let part = || {
            meeting.attend();
            seen()
        };
        all.extend(scope(|s| [s.submit(part), s.submit(part)].map(|job| job.join().unwrap())));
        let (meeting, seen_in_loop) = (Meeting::of(2), Mutex::new(Vec::new()));
        par_for(0..2, 1, |_| {
            meeting.attend();
            seen_in_loop.lock().unwrap().push(seen());
        });
        all.extend(seen_in_loop.into_inner().unwrap());
        all.push(handle.install(|| join(seen, seen).1).unwrap());
        let future = async {
            yield_now().await;
            seen()
        };
        all.push(scope(|s| s.spawn(future).join().unwrap()));
        all
    });
    assert_eq!(job.unwrap().join().unwrap(), [Some(7); 8]);
}

#[test]
fn a_future_sees_its_value_in_every_poll() {
    let (pool, latch) = (Pool::new(2), Latch::default());
    let waits = latch.wait();
    let future = with(&pool).spawn(async move {
        let mut all = vec![seen()];
        yield_now().await;
        all.push(seen());
        waits.await;
        all.push(seen());
        all
    });
    eventually("it waits", || latch.waiting() == 1);
    assert_eq!(pool.submit(seen).join().unwrap(), None, "while it waits");
    latch.open();
    assert_eq!(future.unwrap().join().unwrap(), [Some(7); 3]);
}

type Told = mpsc::Receiver<Option<u32>>;

/// Tells what its destructor sees.
fn told_at_drop() -> (OnDrop<impl FnMut() + Send + 'static>, Told) {
    let (tell, told) = mpsc::channel();
    (OnDrop(move || _ = tell.send(seen())), told)
}

#[test]
fn destructors_see_the_values() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    let mut all = Vec::new();
    let mut held = || {
        let (held, told) = told_at_drop();
        all.push(told);
        held
    };
    let ran = held();
    with(&pool).submit(move || drop(ran)).unwrap().join().unwrap();
    let ended = held();
    let future = async move {
        yield_now().await;
        _ = &ended;
    };
    with(&pool).spawn(future).unwrap().join().unwrap();
    let latch = Latch::default();
    let (waiting, waits) = (held(), latch.wait());
    let future = with(&pool).spawn(async move {
        waits.await;
        drop(waiting);
    });
    eventually("it waits", || latch.waiting() == 1);
    assert!(future.unwrap().cancel());
    let repeated = held();
    let timer = with(&pool).every(Duration::from_secs(3600)).execute(move || _ = &repeated);
    assert!(timer.unwrap().cancel());
    occupy(&pool, &gate);
    let queued = held();
    assert!(with(&pool).submit(move || drop(queued)).unwrap().cancel());
    let [discarded, discarded_future, batch] = [held(), held(), held()];
    with(&pool).execute(move || drop(discarded)).unwrap();
    drop(with(&pool).spawn(async move { drop(discarded_future) }).unwrap());
    with(&pool).execute_batch([move || drop(batch)]).unwrap();
    let closing = pool.handle();
    let end = std::thread::spawn(move || pool.shutdown(Shutdown::Discard));
    eventually("it is closed", || closing.metrics().is_closed);
    gate.open();
    end.join().unwrap();
    for (number, told) in all.iter().enumerate() {
        assert_eq!(told.recv(), Ok(Some(7)), "{number}");
    }
}

#[test]
fn a_scopes_destructors_see_the_values() {
    let pool = Pool::new(2);
    let job = with(&pool).submit(|| {
        let ((held, told), (waiting, told_waiting)) = (told_at_drop(), told_at_drop());
        scope(|s| {
            s.cancel();
            s.execute(move || drop(held));
        });
        let gate = Latch::default();
        scope(|s| {
            let waits = gate.wait();
            s.spawn(async move {
                waits.await;
                drop(waiting);
            });
            eventually("it waits", || gate.waiting() == 1);
            s.cancel();
        });
        (told.recv().unwrap(), told_waiting.recv().unwrap())
    });
    assert_eq!(job.unwrap().join().unwrap(), (Some(7), Some(7)));
}

#[test]
fn a_job_inside_a_wait_sees_its_own_values() {
    let (pool, submitted) = (Pool::new(1), Gate::closed());
    let (handle, may_join) = (pool.handle(), submitted.clone());
    let (pass, passed) = mpsc::channel::<(JoinHandle<_>, JoinHandle<_>, JoinHandle<()>, Told)>();
    let job = with(&pool).submit(move || {
        may_join.wait();
        let (plain, other, dropped, told) = passed.recv().unwrap();
        let joined = [plain.join().unwrap(), other.join().unwrap()];
        assert!(dropped.cancel());
        // After the waits its own jobs inherit as before.
        let children = [handle.submit(seen).join().unwrap(), handle.submit(seen).join().unwrap()];
        (joined, told.recv().unwrap(), children, seen())
    });
    let other = pool.job().with(Request(8)).submit(seen).unwrap();
    let (held, told) = told_at_drop();
    pass.send((pool.submit(seen), other, pool.submit(move || drop(held)), told)).unwrap();
    submitted.open();
    let all = job.unwrap().join().unwrap();
    assert_eq!(all, ([None, Some(8)], None, [Some(7); 2], Some(7)));
}

/// In a pool whose only thread waits, jobs of all classes run inside the wait, and change what the worker knows of the running job.
#[test]
fn jobs_above_a_wait_do_not_end_the_inheritance() {
    let pool = Pool::builder().threads(1).spare_threads(0).build().unwrap();
    let handle = pool.handle();
    let job = with(&pool).submit(move || {
        for class in [Priority::High, Priority::Normal, Priority::Low] {
            let (done, gate) = (Latch::default(), Latch::default());
            let (opens, waits) = (done.clone(), gate.wait());
            let outside = std::thread::spawn(move || {
                let inner = handle.job().priority(class).submit(move || {
                    opens.open();
                    let child = handle.submit(seen);
                    (seen(), child)
                });
                gate.open();
                inner.unwrap()
            });
            block_on(async {
                waits.await;
                done.wait().await;
            });
            assert_eq!(handle.submit(seen).join().unwrap(), Some(7), "{class:?}");
            let (own, child) = outside.join().unwrap().join().unwrap();
            assert_eq!((own, child.join().unwrap()), (None, None), "{class:?}");
        }
    });
    job.unwrap().join().unwrap();
}

#[test]
fn values_are_dropped_with_the_last_job_that_has_them() {
    let (pool, drops, gate) = (Pool::new(2), Drops::default(), Gate::closed());
    let builder = pool.job().with(drops.token());
    let (handle, inside) = (pool.handle(), gate.clone());
    let child = builder.clone().submit(move || handle.submit(move || inside.wait()));
    let child = child.unwrap().join().unwrap();
    drop(builder);
    assert_eq!(drops.count(), 0, "a child has it");
    gate.open();
    child.join().unwrap();
    assert_eq!(drops.count(), 1);
    // Before the handle is ready, and although handles are left.
    let job = pool.job().with(drops.token()).submit(|| 1).unwrap();
    eventually("it has run", || job.is_finished());
    assert_eq!(drops.count(), 2);
    let future = pool.job().with(drops.token()).spawn(async { 1 }).unwrap();
    eventually("it has run", || future.is_finished());
    assert_eq!(drops.count(), 3);
    let timer = pool.job().with(drops.token()).after(Duration::ZERO).execute(|| ()).unwrap();
    eventually("it is over", || timer.is_over());
    assert_eq!(drops.count(), 4);
    let periodic = pool.job().with(drops.token()).every(Duration::MAX).execute(|| ()).unwrap();
    assert!(periodic.cancel());
    assert_eq!(drops.count(), 5);
    // With the builder, if it submits nothing, and with a rejected job.
    drop(pool.job().with(drops.token()));
    assert_eq!(drops.count(), 6);
    pool.close();
    let rejected = pool.job().with(drops.token()).submit(|| 42).unwrap_err();
    assert_eq!((rejected.into_inner()(), drops.count()), (42, 7));
    let rejected = pool.job().with(drops.token()).spawn(async { 42 }).unwrap_err();
    assert_eq!((block_on(rejected.into_inner()), drops.count()), (42, 8));
}

#[test]
fn work_of_a_job_with_values_is_returned_by_a_closed_pool() {
    let (pool, closed) = (Pool::new(1), Pool::new(1));
    let handle = closed.handle();
    closed.close();
    let job = with(&pool).submit(move || {
        let closure = handle.try_submit(seen).unwrap_err().into_inner();
        let future = handle.try_spawn(async { seen() }).unwrap_err().into_inner();
        let set = TaskSet::new(handle).try_submit(seen).unwrap_err().into_inner();
        (closure(), block_on(future), set(), handle.metrics().rejected)
    });
    assert_eq!(job.unwrap().join().unwrap(), (Some(7), Some(7), Some(7), 3));
}

#[test]
fn a_panic_of_a_values_destructor_is_contained() {
    let pool = Pool::new(1);
    assert_eq!(pool.job().with(Bomb).submit(|| 42).unwrap().join().unwrap(), 42);
    assert_eq!(pool.job().with(Bomb).spawn(async { 42 }).unwrap().join().unwrap(), 42);
    let panics = pool.job().with(Bomb).submit(|| panic!("expected: before the value's"));
    let error = panics.unwrap().join().unwrap_err();
    assert_eq!(error.panic_message(), Some("expected: before the value's"));
    pool.job().with(Bomb).execute(|| ()).unwrap();
    drop(pool.job().with(Bomb).with(Request(1)));
    assert!(pool.job().with(Bomb).after(Duration::MAX).execute(|| ()).unwrap().cancel());
    assert_eq!(pool.submit(|| 42).join().unwrap(), 42);
    assert_eq!(pool.metrics().panicked, 1);
}

#[test]
fn a_destructor_of_a_value_may_use_the_pool() {
    let pool = Pool::new(1);
    let handle = pool.handle();
    let (told, tells) = mpsc::channel();
    let held = Mutex::new(OnDrop(move || {
        let job = handle.submit(seen);
        told.send((seen(), job.join().unwrap())).unwrap();
    }));
    pool.job().with(held).execute(|| ()).unwrap();
    assert_eq!(tells.recv(), Ok((None, None)));
}

/// A future that is dropped by this thread, before and after a poll elsewhere.
#[test]
fn a_future_given_back_keeps_no_value() {
    let drops = Drops::default();
    let pool = Pool::new(1);
    pool.close();
    let job = pool.job().with(drops.token()).spawn(pending::<()>());
    let mut future = pin!(job.unwrap_err().into_inner());
    assert!(future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert_eq!(drops.count(), 1);
}

#[test]
fn an_inherited_value_outlives_its_jobs() {
    let pool = Pool::new(1);
    let value: Arc<Request> = with(&pool).submit(|| inherited().unwrap()).unwrap().join().unwrap();
    assert_eq!((value.0, Arc::strong_count(&value)), (7, 1));
}
