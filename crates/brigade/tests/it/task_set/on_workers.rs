//! A worker that waits for a `TaskSet` of its own pool runs the set's jobs.

use std::sync::mpsc;
use std::thread;

use crate::support::policy::queue_kinds;
use brigade::{Pool, TaskSet};
use brigade_testkit::{BlockedThread, Gate, test};

/// A pool of one thread and no other in its place while that one blocks.
fn lone() -> Pool {
    Pool::builder().threads(1).spare_threads(0).build().unwrap()
}

#[test]
fn dependent_sets_finish_on_few_threads() {
    /// The leaves of a tree with three branches at each fork.
    fn leaves(depth: u32, limit: usize) -> u32 {
        if depth == 0 {
            return 1;
        }
        let mut set = TaskSet::new(brigade::Handle::current().unwrap()).limit(limit);
        (0..3).for_each(|_| _ = set.submit(move || leaves(depth - 1, limit)));
        set.outcomes().map(Result::unwrap).sum()
    }
    for limit in [1, 2, 3] {
        assert_eq!(lone().submit(move || leaves(5, limit)).join().unwrap(), 243);
        for threads in [1, 2, 4] {
            for (kind, pool) in queue_kinds(threads) {
                let counted = pool.submit(move || leaves(5, limit)).join().unwrap();
                assert_eq!(counted, 243, "{kind}");
            }
        }
    }
}

/// The second job comes to lie behind one that waits for the set, on the other worker: the owner has to run it.
#[test]
fn a_parked_worker_runs_its_sets_new_job() {
    let pool = Pool::builder().threads(2).spare_threads(0).build().unwrap();
    let (gate, (begun, begins)) = (Gate::closed(), mpsc::channel());
    let (inner, worker) = (gate.clone(), BlockedThread::default());
    let waiter = worker.clone();
    let owner = pool.submit(move || {
        let mut set = TaskSet::new(brigade::Handle::current().unwrap()).limit(1);
        let (done, is_done) = mpsc::channel();
        set.submit(move || {
            begun.send(()).unwrap();
            inner.wait();
            brigade::execute(move || is_done.recv().unwrap());
            thread::current().id()
        });
        set.submit(|| thread::current().id());
        begins.recv().unwrap(); // On the other worker.
        waiter.is_this();
        set.wait_all();
        done.send(()).unwrap();
        let threads: Vec<_> = set.outcomes().map(Result::unwrap).collect();
        (threads[0] == thread::current().id(), threads[1] == thread::current().id())
    });
    worker.wait_until_blocked();
    gate.open();
    assert_eq!(owner.join().unwrap(), (false, true));
}
