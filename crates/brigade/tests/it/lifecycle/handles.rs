//! `Handle`: a word that submits to its own pool or to none.

use std::sync::{Barrier, mpsc};
use std::time::Duration;
use std::{hint, thread};

use brigade::{Handle, Pool, Shutdown};
use brigade_testkit::test;

/// Who sees a pool closed finds all parts of it closed, its timers among them.
#[test]
fn a_pool_seen_closed_accepts_no_verb() {
    let later = Duration::from_secs(60);
    for round in 0..2_000 {
        let pool = Pool::new(1);
        let (handle, closes) = (pool.handle(), Barrier::new(2));
        thread::scope(|s| {
            s.spawn(|| {
                closes.wait();
                pool.close();
            });
            closes.wait();
            while !handle.metrics().is_closed {
                hint::spin_loop();
            }
            let accepted = [
                handle.job().after(later).execute(|| ()).is_ok(),
                handle.job().every(later).execute(|| ()).is_ok(),
                handle.try_spawn(async {}).is_ok(),
                handle.try_execute(|| ()).is_ok(),
            ];
            assert_eq!(accepted, [false; 4], "round {round}");
        });
    }
}

/// The registry slot of a pool that has ended may be reused while a late caller still holds the old
/// handle.
#[test]
fn late_callers_and_new_pools_do_not_meet() {
    let (handles, late) = mpsc::channel::<Handle>();
    let foreign = thread::spawn(move || {
        let (mut accepted, mut handles) = (0, Vec::new());
        for handle in late {
            handles.push(handle);
            for handle in handles.iter().rev().take(20).chain(handles.first()).copied() {
                let job = move || assert_eq!(Handle::current(), Some(handle));
                accepted += u64::from(handle.try_execute(job).is_ok());
            }
        }
        assert!(handles.pop().is_none_or(|last| handles.iter().all(|old| *old != last)));
        accepted
    });
    let (mut ran, mut panicked) = (0, 0);
    for _ in 0..500 {
        let pool = Pool::new(1);
        handles.send(pool.handle()).unwrap();
        pool.submit(|| ()).join().unwrap();
        pool.wait_idle();
        panicked += pool.metrics().panicked;
        ran += pool.shutdown(Shutdown::Drain).ran - 1;
    }
    drop(handles);
    assert_eq!(foreign.join().unwrap(), ran);
    assert_eq!(panicked, 0, "a job ran on another pool");
}
