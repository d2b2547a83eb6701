//! The options of `channels` on the command line, and the rows they stand for.

use super::{Capacity, Channels, Kind};
use crate::workloads::prelude::*;

/// Options of `channels`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// The channel; all of them if not given.
    #[arg(long, value_enum)]
    kind: Option<Kind>,
    /// Values that it has room for, or `unbounded` [default: 100, and unbounded]
    #[arg(long, value_parser = capacity)]
    capacity: Option<Capacity>,
    /// Tasks that send [default: one for one that receives, four for one, and four for four]
    #[arg(long, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    senders: Option<u64>,
    /// Tasks that receive.
    #[arg(long, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    receivers: Option<u64>,
    /// Messages of all senders together, rounded down to a multiple of their number; one each at least.
    #[arg(long, default_value_t = 200_000, value_parser = whole::<1, { limits::MAX_VALUES }>)]
    messages: u64,
    /// Threads that run the tasks, where there is a choice.
    #[arg(long, default_value_t = 2, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    threads: u64,
}

/// Senders and receivers of each row if the command line names neither.
const SHAPES: [(u64, u64); 3] = [(1, 1), (4, 1), (4, 4)];

/// Capacities if the command line names none.
const CAPACITIES: [Capacity; 2] = [Capacity::Of(100), Capacity::Unbounded];

/// Reads a capacity.
fn capacity(text: &str) -> Result<Capacity, String> {
    if text == "unbounded" {
        return Ok(Capacity::Unbounded);
    }
    let number = whole::<1, { limits::MAX_ITEMS }>(text);
    number.map(Capacity::Of).map_err(|reason| format!("{reason}, or `unbounded`"))
}

impl Rows for Options {
    fn rows(&self) -> Result<Vec<Box<dyn Row>>, Stop> {
        if self.kind == Some(Kind::Tokio) && self.receivers.is_some_and(|receivers| receivers > 1) {
            let reason = "--receivers must be 1: tokio's channel has a single receiver";
            return Err(Stop::Usage(reason.to_owned()));
        }
        let kinds = self.kind.map_or(Kind::value_variants().to_vec(), |kind| vec![kind]);
        let capacities = self.capacity.map_or(CAPACITIES.to_vec(), |capacity| vec![capacity]);
        let shapes = match (self.senders, self.receivers) {
            (None, None) => SHAPES.to_vec(),
            (senders, receivers) => vec![(senders.unwrap_or(1), receivers.unwrap_or(1))],
        };
        let mut rows: Vec<Box<dyn Row>> = Vec::new();
        for kind in kinds {
            for &capacity in &capacities {
                for &(senders, receivers) in &shapes {
                    if kind.has(receivers) {
                        let (messages, threads) = (self.messages, self.threads);
                        let channels =
                            Channels { kind, capacity, senders, receivers, messages, threads };
                        rows.push(Box::new(channels));
                    }
                }
            }
        }
        Ok(rows)
    }
}
