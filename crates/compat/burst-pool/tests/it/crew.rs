//! Receivers on threads of their own, which report what they receive.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use burst_pool::{RecvError, Sender};

/// Threads that receive until the sender is gone.
pub(crate) struct Crew<T> {
    /// The received values, each with the number of its thread.
    received: mpsc::Receiver<(usize, T)>,
    threads: Vec<JoinHandle<RecvError>>,
}

impl<T: Send + 'static> Crew<T> {
    pub(crate) fn start(sender: &mut Sender<T>, count: usize) -> Self {
        let (report, received) = mpsc::channel();
        let start = |number| {
            let (mut receiver, report) = (sender.mk_receiver(), report.clone());
            thread::spawn(move || {
                loop {
                    match receiver.recv() {
                        Ok(value) => report.send((number, *value)).expect("the test listens"),
                        Err(error) => return error,
                    }
                }
            })
        };
        let threads = (0..count).map(start).collect();
        Self { received, threads }
    }

    /// Returns the next received value, and the number of its thread.
    #[track_caller]
    pub(crate) fn next(&self) -> (usize, T) {
        self.received.recv_timeout(Duration::from_secs(10)).expect("nothing is received")
    }

    /// Returns the next `count` values.
    #[track_caller]
    pub(crate) fn take(&self, count: usize) -> Vec<T> {
        (0..count).map(|_| self.next().1).collect()
    }

    /// Returns whether no value has been received that the test has not taken.
    pub(crate) fn is_silent(&self) -> bool {
        self.received.try_recv().is_err()
    }

    /// Joins the threads, whose sender has been dropped; returns the values that the test has not taken.
    pub(crate) fn join(self) -> Vec<T> {
        for thread in self.threads {
            assert_eq!(thread.join().expect("receivers don't panic"), RecvError::Orphaned);
        }
        self.received.try_iter().map(|(_, value)| value).collect()
    }
}

/// Enqueues a value as soon as a receiver is ready.
pub(crate) fn enqueue<T: Send>(sender: &mut Sender<T>, value: T) {
    let mut value = Box::new(value);
    while let Some(back) = sender.enqueue(value) {
        value = back;
        thread::yield_now();
    }
}
