//! What a pool needs of threads.

use core::fmt;
use std::io;

pub use std::thread::ThreadId;

/// A thread that has not been started.
///
/// ```
/// use brigade_sync::thread::NewThread;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// let thread = NewThread::new("reader".into(), None, move || {
///     sender.send(std::thread::current().name() == Some("reader")).unwrap();
/// });
/// let thread = thread.start()?;
/// assert_ne!(thread.id(), brigade_sync::thread::current_id());
/// thread.join();
/// assert!(receiver.recv().unwrap());
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct NewThread {
    name: String,
    stack_size: Option<usize>,
    main: Box<dyn FnOnce() + Send>,
}

impl NewThread {
    /// Describes a thread. `stack_size` is in bytes; `None` means the standard library's default. The name is cut at its
    /// first NUL.
    pub fn new(
        mut name: String,
        stack_size: Option<usize>,
        main: impl FnOnce() + Send + 'static,
    ) -> Self {
        name.truncate(name.find('\0').unwrap_or(name.len()));
        Self { name, stack_size, main: Box::new(main) }
    }

    /// Returns the name that the thread will have.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// The system's error if it can't start one.
    pub fn start(self) -> io::Result<Thread> {
        let mut builder = std::thread::Builder::new().name(self.name);
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        builder.spawn(self.main).map(Thread)
    }
}

impl fmt::Debug for NewThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewThread")
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

/// A started thread, to be joined.
#[derive(Debug)]
pub struct Thread(std::thread::JoinHandle<()>);

impl Thread {
    /// Returns whether its main function has ended; destructors of thread-locals may still run.
    pub fn is_finished(&self) -> bool {
        self.0.is_finished()
    }

    /// Returns its id; see [`current_id`].
    pub fn id(&self) -> ThreadId {
        self.0.thread().id()
    }

    /// Waits for its end, thread-local destructors included. If it panicked, the payload is dropped.
    pub fn join(self) {
        drop(self.0.join());
    }
}

/// Returns the calling thread's id; no two threads of a process ever have the same one.
pub fn current_id() -> ThreadId {
    std::thread::current().id()
}

/// Returns how many threads the process may run at once by affinity and quota; 1 if that is unknown.
pub fn parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Yields the processor to another thread that is ready to run.
pub fn yield_now() {
    std::thread::yield_now();
}
