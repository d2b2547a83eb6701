//! The queues under test, without a pool around them, and their tables.

mod brigade;
mod crossbeam;
mod st3;

use crate::target::queue::{VisitDeque, VisitInjector};
use crate::target::{Entry, family};

family! {
    /// Queues that one thread owns and others steal from.
    Deques: "deques, for queue", VisitDeque => VisitDeque::visit;
    brigade::LIFO,
    brigade::FIFO,
    st3::LIFO,
    st3::FIFO,
    #[cfg(feature = "full")] st3::LIFO_ON_BRIGADE,
    #[cfg(feature = "full")] st3::FIFO_ON_BRIGADE,
    st3::TOKIO,
    crossbeam::LIFO,
    crossbeam::FIFO,
}

/// Whether thieves of this deque may ask for any number of items.
pub(crate) fn steals_any_number(target: &Entry) -> bool {
    !target.is(&st3::TOKIO.entry)
}

family! {
    /// Queues that any thread pushes to and pops from.
    Injectors: "injectors, for queue --pattern injector", VisitInjector => VisitInjector::visit;
    brigade::INJECTOR,
    brigade::SHARDED,
    crossbeam::INJECTOR,
    crossbeam::SEG_QUEUE,
}

#[cfg(test)]
mod tests;
