//! Where what is made on a thread gets its driver from.

use std::fmt;
use std::io;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::Arc;

use crate::Driver;
use crate::error::no_driver;

brigade_sync::scoped_thread_local!(
    /// Who gives this thread its driver.
    static CURRENT: DriverSupply
);

/// Gives a thread its driver when something asks for one, and not before.
///
/// A pool enters its workers into one, and has no driver, with its files, until the first of its tasks makes a socket.
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
///     assert!(MADE.get().is_none(), "nobody has asked");
///     let _pipe = pipe()?;
///     assert_eq!(MADE.get().unwrap().sources(), 2);
///     std::io::Result::Ok(())
/// })?;
/// # std::io::Result::Ok(())
/// ```
pub struct DriverSupply(Supply);

enum Supply {
    /// The one that there is.
    Made(Arc<Driver>),
    /// Whatever this returns.
    Maker(Box<dyn Fn() -> io::Result<Arc<Driver>> + Send + Sync>),
}

impl DriverSupply {
    /// Has `make` called whenever a driver is asked for.
    ///
    /// It is called at every registration, by any thread that has [entered](Self::enter), several at a time; what it
    /// made before it should return again. It runs under no lock. It may not ask for the current driver itself.
    pub fn new(make: impl Fn() -> io::Result<Arc<Driver>> + Send + Sync + 'static) -> Self {
        Self(Supply::Maker(Box::new(make)))
    }

    /// Always gives the same driver.
    pub(crate) fn of(driver: Arc<Driver>) -> Self {
        Self(Supply::Made(driver))
    }

    /// Calls with this as the thread's supply: what is made in `call` registers with the driver that it gives.
    ///
    /// Costs two writes to a thread-local, allocates nothing, and asks for nothing. Of several, one inside the other, the
    /// innermost counts, and [`Driver::enter`] is one of them.
    ///
    /// ```
    /// use std::io;
    /// use brigade_io::{DriverSupply, UdpSocket};
    /// let none = DriverSupply::new(|| Err(io::Error::other("no driver today")));
    /// let error = none.enter(|| UdpSocket::bind(([127, 0, 0, 1], 0))).unwrap_err();
    /// assert_eq!(error.to_string(), "no driver today");
    /// ```
    pub fn enter<R>(&self, call: impl FnOnce() -> R) -> R {
        CURRENT.set(self, call)
    }

    /// Whether this is called inside of [`enter`](Self::enter), that of a driver included.
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

    /// The driver of this thread.
    pub(crate) fn current() -> io::Result<Arc<Driver>> {
        CURRENT.with(|supply| match supply.map(|supply| &supply.0) {
            None => Err(no_driver()),
            Some(Supply::Made(driver)) => Ok(Arc::clone(driver)),
            Some(Supply::Maker(make)) => make(),
        })
    }
}

// A maker that panics has made nothing, and nothing here changes when it is called.
impl UnwindSafe for DriverSupply {}
impl RefUnwindSafe for DriverSupply {}

impl fmt::Debug for DriverSupply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match &self.0 {
            Supply::Made(_) => "Made",
            Supply::Maker(_) => "Maker",
        };
        f.debug_tuple("DriverSupply").field(&name).finish()
    }
}
