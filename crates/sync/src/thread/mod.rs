//! Threads, as a pool needs them.

mod inherited;

use core::cell::OnceCell;
use std::io;
use std::sync::Arc;
use std::time::Instant;

#[cfg(brigade_seeded)]
use brigade_instrument::seeded::thread as imp;
#[cfg(not(brigade_seeded))]
use std::thread as imp;

pub use imp::ThreadId;
pub use inherited::{Inherited, set_nice};

use crate::lock::{Condvar, Mutex};
use crate::time;

crate::unmodelled::thread_local! {
    /// The first thread-local of a thread started by [`NewThread::start`]. So it is the last to be destroyed: the standard library
    /// destroys them in the reverse order of their creation, on most systems; on the others in any order.
    static FIRST: OnceCell<Ends> = const { OnceCell::new() };
}

/// When dropped, records the end of the thread.
struct Ends(Arc<End>);

impl Drop for Ends {
    fn drop(&mut self) {
        *self.0.is_there.lock() = true;
        self.0.comes.notify_all();
    }
}

/// The end of a thread, thread-local destructors included.
#[derive(Debug, Default)]
struct End {
    is_there: Mutex<bool>,
    comes: Condvar,
}

impl End {
    /// Waits for it until then; returns whether it is there.
    fn wait_until(&self, deadline: Instant) -> bool {
        let mut is_there = self.is_there.lock();
        loop {
            let left = time::until(deadline);
            if *is_there || left.is_zero() {
                return *is_there;
            }
            is_there = self.comes.wait(is_there, Some(left));
        }
    }
}

/// An unstarted thread.
///
/// ```
/// # use brigade_sync::thread as brigade;
/// use brigade::NewThread;
/// let (sender, receiver) = std::sync::mpsc::channel();
/// let thread = NewThread::new("reader".into(), None, move || {
///     _ = sender.send(std::thread::current().name() == Some("reader"));
/// });
/// let thread = thread.start()?;
/// # assert_ne!(thread.id(), Some(brigade::current_id()));
/// thread.join();
/// assert_eq!(receiver.recv(), Ok(true));
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct NewThread {
    name: Option<String>,
    stack_size: Option<usize>,
    /// The values it begins with; `None` for those of the starting thread.
    inherited: Option<Arc<Inherited>>,
    main: Box<dyn FnOnce() + Send>,
}

impl NewThread {
    /// Describes a thread. `stack_size` is in bytes; `None` means the standard library's default. The name is cut at the
    /// first NUL.
    pub fn new(
        name: String,
        stack_size: Option<usize>,
        main: impl FnOnce() + Send + 'static,
    ) -> Self {
        Self { name: None, stack_size, inherited: None, main: Box::new(main) }.with_name(name)
    }

    /// Returns the future name of the thread, if any.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Gives the thread another name, which is cut at the first NUL.
    ///
    /// ```
    /// # use brigade_sync::thread as brigade;
    /// use brigade::NewThread;
    /// let thread = NewThread::new("reader-0".into(), None, || ()).with_name("reader of the log");
    /// assert_eq!(thread.name(), Some("reader of the log"));
    /// ```
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        let mut name = name.into();
        name.truncate(name.find('\0').unwrap_or(name.len()));
        self.name = Some(name);
        self
    }

    /// Leaves the thread without a name: [`std::thread::Thread::name`] returns `None` there.
    ///
    /// ```
    /// # use brigade_sync::thread as brigade;
    /// use brigade::NewThread;
    /// let thread = NewThread::new("reader-0".into(), None, || ()).without_name();
    /// assert_eq!(thread.name(), None);
    /// ```
    pub fn without_name(mut self) -> Self {
        self.name = None;
        self
    }

    /// Has [`start`](Self::start) give the thread these values, and not those of the starting thread.
    #[doc(hidden)]
    pub fn inheriting(mut self, inherited: Arc<Inherited>) -> Self {
        self.inherited = Some(inherited);
        self
    }

    /// Starts the thread. On Linux a pool's thread begins with the CPUs, the nice value and the signal mask of the thread that built
    /// the pool.
    ///
    /// # Errors
    /// The system's error if it can't start a thread.
    pub fn start(self) -> io::Result<Thread> {
        let mut builder = imp::Builder::new();
        if let Some(name) = self.name {
            builder = builder.name(name);
        }
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        let (end, inherited, main) = (Arc::<End>::default(), self.inherited, self.main);
        let ends = Ends(end.clone());
        let main = move || {
            FIRST.with(|first| _ = first.set(ends));
            match inherited {
                Some(inherited) => {
                    inherited.apply();
                    inherited.pass_on(main);
                }
                None => main(),
            }
        };
        Ok(Thread(Some((spawn(builder, Box::new(main))?, end))))
    }

    /// Returns the stack size to be requested, in bytes, if set.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Is the thread: runs its main function on the calling thread, which the caller has started for this purpose, and
    /// returns at the end. The thread keeps its CPUs, nice value and signal mask.
    ///
    /// ```
    /// # use brigade_sync::thread as brigade;
    /// use brigade::NewThread;
    /// let mut threads = Vec::new();
    /// threads.push(NewThread::new("mine".into(), None, || ()));
    /// std::thread::scope(|s| threads.into_iter().for_each(|thread| _ = s.spawn(|| thread.run())));
    /// ```
    pub fn run(self) {
        Inherited::here().pass_on(self.main);
    }
}

crate::opaque!(NewThread: name, stack_size);

/// A started thread, to be joined.
#[derive(Debug)]
pub struct Thread(Option<(imp::JoinHandle<()>, Arc<End>)>);

impl Thread {
    /// Returns a thread that is started elsewhere, by [`NewThread::run`], and is not joined.
    pub fn not_joined() -> Self {
        Self(None)
    }

    /// Returns whether its main function has ended; destructors of thread-locals may still run. `true` if it is [not
    /// joined](Self::not_joined).
    pub fn is_finished(&self) -> bool {
        #[cfg(brigade_seeded)]
        return self.0.as_ref().is_none_or(|(_, end)| *end.is_there.lock());
        #[cfg(not(brigade_seeded))]
        self.0.as_ref().is_none_or(|(thread, _)| thread.is_finished())
    }

    /// Returns its id; see [`current_id`]. `None` if it is [not joined](Self::not_joined).
    pub fn id(&self) -> Option<ThreadId> {
        self.0.as_ref().map(|(thread, _)| thread.thread().id())
    }

    /// Waits for its end, thread-local destructors included. If it panicked, the payload is dropped.
    pub fn join(self) {
        drop(self.0.map(|(thread, _)| thread.join()));
    }

    /// Like [`join`](Self::join), but waits until `deadline` at most.
    ///
    /// # Errors
    /// The thread, if it has not ended by then.
    ///
    /// # Examples
    /// ```
    /// # use brigade_sync::thread as brigade;
    /// use brigade::NewThread;
    /// use std::time::{Duration, Instant};
    /// let (end, ends) = std::sync::mpsc::channel::<()>();
    /// let thread = NewThread::new("waits".into(), None, move || _ = ends.recv()).start()?;
    /// let joined = thread.join_until(Some(Instant::now()));
    /// let thread = joined.err().ok_or(std::io::ErrorKind::Other)?;
    /// drop(end);
    /// assert!(thread.join_until(Some(Instant::now() + Duration::from_secs(60))).is_ok());
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn join_until(self, deadline: Option<Instant>) -> Result<(), Self> {
        match (&self.0, deadline) {
            (Some((_, end)), Some(deadline)) if !end.wait_until(deadline) => Err(self),
            _ => {
                self.join();
                Ok(())
            }
        }
    }
}

/// Returns the calling thread's id; no two threads of a process ever have the same id.
pub fn current_id() -> ThreadId {
    imp::current().id()
}

/// Returns how many threads may run at once in a pool built by the calling thread: [`Inherited::parallelism`].
pub fn parallelism() -> usize {
    Inherited::here().parallelism()
}

/// The same for the calling thread alone, read now.
fn available() -> usize {
    if cfg!(brigade_seeded) {
        // The same on each machine.
        return 2;
    }
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Calls a function on a new thread: its settings end with the thread.
///
/// ```
/// use std::thread::{current, Thread};
/// let other = brigade_sync::thread::on_another(|| current().id())?;
/// assert_ne!(other, current().id());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// The system's if it can't start the thread; if the function panics.
pub fn on_another<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let result = Arc::new(Mutex::new(None));
    let theirs = result.clone();
    let main = move || {
        let value = call();
        *theirs.lock() = Some(value);
    };
    _ = spawn(imp::Builder::new(), Box::new(main))?.join();
    let value = result.lock().take();
    value.ok_or_else(|| io::Error::other("the call panicked"))
}

/// Starts a thread. One copy serves all main functions.
fn spawn(builder: imp::Builder, main: Box<dyn FnOnce() + Send>) -> io::Result<imp::JoinHandle<()>> {
    builder.spawn(main)
}

/// Has the system let the calling thread run soon after each of its sleeps, beside computing threads. For threads whose turns take
/// some microseconds.
///
/// On Linux since 6.12 a thread with a shorter time slice takes the processor from a thread with a longer slice, so this sets the
/// shortest slice, 0.1 ms (`sched_setattr(2)`). Otherwise it may wait for a slice of the other, some 3 ms. Elsewhere this has no effect.
pub fn run_in_short_slices() {
    #[cfg(target_os = "linux")]
    inherited::set_slice(100_000);
}

/// Yields the processor to another ready thread.
#[cfg_attr(brigade_seeded, track_caller)]
pub fn yield_now() {
    #[cfg(brigade_seeded)]
    return brigade_instrument::seeded::yield_now();
    #[cfg(not(brigade_seeded))]
    std::thread::yield_now();
}
