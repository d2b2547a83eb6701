//! Jobs for the executor that the calling job runs on.

use std::sync::mpsc;
use std::thread;

use brigade_testkit::test;
use executors::crossbeam_channel_pool as channel;
use executors::crossbeam_workstealing_pool::{execute_locally, small_pool};
use executors::run_now::RunNowExecutor;
use executors::{Executor, try_execute_locally};

#[test]
fn off_every_executor_the_job_comes_back() {
    let (told, tells) = mpsc::channel();
    let again = told.clone();
    let Err(job) = try_execute_locally(move || told.send(1).unwrap()) else { panic!("no Err") };
    job();
    let Err(job) = execute_locally(move || again.send(2).unwrap()) else { panic!("no Err") };
    job();
    assert_eq!(tells.iter().collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn a_workers_queue_is_there_for_its_jobs_alone() {
    let (told, tells) = mpsc::channel();
    let tell = told.clone();
    small_pool(1).execute(move || {
        let here = thread::current().id();
        let inner = tell.clone();
        let local = execute_locally(move || inner.send(thread::current().id() == here).unwrap());
        tell.send(local.is_ok()).unwrap();
    });
    channel::ThreadPool::new(1)
        .execute(move || told.send(execute_locally(|| ()).is_err()).unwrap());
    assert_eq!(tells.iter().collect::<Vec<_>>(), [true; 3]);
}

/// Caught: the original, where a job that has used the inline executor has lost its own one.
#[test]
fn the_inline_executor_restores_the_jobs_own() {
    let (told, tells) = mpsc::channel();
    small_pool(1).execute(move || {
        let inner = told.clone();
        RunNowExecutor::new().execute(move || {
            let deeper = inner.clone();
            assert!(try_execute_locally(move || deeper.send("inline").unwrap()).is_ok());
            inner.send("after it").unwrap();
        });
        let last = told.clone();
        assert!(try_execute_locally(move || last.send("the worker's").unwrap()).is_ok());
        told.send("before it").unwrap();
    });
    assert_eq!(
        tells.iter().collect::<Vec<_>>(),
        ["inline", "after it", "before it", "the worker's"]
    );
}
