//! Why a pool could not be built.

use core::fmt;
use std::error::Error;
use std::io;

/// The error of building a pool.
#[derive(Debug)]
pub struct ThreadPoolBuildError(Kind);

#[derive(Debug)]
enum Kind {
    /// There is a global pool.
    GlobalExists,
    /// The calling thread belongs to a pool.
    InPool,
    Io(io::Error),
}

impl ThreadPoolBuildError {
    pub(crate) fn global_exists() -> Self {
        Self(Kind::GlobalExists)
    }

    pub(crate) fn in_pool() -> Self {
        Self(Kind::InPool)
    }
}

impl From<io::Error> for ThreadPoolBuildError {
    fn from(error: io::Error) -> Self {
        Self(Kind::Io(error))
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // rayon's words, which programs may compare.
            Kind::GlobalExists => {
                f.write_str("The global thread pool has already been initialized.")
            }
            Kind::InPool => {
                f.write_str("The current thread is already part of another thread pool.")
            }
            Kind::Io(error) => error.fmt(f),
        }
    }
}

impl Error for ThreadPoolBuildError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Kind::GlobalExists | Kind::InPool => None,
            Kind::Io(error) => Some(error),
        }
    }
}
