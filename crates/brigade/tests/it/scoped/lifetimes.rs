//! Everything is dropped once, in time, and what is forgotten is only leaked.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::{mem, thread};

use super::pools::{for_every_pool, join_stolen};
use brigade::{Handle, Pool, join, scope};
use brigade_testkit::{Drops, test};

#[test(for_every_pool)]
fn captures_and_results_are_dropped_once(pool: &Pool) {
    let drops = Drops::default();
    let pass = || {
        let token = drops.token();
        move || token
    };
    pool.install(|| brigade::join(pass(), pass())).unwrap();
    assert_eq!(drops.count(), 2);
    drop(pool.install(|| join_stolen(pass(), pass())).unwrap());
    assert_eq!(drops.count(), 4);
    pool.scope(|s| {
        let keep = || {
            let token = drops.token();
            move || drop(token)
        };
        (0..20).for_each(|_| s.execute(keep()));
        drop(s.submit(pass()).join().unwrap());
        drop(s.submit(pass()));
        let token = drops.token();
        drop(s.spawn(async move { token }));
        let token = drops.token();
        drop(s.spawn(async move { token }).join().unwrap());
    })
    .unwrap();
    assert_eq!(drops.count(), 28, "before the scope has returned");
    pool.scope(|s| {
        s.cancel();
        let keep = |token| move || drop::<brigade_testkit::Token>(token);
        (0..20).for_each(|_| s.execute(keep(drops.token())));
        let token = drops.token();
        drop(s.spawn(async move { token }));
        assert!(s.submit(pass()).join().unwrap_err().is_cancelled());
    })
    .unwrap();
    assert_eq!(drops.count(), 50);
}

#[test(for_every_pool)]
fn a_forgotten_handle_leaks_only_its_result(pool: &Pool) {
    let (drops, ran) = (Drops::default(), AtomicUsize::new(0));
    pool.scope(|s| {
        let result = || {
            let token = drops.token();
            let ran = &ran;
            move || {
                ran.fetch_add(1, Ordering::Relaxed);
                token
            }
        };
        mem::forget(s.submit(result()));
        let future = result();
        mem::forget(s.spawn(async move { future() }));
        mem::forget(Handle::current().unwrap().submit(|| ()));
    })
    .unwrap();
    assert_eq!((ran.into_inner(), drops.count()), (2, 0));
}

/// What a stack frame had that is used again at once.
#[test(for_every_pool)]
fn frames_of_one_address_stay_distinct(pool: &Pool) {
    pool.install(|| {
        for number in 0..300_u64 {
            let other = number * 2;
            assert_eq!(join(|| number, || other), (number, other));
            if number % 16 == 0 {
                assert_eq!(join_stolen(|| number, || other), (number, other));
            }
            let mut there = 0;
            scope(|s| s.execute(|| there = number));
            assert_eq!(there, number);
        }
    })
    .unwrap();
}

/// Fault 47: a latch is set while the thread that waits for it returns and ends, and its stack with it.
#[test]
fn a_foreign_thread_ends_with_its_scope() {
    let rounds = if cfg!(miri) { 2 } else { 100 };
    for threads in [1, 2, 8] {
        let pool = Pool::new(threads);
        let (handle, ran) = (pool.handle(), AtomicUsize::new(0));
        let add = || _ = ran.fetch_add(1, Ordering::Relaxed);
        for _ in 0..rounds {
            thread::scope(|t| {
                t.spawn(|| handle.install(add).unwrap());
                t.spawn(|| handle.install(|| brigade::join(add, add)).unwrap());
                t.spawn(|| handle.scope(|s| s.execute(add)).unwrap());
                t.spawn(|| handle.in_place_scope(|s| (0..2).for_each(|_| s.execute(add))).unwrap());
                t.spawn(|| handle.in_place_scope(|s| s.submit(add).join().unwrap()).unwrap());
            });
        }
        assert_eq!(ran.into_inner(), 7 * rounds);
    }
}

#[test(for_every_pool)]
fn closures_of_any_layout_arrive_whole(pool: &Pool) {
    #[repr(align(128))]
    struct Aligned([u8; 3]);
    let sum = AtomicUsize::new(0);
    let add = |number: usize| _ = sum.fetch_add(number, Ordering::Relaxed);
    let (one, many, aligned) = (1_u8, [3_u64; 100], Aligned([1, 2, 3]));
    pool.scope(|s| {
        s.execute(|| add(1));
        s.execute(move || add(usize::from(one)));
        s.execute(move || add(many.iter().sum::<u64>() as usize));
        s.execute(move || {
            let aligned = &aligned;
            assert_eq!(std::ptr::from_ref(aligned).addr() % 128, 0);
            add(usize::from(aligned.0[2]));
        });
    })
    .unwrap();
    assert_eq!(sum.into_inner(), 305);
}
