//! The I/O resources of the threads of a pool.

/// What makes the I/O resources of a thread belong to a pool; it refers to the pool weakly.
#[cfg(feature = "io")]
pub(crate) type Resources = brigade_io::DriverSupply;

/// Replaces it if the feature is off: there are no I/O resources.
#[cfg(not(feature = "io"))]
pub(crate) struct Resources;

#[cfg(not(feature = "io"))]
impl Resources {
    #[inline(always)]
    pub(super) fn enter<R>(&self, call: impl FnOnce() -> R) -> R {
        call()
    }
}
