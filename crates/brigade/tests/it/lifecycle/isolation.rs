//! Pools do not affect each other.

use std::thread;

use crate::support::roll_call::thread_ids;
use brigade::{Handle, Pool};
use brigade_testkit::{Gate, test};

#[test]
fn a_job_of_b_submitted_from_a_outlives_a() {
    for _ in 0..50 {
        let (a, b, gate) = (Pool::new(1), Pool::new(1), Gate::closed());
        let (to_b, inner) = (b.handle(), gate.clone());
        let job = a.submit(move || {
            to_b.submit(move || {
                inner.wait();
                thread::current().id()
            })
        });
        let job = job.join().unwrap();
        drop(a);
        assert!(!job.is_finished());
        gate.open();
        assert!(thread_ids(&b).contains(&job.join().unwrap()));
    }
}

/// S13: the thread-local queue of `executors` was one for all pools.
#[test]
fn a_workers_pool_is_the_current_pool() {
    assert_eq!(Handle::current(), None);
    let (a, b) = (Pool::new(1), Pool::new(1));
    assert_ne!(a.handle(), b.handle());
    assert_eq!(a.submit(Handle::current).join().unwrap(), Some(a.handle()));
    let to_b = b.handle();
    let through_a = a.submit(move || to_b.submit(Handle::current).join().unwrap());
    assert_eq!(through_a.join().unwrap(), Some(b.handle()));
    let ids = (thread_ids(&a), thread_ids(&b));
    assert!(ids.0.is_disjoint(&ids.1));
}

#[test]
fn a_nested_pools_drop_leaves_the_job_in_its_pool() {
    let outer = Pool::new(1);
    let job = outer.submit(|| {
        let inner = Pool::new(1);
        let ran_on = inner.submit(Handle::current).join().unwrap();
        assert_eq!(ran_on, Some(inner.handle()));
        drop(inner);
        brigade::submit(Handle::current).join().unwrap()
    });
    assert_eq!(job.join().unwrap(), Some(outer.handle()));
}
