//! The methods of features that are not enabled: a call of one is an error that names the feature.

/// Declares for each feature a bound that nothing meets, and its methods.
macro_rules! absent {
    ($(
        $feature:literal, $bound:ident, $message:literal, $note:literal:
        $($owner:ident::$method:ident($($argument:tt)*) -> $returned:ty;)*
    )*) => {$(
        #[cfg(not(feature = $feature))]
        #[diagnostic::on_unimplemented(message = $message, label = $message, note = $note)]
        pub trait $bound {
            fn absent<T>() -> T;
        }

        $(
            #[cfg(not(feature = $feature))]
            impl crate::$owner {
                // Without a lifetime of its own the bound would be an error here, not in the caller.
                #[doc(hidden)]
                pub fn $method($($argument)*) -> $returned
                where
                    for<'a> &'a (): $bound,
                {
                    <&()>::absent()
                }
            }
        )*
    )*};
}

absent! {
    "affinity", NeedsAffinity, "this needs the feature `affinity` of brigade", "`cargo add brigade --features affinity` enables it":
    Builder::pin(self, _cpus: impl Sized) -> Self;
    Builder::victims(self, _victims: impl Sized) -> Self;

    "histograms", NeedsHistograms, "this needs the feature `histograms` of brigade", "`cargo add brigade --features histograms` enables it":
    Builder::histograms(self) -> Self;
    Handle::histograms(&self) -> Option<()>;

    "observe", NeedsObserve, "this needs the feature `observe` of brigade", "it is a default feature: `cargo add brigade --features observe` enables it":
    Builder::observe_jobs(self) -> Self;
    Builder::on_outcome(self, _hook: impl Sized) -> Self;
    Builder::on_stall(self, _after: impl Sized, _hook: impl Sized) -> Self;
    Handle::dump(&self) -> String;

    "test-util", NeedsTestUtil, "this needs the feature `test-util` of brigade", "`cargo add brigade --dev --features test-util` enables it":
    LocalPool::paused() -> std::io::Result<Self>;

    "trace", NeedsTrace, "this needs the feature `trace` of brigade", "`cargo add brigade --features trace` enables it":
    Handle::start_trace(&self) -> Result<(), String>;

    "tracing", NeedsTracing, "this needs the feature `tracing` of brigade", "`cargo add brigade --features tracing` enables it":
    Builder::trace_jobs(self) -> Self;
}
