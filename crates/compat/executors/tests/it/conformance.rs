//! What holds for every kind of executor with threads.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

use brigade_testkit::{Gate, Meeting, test};
use executors::{CanExecute, Executor, try_execute_locally};

use crate::{Row, occupy, on_each};

#[test]
fn every_job_runs_once() {
    fn check<E: Executor>(row: &Row<E>) {
        let (pool, (told, tells)) = ((row.make)(), mpsc::channel());
        let object: &dyn CanExecute = &pool;
        for number in 0..1000 {
            let told = told.clone();
            let job = move || told.send(number).unwrap();
            match number % 2 {
                0 => pool.execute(job),
                _ => object.execute_job(Box::new(job)),
            }
        }
        drop(told);
        let mut all: Vec<i32> = tells.iter().collect();
        all.sort_unstable();
        assert_eq!(all, (0..1000).collect::<Vec<_>>(), "{}", row.name);
    }
    on_each!(check);
}

#[test]
fn exactly_the_given_threads_run_jobs_at_once() {
    fn check<E: Executor>(row: &Row<E>) {
        let (pool, gate) = ((row.make)(), Gate::closed());
        occupy(&pool, row.threads, &gate);
        let (told, tells) = mpsc::channel();
        pool.execute(move || told.send(()).unwrap());
        assert!(tells.try_recv().is_err(), "{}", row.name);
        gate.open();
        assert_eq!(tells.recv(), Ok(()), "{}", row.name);
    }
    on_each!(check);
}

/// Caught: a shutdown that drops what is queued, as that of the original's stealing pool.
#[test]
fn shutdown_waits_for_earlier_jobs() {
    fn check<E: Executor>(row: &Row<E>) {
        let ways: [fn(E) -> Result<(), String>; 2] = [E::shutdown, |pool| pool.shutdown_borrowed()];
        for end in ways {
            let (pool, gate) = ((row.make)(), Gate::closed());
            occupy(&pool, row.threads, &gate);
            let ran = Arc::new(AtomicUsize::new(0));
            for _ in 0..1000 {
                let ran = ran.clone();
                pool.execute(move || _ = ran.fetch_add(1, Ordering::SeqCst));
            }
            let opens = thread::spawn(move || gate.open());
            assert_eq!(end(pool), Ok(()), "{}", row.name);
            assert_eq!(ran.load(Ordering::SeqCst), 1000, "{}", row.name);
            opens.join().unwrap();
        }
    }
    on_each!(check);
}

#[test]
fn jobs_after_a_shutdown_are_dropped() {
    fn check<E: Executor>(row: &Row<E>) {
        let ends: [fn(&E); 3] = [
            |pool| assert_eq!(pool.clone().shutdown(), Ok(())),
            |pool| assert_eq!(pool.shutdown_borrowed(), Ok(())),
            |pool| pool.shutdown_async(),
        ];
        for end in ends {
            let (pool, (told, tells)) = ((row.make)(), mpsc::channel::<()>());
            end(&pool);
            let clone = pool.clone();
            clone.execute(move || told.send(()).unwrap());
            assert!(tells.recv().is_err(), "{}: it is dropped and has not run", row.name);
            assert!(pool.shutdown_borrowed().is_err(), "{}: again", row.name);
            pool.shutdown_async();
            assert!(clone.shutdown().is_err(), "{}: again", row.name);
        }
    }
    on_each!(check);
}

/// Caught: a pool that runs what its own jobs submit as long as there are any, so that a job that submits its successor never lets it
/// end.
#[test]
fn a_shutdown_ends_an_endless_chain_of_jobs() {
    fn chain<E: Executor + 'static>(pool: E, alive: mpsc::Sender<()>) {
        let (next, alive) = (pool.clone(), alive.clone());
        pool.execute(move || chain(next, alive));
    }
    fn check<E: Executor + 'static>(row: &Row<E>) {
        let (pool, (alive, dies)) = ((row.make)(), mpsc::channel::<()>());
        chain(pool.clone(), alive);
        assert_eq!(pool.shutdown(), Ok(()), "{}", row.name);
        assert!(dies.recv().is_err(), "{}", row.name);
    }
    on_each!(check);
}

#[test]
fn a_jobs_shutdown_still_runs_queued_jobs() {
    fn check<E: Executor + 'static>(row: &Row<E>) {
        let (pool, gate, (told, tells)) = ((row.make)(), Gate::closed(), mpsc::channel());
        occupy(&pool, row.threads - 1, &gate);
        let (own, wait, end) = (pool.clone(), gate.clone(), told.clone());
        pool.execute(move || {
            wait.wait();
            own.shutdown_async();
            own.execute(move || end.send("too late").unwrap());
        });
        pool.execute(move || told.send("queued").unwrap());
        gate.open();
        assert_eq!(tells.iter().collect::<Vec<_>>().len(), 1, "{}", row.name);
        assert!(pool.shutdown().is_err(), "{}", row.name);
    }
    on_each!(check);
}

/// Caught: the original, which waits for its own job until the time is over.
#[test]
fn a_job_waiting_for_its_executor_is_told_at_once() {
    fn check<E: Executor + Sync + 'static>(row: &Row<E>) {
        let (pool, (told, tells)) = ((row.make)(), mpsc::channel());
        let own = pool.clone();
        pool.execute(move || told.send(own.shutdown()).unwrap());
        assert!(tells.recv().unwrap().is_err(), "{}", row.name);
    }
    on_each!(check);
}

/// Caught: the original, whose threads end by a panic.
#[test]
fn threads_survive_the_panics_of_their_jobs() {
    thread_local!(static PANICS: Cell<usize> = const { Cell::new(0) });
    fn check<E: Executor>(row: &Row<E>) {
        let (pool, meeting, (panicked, panics)) =
            ((row.make)(), Meeting::of(row.threads), mpsc::channel::<()>());
        for _ in 0..row.threads {
            let (attend, panicked) = (meeting.job(), panicked.clone());
            pool.execute(move || {
                let _panicked = panicked;
                PANICS.set(PANICS.get() + 1);
                assert!(attend());
                panic!("expected");
            });
        }
        drop(panicked);
        assert!(panics.recv().is_err());
        let (told, tells) = mpsc::channel();
        let meeting = Meeting::of(row.threads);
        for _ in 0..row.threads {
            let (attend, told) = (meeting.job(), told.clone());
            pool.execute(move || {
                assert!(attend());
                told.send(PANICS.get()).unwrap();
            });
        }
        drop(told);
        assert_eq!(tells.iter().collect::<Vec<_>>(), vec![1; row.threads], "{}", row.name);
        assert_eq!(pool.shutdown(), Ok(()), "{}", row.name);
    }
    on_each!(check);
}

#[test]
fn clones_share_the_threads_and_the_end() {
    fn check<E: Executor + 'static>(row: &Row<E>) {
        fn fork<E: Executor + 'static>(pool: E, depth: usize, ran: mpsc::Sender<()>) {
            for _ in 0..if depth > 0 { 2 } else { 0 } {
                let (inner, ran) = (pool.clone(), ran.clone());
                pool.execute(move || fork(inner, depth - 1, ran));
            }
            ran.send(()).unwrap();
        }
        let (pool, (ran, runs)) = ((row.make)(), mpsc::channel());
        fork(pool.clone(), 8, ran);
        assert_eq!(runs.iter().count(), (1 << 9) - 1, "{}", row.name);
        pool.clone().shutdown_async();
        let (told, tells) = mpsc::channel::<()>();
        pool.execute(move || told.send(()).unwrap());
        assert!(tells.recv().is_err(), "{}", row.name);
    }
    on_each!(check);
}

#[test]
fn a_job_submits_without_naming_its_executor() {
    fn count(left: usize, told: mpsc::Sender<bool>) {
        match left {
            0 => told.send(true).unwrap(),
            _ => {
                let more = told.clone();
                if try_execute_locally(move || count(left - 1, more)).is_err() {
                    told.send(false).unwrap();
                }
            }
        }
    }
    fn check<E: Executor>(row: &Row<E>) {
        let (pool, (told, tells)) = ((row.make)(), mpsc::channel());
        pool.execute(move || count(10_000, told));
        assert_eq!(tells.recv(), Ok(true), "{}", row.name);
    }
    on_each!(check);
}

#[test]
fn the_last_clones_drop_runs_jobs_and_ends_threads() {
    thread_local!(static LEAVES: Cell<Option<mpsc::Sender<()>>> = const { Cell::new(None) });
    fn check<E: Executor + 'static>(row: &Row<E>) {
        let (pool, gate) = ((row.make)(), Gate::closed());
        let ((told, tells), (left, leaves)) = (mpsc::channel(), mpsc::channel());
        occupy(&pool, row.threads, &gate);
        for number in 0..100 {
            let (told, left) = (told.clone(), left.clone());
            pool.execute(move || {
                LEAVES.set(Some(left));
                told.send(number).unwrap();
            });
        }
        drop((told, left));
        let opens = thread::spawn(move || gate.open());
        let clone = pool.clone();
        drop(pool);
        drop(clone);
        let mut all: Vec<i32> = tells.iter().collect();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>(), "{}", row.name);
        assert!(leaves.recv().is_err(), "{}: its thread-locals have been dropped", row.name);
        opens.join().unwrap();
    }
    on_each!(check);
}

#[test]
fn a_job_may_own_the_last_clone() {
    fn check<E: Executor + 'static>(row: &Row<E>) {
        let (pool, gate, (told, tells)) = ((row.make)(), Gate::closed(), mpsc::channel());
        let (last, wait) = (pool.clone(), gate.clone());
        pool.execute(move || {
            wait.wait();
            last.execute(move || told.send(42).unwrap());
            drop(last);
        });
        drop(thread::spawn(move || drop(pool)));
        gate.open();
        assert_eq!(tells.recv(), Ok(42), "{}", row.name);
        assert!(tells.recv().is_err(), "{}", row.name);
    }
    on_each!(check);
}

/// Caught: the original, whose workers submit to their own queue whichever pool is meant.
#[test]
fn an_executors_job_submits_to_another_one() {
    fn check<E: Executor + 'static>(row: &Row<E>) {
        let (one, other, (told, tells)) = ((row.make)(), (row.make)(), mpsc::channel());
        let here = || brigade::Handle::current().unwrap();
        let target = other.clone();
        one.execute(move || {
            let first = here();
            target.execute(move || told.send((first, here())).unwrap());
        });
        let (first, second) = tells.recv().unwrap();
        assert_ne!(first, second, "{}", row.name);
        assert_eq!(one.shutdown(), Ok(()));
        assert_eq!(other.shutdown(), Ok(()), "{}: it does not depend on the first", row.name);
    }
    on_each!(check);
}

/// Caught: the original, whose workers wake nobody for what they submit to themselves.
#[test]
fn a_job_may_await_its_child_with_two_threads() {
    fn check<E: Executor + 'static>(row: &Row<E>) {
        if row.threads < 2 {
            return;
        }
        let (pool, (told, tells)) = ((row.make)(), mpsc::channel());
        let own = pool.clone();
        pool.execute(move || {
            let (child, ends) = mpsc::channel();
            own.execute(move || child.send(42).unwrap());
            told.send(ends.recv().unwrap()).unwrap();
        });
        assert_eq!(tells.recv(), Ok(42), "{}", row.name);
    }
    on_each!(check);
}

/// Caught: the original, which drops jobs into a queue that no thread looks at any more.
#[test]
fn a_dropped_job_may_submit() {
    struct Submits<E: Executor>(E, mpsc::Sender<()>);
    impl<E: Executor> Drop for Submits<E> {
        fn drop(&mut self) {
            let told = self.1.clone();
            self.0.execute(move || told.send(()).unwrap());
        }
    }
    fn check<E: Executor + 'static>(row: &Row<E>) {
        let (pool, (told, tells)) = ((row.make)(), mpsc::channel());
        let submits = Submits(pool.clone(), told);
        assert_eq!(pool.shutdown_borrowed(), Ok(()), "{}", row.name);
        pool.execute(move || drop(submits));
        assert!(tells.recv().is_err(), "{}: both are ignored", row.name);
    }
    on_each!(check);
}

#[test]
fn debug_shows_kind_and_threads() {
    fn check<E: Executor + std::fmt::Debug>(row: &Row<E>) {
        let text = format!("{:?}", (row.make)());
        assert!(text.starts_with("ThreadPool"), "{}: {text}", row.name);
        assert!(text.contains(&format!("{0}..={0}", row.threads)), "{}: {text}", row.name);
    }
    on_each!(check);
}
