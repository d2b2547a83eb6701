//! Without the feature `thread-pinning`: all threads float.

use brigade::Builder;

/// No cores.
pub(crate) struct Pins;

impl Pins {
    pub(crate) fn all() -> Self {
        Self
    }

    pub(crate) fn apply(
        self,
        builder: Builder,
        on_start: impl Fn() + Send + Sync + 'static,
    ) -> Builder {
        builder.on_start(move |_| on_start())
    }
}
