//! The engine's view of I/O: the driver of a pool, and the supply that ties the resources of a thread to the pool.

#[cfg(feature = "io")]
pub(crate) use brigade_io::{Driver, DriverSupply as Resources};
#[cfg(not(feature = "io"))]
pub(crate) use none::{Driver, Resources};

/// Without the feature there are no resources, and so no driver.
#[cfg(not(feature = "io"))]
mod none {
    use std::io;
    use std::task::Waker;
    use std::time::Duration;

    pub(crate) enum Driver {}

    pub(crate) struct Resources;

    impl Driver {
        pub(crate) fn drive_unless(
            &self,
            _: impl FnOnce() -> bool,
            _: Option<Duration>,
            _: &mut impl FnMut(Waker),
        ) -> io::Result<usize> {
            match *self {}
        }

        pub(crate) fn is_driven(&self) -> bool {
            match *self {}
        }

        pub(crate) fn notify(&self) {
            match *self {}
        }

        pub(crate) fn close(&self, _: &mut impl FnMut(Waker)) {
            match *self {}
        }
    }

    impl Resources {
        #[inline(always)]
        pub(crate) fn enter<R>(&self, call: impl FnOnce() -> R) -> R {
            call()
        }
    }
}
