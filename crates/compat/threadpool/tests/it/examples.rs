//! The programs of threadpool's documentation, as users write them: with sleeps, and here with shorter ones.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;

use brigade_testkit::test;
use threadpool::ThreadPool;

/// The front page's: as many messages as jobs, whatever thread sends them.
#[test]
fn results_arrive_by_a_channel() {
    let (workers, jobs) = (4, 8);
    let pool = ThreadPool::new(workers);
    let (sender, receiver) = channel();
    for _ in 0..jobs {
        let sender = sender.clone();
        pool.execute(move || sender.send(1).expect("the receiver waits"));
    }
    assert_eq!(receiver.iter().take(jobs).sum::<i32>(), 8);
}

/// The front page's second: a barrier for all jobs and the thread that submits them, with more threads than jobs.
#[test]
fn jobs_meet_their_submitter_at_a_barrier() {
    let (workers, jobs) = (42, 23);
    let pool = ThreadPool::new(workers);
    let (counted, barrier) = (Arc::new(AtomicUsize::new(0)), Arc::new(Barrier::new(jobs + 1)));
    for _ in 0..jobs {
        let (counted, barrier) = (counted.clone(), barrier.clone());
        pool.execute(move || {
            counted.fetch_add(1, Ordering::Relaxed);
            barrier.wait();
        });
    }
    barrier.wait();
    assert_eq!(counted.load(Ordering::SeqCst), jobs);
}

/// That of `clone`: two threads submit by clones, and each waits for its own results.
#[test]
fn clones_submit_from_several_threads() {
    let pool = ThreadPool::with_name("clones".into(), 2);
    let fold: [fn(usize, usize) -> usize; 2] = [|sum, n| sum + n, |product, n| product * n];
    let folders: Vec<_> = fold
        .into_iter()
        .enumerate()
        .map(|(first, fold)| {
            let pool = pool.clone();
            thread::spawn(move || {
                let (sender, receiver) = channel();
                for number in 1..12 {
                    let sender = sender.clone();
                    pool.execute(move || sender.send(number).expect("the receiver waits"));
                }
                drop(sender);
                receiver.iter().fold(first, fold)
            })
        })
        .collect();
    let folded: Vec<_> = folders.into_iter().map(|folder| folder.join().unwrap()).collect();
    assert_eq!(folded, [66, 39_916_800]);
}
