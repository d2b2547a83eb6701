//! Every item of st3 0.4.1, with its signature and its traits, for both orders: what this file names, programs may name.
#![forbid(unsafe_code)]

use std::fmt::{Debug, Display};
use std::iter::FusedIterator;
use std::panic::{RefUnwindSafe, UnwindSafe};

use st3::StealError;

/// Handles of any item.
macro_rules! api_of {
    ($order:ident) => {
        mod $order {
            use super::*;
            use st3::$order::{Drain, Stealer, Worker};

            type CountFn = fn(usize) -> usize;

            fn is_worker<Q: Debug + Send + UnwindSafe + RefUnwindSafe + Unpin>() {}
            fn is_stealer<S>()
            where
                S: Debug + Clone + Eq + Send + Sync + UnwindSafe + RefUnwindSafe + Unpin,
            {
            }
            fn is_drain<D>()
            where
                D: Debug + ExactSizeIterator + FusedIterator,
                D: Send + Sync + UnwindSafe + RefUnwindSafe + Unpin,
            {
            }

            fn traits<'a, T: Debug + Send + 'a>() {
                is_worker::<Worker<T>>();
                is_stealer::<Stealer<T>>();
                is_drain::<Drain<'a, T>>();
            }

            /// They are there for items without any trait.
            fn without_bounds<T>() {
                fn unwinds<Q: UnwindSafe + RefUnwindSafe>() {}
                fn is_thief<S: Clone + Eq>() {}
                unwinds::<Worker<T>>();
                unwinds::<Stealer<T>>();
                is_thief::<Stealer<T>>();
            }

            fn signatures<'a, T: 'a>() {
                let _: fn(usize) -> Worker<T> = Worker::new;
                let _: fn(&Worker<T>) -> Stealer<T> = Worker::stealer;
                let _: for<'w> fn(&'w Worker<T>) -> &'w Stealer<T> = Worker::stealer_ref;
                let _: fn(&Worker<T>) -> usize = Worker::capacity;
                let _: fn(&Worker<T>) -> usize = Worker::spare_capacity;
                let _: fn(&Worker<T>) -> bool = Worker::is_empty;
                let _: fn(&Worker<T>, T) -> Result<(), T> = Worker::push;
                let _: fn(&Worker<T>, Vec<T>) = Worker::extend::<Vec<T>>;
                let _: fn(&Worker<T>) -> Option<T> = Worker::pop;
                let _: fn(&'a Worker<T>, CountFn) -> Result<Drain<'a, T>, StealError> =
                    Worker::drain::<CountFn>;
                let _: fn(&Stealer<T>, &Worker<T>, CountFn) -> Result<usize, StealError> =
                    Stealer::steal::<CountFn>;
                let _: fn(&Stealer<T>, &Worker<T>, CountFn) -> Result<(T, usize), StealError> =
                    Stealer::steal_and_pop::<CountFn>;
            }

            /// A program's own trait for both of its queues, which are two types.
            impl<T> Queue for Worker<T> {
                const ORDER: &'static str = stringify!($order);
            }

            #[test]
            fn every_item_has_the_signature_of_st3() {
                traits::<String>();
                without_bounds::<std::rc::Rc<()>>();
                signatures::<String>();
                assert_eq!(Worker::<u8>::ORDER, stringify!($order));
            }

            #[test]
            fn types_are_inferred_as_with_st3() {
                let worker = Worker::new(2);
                let other = Worker::new(2);
                worker.push("item").unwrap();
                let mut calls = 0;
                let counted = |count: usize| {
                    calls += 1;
                    count
                };
                assert_eq!(worker.stealer().steal(&other, counted), Ok(1));
                assert_eq!(calls, 1);
                let mut drained: Vec<&str> = Vec::new();
                drained.extend(other.drain(|n| n).unwrap());
                assert_eq!(drained, ["item"]);
            }
        }
    };
}

trait Queue {
    const ORDER: &'static str;
}

api_of!(lifo);
api_of!(fifo);

#[test]
fn errors_are_the_same_as_in_st3() {
    fn is_error<E: Debug + Display + Clone + Eq + Send + Sync + UnwindSafe + 'static>() {}
    is_error::<StealError>();
    // No third one, and no wildcard.
    let name = |error| match error {
        StealError::Empty => "empty",
        StealError::Busy => "busy",
    };
    assert_eq!([StealError::Empty, StealError::Busy].map(name), ["empty", "busy"]);
    assert_ne!(StealError::Empty.to_string(), StealError::Busy.to_string());
    assert_eq!(format!("{:?} {:?}", StealError::Empty, StealError::Busy), "Empty Busy");
}
