//! Threads, as far as a pool needs them.

use std::io;

/// A started thread that is to be joined.
#[derive(Debug)]
pub struct Thread(std::thread::JoinHandle<()>);

impl Thread {
    /// Starts a thread. `stack_size` is in bytes; `None` leaves it to the standard library.
    ///
    /// ```
    /// use brigade_sync::thread::Thread;
    /// let (sender, receiver) = std::sync::mpsc::channel();
    /// let thread = Thread::start("reader".into(), None, move || {
    ///     sender.send(std::thread::current().name() == Some("reader")).unwrap();
    /// })?;
    /// assert!(!thread.is_current());
    /// thread.join();
    /// assert!(receiver.recv().unwrap());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the system says if it can't start one.
    ///
    /// # Panics
    /// If the name contains NUL.
    pub fn start(
        name: String,
        stack_size: Option<usize>,
        main: impl FnOnce() + Send + 'static,
    ) -> io::Result<Self> {
        let mut builder = std::thread::Builder::new().name(name);
        if let Some(bytes) = stack_size {
            builder = builder.stack_size(bytes);
        }
        builder.spawn(main).map(Self)
    }

    /// Whether it is the thread that this is called on.
    pub fn is_current(&self) -> bool {
        self.0.thread().id() == std::thread::current().id()
    }

    /// Waits for its end, thread-local destructors included. What it panicked with, if it did, is dropped.
    pub fn join(self) {
        drop(self.0.join());
    }
}

/// How many threads the process may run at once by affinity and quota; 1 if that is not known.
pub fn parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Gives the processor to whoever waits for it.
pub fn yield_now() {
    std::thread::yield_now();
}
