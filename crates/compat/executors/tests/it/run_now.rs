//! The executor without threads.

use std::cell::RefCell;
use std::panic::catch_unwind;
use std::sync::mpsc;
use std::thread;

use brigade_testkit::{panics, test};
use executors::run_now::RunNowExecutor;
use executors::{CanExecute, Executor, try_execute_locally};

#[test]
fn a_job_runs_before_execute_returns_also_inside_another() {
    let (executor, (told, tells)) = (RunNowExecutor::new(), mpsc::channel());
    let (inner, tell) = (executor.clone(), told.clone());
    executor.execute(move || {
        let (deeper, here) = (tell.clone(), thread::current().id());
        inner.execute_job(Box::new(move || {
            assert_eq!(thread::current().id(), here);
            deeper.send(1).unwrap();
        }));
        tell.send(2).unwrap();
    });
    told.send(3).unwrap();
    drop(told);
    assert_eq!(tells.iter().collect::<Vec<_>>(), [1, 2, 3]);
}

/// Caught: the original, which runs out of stack.
#[test]
fn a_million_nested_local_jobs_fit_the_stack() {
    fn count(left: u32, told: mpsc::Sender<u32>) {
        match left {
            0 => told.send(0).unwrap(),
            _ => assert!(try_execute_locally(move || count(left - 1, told)).is_ok()),
        }
    }
    let (told, tells) = mpsc::channel();
    RunNowExecutor::new().execute(move || count(1_000_000, told));
    assert_eq!(tells.try_recv(), Ok(0));
    assert!(try_execute_locally(|| ()).is_err(), "it is over");
}

#[test]
fn a_panic_leaves_execute_and_nothing_behind() {
    let executor = RunNowExecutor::new();
    let payload = catch_unwind(|| executor.execute(|| panic!("expected"))).unwrap_err();
    assert_eq!(panics::text(&*payload), Some("expected"));
    assert!(try_execute_locally(|| ()).is_err(), "the thread runs no job");
    let locally = || assert!(try_execute_locally(|| panic!("expected: a local one")).is_ok());
    assert!(catch_unwind(|| executor.execute(locally)).is_err());
    assert!(try_execute_locally(|| ()).is_err());
}

#[test]
fn any_clones_shutdown_drops_later_jobs() {
    let ends: [fn(&RunNowExecutor); 2] = [
        |executor| assert_eq!(executor.shutdown_borrowed(), Ok(())),
        RunNowExecutor::shutdown_async,
    ];
    for end in ends {
        let (executor, (told, tells)) = (RunNowExecutor::default(), mpsc::channel::<()>());
        end(&executor.clone());
        executor.execute(move || told.send(()).unwrap());
        assert!(tells.recv().is_err());
        executor.shutdown_async();
        assert!(executor.shutdown().is_err(), "again");
    }
}

#[test]
fn a_thread_locals_destructor_may_run_a_job() {
    struct Last(mpsc::Sender<()>);
    impl Drop for Last {
        fn drop(&mut self) {
            let told = self.0.clone();
            RunNowExecutor::new().execute(move || {
                assert!(try_execute_locally(move || told.send(()).unwrap()).is_ok());
            });
        }
    }
    thread_local!(static LAST: RefCell<Option<Last>> = const { RefCell::new(None) });
    let (told, tells) = mpsc::channel();
    thread::spawn(move || LAST.set(Some(Last(told)))).join().unwrap();
    assert_eq!(tells.recv(), Ok(()));
}
