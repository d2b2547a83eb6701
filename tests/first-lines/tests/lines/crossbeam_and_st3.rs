//! crossbeam-deque and st3, whose queues are in `brigade-queue`.

/// Typed, in crossbeam-deque's words: `Worker::new_fifo()`, `w.push(1)`, `s.steal()` with `Steal::Success`, and
/// `i.steal_batch_and_pop(&w)`. A ring has a capacity, so a push may return its item.
#[test]
fn d01_crossbeam() {
    use brigade_queue::Injector;
    use brigade_queue::fifo::{Stealer, Worker};
    let w = Worker::new(256);
    w.push(1).unwrap();
    let i = Injector::new();
    i.push(2).unwrap();
    let s: Stealer<i32> = w.stealer();
    assert_eq!(s.steal_one(), Ok(1));
    assert_eq!(i.pop_batch_into(&w, 32), Some(2));
}

#[test]
fn d02_st3() {
    use brigade_queue::lifo::Worker;
    let worker = Worker::new(256);
    for x in ["a", "b", "c", "d"] {
        worker.push(x).unwrap();
    }
    let stealer = worker.stealer();
    let th = std::thread::spawn(move || {
        let other = Worker::new(256);
        match stealer.steal(&other, |n| n / 2) {
            Ok(n) => n,
            Err(_) => 0,
        }
    });
    let mut pops = 0;
    while worker.pop().is_some() {
        pops += 1;
    }
    assert_eq!(pops + th.join().unwrap(), 4);
}

#[test]
fn d03_st3_crate_types() {
    use brigade_queue::StealError;
    use brigade_queue::fifo::{Stealer, Worker};
    let mut rejected = Vec::new();
    let a = Worker::new(4);
    let b = Worker::new(4);
    for i in 0..9 {
        if a.push(i).is_err() {
            rejected.push(i);
        }
    }
    let s: Stealer<i32> = a.stealer();
    match s.steal_and_pop(&b, |n| n - n / 2) {
        Ok((item, n)) => assert_eq!(b.len(), n, "and {item} was popped"),
        Err(StealError::Empty) => unreachable!("{} items are there", a.len()),
        Err(StealError::Busy) => unreachable!("this is the only thief"),
    }
    let mut left = Vec::new();
    for x in a.drain(|n| n).unwrap() {
        left.push(x);
    }
    assert_eq!(1 + b.len() + left.len() + rejected.len(), 9);
}

#[test]
fn d04_capacity_odd() {
    let w = brigade_queue::fifo::Worker::<u8>::new(100);
    assert_eq!(w.capacity(), 128, "the next power of two");
}

/// A toy executor, written after the README of `brigade-queue` alone.
#[test]
fn g01_deque() {
    use brigade_queue::{Injector, StealError, fifo};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let injector = Arc::new(Injector::new());
    for n in 0..10_000_u64 {
        injector.push(n).unwrap();
    }
    let workers: Vec<_> = (0..4).map(|_| fifo::Worker::new(256)).collect();
    let stealers: Arc<Vec<_>> = Arc::new(workers.iter().map(|w| w.stealer()).collect());
    let (left, sum) = (Arc::new(AtomicUsize::new(10_000)), Arc::new(AtomicUsize::new(0)));
    let work = |me: usize, worker: fifo::Worker<u64>| {
        let (injector, stealers, left, sum) =
            (injector.clone(), stealers.clone(), left.clone(), sum.clone());
        let steal = move |worker: &fifo::Worker<u64>| {
            (0..stealers.len()).filter(|&i| i != me).find_map(|i| {
                loop {
                    match stealers[i].steal_half_and_pop(worker) {
                        Ok((job, _)) => break Some(job),
                        Err(StealError::Empty) => break None,
                        Err(StealError::Busy) => {}
                    }
                }
            })
        };
        std::thread::spawn(move || {
            while left.load(Ordering::Acquire) > 0 {
                let job = worker
                    .pop()
                    .or_else(|| injector.pop_batch_into(&worker, 32))
                    .or_else(|| steal(&worker));
                match job {
                    Some(n) => {
                        sum.fetch_add(n as usize, Ordering::Relaxed);
                        left.fetch_sub(1, Ordering::Release);
                    }
                    None => std::thread::yield_now(),
                }
            }
        })
    };
    let threads: Vec<_> =
        workers.into_iter().enumerate().map(|(me, worker)| work(me, worker)).collect();
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(sum.load(Ordering::Relaxed), (0..10_000).sum());
}
