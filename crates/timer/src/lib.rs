//! The timers of a queue, without threads and locks: a timing wheel in front of a sorted map.
//!
//! ```
//! use std::time::{Duration, Instant};
//! let start = Instant::now();
//! let mut timers = brigade_timer::new(start);
//! let timeout = timers.insert(start + Duration::from_secs(5), "timeout");
//! timers.insert(start + Duration::from_millis(2), "tick");
//! assert_eq!(timers.remove(timeout), Some("timeout"));
//! assert_eq!(timers.first(), Some(start + Duration::from_millis(2)));
//! assert_eq!(timers.take_due(start + Duration::from_millis(3)), Some("tick"));
//! assert!(timers.is_empty());
//! ```

mod agenda;
mod sorted;
#[cfg(test)]
mod tests;
mod wheel;

pub use agenda::{Agenda, Key};
pub use sorted::SortedMap;
pub use wheel::new;
