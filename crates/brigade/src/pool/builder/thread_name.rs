//! The names of a pool's threads.

/// [Names](crate::Builder::name) the threads of a pool: a string, or a function of the thread's index.
pub trait ThreadName: sealed::IntoFunction {}

impl<N: sealed::IntoFunction> ThreadName for N {}

mod sealed {
    use std::sync::Arc;

    use crate::values::Name;

    pub trait IntoFunction {
        #[allow(private_interfaces)]
        fn into_function(self) -> Name;

        /// The common prefix of all names, if known.
        fn prefix(&self) -> Option<Arc<str>> {
            None
        }
    }

    impl IntoFunction for &str {
        #[allow(private_interfaces)]
        fn into_function(self) -> Name {
            self.to_owned().into_function()
        }

        fn prefix(&self) -> Option<Arc<str>> {
            Some((*self).into())
        }
    }

    impl IntoFunction for String {
        #[allow(private_interfaces)]
        fn into_function(self) -> Name {
            Arc::new(move |index| format!("{self}-{index}"))
        }

        fn prefix(&self) -> Option<Arc<str>> {
            Some(self.as_str().into())
        }
    }

    impl<F: Fn(usize) -> String + Send + Sync + 'static> IntoFunction for F {
        #[allow(private_interfaces)]
        fn into_function(self) -> Name {
            Arc::new(self)
        }
    }
}
