//! Configuring and building a pool.

use core::fmt;
use core::time::Duration;
use std::any::Any;
use std::env;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::thread;

use brigade::{NewThread, OnPanic, Order, Pool, Shutdown, Thread, foreign};
use brigade_sync::Mutex;

use crate::error::ThreadPoolBuildError;
use crate::registry::{PanicHandler, Registry, current_thread_index, max_num_threads};

/// A function of a thread's index.
type Hook = Box<dyn Fn(usize) + Send + Sync>;

/// Configures and builds a [`ThreadPool`](crate::ThreadPool), or the global pool.
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    num_threads: usize,
    use_current_thread: bool,
    panic_handler: Option<PanicHandler>,
    thread_name: Option<Box<dyn FnMut(usize) -> String>>,
    stack_size: Option<usize>,
    start_handler: Option<Hook>,
    exit_handler: Option<Hook>,
    spawn: S,
}

/// The starter of the threads of a pool; only this crate implements it.
pub trait ThreadSpawn: sealed::Sealed {
    /// Starts a thread that calls [`ThreadBuilder::run`].
    #[doc(hidden)]
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()>;
}

mod sealed {
    pub trait Sealed {}
}

/// Starts threads of the standard library.
#[derive(Debug, Default)]
pub struct DefaultSpawn;

/// Starts threads by a function of the user's.
pub struct CustomSpawn<F>(F);

impl sealed::Sealed for DefaultSpawn {}

impl ThreadSpawn for DefaultSpawn {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        let ThreadBuilder { name, thread, .. } = thread;
        let named = match name {
            Some(name) => thread.with_name(name),
            None => thread.without_name(),
        };
        named.start().map(drop)
    }
}

impl<F> sealed::Sealed for CustomSpawn<F> {}

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    fn spawn(&mut self, thread: ThreadBuilder) -> io::Result<()> {
        (self.0)(thread)
    }
}

/// An unstarted thread of a pool.
pub struct ThreadBuilder {
    index: usize,
    name: Option<String>,
    stack_size: Option<usize>,
    thread: NewThread,
}

impl ThreadBuilder {
    /// The index of the thread in the pool.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The name for the thread, if set.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The stack size for the thread, if set.
    pub fn stack_size(&self) -> Option<usize> {
        self.stack_size
    }

    /// Runs the thread's main function, and returns when the pool ends.
    pub fn run(self) {
        self.thread.run();
    }

    /// A builder of the standard library for it.
    #[allow(clippy::disallowed_types)] // A scope of std's starts threads by this, and only threads without a name have none.
    pub(crate) fn std_builder(&self) -> thread::Builder {
        let mut builder = thread::Builder::new();
        if let Some(name) = &self.name {
            builder = builder.name(name.clone());
        }
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        builder
    }
}

impl fmt::Debug for ThreadBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadBuilder")
            .field("index", &self.index)
            .field("name", &self.name)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            num_threads: 0,
            use_current_thread: false,
            panic_handler: None,
            thread_name: None,
            stack_size: None,
            start_handler: None,
            exit_handler: None,
            spawn: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// Returns a builder with the default configuration.
    pub fn new() -> Self {
        Self::default()
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds a pool, and starts the pool's own threads, if any.
    pub(crate) fn build_parts(
        mut self,
    ) -> Result<(Option<Pool>, Arc<Registry>), ThreadPoolBuildError> {
        let threads = self.threads();
        if self.use_current_thread {
            return Ok((None, self.build_here(threads)?));
        }
        let names: Vec<_> = match &mut self.thread_name {
            Some(name) => (0..threads).map(|index| Some(name(index))).collect(),
            None => vec![None; threads],
        };
        let registry = Arc::new(Registry::new(threads, self.panic_handler.take()));
        // brigade starts threads from any thread, and the spawn handler may be called only here: so they are collected first.
        let collected = Arc::new(Mutex::new(Some(Vec::with_capacity(threads))));
        let pool =
            self.configured(threads, &registry).spawner(collect_in(collected.clone())).build()?;
        registry.built(pool.handle());
        let new = collected.lock().take().unwrap_or_default();
        for (index, (thread, name)) in new.into_iter().zip(names).enumerate() {
            let stack_size = self.stack_size;
            self.spawn.spawn(ThreadBuilder { index, name, stack_size, thread })?;
        }
        Ok((Some(pool), registry))
    }

    /// Builds a pool of the calling thread.
    fn build_here(&mut self, threads: usize) -> Result<Arc<Registry>, ThreadPoolBuildError> {
        if current_thread_index().is_some() {
            return Err(ThreadPoolBuildError::in_pool());
        }
        if threads != 1 {
            let reason = format!(
                "use_current_thread works with num_threads(1) only, and not with {threads}: \
                 a pool of brigade has the calling thread alone, or threads of its own"
            );
            return Err(io::Error::new(io::ErrorKind::Unsupported, reason).into());
        }
        let registry = Arc::new(Registry::new(threads, self.panic_handler.take()));
        registry.own(foreign::local_pool(on_panic(&registry))?);
        Ok(registry)
    }

    /// The configuration of a pool like rayon's.
    fn configured(&mut self, threads: usize, registry: &Arc<Registry>) -> brigade::Builder {
        let start = hook(registry.clone(), self.start_handler.take());
        let exit = hook(registry.clone(), self.exit_handler.take());
        let entered = registry.clone();
        let builder = match self.stack_size {
            Some(bytes) => Pool::builder().stack_size(bytes),
            None => Pool::builder(),
        };
        builder
            .threads(threads)
            .prestart(usize::MAX)
            // A thread has an index below the number of threads, and none waits without running jobs.
            .spare_threads(0)
            .waits_run_anything()
            // The newest job first: rayon's threads take a job from outside when they have none, these also every 100 µs.
            .order(Order::Lifo)
            .fairness(u32::MAX)
            .on_panic(on_panic(registry))
            .on_start(move |index| {
                entered.enter();
                start(index);
            })
            .on_stop(move |index| {
                exit(index);
                Registry::leave();
            })
            // The threads end when they have run all spawned jobs; the drop does not wait for them.
            .on_drop(Shutdown::Drain.timeout(Duration::ZERO))
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Sets the function that starts the threads, which must call [`ThreadBuilder::run`].
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        ThreadPoolBuilder {
            num_threads: self.num_threads,
            use_current_thread: self.use_current_thread,
            panic_handler: self.panic_handler,
            thread_name: self.thread_name,
            stack_size: self.stack_size,
            start_handler: self.start_handler,
            exit_handler: self.exit_handler,
            spawn: CustomSpawn(spawn),
        }
    }

    /// Sets the names of the threads. Default: none.
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(mut self, name: F) -> Self {
        self.thread_name = Some(Box::new(name));
        self
    }

    /// Sets the number of threads. Default, and with 0: `RAYON_NUM_THREADS`, or as many as the process may run at once.
    pub fn num_threads(mut self, threads: usize) -> Self {
        self.num_threads = threads;
        self
    }

    /// Makes the calling thread the pool's only thread, for good: another pool with it can't be built. Spawned jobs run while this
    /// thread waits for work of the pool, or yields to it. With another number of threads than 1, [`build`](Self::build) fails.
    pub fn use_current_thread(mut self) -> Self {
        self.use_current_thread = true;
        self
    }

    /// Sets a handler for the payload of a panic when no thread waits for it. Default: the process aborts.
    pub fn panic_handler<H>(mut self, handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        self.panic_handler = Some(Box::new(handler));
        self
    }

    /// Sets the stack size of the threads, in bytes.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// Sets a function that each thread calls first, with the thread's index.
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(mut self, handler: H) -> Self {
        self.start_handler = Some(Box::new(handler));
        self
    }

    /// Sets a function that each thread calls last, with the thread's index.
    pub fn exit_handler<H: Fn(usize) + Send + Sync + 'static>(mut self, handler: H) -> Self {
        self.exit_handler = Some(Box::new(handler));
        self
    }

    fn threads(&self) -> usize {
        let from = |name| env::var(name).ok().and_then(|text| text.parse().ok());
        let default = brigade::default_threads;
        let asked = match (self.num_threads, from("RAYON_NUM_THREADS")) {
            (0, Some(0)) => default(),
            (0, Some(threads)) => threads,
            // The variable's former name.
            (0, None) => {
                from("RAYON_RS_NUM_CPUS").filter(|&threads| threads > 0).unwrap_or_else(default)
            }
            (threads, _) => threads,
        };
        asked.min(max_num_threads())
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder")
            .field("num_threads", &self.num_threads)
            .field("use_current_thread", &self.use_current_thread)
            .field("stack_size", &self.stack_size)
            .finish_non_exhaustive()
    }
}

/// The handler for the payload of a panic when no thread waits for it.
fn on_panic(registry: &Arc<Registry>) -> OnPanic {
    let registry = registry.clone();
    OnPanic::Call(Arc::new(move |payload| registry.panicked(payload)))
}

/// A spawner that collects the threads, once.
fn collect_in(
    collected: Arc<Mutex<Option<Vec<NewThread>>>>,
) -> impl Fn(NewThread) -> io::Result<Thread> + Send + Sync {
    move |thread| match &mut *collected.lock() {
        Some(new) => {
            new.push(thread);
            Ok(Thread::not_joined())
        }
        None => Err(io::Error::other("the pool's threads have been started")),
    }
}

/// Calls a handler; a panic is treated like a spawned job's.
fn hook(registry: Arc<Registry>, handler: Option<Hook>) -> impl Fn(usize) + Send + Sync {
    move |index| {
        let Some(handler) = &handler else { return };
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| handler(index))) {
            registry.panicked(payload);
        }
    }
}
