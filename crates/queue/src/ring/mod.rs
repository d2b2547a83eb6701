//! A bounded ring with a single owner and any number of thieves; [`positions`] has the claim rule.
//!
//! It does not grow: a full ring returns the item, and the caller has an injector for it.

mod drain;
mod error;
mod order;
mod owner;
mod positions;
mod shared;
mod state;
mod thief;
mod transfer;

pub use drain::Drain;
pub use error::{NewError, StealError};
pub use order::{Either, Order};
pub(crate) use order::{Fifo, Lifo};
pub use owner::Worker;
pub use thief::Stealer;

#[cfg(all(test, not(brigade_loom)))]
mod tests;
