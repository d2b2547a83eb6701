//! Events beside waiting, dropping, closing and other events.

use std::future::Future;
use std::pin::pin;

use super::*;

/// Caught: the check under the lock left out by edge (deadlock); an event that sets nothing.
#[test]
fn a_task_waiting_beside_an_event_is_woken() {
    check_each(3, |trigger| {
        let driver = Driver::new().unwrap();
        let file = file(&driver, trigger);
        let done = Arc::new(AtomicBool::new(false));
        let reading = thread::spawn({
            let (driver, done) = (Arc::clone(&driver), Arc::clone(&done));
            move || {
                let (task, waker) = Task::new();
                while read(&file, &waker).is_pending() {
                    task.sleep();
                }
                done.store(true, Ordering::Relaxed);
                driver.notify();
            }
        });
        let writing = thread::spawn({
            let driver = Arc::clone(&driver);
            move || {
                turn();
                arrives(&driver);
            }
        });
        // If an event or the notification is lost, all threads sleep.
        while !done.load(Ordering::Relaxed) {
            driver.drive(None, &mut Waker::wake).unwrap();
        }
        reading.join().unwrap();
        writing.join().unwrap();
    });
}

/// Caught: a replaced waker that is dropped.
#[test]
fn two_tasks_on_one_direction_are_woken() {
    check_each(3, |trigger| {
        let driver = Driver::new().unwrap();
        let file = file(&driver, trigger);
        let tasks = [(); 2].map(|()| Task::new());
        assert!(read(&file, &tasks[0].1).is_pending());
        let driving = thread::spawn({
            let driver = Arc::clone(&driver);
            move || {
                arrives(&driver);
                look(&driver);
            }
        });
        let read = read(&file, &tasks[1].1);
        driving.join().unwrap();
        look(&driver);
        assert!(tasks[0].0.is_woken());
        assert!(read.is_ready() || tasks[1].0.is_woken());
    });
}

/// Caught: the check under the lock left out (deadlock); `follow_up` ending an interest although a task waits by
/// then.
#[test]
fn a_wait_beside_an_unawaited_event_is_woken() {
    check_each(5, |trigger| {
        let driver = Driver::new().unwrap();
        let file = file(&driver, trigger);
        // A future waited, so the kernel is asked to report it, and was dropped before it did.
        let mut wait = pin!(file.readable());
        assert!(wait.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        wait.set(file.readable());
        arrives(&driver);
        let driving = thread::spawn({
            let driver = Arc::clone(&driver);
            move || look(&driver)
        });
        let (task, waker) = Task::new();
        let first = read(&file, &waker);
        if first.is_ready() {
            assert!(read(&file, &waker).is_pending(), "for what comes next");
        }
        driving.join().unwrap();
        if first.is_pending() {
            look(&driver);
            look(&driver);
            assert!(task.is_woken());
            task.sleep();
            assert!(read(&file, &waker).is_ready());
            assert!(read(&file, &waker).is_pending(), "for what comes next");
        }
        arrives(&driver);
        look(&driver);
        look(&driver);
        assert!(task.is_woken());
        assert!(matches!(read(&file, &waker), Poll::Ready(Ok(1))));
    });
}

/// Caught: a generation that stays the same.
#[test]
fn a_dropped_source_leaves_no_waker_or_event() {
    check_each(5, |trigger| {
        let driver = Driver::new().unwrap();
        let former = file(&driver, trigger);
        let (task, waker) = Task::new();
        assert!(read(&former, &waker).is_pending());
        drop(waker);
        arrives(&driver);
        let driving = thread::spawn({
            let driver = Arc::clone(&driver);
            move || look(&driver)
        });
        turn();
        drop(former);
        // The same entry in the table, and the same file number.
        let latter = file(&driver, trigger);
        let (other, waker) = Task::new();
        assert!(read(&latter, &waker).is_pending());
        driving.join().unwrap();
        look(&driver);
        assert_eq!(Arc::strong_count(&task), 1, "woken or dropped");
        assert!(!other.is_woken(), "for nothing");
        drop(latter);
        assert_eq!(driver.sources(), 0);
    });
}

#[test]
fn drivers_in_turn_wake_all_waiters() {
    check_each(4, |trigger| {
        let driver = Driver::new().unwrap();
        let file = file(&driver, trigger);
        let driving = [(), ()].map(|()| {
            let driver = Arc::clone(&driver);
            thread::spawn(move || look(&driver))
        });
        let (task, waker) = Task::new();
        let mut outcome = read(&file, &waker);
        arrives(&driver);
        // Reads nothing, and waits again, when woken already.
        if outcome.is_pending() {
            outcome = read(&file, &waker);
        }
        for thread in driving {
            thread.join().unwrap();
        }
        look(&driver);
        look(&driver);
        assert!(outcome.is_ready() || task.is_woken());
    });
}

/// Caught: sources that don't record the end; an end that wakes no task.
#[test]
fn a_waiter_beside_the_end_is_told() {
    check_each(5, |trigger| {
        let driver = Driver::new().unwrap();
        let file = file(&driver, trigger);
        let closing = thread::spawn({
            let driver = Arc::clone(&driver);
            move || {
                turn();
                driver.close(&mut Waker::wake);
            }
        });
        let (task, waker) = Task::new();
        let outcome = read(&file, &waker);
        closing.join().unwrap();
        let told = match outcome {
            Poll::Pending => {
                assert!(task.is_woken());
                read(&file, &waker)
            }
            told => told,
        };
        let Poll::Ready(Err(error)) = told else { panic!("{told:?}") };
        assert_eq!(error.get_ref().unwrap().downcast_ref(), Some(&NoDriver::Closed));
    });
}
