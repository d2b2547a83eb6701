//! Threads, file descriptors and memory after many pools. One test: the counts are the process's.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

use std::time::Duration;

use brigade::{Pool, Shutdown};
use brigade_testkit::eventually;
use brigade_testkit::resources::{open_files, resident, threads};

/// The kernel takes a thread off the list a moment after it was joined, and the monitor ends a second after the last pool.
fn assert_threads_are_back_to(baseline: usize) {
    eventually("as many threads as before", || threads() == baseline);
}

fn create_use_end(cycle: usize) {
    let pool = Pool::new(1 + cycle % 4);
    for n in 0..50 {
        // Rejected if the pool is being discarded by then.
        pool.execute(move || drop(brigade::try_submit(move || vec![n; 10])));
    }
    let joined = pool.submit(|| 42);
    match cycle % 5 {
        0 => drop(pool),
        1 => _ = pool.shutdown(Shutdown::Discard),
        2 => _ = pool.shutdown(Shutdown::Drain),
        3 => {
            pool.close();
            drop(pool);
        }
        _ => {
            pool.shutdown(Shutdown::Drain.timeout(Duration::ZERO));
            drop(pool);
            // Its threads end a moment later.
            return assert_eq!(joined.join().unwrap(), 42);
        }
    }
    assert!(joined.is_finished());
}

fn be_refused() {
    assert!(Pool::builder().threads(0).build().is_err());
    assert!(Pool::builder().threads(4097).build().is_err());
    assert!(Pool::builder().threads(4).name(|n| "\0".repeat(n)).build().is_err());
}

#[test]
fn a_thousand_pools_leave_nothing() {
    let baseline = threads();
    (0..100).for_each(create_use_end);
    assert_threads_are_back_to(baseline);
    let (files, memory) = (open_files(), resident());
    for cycle in 0..1000 {
        create_use_end(cycle);
        if cycle % 10 == 0 {
            be_refused();
        }
    }
    assert_threads_are_back_to(baseline);
    assert_eq!(open_files(), files);
    let grown = resident().saturating_sub(memory);
    assert!(grown < 4096, "{grown} kB more after 1000 more pools");
}
