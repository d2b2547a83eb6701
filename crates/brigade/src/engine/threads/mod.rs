//! The threads of a pool: how they are started, and joined. It must not know what they run, nor how many there should be.

mod following;

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::Mutex;
use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::thread::{self, NewThread, Thread, ThreadId};
use brigade_task::drop_contained;

use crate::values::Config;
use following::Following;

/// What a thread of a pool is started for.
pub(super) trait Launch: Send {
    /// Runs the worker, on its thread.
    fn run(self: Box<Self>);

    /// The thread will never run, although the spawner has reported that it started it.
    fn lost(self: Box<Self>);
}

/// Makes the [`Launch`] of the worker with an index.
pub(super) type Entry = Box<dyn Fn(usize) -> Box<dyn Launch> + Send + Sync>;

/// The threads of one pool.
pub(super) struct Threads {
    config: Arc<Config>,
    /// What their number follows.
    pub(super) following: Following,
    entry: Entry,
    /// The threads that have not been joined.
    handles: Mutex<Vec<Thread>>,
    /// The threads that run workers, or their thread-local destructors.
    members: Mutex<Vec<ThreadId>>,
    /// Whether dropping the pool detaches the threads.
    is_detached: AtomicBool,
}

/// The fate of a thread that the spawner has to start, as far as it is known.
struct Fate {
    /// The worker that it runs, until it does, its main function has been dropped, or the spawner has failed.
    launch: Option<Box<dyn Launch>>,
    /// Whether it runs, or has run.
    runs: bool,
    /// Whether the spawner reports that it has started it.
    is_started: bool,
}

/// The main function of a thread.
struct Main(Arc<Mutex<Fate>>);

impl Main {
    fn run(self) {
        let mut fate = self.0.lock();
        let launch = fate.launch.take();
        fate.runs = launch.is_some();
        drop(fate);
        launch.into_iter().for_each(Launch::run);
    }
}

impl Drop for Main {
    fn drop(&mut self) {
        let mut fate = self.0.lock();
        let (launch, is_started) = (fate.launch.take(), fate.is_started);
        drop(fate);
        if is_started {
            launch.into_iter().for_each(Launch::lost);
        }
    }
}

impl Threads {
    pub(super) fn new(config: Arc<Config>, entry: Entry) -> Self {
        Self {
            following: Following::new(&config),
            config,
            entry,
            handles: Mutex::default(),
            members: Mutex::default(),
            is_detached: AtomicBool::new(false),
        }
    }

    /// Has the spawner start the thread of a worker.
    pub(super) fn start(&self, index: usize) -> io::Result<()> {
        let launch = Some((self.entry)(index));
        let fate = Arc::new(Mutex::new(Fate { launch, runs: false, is_started: false }));
        let main = Main(fate.clone());
        let name = self.config.thread_name(index);
        let new = NewThread::new(name, self.config.stack_size, move || main.run())
            .inheriting(self.config.inherited.clone());
        let spawned = panic::catch_unwind(AssertUnwindSafe(|| (self.config.spawner)(new)));
        let spawned = spawned.unwrap_or_else(|payload| {
            drop_contained(payload);
            Err(io::Error::other("the spawner panicked"))
        });
        let mut fate = fate.lock();
        fate.is_started = spawned.is_ok();
        let is_dropped = fate.launch.is_none() && !fate.runs;
        match spawned {
            Ok(thread) => {
                self.handles.lock().push(thread);
                let dropped = "the spawner dropped the thread that it was to start";
                if is_dropped { Err(io::Error::other(dropped)) } else { Ok(()) }
            }
            // A thread that runs exists, whatever the spawner reports.
            Err(_) if fate.runs => Ok(()),
            Err(error) => {
                let launch = fate.launch.take();
                drop((fate, launch));
                Err(error)
            }
        }
    }

    /// From now on, dropping the pool does not wait for the threads.
    pub(super) fn detach(&self) {
        // Ordering: Relaxed, here and below: it publishes nothing.
        self.is_detached.store(true, Ordering::Relaxed);
    }

    /// Whether [`detach`](Self::detach) has been called.
    pub(super) fn is_detached(&self) -> bool {
        self.is_detached.load(Ordering::Relaxed)
    }

    /// Adds the calling thread to the pool's.
    pub(super) fn enter(&self) {
        self.members.lock().push(thread::current_id());
    }

    /// Removes the calling thread, which runs no worker any more and is not joined.
    pub(super) fn exit(&self) {
        let id = thread::current_id();
        self.members.lock().retain(|&member| member != id);
    }

    /// Whether the calling thread is one of the pool's, or was a moment ago.
    pub(super) fn is_own(&self) -> bool {
        self.members.lock().contains(&thread::current_id())
    }

    /// Joins threads whose workers have left.
    pub(super) fn join_finished(&self) {
        let mut finished = Vec::new();
        let mut handles = self.handles.lock();
        let mut index = 0;
        while let Some(thread) = handles.get(index) {
            if thread.is_finished() {
                finished.push(handles.swap_remove(index));
            } else {
                index += 1;
            }
        }
        drop(handles);
        finished.into_iter().for_each(|thread| _ = self.join(thread, None));
    }

    /// Joins all threads, after their workers have left, until the deadline at most; returns whether all have ended.
    pub(super) fn join_all(&self, deadline: Option<Instant>) -> bool {
        // Without the lock, as a thread that ends joins others.
        let handles = core::mem::take(&mut *self.handles.lock());
        let join = |thread| self.join(thread, deadline).err();
        let late: Vec<_> = handles.into_iter().filter_map(join).collect();
        let have_ended = late.is_empty();
        self.handles.lock().extend(late);
        have_ended
    }

    /// Joins a thread, which is one of the pool's until its thread-local destructors have run, or returns it at the deadline.
    fn join(&self, thread: Thread, deadline: Option<Instant>) -> Result<(), Thread> {
        let id = thread.id();
        thread.join_until(deadline)?;
        self.members.lock().retain(|&member| Some(member) != id);
        Ok(())
    }
}
