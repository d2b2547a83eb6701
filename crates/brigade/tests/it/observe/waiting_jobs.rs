//! A dump lists the jobs that wait: queued jobs, futures with what they wait for, and timers.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::dump_once;
use crate::support::busy::occupy;
use crate::support::full::full;
use brigade::time::{interval, sleep, timeout};
use brigade::{
    Awaits, Dump, JoinHandle, Pool, Priority, Shutdown, TaskSet, WaitingJob, WhenFull, spawn_local,
};
use brigade_testkit::{Gate, Latch, OnDrop, eventually, on_wake, test};

/// Longer than any test.
const LONG: Duration = Duration::from_secs(1000);

fn observed(threads: usize) -> Pool {
    Pool::builder().threads(threads).name("dumped").observe_jobs().build().unwrap()
}

/// Spawns a future with this name.
#[track_caller]
fn spawn<F>(pool: &Pool, name: &'static str, future: F) -> JoinHandle<F::Output>
where
    F: Future<Output: Send> + Send + 'static,
{
    pool.job().name(name).spawn(future).unwrap()
}

fn named<'a>(jobs: &'a [WaitingJob], name: &str) -> Option<&'a WaitingJob> {
    jobs.iter().find(|job| job.job.name.as_deref() == Some(name))
}

/// What the future with this name awaits, once it waits.
fn awaits(pool: &Pool, name: &str) -> Vec<Awaits> {
    let dump = dump_once(pool, "it waits", |dump| named(&dump.futures, name).is_some());
    named(&dump.futures, name).unwrap().awaits.clone()
}

/// The name of the job that the future with this name awaits alone.
fn awaited_job(pool: &Pool, name: &str) -> String {
    match &awaits(pool, name)[..] {
        [Awaits::Job(Some(job))] => job.to_string(),
        other => panic!("{other:?}"),
    }
}

fn is_timer(awaits: &Awaits) -> bool {
    matches!(awaits, Awaits::Timer(due) if *due <= LONG && *due > LONG / 2)
}

fn assert_empty(dump: &Dump) {
    assert!(dump.queued_jobs.is_empty() && dump.futures.is_empty(), "{dump}");
    assert!(dump.due.is_empty() && dump.timers == 0, "{dump}");
}

#[test]
fn a_pending_future_has_name_place_and_age() {
    let (pool, before) = (observed(1), Instant::now());
    let line = line!() + 1;
    let _future = pool.job().name("alice").spawn(pending::<()>()).unwrap();
    assert_eq!(awaits(&pool, "alice"), [], "something outside of brigade");
    let dump = pool.dump();
    let alice = named(&dump.futures, "alice").unwrap();
    assert!(alice.waited <= alice.age && alice.age <= before.elapsed(), "{alice:?}");
    assert_eq!((alice.job.place.line(), alice.job.class), (line, "normal"));
    assert!(alice.job.place.file().ends_with("waiting_jobs.rs"), "{alice:?}");
    let text = dump.to_string();
    assert!(text.contains("future: alice from crates/brigade/tests/it/observe/wait"), "{text}");
    assert!(text.contains("ago, waits for something outside of brigade\n"), "{text}");
}

#[test]
fn a_future_pending_on_a_timer_says_when() {
    let pool = observed(1);
    let _sleeper = spawn(&pool, "sleep", sleep(LONG));
    let _ticker = spawn(&pool, "tick", async { interval(LONG).tick().await });
    for name in ["sleep", "tick"] {
        let awaits = awaits(&pool, name);
        assert!(awaits.len() == 1 && is_timer(&awaits[0]), "{awaits:?}");
    }
    assert!(pool.dump().to_string().contains("ago, waits for a timer, due in "));
    // A second poll, in which the timer is set already.
    let latch = Latch::default();
    let woken = latch.clone();
    let _both = spawn(&pool, "both", async move {
        let (mut latch, mut sleep) = (pin!(woken.wait()), pin!(sleep(LONG)));
        poll_fn(|context| match latch.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => sleep.as_mut().poll(context),
        })
        .await;
    });
    assert!(is_timer(&awaits(&pool, "both")[0]));
    latch.wake_all();
    eventually("it is polled again", || latch.waiting() > 1);
    // That poll may still run.
    eventually("it waits for the timer", || awaits(&pool, "both").first().is_some_and(is_timer));
}

#[cfg(all(unix, feature = "io"))]
#[test]
fn a_future_pending_on_a_file_says_which() {
    use futures_lite::{AsyncReadExt, AsyncWriteExt};
    use std::os::fd::{AsFd as _, AsRawFd as _};

    let pool = observed(1);
    let (mut reader, empty) = pool.enter(brigade::io::pipe).unwrap();
    let (full, mut writer) = pool.enter(brigade::io::pipe).unwrap();
    let file = u64::try_from(reader.as_fd().as_raw_fd()).unwrap();
    let _reader = spawn(&pool, "reads", async move { reader.read(&mut [0]).await });
    let _writer = spawn(&pool, "writes", async move { writer.write_all(&[0; 1 << 20]).await });
    assert_eq!(awaits(&pool, "reads"), [Awaits::Readable(file)]);
    assert!(matches!(awaits(&pool, "writes")[..], [Awaits::Writable(_)]));
    drop((full, empty));
}

#[test]
fn a_future_pending_on_a_job_says_which() {
    let (pool, gate, latch) = (observed(2), Gate::closed(), Latch::default());
    let (wait, started) = (gate.job(), Gate::closed());
    let starts = started.clone();
    let closure = pool.job().name("closure").submit(move || {
        starts.open();
        wait();
    });
    started.wait();
    let _of_closure = spawn(&pool, "of closure", closure.unwrap());
    assert!(awaited_job(&pool, "of closure").starts_with("closure from crates/"));
    let future = spawn(&pool, "future", latch.wait());
    _ = awaits(&pool, "future");
    let _of_future = spawn(&pool, "of future", timeout(LONG, future));
    let found = awaits(&pool, "of future");
    let [Awaits::Job(Some(job)), timer] = &found[..] else { panic!("{found:?}") };
    assert!(job.name.as_deref() == Some("future") && is_timer(timer));
    let text = pool.dump().to_string();
    assert!(text.contains("waits for the end of future from crates/"), "{text}");
    // A job of another pool, even of one that is not observed.
    let other = Pool::new(1);
    let foreign = other.submit(gate.job());
    let _of_other = spawn(&pool, "of other", foreign);
    assert_eq!(awaits(&pool, "of other"), [Awaits::Job(None)]);
    gate.open();
}

#[test]
fn a_future_pending_on_set_room_or_turn_says_so() {
    let pool = observed(1);
    let (bounded, gate) = full(Pool::builder(), 1, WhenFull::Reject);
    let mut set = TaskSet::new(&pool);
    set.spawn(pending::<()>());
    let _set = spawn(&pool, "set", async move { set.join_next_async().await });
    let handle = bounded.handle();
    let _room = spawn(&pool, "room", async move { handle.job().reserve().await.map(drop) });
    assert_eq!(awaits(&pool, "set"), [Awaits::Set]);
    assert_eq!(awaits(&pool, "room"), [Awaits::Room]);
    // It yields before a closure that keeps the only thread.
    let (held, yields) = (Gate::closed(), Gate::closed());
    let (hold, keep) = (held.clone(), yields.clone());
    let _turn = spawn(&pool, "turn", async move {
        brigade::Handle::current().unwrap().execute(move || {
            hold.open();
            keep.wait();
        });
        brigade::yield_now().await;
    });
    held.wait();
    assert_eq!(awaits(&pool, "turn"), [Awaits::Turn]);
    yields.open();
    gate.open();
}

#[test]
fn mutually_waiting_futures_are_visible() {
    let (pool, latch) = (observed(2), Latch::default());
    let handles = Arc::new([Mutex::new(None), Mutex::new(None)]);
    let waits_for = |index: usize| {
        let (latch, handles) = (latch.clone(), handles.clone());
        async move {
            latch.wait().await;
            let other: Option<JoinHandle<()>> = handles[index].lock().unwrap().take();
            other.unwrap().await.unwrap();
        }
    };
    let alice = spawn(&pool, "alice", waits_for(1));
    let bob = spawn(&pool, "bob", waits_for(0));
    *handles[0].lock().unwrap() = Some(alice);
    *handles[1].lock().unwrap() = Some(bob);
    eventually("both wait for the latch", || latch.waiting() == 2);
    latch.open();
    let waits = |name: &str| matches!(awaits(&pool, name)[..], [Awaits::Job(Some(_))]);
    eventually("they wait for each other", || waits("alice") && waits("bob"));
    assert!(awaited_job(&pool, "alice").starts_with("bob from"));
    assert!(awaited_job(&pool, "bob").starts_with("alice from"));
    pool.shutdown(Shutdown::Drain);
    assert_empty(&pool.dump());
}

#[test]
fn a_join_of_a_pending_future_names_it() {
    let (pool, latch) = (observed(2), Latch::default());
    let future = spawn(&pool, "future", latch.wait());
    _ = awaits(&pool, "future");
    let waiter = pool.job().name("waiter").submit(move || future.join()).unwrap();
    let waits = |dump: &Dump| dump.workers.iter().any(|worker| !worker.waits.is_empty());
    let dump = dump_once(&pool, "it waits", waits);
    let wait = dump.workers.iter().find_map(|worker| worker.waits.first()).unwrap();
    assert_eq!(wait.pending[0].name.as_deref(), Some("future"), "{dump}");
    assert!(dump.to_string().contains("waits for a job; future from crates/"), "{dump}");
    latch.open();
    waiter.join().unwrap().unwrap();
}

#[test]
fn a_nested_polls_notes_are_not_its_own() {
    let pool = observed(1);
    let _outer = spawn(&pool, "outer", async {
        brigade::block_on(sleep(Duration::from_millis(1)));
        // A job that runs in place.
        _ = brigade::spawn(sleep(Duration::from_millis(1))).join();
        pending::<()>().await;
    });
    assert_eq!(awaits(&pool, "outer"), []);
    assert_eq!(pool.dump().timers, 0);
}

#[test]
fn a_local_future_is_listed() {
    let pool = observed(1);
    pool.submit(|| drop(spawn_local(sleep(LONG)))).join().unwrap();
    eventually("it waits", || !pool.dump().futures.is_empty());
    let dump = pool.dump();
    assert!(dump.futures[0].job.name.is_none() && is_timer(&dump.futures[0].awaits[0]), "{dump}");
    assert!(dump.futures[0].job.place.file().ends_with("waiting_jobs.rs"));
}

#[test]
fn queued_jobs_are_listed_by_class_and_age() {
    let (pool, gate) = (observed(1), Gate::closed());
    occupy(&pool, &gate);
    (0..100).for_each(|n| pool.job().name(format!("normal {n}")).execute(|| ()).unwrap());
    let future = pool.job().name("low").priority(Priority::Low).spawn(async {}).unwrap();
    pool.job().name("high").priority(Priority::High).execute(|| ()).unwrap();
    let dump = pool.dump();
    let queued: Vec<_> = dump
        .queued_jobs
        .iter()
        .map(|job| (job.job.class, job.job.name.clone().unwrap().into_owned()))
        .collect();
    assert_eq!(queued.len(), 1 + 64 + 1, "{dump}");
    assert_eq!(queued[0], ("high", "high".into()));
    assert!((0..64).all(|n| queued[n + 1] == ("normal", format!("normal {n}"))), "{dump}");
    assert_eq!(queued[65], ("low", "low".into()));
    let text = dump.to_string();
    assert!(text.contains("  queued, high: high from crates/brigade/tests/it/"), "{text}");
    gate.open();
    future.join().unwrap();
    pool.wait_idle();
    assert_empty(&pool.dump());
}

#[test]
fn timers_are_counted_and_the_next_listed() {
    let pool = observed(1);
    let once = pool.job().name("once").after(LONG / 2).execute(|| ()).unwrap();
    let often = pool.job().name("often").every(LONG / 3).execute(|| ()).unwrap();
    let soon = pool.job().name("soon").after(LONG / 4).submit(|| ()).unwrap();
    _ = awaits(&pool, "soon");
    let dump = pool.dump();
    assert_eq!(dump.timers, 3, "{dump}");
    let names: Vec<_> = dump.due.iter().map(|(_, job)| job.name.clone().unwrap()).collect();
    assert_eq!(names, ["soon", "often", "once"], "{dump}");
    assert!(dump.due.iter().all(|(due, job)| *due <= LONG / 2 && job.class == "normal"));
    let text = dump.to_string();
    assert!(text.contains("  timers: 3; the next:\n    soon from crates/brigade/"), "{text}");
    assert!(once.cancel() && soon.cancel() && often.cancel());
    eventually("the future is dropped", || pool.dump().timers == 0);
    assert_empty(&pool.dump());
    // One that fires again and again, and one that the end of the pool drops.
    let ticks = pool.job().name("ticks").every(Duration::from_millis(1)).execute(|| ()).unwrap();
    let dropped = pool.job().name("dropped").after(LONG).execute(|| ()).unwrap();
    eventually("it ticks", || ticks.ticks() > 2);
    eventually("both are listed", || pool.dump().timers == 2);
    pool.shutdown(Shutdown::Drain);
    assert!(dropped.is_over());
    assert_empty(&pool.dump());
}

#[test]
fn a_closure_returning_a_future_has_its_place() {
    async fn poll_me() {}
    let pool = observed(1);
    let line = line!() + 2;
    for _ in 0..3 {
        let job = pool.job().name("async").submit(|| async { unreachable!("it is not polled") });
        drop(job.unwrap().join().unwrap());
    }
    drop(pool.submit(poll_me).join().unwrap());
    drop(
        pool.submit(|| -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
            Box::pin(poll_me())
        })
        .join(),
    );
    drop(pool.submit(|| vec![42]).join().unwrap());
    pool.spawn(async {}).join().unwrap();
    pool.wait_idle();
    let dump = pool.dump();
    assert_eq!(dump.returned_futures.len(), 3, "{dump}");
    let (job, times) = &dump.returned_futures[0];
    assert_eq!((job.name.as_deref(), job.place.line(), *times), (Some("async"), line, 3));
    assert!(dump.to_string().contains("only if awaited, 3 times: async from crates/"), "{dump}");
}

#[test]
fn an_ended_job_is_listed_no_more() {
    let (pool, gate) = (observed(1), Gate::closed());
    let panics = pool.submit(|| panic!("expected"));
    assert!(panics.join().is_err());
    let panics = pool.spawn(async { panic!("expected") });
    assert!(panics.join().is_err());
    let waits = spawn(&pool, "waits", pending::<()>());
    _ = awaits(&pool, "waits");
    assert!(waits.cancel());
    occupy(&pool, &gate);
    let (closure, future) = (pool.submit(|| ()), pool.spawn(async {}));
    assert_eq!(pool.dump().queued_jobs.len(), 2);
    assert!(closure.cancel() && future.cancel());
    let late = pool.job().deadline(Instant::now()).submit(|| ()).unwrap();
    (0..200).for_each(|_| pool.execute(|| ()));
    gate.open();
    pool.wait_idle();
    assert!(late.join().is_err());
    pool.broadcast(|_| ()).into_iter().for_each(|share| share.join().unwrap());
    pool.job().execute_batch([(); 3].map(|()| || ())).unwrap();
    pool.job().dispatch([(); 3].map(|()| || ())).for_each(drop);
    pool.wait_idle();
    eventually("nothing is left", || pool.dump().futures.is_empty());
    assert_empty(&pool.dump());
    pool.close();
    assert!(pool.try_submit(|| ()).is_err() && pool.try_spawn(async {}).is_err());
    assert!(pool.job().after(LONG).execute(|| ()).is_err());
    assert_empty(&pool.dump());
}

#[test]
fn a_dump_returns_from_any_place() {
    let (dumps, dumped) = mpsc::channel();
    let (hooked, handle) = (dumps.clone(), Arc::new(std::sync::OnceLock::<brigade::Handle>::new()));
    let in_hook = handle.clone();
    let pool = Pool::builder()
        .threads(1)
        .on_outcome(move |_| _ = hooked.send(in_hook.get().unwrap().dump().threads))
        .build()
        .unwrap();
    let own = pool.handle();
    handle.set(own).unwrap();
    let dump = move || _ = dumps.send(own.dump().threads);
    let expect = |what: &str| {
        assert_eq!(dumped.recv_timeout(Duration::from_secs(60)), Ok(1), "{what}");
    };
    pool.execute(|| ());
    expect("in a hook");
    // In the drop of captures and of futures.
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let captured = OnDrop(dump.clone());
    let queued = pool.submit(move || drop(captured));
    assert!(queued.cancel());
    (0..2).for_each(|_| expect("in the drop of captures, and in the hook"));
    gate.open();
    expect("in the hook for the busy job");
    let (captured, latch) = (OnDrop(dump.clone()), Latch::default());
    let wait = latch.wait();
    let future = pool.spawn(async move {
        let _captured = captured;
        wait.await;
    });
    eventually("it waits", || latch.waiting() == 1);
    assert!(future.cancel());
    (0..2).for_each(|_| expect("in the drop of a future, and in the hook"));
    // In a waker, which a thread of the pool wakes.
    let waker = on_wake(dump);
    let mut sleep = pin!(sleep(Duration::from_millis(1)));
    assert!(pool.enter(|| sleep.as_mut().poll(&mut Context::from_waker(&waker))).is_pending());
    expect("in a waker");
}

#[test]
fn an_unobserved_pool_lists_no_pending_jobs() {
    let (pool, gate) = (Pool::new(1), Gate::closed());
    let _sleeps = pool.spawn(sleep(LONG));
    pool.wait_idle();
    occupy(&pool, &gate);
    pool.execute(|| ());
    let dump = pool.dump();
    assert_eq!((dump.queued, dump.pending_futures), (1, 1));
    assert_empty(&dump);
    gate.open();
}
