//! The current driver of a thread, with which values register by default.

use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use crate::driver::Driver;
use crate::error::no_driver;

brigade_sync::scoped_thread_local!(
    /// The supply of this thread's driver.
    static CURRENT: DriverSupply
);

impl Driver {
    /// Calls `call` with this as the thread's current driver: values created in it register with this driver.
    ///
    /// Allocates once. [`DriverSupply::enter`] allocates nothing.
    ///
    /// ```
    /// use brigade_io::{Driver, pipe};
    /// let driver = Driver::new()?;
    /// assert!(driver.enter(pipe).is_ok());
    /// assert!(pipe().is_err(), "no driver here");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn enter<R>(self: &Arc<Self>, call: impl FnOnce() -> R) -> R {
        let driver = Arc::clone(self);
        DriverSupply::new(move || Ok(Arc::clone(&driver))).enter(call)
    }

    /// Returns the driver of this thread; a [`DriverSupply`] may make it now.
    ///
    /// # Errors
    /// [`NoDriver::None`](crate::NoDriver::None) outside of [`enter`](Self::enter) and
    /// [`DriverSupply::enter`]; [`NoDriver::Closed`](crate::NoDriver::Closed) if it belongs to the parent process; the error
    /// of a supply that can't make a driver.
    pub fn current() -> io::Result<Arc<Self>> {
        let driver = CURRENT.with(|supply| match supply {
            None => Err(no_driver()),
            Some(supply) => (supply.make)(),
        })?;
        driver.check_process()?;
        Ok(driver)
    }
}

/// Creates the current driver of a thread when it is needed, and not before.
///
/// The workers of a pool run inside a supply: the pool has no driver, and no file descriptors of a driver, until a task
/// makes the first socket.
///
/// ```
/// use std::sync::OnceLock;
/// use brigade_io::{Driver, DriverSupply, pipe};
///
/// static MADE: OnceLock<std::sync::Arc<Driver>> = OnceLock::new();
/// let supply = DriverSupply::new(|| {
///     let driver = Driver::new()?;
///     Ok(MADE.get_or_init(|| driver).clone())
/// });
/// supply.enter(|| {
///     assert!(MADE.get().is_none(), "not needed yet");
///     let _pipe = pipe()?;
///     assert_eq!(MADE.get().map(|driver| driver.sources()), Some(2));
///     std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
pub struct DriverSupply {
    /// Returns the driver.
    make: Box<dyn Fn() -> io::Result<Arc<Driver>> + Send + Sync>,
}

impl DriverSupply {
    /// Makes a supply that calls `make` at each registration.
    ///
    /// It is called by any thread that has [entered](Self::enter), possibly by several at a time, without a lock. It should
    /// return the same driver each time. It must not ask for the current driver itself.
    pub fn new(make: impl Fn() -> io::Result<Arc<Driver>> + Send + Sync + 'static) -> Self {
        Self { make: Box::new(make) }
    }

    /// Calls `call` with this as the thread's supply: values created in it register with the driver of this supply.
    ///
    /// Costs two writes to a thread-local, allocates nothing and makes no driver. Of nested calls the innermost counts,
    /// [`Driver::enter`] included.
    ///
    /// ```
    /// use std::io;
    /// use brigade_io::{DriverSupply, pipe};
    /// let none = DriverSupply::new(|| Err(io::Error::other("no driver today")));
    /// let error = none.enter(pipe).unwrap_err();
    /// assert_eq!(error.to_string(), "no driver today");
    /// ```
    pub fn enter<R>(&self, call: impl FnOnce() -> R) -> R {
        CURRENT.set(self, call)
    }

    /// Returns whether the thread is inside [`enter`](Self::enter), of a supply or of a driver.
    ///
    /// ```
    /// use brigade_io::{Driver, DriverSupply};
    /// assert!(!DriverSupply::is_entered());
    /// assert!(Driver::new()?.enter(DriverSupply::is_entered));
    /// # std::io::Result::Ok(())
    /// ```
    pub fn is_entered() -> bool {
        CURRENT.with(|supply| supply.is_some())
    }
}

// A panicking `make` has created nothing, and the call changes nothing here.
impl UnwindSafe for DriverSupply {}
impl RefUnwindSafe for DriverSupply {}

brigade_sync::opaque!(DriverSupply);
