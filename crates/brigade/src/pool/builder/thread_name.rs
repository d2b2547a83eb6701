//! The names of a pool's threads.

use std::sync::Arc;

use crate::values::{Name, opaque};

/// The [names](crate::Builder::name) of a pool's threads, made from a string or from a function of the thread's index.
pub struct ThreadName {
    pub(super) name: Name,
    /// The common prefix of all names, if known.
    pub(super) prefix: Option<Arc<str>>,
}

opaque!(ThreadName);

impl From<&str> for ThreadName {
    fn from(name: &str) -> Self {
        name.to_owned().into()
    }
}

impl From<String> for ThreadName {
    /// Appends `-{index}` to the string.
    fn from(name: String) -> Self {
        let prefix = Some(name.as_str().into());
        Self { name: Arc::new(move |index| format!("{name}-{index}")), prefix }
    }
}

impl<F: Fn(usize) -> String + Send + Sync + 'static> From<F> for ThreadName {
    fn from(name: F) -> Self {
        Self { name: Arc::new(name), prefix: None }
    }
}
