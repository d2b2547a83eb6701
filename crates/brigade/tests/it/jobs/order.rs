//! The order in which one worker runs its jobs, by configuration.

use std::sync::mpsc;

use brigade::{Builder, Order, Pool, Queueing};
use brigade_testkit::{Gate, test};

fn one_worker(set: fn(Builder) -> Builder) -> Pool {
    set(Pool::builder().threads(1)).build().unwrap()
}

/// The order in which the children of one job ran.
fn order_of_children(pool: &Pool) -> Vec<u32> {
    let (ran, order) = mpsc::channel();
    pool.execute(move || {
        for child in 0..10 {
            let ran = ran.clone();
            brigade::execute(move || ran.send(child).unwrap());
        }
    });
    order.iter().collect()
}

#[test]
fn fifo_runs_the_oldest_first_and_lifo_the_newest() {
    let fifo = one_worker(|builder| builder.order(Order::Fifo));
    assert!(order_of_children(&fifo).into_iter().eq(0..10));
    let lifo = one_worker(|builder| builder.order(Order::Lifo));
    assert!(order_of_children(&lifo).into_iter().eq((0..10).rev()));
}

#[test]
fn a_shared_queue_runs_in_order_of_acceptance() {
    let pool = one_worker(|builder| builder.queueing(Queueing::Shared));
    let ((ran, order), gate) = (mpsc::channel(), Gate::closed());
    let opened = gate.clone();
    pool.execute(move || opened.wait());
    // Fifty each from two threads, one after the other: one queue has one order for all producers.
    for half in [0..50, 50..100] {
        let (handle, ran) = (pool.handle(), ran.clone());
        let submitter = std::thread::spawn(move || {
            for job in half {
                let ran = ran.clone();
                handle.execute(move || ran.send(job).unwrap());
            }
        });
        submitter.join().unwrap();
    }
    gate.open();
    drop(ran);
    assert!(order.iter().eq(0..100));
}
