//! What rayon-core has deprecated in favour of [`ThreadPoolBuilder`].

use core::fmt;
use std::any::Any;
use std::error::Error;

use crate::builder::ThreadPoolBuilder;
use crate::thread_pool::ThreadPool;

/// A [`ThreadPoolBuilder`], by its former name.
#[deprecated(note = "use `ThreadPoolBuilder`")]
#[derive(Default)]
pub struct Configuration(ThreadPoolBuilder);

#[allow(deprecated)]
impl Configuration {
    /// Returns the default configuration.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls [`ThreadPoolBuilder::build`].
    ///
    /// # Errors
    /// As for [`ThreadPoolBuilder::build`].
    pub fn build(self) -> Result<ThreadPool, Box<dyn Error>> {
        self.0.build().map_err(Box::from)
    }

    /// Calls [`ThreadPoolBuilder::thread_name`].
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(self, name: F) -> Self {
        Self(self.0.thread_name(name))
    }

    /// Calls [`ThreadPoolBuilder::num_threads`].
    pub fn num_threads(self, threads: usize) -> Self {
        Self(self.0.num_threads(threads))
    }

    /// Calls [`ThreadPoolBuilder::panic_handler`].
    pub fn panic_handler<H>(self, handler: H) -> Self
    where
        H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static,
    {
        Self(self.0.panic_handler(handler))
    }

    /// Calls [`ThreadPoolBuilder::stack_size`].
    pub fn stack_size(self, bytes: usize) -> Self {
        Self(self.0.stack_size(bytes))
    }

    /// Has no effect.
    pub fn breadth_first(self) -> Self {
        self
    }

    /// Calls [`ThreadPoolBuilder::start_handler`].
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self(self.0.start_handler(handler))
    }

    /// Calls [`ThreadPoolBuilder::exit_handler`].
    pub fn exit_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self(self.0.exit_handler(handler))
    }
}

#[allow(deprecated)]
impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl ThreadPool {
    /// Builds a pool.
    ///
    /// # Errors
    /// As for [`ThreadPoolBuilder::build`].
    #[deprecated(note = "use `ThreadPoolBuilder::build`")]
    #[allow(deprecated)]
    pub fn new(configuration: Configuration) -> Result<Self, Box<dyn Error>> {
        configuration.build()
    }
}

/// Builds the global pool.
///
/// # Errors
/// As for [`ThreadPoolBuilder::build_global`].
///
/// ```
/// #![allow(deprecated)]
/// use rayon_core::{Configuration, ThreadPool, current_num_threads, initialize};
/// let pool = ThreadPool::new(Configuration::new().num_threads(2))?;
/// assert_eq!(pool.current_num_threads(), 2);
/// initialize(Configuration::new().num_threads(3))?;
/// assert_eq!(current_num_threads(), 3);
/// assert!(initialize(Configuration::new()).is_err(), "there is one");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[deprecated(note = "use `ThreadPoolBuilder::build_global`")]
#[allow(deprecated)]
pub fn initialize(configuration: Configuration) -> Result<(), Box<dyn Error>> {
    configuration.0.build_global().map_err(Box::from)
}
