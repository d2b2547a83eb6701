//! What an executor accepts, by whatever pointer it is called, and in which order `Inline` runs it.

#![allow(clippy::disallowed_types, reason = "the crate has no dependencies, and no loom model")]

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, Mutex};
use std::task::{Context, Waker};
use std::thread;

use brigade_executor::{
    BoxFuture, Executor, ExecutorExt, Inline, Job, LocalBoxFuture, LocalSpawner, LocalSpawnerExt,
    Spawner, SpawnerExt,
};

/// Collects jobs up to a number.
#[derive(Default)]
struct Shelf {
    jobs: Mutex<Vec<Job>>,
    futures: Mutex<Vec<BoxFuture>>,
    room: usize,
}

impl Executor for Shelf {
    fn accept(&self, job: Job) -> Result<(), Job> {
        let mut jobs = self.jobs.lock().unwrap();
        if jobs.len() == self.room {
            return Err(job);
        }
        jobs.push(job);
        Ok(())
    }
}

impl Spawner for Shelf {
    fn accept_future(&self, future: BoxFuture) -> Result<(), BoxFuture> {
        let mut futures = self.futures.lock().unwrap();
        if futures.len() == self.room {
            return Err(future);
        }
        futures.push(future);
        Ok(())
    }
}

/// Calls it as libraries do.
fn by_generic(executor: impl Executor) {
    executor.execute(|| ());
}

#[test]
fn an_executor_accepts_by_every_pointer() {
    let shelf = Arc::new(Shelf { room: 20, ..Shelf::default() });
    by_generic(&*shelf);
    by_generic(Arc::clone(&shelf));
    by_generic(Box::new(Arc::clone(&shelf)));
    by_generic(Rc::new(Arc::clone(&shelf)));
    let object: &dyn Executor = &*shelf;
    object.execute(|| ());
    by_generic(object);
    let shared: Arc<dyn Executor + Send + Sync> = shelf.clone();
    shared.execute(|| ());
    by_generic(&shared);
    let object: &(dyn Executor + Send + Sync) = &*shelf;
    object.execute(|| ());
    let object: &(dyn Executor + Send) = &*shelf;
    object.execute(|| ());
    let object: &(dyn Executor + Sync) = &*shelf;
    object.execute(|| ());
    assert_eq!(shelf.jobs.lock().unwrap().len(), 11);
}

#[test]
fn a_rejected_job_comes_back() {
    let shelf = Shelf { room: 1, ..Shelf::default() };
    shelf.execute(|| ());
    let (sender, receiver) = std::sync::mpsc::channel();
    let rejected = shelf.try_execute(move || sender.send(1).unwrap()).unwrap_err();
    rejected.into_inner()();
    assert_eq!(receiver.recv(), Ok(1));
    let object: &dyn Executor = &shelf;
    assert!(object.try_execute(|| ()).is_err());
    let panic = catch_unwind(AssertUnwindSafe(|| shelf.execute(|| ()))).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"the executor has not accepted the job".to_owned()));
}

#[test]
fn a_rejected_future_comes_back() {
    let shelf = Shelf { room: 1, ..Shelf::default() };
    let spawner: &dyn Spawner = &shelf;
    spawner.spawn(async {});
    let (sender, receiver) = std::sync::mpsc::channel();
    let rejected = spawner.try_spawn(async move { sender.send(1).unwrap() }).unwrap_err();
    let mut context = Context::from_waker(Waker::noop());
    assert!(rejected.into_inner().as_mut().poll(&mut context).is_ready());
    assert_eq!(receiver.recv(), Ok(1));
    assert!(catch_unwind(AssertUnwindSafe(|| shelf.spawn(async {}))).is_err());
}

/// Collects futures of this thread.
#[derive(Default)]
struct Local(RefCell<Vec<LocalBoxFuture>>);

impl LocalSpawner for Local {
    fn accept_local(&self, future: LocalBoxFuture) -> Result<(), LocalBoxFuture> {
        self.0.borrow_mut().push(future);
        Ok(())
    }
}

#[test]
fn a_thread_bound_future_need_not_be_send() {
    let (local, seen) = (Rc::new(Local::default()), Rc::new(RefCell::new(0)));
    let spawner: &dyn LocalSpawner = &local;
    let mine = Rc::clone(&seen);
    spawner.spawn_local(async move { *mine.borrow_mut() += 1 });
    let mut context = Context::from_waker(Waker::noop());
    let mut future = local.0.borrow_mut().pop().expect("one");
    assert!(future.as_mut().poll(&mut context).is_ready());
    assert_eq!(*seen.borrow(), 1);
}

#[test]
fn a_jobs_children_run_after_it_in_order() {
    let said = Arc::new(Mutex::new(Vec::new()));
    let (outer, list) = (Arc::clone(&said), Arc::clone(&said));
    let say = move |word| list.lock().unwrap().push(word);
    let third = say.clone();
    Inline.execute(move || {
        let (second, say) = (say.clone(), say);
        Inline.execute(move || {
            second(2);
            let (fourth, third) = (third.clone(), third);
            Inline.execute(move || fourth(4));
            third(3);
        });
        say(1);
    });
    assert_eq!(*outer.lock().unwrap(), [1, 2, 3, 4], "all have run when the outermost returns");
}

#[test]
fn a_panic_goes_on_after_the_other_jobs() {
    let ran = Arc::new(Mutex::new(0));
    let count = Arc::clone(&ran);
    let outermost = || {
        Inline.execute(move || {
            for number in 1..=3 {
                let count = Arc::clone(&count);
                Inline.execute(move || {
                    *count.lock().unwrap() += 1;
                    assert_ne!(number, 2, "the second");
                });
            }
            panic!("the first");
        });
    };
    let panic = catch_unwind(AssertUnwindSafe(outermost)).unwrap_err();
    assert_eq!(panic.downcast_ref(), Some(&"the first"));
    assert_eq!(*ran.lock().unwrap(), 3);
    Inline.execute(move || *ran.lock().unwrap() = 0);
}

#[test]
fn the_ending_thread_may_submit_a_job() {
    /// Submits when it is dropped.
    struct Late(std::sync::mpsc::Sender<bool>);
    impl Drop for Late {
        fn drop(&mut self) {
            let sender = self.0.clone();
            Inline.execute(move || {
                let inner = Inline.try_execute(|| ());
                sender.send(inner.is_ok()).unwrap();
            });
        }
    }
    thread_local!(static LATE: RefCell<Option<Late>> = const { RefCell::new(None) });
    let (sender, receiver) = std::sync::mpsc::channel();
    thread::spawn(move || {
        LATE.with(|late| late.replace(Some(Late(sender))));
        Inline.execute(|| Inline.execute(|| ()));
    })
    .join()
    .unwrap();
    // Accepted or returned, by which of the two is destroyed first; never lost, and no panic.
    assert!(receiver.recv().is_ok());
}
