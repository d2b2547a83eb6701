//! Memory ordering: submitting, starting, finishing and waiting synchronise.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::busy::{occupy, open_once_closed};
use crate::support::policy::queue_kinds;
use brigade::{Cause, JoinError, Pool, Shutdown, block_on, yield_now};
use brigade_testkit::{Gate, OnDrop, spin_for, test};

/// A capture that is slow to drop, and then reports the drop.
fn slow_drop() -> (impl Drop + Send, Arc<AtomicBool>) {
    let dropped = Arc::new(AtomicBool::new(false));
    let tells = Arc::clone(&dropped);
    let capture = OnDrop(move || {
        spin_for(Duration::from_micros(20));
        tells.store(true, Ordering::Relaxed);
    });
    (capture, dropped)
}

#[test((kind, pool) in queue_kinds(2))]
fn captures_drop_before_the_handle_resolves(pool: Pool) {
    for round in 0..1000 {
        let (capture, dropped) = slow_drop();
        let work = move || {
            let _capture = &capture;
            assert!(round % 10 != 0, "expected");
        };
        let mut job = match round % 7 {
            0 => pool.spawn(async move { work() }),
            1 => pool.spawn(async move {
                yield_now().await;
                work();
            }),
            _ => pool.submit(work),
        };
        // By every way to learn of it.
        match round % 4 {
            0 => drop(job.join()),
            1 => drop(block_on(job)),
            2 => while job.try_join().is_none() {},
            _ => while !job.is_finished() {},
        }
        assert!(dropped.load(Ordering::Relaxed), "round {round}");
    }
}

#[test((kind, pool) in queue_kinds(2))]
fn a_cancel_drops_captures_before_the_handle_resolves(pool: Pool) {
    let gate = Gate::closed();
    occupy(&pool, &gate);
    let waits: Vec<_> = (0..8)
        .map(|_| {
            let (capture, dropped) = slow_drop();
            let job = pool.submit(move || drop(capture));
            thread::spawn(move || {
                let cancelled = matches!(job.join(), Err(JoinError::Cancelled(Cause::Ended)));
                cancelled && dropped.load(Ordering::Relaxed)
            })
        })
        .collect();
    open_once_closed(&gate, pool.handle());
    assert_eq!(pool.shutdown(Shutdown::Discard).discarded, 8);
    assert!(waits.into_iter().all(|waits| waits.join().unwrap()));
}

/// Plain stores on both sides: only the pool orders them. (Miri and ThreadSanitizer look too.)
#[test((kind, pool) in queue_kinds(2))]
fn a_submission_and_a_join_publish_writes(pool: Pool) {
    for round in 0..2000 {
        let (there, back) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        there.store(round, Ordering::Relaxed);
        let (read, write) = (Arc::clone(&there), Arc::clone(&back));
        let work = move || write.store(read.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        if round % 20 == 2 {
            let pool = Pool::new(2);
            pool.execute(work);
            drop(pool);
            assert_eq!(Arc::strong_count(&back), 1, "the closure was dropped");
        } else if round % 2 == 0 {
            pool.submit(work).join().unwrap();
        } else {
            pool.execute(work);
            pool.wait_idle();
        }
        assert_eq!(back.load(Ordering::Relaxed), round + 1);
    }
}

/// Inline or boxed, aligned or not, with and without content: each is moved in whole.
#[test((kind, pool) in queue_kinds(2))]
fn captures_of_any_size_arrive_whole_and_drop_once(pool: Pool) {
    #[repr(align(128))]
    struct Aligned([u8; 128]);
    fn check<const N: usize>(pool: &Pool) {
        let (bytes, witness) = ([N as u8 ^ 0x5A; N], Arc::new(()));
        let held = Arc::clone(&witness);
        let there_and_back = pool.submit(move || {
            drop(held);
            bytes
        });
        assert!(there_and_back.join().unwrap() == bytes, "{N} bytes");
        assert_eq!(Arc::strong_count(&witness), 1, "{N} bytes");
        pool.execute(move || assert!(bytes == [N as u8 ^ 0x5A; N]));
    }
    check::<0>(&pool);
    check::<1>(&pool);
    check::<8>(&pool);
    check::<15>(&pool);
    check::<16>(&pool);
    check::<17>(&pool);
    check::<24>(&pool);
    check::<25>(&pool);
    check::<32>(&pool);
    check::<4096>(&pool);
    let aligned = Aligned([7; 128]);
    let job = pool.submit(move || (&raw const aligned).addr() % 128 + usize::from(aligned.0[3]));
    assert_eq!(job.join().unwrap(), 7);
    pool.wait_idle();
    assert_eq!(pool.metrics().panicked, 0);
}
