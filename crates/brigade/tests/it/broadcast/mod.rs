//! `broadcast`: a closure runs once on each thread of a pool, whatever the threads do meanwhile.

mod each_thread;
mod ending;
mod leaving;
mod on_worker;
mod starting;
mod waiting;

use std::panic::{self, AssertUnwindSafe};

use brigade::{Builder, JoinHandle, Pool, Queueing};

/// Runs `claim` for pools of 1, 2 and 8 threads with both queueings, of which it may make several; a failure names the pool.
fn for_each_size(claim: impl Fn(&dyn Fn() -> Builder, usize)) {
    for threads in [1, 2, 8] {
        for queueing in [Queueing::Stealing, Queueing::Shared] {
            let new = || Pool::builder().threads(threads).queueing(queueing);
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| claim(&new, threads))) {
                eprintln!("failed with {threads} threads and the queueing: {queueing:?}");
                panic::resume_unwind(payload);
            }
        }
    }
}

fn join_all<T>(handles: Vec<JoinHandle<T>>) -> Vec<T> {
    handles.into_iter().map(|handle| handle.join().unwrap()).collect()
}
