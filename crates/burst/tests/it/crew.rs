//! Receivers on threads of their own, which report what they receive.

use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use brigade_burst::{Receiver, Sender};

use brigade_testkit::eventually;

/// Threads that receive until the sender is gone.
pub(crate) struct Crew<T> {
    /// The received values, each with the number of its thread.
    received: mpsc::Receiver<(usize, T)>,
    threads: Vec<JoinHandle<()>>,
}

impl<T: Send + 'static> Crew<T> {
    /// Starts a thread for each receiver.
    pub(crate) fn of(receivers: impl IntoIterator<Item = Receiver<T>>) -> Self {
        let (report, received) = mpsc::channel();
        let start = |(number, mut receiver): (usize, Receiver<T>)| {
            let report = report.clone();
            thread::spawn(move || {
                for value in receiver.iter() {
                    report.send((number, value)).expect("the test listens");
                }
            })
        };
        let threads = receivers.into_iter().enumerate().map(start).collect();
        Self { received, threads }
    }

    /// Starts `count` threads, and returns when all of them wait.
    pub(crate) fn waiting(sender: &Sender<T>, count: usize) -> Self {
        let before = sender.waiting();
        let crew = Self::of((0..count).map(|_| sender.new_receiver()));
        eventually("all receivers wait", || sender.waiting() == before + count);
        crew
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
        match self.received.try_recv() {
            Ok(_) => false,
            Err(mpsc::TryRecvError::Empty | mpsc::TryRecvError::Disconnected) => true,
        }
    }

    /// Joins the threads, whose sender has been dropped; returns the values that the test has not taken.
    pub(crate) fn join(self) -> Vec<T> {
        for thread in self.threads {
            thread.join().expect("receivers don't panic");
        }
        self.received.try_iter().map(|(_, value)| value).collect()
    }
}
