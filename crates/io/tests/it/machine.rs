//! A tiny executor: a thread that drives, and the test's own thread, which polls one future.

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread;

use brigade_io::{Driver, Trigger};
use futures_lite::future;

/// Every trigger there is; what a program sees must not depend on it.
pub(crate) const TRIGGERS: [Trigger; 4] =
    [Trigger::ByKind, Trigger::Level, Trigger::Edge, Trigger::Oneshot];

/// A driver and the thread that drives it, until it is dropped.
pub(crate) struct Machine {
    pub(crate) driver: Arc<Driver>,
    stop: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<usize>>,
}

impl Machine {
    pub(crate) fn start(trigger: Trigger) -> Self {
        let driver = Driver::with_trigger(trigger).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let (own, stopped) = (driver.clone(), stop.clone());
        let thread = thread::spawn(move || {
            let mut drives = 0;
            while !stopped.load(Ordering::SeqCst) {
                own.drive(None, &mut Waker::wake).unwrap();
                drives += 1;
            }
            drives
        });
        Self { driver, stop, thread: Some(thread) }
    }

    /// Runs a future on this thread, with the driver as its current one.
    pub(crate) fn run<R>(&self, future: impl Future<Output = R>) -> R {
        self.driver.enter(|| future::block_on(future))
    }

    /// Ends the thread; returns how often it drove.
    pub(crate) fn stop(mut self) -> usize {
        self.end().unwrap()
    }

    fn end(&mut self) -> Option<usize> {
        self.stop.store(true, Ordering::SeqCst);
        self.driver.notify();
        self.thread.take().map(|thread| thread.join().unwrap())
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// Runs the body once with each trigger, whose name is printed if it fails.
pub(crate) fn with_each_trigger(body: impl Fn(Trigger)) {
    for trigger in TRIGGERS {
        println!("{trigger:?}");
        body(trigger);
    }
}

/// The same with a machine each.
pub(crate) fn on_each_machine<E: Future<Output = io::Result<()>>>(body: impl Fn(Arc<Driver>) -> E) {
    with_each_trigger(|trigger| {
        let machine = Machine::start(trigger);
        machine.run(async { body(machine.driver.clone()).await }).unwrap();
        assert_eq!(machine.driver.sources(), 0, "nothing is left");
    });
}

/// A waker that counts.
#[derive(Default)]
pub(crate) struct Count(AtomicUsize);

impl Count {
    pub(crate) fn wakes(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Polls once, with a waker that counts.
pub(crate) fn poll_once<F: Future + Unpin>(future: &mut F, count: &Arc<Count>) -> Poll<F::Output> {
    let waker = Waker::from(count.clone());
    std::pin::Pin::new(future).poll(&mut Context::from_waker(&waker))
}

/// Drives without waiting, waking whoever is to be; returns how many.
pub(crate) fn drive_now(driver: &Driver) -> usize {
    driver.drive(Some(std::time::Duration::ZERO), &mut Waker::wake).unwrap()
}
