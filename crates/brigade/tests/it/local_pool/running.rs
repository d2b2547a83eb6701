//! What runs in a call, and where.

use std::cell::RefCell;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use super::{Log, local_pool};
use brigade::{Handle, LocalPool, Pool, current_worker_index, spawn, spawn_local, time, yield_now};
use brigade_testkit::{panics, test};

#[test]
fn a_call_runs_all_queued_jobs_and_nothing_runs_before() {
    let (pool, log) = (local_pool(), Log::default());
    let handle = pool.handle();
    for number in 0..1000 {
        let log = log.clone();
        handle.execute(move || {
            log.note(number);
            if number < 2 {
                handle.execute(log.job(1000 + number));
            }
        });
    }
    assert!(log.take().is_empty());
    pool.run_until_idle();
    let ran = log.take();
    assert!(ran.iter().copied().filter(|&number| number < 1000).eq(0..1000));
    assert_eq!(ran.len(), 1002);
    pool.run_until_idle();
    assert!(log.take().is_empty());
}

#[test]
fn the_owners_local_future_goes_to_the_entered_or_newest_pool() {
    let (older, newer, log) = (local_pool(), local_pool(), Log::default());
    let say = |number| {
        let log = log.clone();
        spawn_local(async move { log.note(number) });
    };
    say(1);
    older.enter(|| say(2));
    assert!(log.take().is_empty(), "not before a call of the owner");
    older.run_until_idle();
    assert_eq!(log.take(), [2]);
    newer.run_until_idle();
    assert_eq!(log.take(), [1]);
    let elsewhere = thread::spawn(|| spawn_local(async {})).join();
    let said = panics::text(&*elsewhere.unwrap_err()).unwrap_or_default().to_owned();
    assert!(said.contains("on the thread that owns a `LocalPool`"), "{said}");
}

#[test]
fn a_tick_runs_one_job() {
    let (pool, log) = (local_pool(), Log::default());
    assert!(!pool.tick());
    for number in 0..200 {
        pool.handle().execute(log.job(number));
    }
    let mut ran = Vec::new();
    while pool.tick() {
        let now = log.take();
        // Where jobs take long, it looks elsewhere before some, and runs one that it finds there, too.
        assert!(now.len() == 1 || (now.len() < 8 && ran.len() > 8), "{now:?} after {}", ran.len());
        ran.extend(now);
    }
    assert!(ran.into_iter().eq(0..200));
}

#[test]
fn futures_run_between_polls_of_the_owner() {
    let pool = local_pool();
    let order = Rc::new(RefCell::new(Vec::new()));
    let borrowed = String::from("borrowed");
    pool.run_until(async {
        let notes = order.clone();
        let local = spawn_local(async move {
            for number in 0..3 {
                notes.borrow_mut().push(number);
                yield_now().await;
            }
        });
        for number in 10..13 {
            order.borrow_mut().push(number);
            yield_now().await;
        }
        assert_eq!(spawn(async { borrowed_len("borrowed") }).await.unwrap(), borrowed.len());
        local.await.unwrap();
    });
    let order = order.take();
    assert_eq!(order.len(), 6);
    assert!(order.windows(2).any(|pair| pair[0] >= 10 && pair[1] < 10), "{order:?}");
}

fn borrowed_len(text: &str) -> usize {
    text.len()
}

#[test]
fn a_jobs_panic_stays_inside_and_the_futures_goes_out() {
    let pool = local_pool();
    pool.handle().execute(|| panic!("a job"));
    let job = pool.handle().submit(|| -> u32 { panic!("with a handle") });
    pool.run_until_idle();
    assert!(job.join().unwrap_err().is_panic());
    assert_eq!(pool.handle().metrics().panicked, 2);
    let call = AssertUnwindSafe(|| pool.run_until(async { panic!("the future") }));
    let payload = panic::catch_unwind(call).unwrap_err();
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"the future"));
    assert_eq!(current_worker_index(), None);
    assert_eq!(pool.run_until(async { spawn(async { 42 }).await.unwrap() }), 42);
}

#[test]
fn it_does_not_run_inside_itself() {
    let pool = local_pool();
    for call in [LocalPool::run_until_idle, |pool: &LocalPool| _ = pool.tick()] {
        let nested = AssertUnwindSafe(|| pool.run_until(async { call(&pool) }));
        let payload = panic::catch_unwind(nested).unwrap_err();
        let message = payload.downcast_ref::<&str>().unwrap();
        assert!(message.contains("await the future instead"), "{message}");
    }
    assert_eq!(pool.run_until(async { 42 }), 42);
}

#[test]
fn pools_run_inside_jobs_and_futures_of_others() {
    let nested = || {
        let (outer, inner) = (local_pool(), local_pool());
        let of_inner = inner.handle();
        outer.run_until(async {
            let job = of_inner.submit(|| Handle::current().unwrap().metrics().threads);
            assert_eq!(inner.run_until(job).unwrap(), 1);
            spawn(async { 42 }).await.unwrap()
        })
    };
    assert_eq!(nested(), 42);
    let pool = Pool::new(2);
    let handle = pool.handle();
    let job = pool.submit(move || {
        let index = current_worker_index();
        let answer = nested();
        assert_eq!(current_worker_index(), index);
        answer + handle.submit(|| 1).join().unwrap()
    });
    assert_eq!(job.join().unwrap(), 43);
}

#[test]
fn borrowing_jobs_run_on_the_owners_thread() {
    let pool = local_pool();
    let handle = pool.handle();
    let mut words = ["b", "a"].map(String::from);
    let check = |words: &mut [String]| {
        let (first, second) = words.split_at_mut(1);
        let both = handle.install(|| brigade::join(|| first[0].push('!'), || second[0].push('?')));
        both.unwrap();
        handle.scope(|s| words.iter_mut().for_each(|word| s.execute(|| word.push('.')))).unwrap();
        assert_eq!(handle.install(|| words.len()).unwrap(), 2);
    };
    check(&mut words);
    pool.run_until(async { check(&mut words) });
    assert_eq!(words, ["b!.!.", "a?.?."]);
}

#[test]
fn the_owner_is_the_only_worker_during_a_call() {
    let pool = local_pool();
    let (handle, owner) = (pool.handle(), thread::current().id());
    let error = handle.resize(4).unwrap_err();
    assert!(error.to_string().contains("LocalPool"), "{error}");
    let here = move || (thread::current().id() == owner, current_worker_index());
    let blocks = handle.submit(move || brigade::blocking(here));
    let others: Vec<_> = (0..100).map(|_| handle.submit(here)).collect();
    assert_eq!(
        pool.run_until(async { (blocks.await.unwrap(), here()) }),
        ((true, Some(0)), (true, Some(0)))
    );
    pool.run_until_idle();
    assert!(others.into_iter().all(|job| job.join().unwrap() == (true, Some(0))));
    assert_eq!(here(), (true, None));
    assert_eq!((handle.metrics().threads, handle.size()), (1, 1..=1));
}

/// Caught: a wake-up between the last poll of the future and the sleep.
#[test(120)]
fn the_waiting_owner_runs_jobs_of_many_threads() {
    let pool = local_pool();
    let (handle, ran) = (pool.handle(), Arc::new(AtomicU32::new(0)));
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let ran = ran.clone();
            thread::spawn(move || {
                for number in 0..2000 {
                    let count = ran.clone();
                    let job = handle.submit(move || count.fetch_add(1, Ordering::Relaxed));
                    if number % 10 == 0 {
                        job.join().unwrap();
                    }
                }
            })
        })
        .collect();
    let (ended, ends) = async_channel::bounded::<()>(1);
    let joins = thread::spawn(move || {
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        drop(ended);
    });
    assert!(pool.run_until(ends.recv()).is_err());
    joins.join().unwrap();
    pool.run_until_idle();
    assert_eq!(ran.load(Ordering::Relaxed), 8000);
}

/// Caught: a thread was started for the outer pool, because its job ran another pool.
#[test]
fn a_job_running_another_pool_adds_no_thread() {
    let (outer, me) = (LocalPool::new().unwrap(), thread::current().id());
    let runs = outer.submit(|| {
        let inner = LocalPool::new().unwrap();
        inner.run_until(time::sleep(Duration::from_millis(1)));
    });
    let queued = outer.submit(move || thread::current().id() == me);
    assert_eq!(outer.metrics().threads, 1);
    runs.join().unwrap();
    assert!(queued.join().unwrap());
}

#[test]
fn a_job_awaits_a_pool_whose_job_runs_the_first() {
    let (outer, inner) = (LocalPool::new().unwrap(), LocalPool::new().unwrap());
    let (one, two) = (outer.handle(), inner.handle());
    let nested = outer.submit(move || two.submit(move || one.submit(|| 7).join()).join());
    assert_eq!(nested.join().unwrap().unwrap().unwrap(), 7);
}
