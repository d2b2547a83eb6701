//! Recursions by forks and scopes have the answers that they have without.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;

use brigade::{Pool, Scope, ScopedJoinHandle, in_place_scope, join, scope};
use brigade_testkit::test;

use super::pools::{for_every_pool, join_stolen};

/// A scope in each closure of a join in a job of a scope, and so on.
fn mixed(depth: u32) -> u64 {
    if depth == 0 {
        return 1;
    }
    let total = AtomicU64::new(0);
    let add = |number| _ = total.fetch_add(number, Ordering::Relaxed);
    scope(|s| {
        s.execute(|| {
            let (one, two) =
                join(|| mixed(depth - 1), || scope(|s| s.submit(|| mixed(depth - 1)).join()));
            add(one + two.unwrap());
        });
        s.execute_with(|s| s.execute(|| add(mixed(depth - 1))));
    });
    total.into_inner()
}

#[test(for_every_pool)]
fn scopes_and_joins_nest_in_each_other(pool: &Pool) {
    assert_eq!(pool.install(|| mixed(6)).unwrap(), 3_u64.pow(6));
}

/// The job of the outer scope lies above the fork on the deque.
#[test(for_every_pool)]
fn an_outer_scope_gets_jobs_from_anywhere(pool: &Pool) {
    let ran = AtomicUsize::new(0);
    let job = || _ = ran.fetch_add(1, Ordering::Relaxed);
    pool.scope(|outer| {
        scope(|inner| {
            outer.execute(job);
            inner.execute(move || outer.execute(job));
            inner.execute(job);
        });
        let answers = join(
            || {
                outer.execute(job);
                let below = join(|| (0..3).for_each(|_| outer.execute(job)), || 1);
                outer.execute(job);
                below.1
            },
            || {
                outer.execute(job);
                2
            },
        );
        assert_eq!(answers, (1, 2));
        let answers = join_stolen(
            || {
                outer.execute(job);
                join(|| outer.execute(job), || 3).1
            },
            || {
                outer.execute(job);
                join(|| 4, || outer.execute(job)).0
            },
        );
        assert_eq!(answers, (3, 4));
    })
    .unwrap();
    assert_eq!(ran.into_inner(), 13);
}

#[test(for_every_pool)]
fn handles_are_joined_anywhere_in_any_order(pool: &Pool) {
    let words: Vec<_> = (0..40).map(|number| "-".repeat(number)).collect();
    let joined = pool.scope(|s| {
        let submit = |word: &'_ String| word.len();
        let mut handles: Vec<_> =
            words.iter().map(|word| (word.len(), s.submit(move || submit(word)))).collect();
        let wrong = AtomicUsize::new(0);
        // By another job, by a thread, last first, and never.
        let check = |(length, handle): (usize, ScopedJoinHandle<'_, usize>)| {
            wrong.fetch_add(usize::from(handle.join().unwrap() != length), Ordering::Relaxed);
        };
        let by_job: Vec<_> = handles.drain(..10).collect();
        let by_thread: Vec<_> = handles.drain(..10).collect();
        drop(handles.drain(..10));
        scope(|inner| inner.execute(|| by_job.into_iter().for_each(check)));
        thread::scope(|t| _ = t.spawn(|| by_thread.into_iter().rev().for_each(check)));
        handles.into_iter().rev().for_each(check);
        wrong.into_inner()
    });
    assert_eq!(joined.unwrap(), 0);
}

#[test(for_every_pool)]
fn a_scope_opens_in_place_on_any_thread(pool: &Pool) {
    let (other, ran) = (Pool::new(2), AtomicUsize::new(0));
    let (here, handle) = (thread::current().id(), pool.handle());
    let inside = |s: &Scope<'_, '_>| s.execute_with(|s| s.execute(|| ()));
    let open = || {
        let mut local = std::rc::Rc::new(0);
        let begun = thread::current().id();
        let ended = handle.in_place_scope(|s| {
            (0..10).for_each(|_| inside(s));
            *std::rc::Rc::get_mut(&mut local).unwrap() += 1;
            thread::current().id()
        });
        assert_eq!((ended.unwrap(), *local), (begun, 1));
        ran.fetch_add(1, Ordering::Relaxed);
    };
    open();
    assert_eq!(thread::current().id(), here);
    pool.install(open).unwrap();
    other.install(open).unwrap();
    other.enter(open);
    other.install(|| pool.enter(|| in_place_scope(|s| s.execute(open)))).unwrap();
    pool.enter(|| in_place_scope(|s| s.execute(open)));
    pool.enter(|| join(open, || scope(|s| s.execute(open))));
    assert_eq!(ran.into_inner(), 8);
}

#[test(for_every_pool)]
fn outside_threads_add_jobs_to_a_running_scope(pool: &Pool) {
    let seen_there = pool.scope(|s| {
        let handles = Mutex::new(Vec::new());
        thread::scope(|t| {
            for _ in 0..3 {
                t.spawn(|| {
                    for number in 0..50 {
                        s.execute(move || ());
                        handles.lock().unwrap().push(s.submit(move || number));
                    }
                });
            }
        });
        (0..50).for_each(|_| s.execute(|| ()));
        let handles = handles.into_inner().unwrap().into_iter();
        handles.map(|handle| handle.join().unwrap()).sum::<u32>()
    });
    assert_eq!(seen_there.unwrap(), 3 * (0..50).sum::<u32>());
}
