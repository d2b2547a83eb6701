//! The threads of a pool: how they are started and joined. It must not know the code of the threads, nor how many are
//! needed.

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::time::Instant;

use brigade_sync::Mutex;
use brigade_sync::atomic::{AtomicBool, Ordering};
use brigade_sync::thread::{self, NewThread, Thread, ThreadId};
use brigade_task::drop_contained;

use crate::values::{Config, Hooks};

/// Runs a worker on the current thread (`true`). Called with `false` if the thread will never run, although the
/// spawner has reported a start.
pub(in crate::engine) type Launch = Box<dyn FnOnce(bool) + Send>;

/// Makes the [`Launch`] of the worker with an index.
pub(in crate::engine) type Entry = Box<dyn Fn(usize) -> Launch + Send + Sync>;

/// The threads of one pool.
pub(crate) struct Threads {
    config: Arc<Config>,
    entry: Entry,
    /// Threads not yet joined.
    handles: Mutex<Vec<Thread>>,
    /// Threads that run workers, or the thread-local destructors after them.
    members: Mutex<Vec<ThreadId>>,
    /// Whether dropping the pool detaches the threads.
    is_detached: AtomicBool,
}

/// The fate of a thread that the spawner must start, as far as it is known.
struct Fate {
    /// The worker to run; `None` once it runs, the main function has been dropped, or the spawner has failed.
    launch: Option<Launch>,
    /// Whether the thread runs, or has run.
    runs: bool,
    /// Whether the spawner has reported a start.
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
        let Some(launch) = launch else { return };
        launch(true);
    }
}

impl Drop for Main {
    fn drop(&mut self) {
        let mut fate = self.0.lock();
        let (launch, is_started) = (fate.launch.take(), fate.is_started);
        drop(fate);
        match launch {
            Some(launch) if is_started => launch(false),
            _ => {}
        }
    }
}

impl Threads {
    pub(in crate::engine) fn new(config: Arc<Config>, entry: Entry) -> Self {
        Self {
            config,
            entry,
            handles: Mutex::default(),
            members: Mutex::default(),
            is_detached: AtomicBool::new(false),
        }
    }

    /// Has the spawner start the thread of a worker.
    pub(in crate::engine) fn start(&self, index: usize, hooks: &Hooks) -> io::Result<()> {
        let launch = Some((self.entry)(index));
        let fate = Arc::new(Mutex::new(Fate { launch, runs: false, is_started: false }));
        let main = Main(fate.clone());
        let name = hooks.thread_name(index);
        let new = NewThread::new(name, self.config.stack_size, move || main.run())
            .inheriting(self.config.inherited.clone());
        let spawner = hooks.spawner.as_deref().unwrap_or(&NewThread::start);
        let spawned = panic::catch_unwind(AssertUnwindSafe(|| spawner(new)));
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
            // A thread that runs exists, even if the spawner reports an error.
            Err(_) if fate.runs => Ok(()),
            Err(error) => {
                let launch = fate.launch.take();
                drop((fate, launch));
                Err(error)
            }
        }
    }

    /// Makes dropping the pool not wait for the threads.
    pub(crate) fn detach(&self) {
        // Ordering: Relaxed, here and below: the flag publishes nothing.
        self.is_detached.store(true, Ordering::Relaxed);
    }

    /// Whether [`detach`](Self::detach) has been called.
    pub(crate) fn is_detached(&self) -> bool {
        self.is_detached.load(Ordering::Relaxed)
    }

    /// Adds the calling thread to the pool's threads.
    pub(in crate::engine) fn enter(&self) {
        self.members.lock().push(thread::current_id());
    }

    /// Removes the calling thread, which no longer runs a worker and is not joined.
    pub(in crate::engine) fn exit(&self) {
        self.remove(thread::current_id());
    }

    fn remove(&self, id: ThreadId) {
        self.members.lock().retain(|&member| member != id);
    }

    /// Whether the calling thread belongs to the pool, or did a moment ago.
    pub(in crate::engine) fn is_own(&self) -> bool {
        self.members.lock().contains(&thread::current_id())
    }

    /// Joins threads whose workers have left.
    pub(in crate::engine) fn join_finished(&self) {
        let (mut handles, mut finished) = (self.handles.lock(), Vec::new());
        let mut index = 0;
        while let Some(thread) = handles.get(index) {
            if thread.is_finished() {
                finished.push(handles.remove(index));
            } else {
                index += 1;
            }
        }
        drop(handles);
        for thread in finished {
            _ = self.join(thread, None);
        }
    }

    /// Joins all threads, after their workers have left, until the deadline; returns whether all have ended.
    pub(in crate::engine) fn join_all(&self, deadline: Option<Instant>) -> bool {
        // Without the lock, because a thread that ends joins finished threads.
        let handles = core::mem::take(&mut *self.handles.lock());
        let mut have_ended = true;
        for thread in handles {
            if let Err(late) = self.join(thread, deadline) {
                self.handles.lock().push(late);
                have_ended = false;
            }
        }
        have_ended
    }

    /// Joins a thread, or returns it at the deadline. The thread belongs to the pool until its thread-local destructors
    /// have run.
    #[inline(never)]
    fn join(&self, thread: Thread, deadline: Option<Instant>) -> Result<(), Thread> {
        let id = thread.id();
        thread.join_until(deadline)?;
        if let Some(id) = id {
            self.remove(id);
        }
        Ok(())
    }
}
