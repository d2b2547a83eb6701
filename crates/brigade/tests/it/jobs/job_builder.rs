//! Jobs with settings of their own: a name, a deadline, a policy, a reservation; and rejected jobs.

use std::future::{Future, pending};
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::crowd::for_both_queueings;
use crate::support::full::{POLICIES, at_rest, busy, fill, full, with_capacity};
use crate::support::reports::is_cancelled;
use brigade::{
    Builder, Handle, Pool, Reason, Reserved, Shutdown, TaskSet, WhenFull, block_on,
    current_job_name, yield_now,
};
use brigade_testkit::{BlockedThread, Drops, Gate, Latch, eventually, test};

const SOON: Duration = Duration::from_millis(2);

fn far() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

fn named(name: &str) -> Option<String> {
    Some(name.to_owned())
}

#[test(for_both_queueings)]
fn only_the_named_job_sees_its_name(builder: Builder) {
    let pool = builder.threads(1).build().unwrap();
    let name = pool.job().name("first").submit(current_job_name).unwrap();
    assert_eq!(name.join().unwrap(), named("first"));
    assert_eq!(pool.submit(current_job_name).join().unwrap(), None);
    let panics = pool.job().name(String::from("second")).submit(|| -> () {
        assert_eq!(current_job_name(), named("second"));
        panic!("expected: named")
    });
    assert_eq!(panics.unwrap().join().unwrap_err().panic_message(), Some("expected: named"));
    assert_eq!(pool.submit(current_job_name).join().unwrap(), None);
    let (told, tells) = mpsc::channel();
    pool.job().name("third").execute(move || told.send(current_job_name()).unwrap()).unwrap();
    assert_eq!(tells.recv().unwrap(), named("third"));
    assert_eq!(current_job_name(), None);
}

#[test]
fn a_future_sees_its_name_in_every_poll() {
    let (pool, latch) = (Pool::new(2), Latch::default());
    let waits = latch.wait();
    let future = pool.job().name("future").spawn(async move {
        let mut names = vec![current_job_name()];
        yield_now().await;
        names.push(current_job_name());
        waits.await;
        names.push(current_job_name());
        names
    });
    eventually("it waits", || latch.waiting() == 1);
    assert_eq!(pool.submit(current_job_name).join().unwrap(), None, "while it waits");
    latch.open();
    assert_eq!(future.unwrap().join().unwrap(), vec![named("future"); 3]);
}

#[test]
fn delayed_closures_and_batches_see_their_name() {
    let pool = Pool::new(1);
    let (told, tells) = mpsc::channel();
    let tell = || {
        let told = told.clone();
        move || told.send(current_job_name()).unwrap()
    };
    let _once = pool.job().name("once").after(Duration::ZERO).execute(tell()).unwrap();
    assert_eq!(tells.recv().unwrap(), named("once"));
    let _at = pool.job().name("at").at(Instant::now()).execute(tell()).unwrap();
    assert_eq!(tells.recv().unwrap(), named("at"));
    let every = pool.job().name("every").every(SOON / 20).execute(tell()).unwrap();
    assert_eq!(tells.recv().unwrap(), named("every"));
    assert_eq!(tells.recv().unwrap(), named("every"));
    every.cancel();
    let later = pool.job().name("later").after(Duration::ZERO).submit(current_job_name).unwrap();
    assert_eq!(later.join().unwrap(), named("later"));
    let batch = pool.job().name("batch").submit_batch([current_job_name; 3]).unwrap();
    assert!(batch.into_iter().all(|job| job.join().unwrap() == named("batch")));
    eventually("one is idle", || pool.metrics().idle_threads == 1);
    while tells.try_recv().is_ok() {}
    assert_eq!(pool.job().name("dispatched").dispatch([tell()]).count(), 0);
    assert_eq!(tells.recv().unwrap(), named("dispatched"));
    let reserved = block_on(pool.job().name("reserved").reserve()).unwrap();
    assert_eq!(reserved.submit(current_job_name).unwrap().join().unwrap(), named("reserved"));
    let reserved = block_on(pool.job().name("future").reserve()).unwrap();
    let future = reserved.spawn(async { current_job_name() });
    assert_eq!(future.unwrap().join().unwrap(), named("future"));
}

/// On one thread, each runs on the stack of the one that waits for it.
#[test(for_both_queueings)]
fn an_inner_job_lacks_the_outer_jobs_name(builder: Builder) {
    let pool = builder.threads(1).spare_threads(0).build().unwrap();
    let outer = pool.job().name("outer").submit(|| {
        let here = thread::current().id();
        let inside = brigade::submit(move || {
            assert_eq!(thread::current().id(), here);
            current_job_name()
        });
        let mut names = vec![inside.join().unwrap(), current_job_name()];
        let inside = brigade::job().name("inner").submit(|| {
            let nested = brigade::submit(current_job_name).join().unwrap();
            (nested, current_job_name())
        });
        let (nested, inner) = inside.unwrap().join().unwrap();
        names.extend([nested, inner, current_job_name()]);
        let mut set = TaskSet::new(Handle::current().unwrap());
        set.submit(current_job_name);
        names.extend([set.join_next().unwrap().unwrap(), current_job_name()]);
        names
    });
    let outer_name = named("outer");
    let expected =
        [None, outer_name.clone(), None, named("inner"), outer_name.clone(), None, outer_name];
    assert_eq!(outer.unwrap().join().unwrap(), expected);
}

#[test]
fn a_job_joined_in_a_full_pool_lacks_the_joiners_name() {
    let pool = Pool::builder().threads(1).capacity(1).when_full(WhenFull::RunInCaller);
    let pool = pool.build().unwrap();
    let outer = pool.job().name("outer").submit(|| {
        brigade::execute(|| ());
        let inside = brigade::submit(current_job_name);
        let future = brigade::spawn(async { current_job_name() });
        assert!(!inside.is_finished() && !future.is_finished());
        (inside.join().unwrap(), future.join().unwrap(), current_job_name())
    });
    assert_eq!(outer.unwrap().join().unwrap(), (None, None, named("outer")));
}

#[test]
fn another_pools_job_lacks_its_submitters_name() {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::RunInCaller);
    let (other, handle) = (Pool::new(1), pool.handle());
    let outer = other.job().name("outer").submit(move || {
        let inside = handle.submit(current_job_name);
        assert!(inside.is_finished());
        (inside.join().unwrap(), current_job_name())
    });
    let seen = outer.unwrap().join().unwrap();
    gate.open();
    assert_eq!(seen, (None, named("outer")));
}

#[test(for_both_queueings)]
fn a_deadline_before_the_first_poll_cancels(builder: Builder) {
    let (pool, gate) = busy(builder, 2, WhenFull::Reject);
    let drops = Drops::default();
    let late = |name: Option<&'static str>| {
        let (token, builder) = (drops.token(), pool.job().deadline(Instant::now()));
        let builder = name.into_iter().fold(builder, |builder, name| builder.name(name));
        builder.spawn(async move {
            let _token = token;
            unreachable!("it is late")
        })
    };
    let late = [late(None).unwrap(), late(Some("late")).unwrap()];
    assert_eq!(pool.metrics().queued, 2, "until their turn");
    assert_eq!(fill(&pool), 0);
    gate.open();
    for late in late {
        let outcome: Result<(), _> = late.join();
        assert!(is_cancelled(outcome));
    }
    assert_eq!(drops.count(), 2);
    assert_eq!(at_rest(&pool), [3, 1, 0, 2, 0]);
}

#[test]
fn a_deadline_after_the_first_poll_does_nothing() {
    let (pool, latch, begun) = (Pool::new(1), Latch::default(), Gate::closed());
    let (waits, begins, deadline) = (latch.wait(), begun.clone(), far());
    let future = pool.job().deadline(deadline).spawn(async move {
        begins.open();
        waits.await;
        42
    });
    begun.wait();
    assert_eq!(pool.job().deadline(far()).spawn(async { 1 }).unwrap().join().unwrap(), 1);
    let soon = Instant::now() + SOON;
    let late = pool.job().deadline(soon).spawn(async move {
        while Instant::now() < soon {
            yield_now().await;
        }
        yield_now().await;
        43
    });
    // Whether it was in time depends on the machine; if it was, it has continued.
    match late.unwrap().join() {
        Ok(value) => assert_eq!(value, 43),
        late => assert!(is_cancelled(late)),
    }
    latch.open();
    assert_eq!(future.unwrap().join().unwrap(), 42);
}

#[test(policy in POLICIES)]
fn the_jobs_policy_overrides_the_pools(policy: WhenFull) {
    let (pool, gate) = full(Pool::builder(), 1, policy);
    let job = |when_full| pool.job().when_full(when_full);
    for reject in [WhenFull::Reject, WhenFull::BlockFor(Duration::ZERO)] {
        assert_eq!(job(reject).execute(|| ()).unwrap_err().reason(), Reason::Full);
        assert_eq!(job(reject).submit(|| ()).unwrap_err().reason(), Reason::Full);
        assert_eq!(job(reject).spawn(async {}).unwrap_err().reason(), Reason::Full);
        assert_eq!(job(reject).execute_batch([|| ()]).unwrap_err().reason(), Reason::Full);
    }
    let here = thread::current().id();
    let inside = job(WhenFull::RunInCaller).submit(move || thread::current().id() == here);
    assert!(inside.unwrap().join().unwrap());
    let future = job(WhenFull::RunInCaller)
        .name("here")
        .spawn(async move { (thread::current().id() == here, current_job_name()) });
    assert_eq!(future.unwrap().join().unwrap(), (true, named("here")));
    assert!(is_cancelled(job(WhenFull::DropNewest).submit(|| ()).unwrap().join()));
    let newer = job(WhenFull::DropOldest).submit(|| 42).unwrap();
    let submitter = BlockedThread::default();
    let waits = thread::scope(|scope| {
        let waits = scope.spawn(|| {
            submitter.is_this();
            job(WhenFull::Block).submit(|| 43).unwrap()
        });
        submitter.wait_until_blocked();
        assert!(!waits.is_finished());
        gate.open();
        waits.join().unwrap()
    });
    assert_eq!((newer.join().unwrap(), waits.join().unwrap()), (42, 43));
    assert_eq!(at_rest(&pool), [7, 5, 0, 2, 2]);
}

#[test(capacity in [None, Some(3)], for_both_queueings)]
fn the_handles_of_a_batch_are_in_its_order(builder: Builder, capacity: Option<usize>) {
    let pool = with_capacity(builder.threads(2), capacity).build().unwrap();
    for job in [pool.job(), pool.job().name("batch"), pool.job().deadline(far())] {
        let jobs = job.submit_batch((0..100).map(|number| move || number)).unwrap();
        let values: Vec<_> = jobs.into_iter().map(|job| job.join().unwrap()).collect();
        assert!(values.into_iter().eq(0..100));
    }
    // On a worker, too.
    let inside = pool.submit(|| {
        let jobs = brigade::job().submit_batch((0..100).map(|number| move || number));
        jobs.unwrap().into_iter().map(|job| job.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(inside.join().unwrap().into_iter().eq(0..100));
    assert!(pool.job().submit_batch(std::iter::empty::<fn()>()).unwrap().is_empty());
    assert_eq!(at_rest(&pool), [401, 401, 0, 0, 0]);
}

#[test]
fn a_batch_is_submitted_up_to_the_room() {
    let (pool, gate) = busy(Pool::builder(), 3, WhenFull::Reject);
    let rejected = pool.job().submit_batch((0..10).map(|number| move || number)).unwrap_err();
    assert_eq!(rejected.reason(), Reason::Full);
    let back: Vec<_> = rejected.into_inner().into_iter().map(|job| job()).collect();
    assert!(back.into_iter().eq(3..10));
    gate.open();
    assert_eq!(at_rest(&pool), [4, 4, 0, 0, 0]);
}

fn reserve(pool: &Pool) -> Reserved {
    block_on(pool.job().reserve()).unwrap()
}

#[test(for_both_queueings)]
fn room_is_held_until_used_or_dropped(builder: Builder) {
    let (pool, gate) = busy(builder, 3, WhenFull::Reject);
    let rooms = [(); 3].map(|()| reserve(&pool));
    assert_eq!((fill(&pool), pool.metrics().queued), (0, 0));
    let waiting = &mut pin!(pool.job().reserve());
    assert!(waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    let [first, second, third] = rooms;
    let closure = first.submit(|| 1).unwrap();
    let future = second.spawn(async { 2 }).unwrap();
    assert_eq!(pool.metrics().queued, 2);
    drop(third);
    let Poll::Ready(fourth) = waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("there is room")
    };
    fourth.unwrap().execute(|| ()).unwrap();
    assert_eq!(fill(&pool), 0);
    gate.open();
    assert_eq!((closure.join().unwrap(), future.join().unwrap()), (1, 2));
    assert_eq!(at_rest(&pool), [4, 4, 0, 0, 0]);
}

#[test(capacity in [None, Some(3)], how in [Shutdown::Finish, Shutdown::Drain, Shutdown::Discard])]
fn room_is_no_promise_of_a_closed_pool(capacity: Option<usize>, how: Shutdown) {
    let pool = with_capacity(Pool::builder().threads(1), capacity).build().unwrap();
    let [first, second, third] = [(); 3].map(|()| reserve(&pool));
    pool.shutdown(how);
    let closure = first.submit(|| 41).unwrap_err();
    assert_eq!((closure.reason(), closure.into_inner()()), (Reason::Closed, 41));
    let gate = Gate::closed();
    let opens = gate.clone();
    second.execute(move || opens.open()).unwrap_err().into_inner()();
    assert!(gate.is_open());
    let future = third.spawn(async { 42 }).unwrap_err();
    assert_eq!(future.reason(), Reason::Closed);
    assert_eq!(block_on(future.into_inner()), 42);
}

#[test(policy in POLICIES)]
fn a_worker_reserves_beyond_a_full_capacity(policy: WhenFull) {
    let pool = Pool::builder().threads(1).capacity(1).when_full(policy).build().unwrap();
    let parent = pool.submit(|| {
        brigade::job().when_full(WhenFull::Reject).execute(|| ()).unwrap();
        let room = || block_on(brigade::job().name("inside").reserve()).unwrap();
        let inside = room().submit(current_job_name).unwrap();
        let future = room().spawn(async { current_job_name() }).unwrap();
        assert!(!inside.is_finished() && !future.is_finished());
        room().execute(|| ()).unwrap();
        (inside.join().unwrap(), future.join().unwrap())
    });
    assert_eq!(parent.join().unwrap(), (named("inside"), named("inside")));
    assert_eq!(at_rest(&pool), [5, 5, 0, 0, 0]);
}

#[test]
fn a_deadline_holds_for_reserved_room_too() {
    let pool = Pool::builder().threads(1).capacity(2).build().unwrap();
    let late = pool.job().deadline(Instant::now());
    let room = || block_on(late.clone().reserve()).unwrap();
    assert!(is_cancelled::<()>(room().submit(|| unreachable!()).unwrap().join()));
    assert!(is_cancelled::<()>(room().spawn(pending()).unwrap().join()));
    assert_eq!(at_rest(&pool), [2, 0, 0, 2, 0]);
}

#[test]
fn a_discard_voids_a_workers_reserved_room() {
    let pool = Pool::builder().threads(1).capacity(1).build().unwrap();
    let rejected = pool.submit(|| {
        let here = Handle::current().unwrap();
        here.execute(|| ());
        let rooms = [(); 2].map(|()| block_on(here.job().reserve()).unwrap());
        here.shutdown(Shutdown::Discard);
        let [first, second] = rooms;
        let closure = first.execute(|| unreachable!()).map_err(|rejected| rejected.reason());
        (closure, second.spawn(async {}).map(drop).map_err(|rejected| rejected.reason()))
    });
    assert_eq!(rejected.join().unwrap(), (Err(Reason::Closed), Err(Reason::Closed)));
}

#[test]
fn a_workers_room_used_elsewhere_does_not_wait() {
    let pool = Pool::builder().threads(1).capacity(1).build().unwrap();
    let (gate, (found, finds)) = (Gate::closed(), mpsc::channel());
    let held = gate.clone();
    pool.execute(move || {
        let here = Handle::current().unwrap();
        here.execute(|| ());
        found.send(block_on(here.job().reserve()).unwrap()).unwrap();
        held.wait();
    });
    // The only worker is held and the queue is full: waiting would last forever.
    let job = finds.recv().unwrap().submit(|| thread::current().id()).unwrap();
    assert!(!job.is_finished() && pool.metrics().queued == 2);
    gate.open();
    assert_ne!(job.join().unwrap(), thread::current().id());
}

#[test]
fn a_job_run_by_its_caller_spawns_on_its_pool() {
    let (pool, gate) = full(Pool::builder(), 1, WhenFull::RunInCaller);
    let inside = pool.job().name("here").submit(Handle::current).unwrap();
    assert_eq!(inside.join().unwrap(), Some(pool.handle()));
    assert_eq!(Handle::current(), None);
    let delayed = pool.job().after(SOON).submit(Handle::current).unwrap();
    gate.open();
    assert_eq!(delayed.join().unwrap(), Some(pool.handle()));
}
