//! smol: the executor, run by threads that wait for I/O when there is nothing to run, as in the documentation;
//! the executor of `smol::spawn` has one thread and can't be ended. Executors without I/O and timers use smol's.

use std::convert::Infallible;
use std::fs::File;
use std::future::Future;
use std::io;
use std::net::TcpStream;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use smol::channel::{self, Sender};
use smol::io::{AsyncReadExt, AsyncWriteExt};
use smol::{Async, Executor, Timer};

use crate::target::runtime::{Alarm, Closure, Runtime, Spawn, Spawnable, ends};

/// Starts the threads.
pub(super) fn start(threads: usize) -> io::Result<Smol<Arc<Executor<'static>>>> {
    let executor = Arc::new(Executor::new());
    let (open, closed) = channel::bounded::<Infallible>(1);
    let threads = (0..threads).map(|_| {
        let (executor, closed) = (Arc::clone(&executor), closed.clone());
        let run = move || {
            let _ = smol::block_on(executor.run(closed.recv()));
        };
        thread::Builder::new().name("smol".to_owned()).spawn(run)
    });
    let threads = threads.collect::<io::Result<Vec<_>>>()?;
    Ok(with(executor, move || {
        // The threads end when it is gone.
        drop::<Sender<Infallible>>(open);
        // A panicked thread has printed a message, and its tasks are missing.
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }))
}

/// smol's I/O and timers around an executor; `end` ends its threads.
pub(super) fn with<E: Tasks>(executor: E, end: impl FnOnce() + Send + Sync + 'static) -> Smol<E> {
    Smol { executor, end: Box::new(end) }
}

/// Runs tasks with smol's handles, which cancel them when they are dropped.
pub(super) trait Tasks: Clone + Send + Sync + 'static {
    /// Spawns `future`.
    fn spawn_task<F: Spawnable>(&self, future: F) -> smol::Task<F::Output>;
}

impl Tasks for Arc<Executor<'static>> {
    #[inline]
    fn spawn_task<F: Spawnable>(&self, future: F) -> smol::Task<F::Output> {
        self.spawn(future)
    }
}

/// An executor and its threads.
pub(crate) struct Smol<E> {
    /// The executor of the tasks.
    executor: E,
    /// Ends the threads.
    end: Box<dyn FnOnce() + Send + Sync>,
}

impl<E: Tasks> Runtime for Smol<E> {
    type Spawner = E;
    type Task<T: Send + 'static> = smol::Task<T>;
    type Reader = Async<File>;
    type Writer = Async<File>;
    type Stream = Async<TcpStream>;

    fn block_on<F: Future>(&self, future: F) -> F::Output {
        smol::block_on(future)
    }

    #[inline]
    fn spawn<F: Spawnable>(&self, future: F) -> io::Result<smol::Task<F::Output>> {
        Ok(self.executor.spawn_task(future))
    }

    fn spawner(&self) -> E {
        self.executor.clone()
    }

    async fn sleep(time: Duration) {
        Timer::after(time).await;
    }

    #[inline]
    fn execute_at(&self, time: Instant, job: impl Closure) -> io::Result<impl Alarm> {
        Ok(self.executor.spawn_task(async move {
            Timer::at(time).await;
            job();
        }))
    }

    fn pipe(into: OwnedFd, out: OwnedFd) -> io::Result<(Async<File>, Async<File>)> {
        Ok((Async::new(File::from(into))?, Async::new(File::from(out))?))
    }

    fn stream(stream: TcpStream) -> io::Result<Async<TcpStream>> {
        Async::new(stream)
    }

    fn shutdown(self) {
        (self.end)();
    }
}

impl<E: Tasks> Spawn for E {
    #[inline]
    fn detach(&self, future: impl Future<Output = ()> + Send + 'static) -> io::Result<()> {
        self.spawn_task(future).detach();
        Ok(())
    }
}

impl Alarm for smol::Task<()> {
    fn detach(self) {
        smol::Task::detach(self);
    }
}

ends!(Async<File>, Async<File>, Async<TcpStream> => .await);
