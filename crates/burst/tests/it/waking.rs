//! Which receivers are woken, and which are not.

use std::thread;
use std::time::Duration;

use brigade_burst::channel;

use crate::crew::Crew;
use brigade_testkit::{eventually, test};

/// Fault 19: A is handed over and woken for, B is handed over and its wake is pending.
#[test]
fn a_value_waits_for_its_own_wake() {
    let (sender, first) = channel();
    let crew = Crew::waiting(&sender, 2);
    for round in 0..500 {
        eventually("both wait", || sender.waiting() == 2);
        sender.dispatch(2 * round).unwrap();
        sender.wake();
        sender.dispatch(2 * round + 1).unwrap();
        // The second value may be received first, if its receiver was awake.
        let early = crew.next().1;
        if early != 2 * round {
            assert_eq!(crew.next().1, 2 * round, "it is not delayed by the other value");
        }
        sender.wake();
        if early == 2 * round {
            assert_eq!(crew.next().1, 2 * round + 1);
        }
    }
    drop((sender, first));
    assert!(crew.join().is_empty());
}

/// Fault 18: a receiver wakes while a value is on its way to another one.
#[test]
fn a_spurious_wake_takes_nothing_of_others() {
    let (sender, mut polling) = channel();
    let crew = Crew::waiting(&sender, 2);
    for round in 0..2_000 {
        eventually("both wait", || sender.waiting() == 2);
        // If `polling` takes its value while its wake is under way, a token is left on its seat and ends its next sleep.
        assert!(polling.try_recv().is_err());
        assert_eq!(sender.dispatch_all([round; 3]).count(), 0);
        thread::scope(|scope| {
            scope.spawn(|| sender.wake());
            assert_eq!(polling.recv(), Ok(round));
        });
        assert!(polling.recv_timeout(Duration::ZERO).is_err(), "there was one for each");
        assert_eq!(crew.take(2), [round; 2]);
    }
    drop(sender);
    assert!(crew.join().is_empty());
}

#[test]
fn a_second_wake_wakes_no_receiver() {
    let (sender, first) = channel();
    let crew = Crew::waiting(&sender, 3);
    assert_eq!(sender.dispatch_all(0..3).count(), 0);
    assert!(sender.wake() <= 3);
    assert_eq!(sender.wake(), 0);
    crew.take(3);
    drop((sender, first));
    crew.join();
}

#[test]
fn a_foreign_wake_covers_this_threads_values() {
    let (sender, first) = channel();
    let crew = Crew::waiting(&sender, 1);
    sender.dispatch(7).unwrap();
    thread::scope(|scope| scope.spawn(|| sender.wake()).join().unwrap());
    assert_eq!(crew.next().1, 7);
    drop((sender, first));
    crew.join();
}

/// Linux's view of the threads: which ones sleep, and how often each has gone to sleep.
#[cfg(target_os = "linux")]
mod seen_by_the_kernel {
    use std::fs;
    use std::sync::mpsc;

    use brigade_burst::Sender;

    use brigade_testkit::test;

    use super::*;

    /// A receiving thread, and its directory in `/proc`.
    struct Sleeper {
        /// `/proc/self/task/N`.
        task: String,
        received: mpsc::Receiver<u32>,
        thread: thread::JoinHandle<()>,
    }

    impl Sleeper {
        fn start(sender: &Sender<u32>) -> Self {
            let mut receiver = sender.new_receiver();
            let (name, named) = mpsc::channel();
            let (report, received) = mpsc::channel();
            let thread = thread::spawn(move || {
                let task = fs::read_link("/proc/thread-self").unwrap();
                name.send(task.file_name().unwrap().to_str().unwrap().to_owned()).unwrap();
                receiver.iter().for_each(|value| report.send(value).unwrap());
            });
            let task = format!("/proc/self/task/{}", named.recv().unwrap());
            Self { task, received, thread }
        }

        fn line(&self, name: &str) -> String {
            let status = fs::read_to_string(format!("{}/status", self.task)).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim().to_owned()
        }

        /// Returns whether it has left its processor to wait on a futex, and that has been counted.
        ///
        /// The state changes to sleeping a moment before. Reading the system call waits until that moment is over.
        fn sleeps(&self) -> bool {
            let call = fs::read_to_string(format!("{}/syscall", self.task)).unwrap();
            let futex = libc::SYS_futex.to_string();
            self.line("State:").starts_with('S') && call.split(' ').next() == Some(&futex)
        }

        /// Returns how often it has left its processor to wait.
        fn naps(&self) -> u64 {
            self.line("voluntary_ctxt_switches:").parse().unwrap()
        }
    }

    fn asleep(sender: &Sender<u32>, sleepers: &[Sleeper]) {
        eventually("all sleep", || {
            sender.waiting() == sleepers.len() && sleepers.iter().all(Sleeper::sleeps)
        });
    }

    #[test]
    fn a_wake_wakes_exactly_the_served_receivers() {
        let (sender, first) = channel();
        let sleepers: Vec<_> = (0..40).map(|_| Sleeper::start(&sender)).collect();
        for round in 0..50 {
            let count = [1, 3, 31, 39][round % 4];
            asleep(&sender, &sleepers);
            let before: Vec<_> = sleepers.iter().map(Sleeper::naps).collect();
            assert_eq!(sender.dispatch_all((0..).take(count)).count(), 0);
            assert_eq!(sender.wake(), count, "all of them slept");
            asleep(&sender, &sleepers);
            let mut served = 0;
            for (sleeper, before) in sleepers.iter().zip(before) {
                let woken = sleeper.naps() > before;
                let received = sleeper.received.try_iter().count();
                assert_eq!(woken, received == 1, "round {round}");
                served += received;
            }
            assert_eq!(served, count);
        }
        drop((sender, first));
        sleepers.into_iter().for_each(|sleeper| sleeper.thread.join().unwrap());
    }

    #[test]
    fn a_polling_receiver_precedes_sleeping_ones() {
        let (sender, first) = channel();
        let sleepers: Vec<_> = (0..3).map(|_| Sleeper::start(&sender)).collect();
        // Its seat is behind theirs.
        let mut polling = sender.new_receiver();
        asleep(&sender, &sleepers);
        assert!(polling.try_recv().is_err());
        assert_eq!(sender.burst([1]).count(), 0);
        assert_eq!(polling.try_recv(), Ok(1));
        drop((sender, first, polling));
        sleepers.into_iter().for_each(|sleeper| sleeper.thread.join().unwrap());
    }

    #[test]
    fn only_a_wake_with_values_wakes_a_receiver() {
        let (sender, first) = channel();
        let sleepers: Vec<_> = (0..3).map(|_| Sleeper::start(&sender)).collect();
        asleep(&sender, &sleepers);
        let naps = || sleepers.iter().map(Sleeper::naps).collect::<Vec<_>>();
        let before = naps();
        assert_eq!(sender.wake(), 0);
        assert_eq!(sender.dispatch_all([1, 2]).count(), 0);
        thread::sleep(Duration::from_millis(20));
        assert_eq!(naps(), before);
        assert_eq!(sender.wake(), 2);
        eventually("all wait again", || sender.waiting() == 3);
        drop((sender, first));
        sleepers.into_iter().for_each(|sleeper| sleeper.thread.join().unwrap());
    }
}
