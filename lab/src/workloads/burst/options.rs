//! The options of `burst` on the command line, which may stand for several rows.

use super::Burst;
use crate::limits::millis;
use crate::workloads::prelude::*;

/// Options of `burst`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// Values of a burst [default: as many as threads]
    #[arg(long, value_parser = whole::<1, { limits::MAX_CHILDREN }>)]
    messages: Option<u64>,
    /// Threads that wait for them [default: 3]. With neither of the two it is 1, 2, 3 and 5 values to 3
    /// threads and 6 to 6, one after the other
    #[arg(long, value_parser = whole::<1, { limits::MAX_THREADS }>)]
    receivers: Option<u64>,
    /// Milliseconds of quiet before each burst, 0.01 at least; several, separated by commas, are
    /// measured one after the other
    #[arg(
        long, value_name = "GAPS", value_delimiter = ',', default_value = "5",
        value_parser = millis::<{ limits::MIN_GAP_US }, { limits::MAX_GAP_US }>
    )]
    gap_ms: Vec<u64>,
    /// The gaps 0.01,0.03,0.1,0.3,1,3,10,30,100
    #[arg(long, conflicts_with = "gap_ms")]
    sweep: bool,
    /// Milliseconds for which a thread is busy with a value, asleep
    #[arg(long, default_value_t = 1, value_parser = whole::<0, { limits::MAX_BLOCK_MS }>)]
    block_ms: u64,
    /// Bursts in a run [default: those of half a second, 10 at least]
    #[arg(long, value_parser = whole::<1, { limits::MAX_SHOTS }>)]
    bursts: Option<u64>,
}

/// Values and threads of burst-pool's own table, and one value for three threads.
pub(crate) const TABLE: [(u64, u64); 5] = [(1, 3), (2, 3), (3, 3), (5, 3), (6, 6)];

/// The gaps of `--sweep` in microseconds: from a thread that is on its way to sleep to a CPU that is.
const SWEEP: [u64; 9] = [10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000];

/// Length of a run whose bursts are not given.
const RUN_US: u64 = 500_000;
/// The fewest bursts in it: with less there is no median to speak of.
const FEWEST: u64 = 10;

impl Rows for Options {
    fn rows(&self) -> Result<Vec<Box<dyn Row>>, Stop> {
        Ok(self.bursts().map(|burst| Box::new(burst) as Box<dyn Row>).collect())
    }
}

impl Options {
    /// The rows that these options stand for.
    fn bursts(&self) -> impl Iterator<Item = Burst> {
        let gaps = if self.sweep { &SWEEP[..] } else { &self.gap_ms };
        let pairs = match (self.messages, self.receivers) {
            (None, None) => TABLE.to_vec(),
            (messages, receivers) => {
                let receivers = receivers.unwrap_or(3);
                vec![(messages.unwrap_or(receivers), receivers)]
            }
        };
        pairs.into_iter().flat_map(move |(messages, receivers)| {
            gaps.iter().map(move |&gap_us| Burst {
                messages,
                receivers,
                gap_us,
                block_ms: self.block_ms,
                bursts: self
                    .bursts
                    .unwrap_or_else(|| (RUN_US / (gap_us + 1_000 * self.block_ms)).max(FEWEST)),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, SWEEP, TABLE};
    use clap::{Args as _, Command, FromArgMatches as _};

    /// The rows that these arguments stand for, as values, threads, microseconds and bursts.
    fn rows(arguments: &str) -> Vec<(u64, u64, u64, u64)> {
        let command = Options::augment_args(Command::new("burst").no_binary_name(true));
        let matches = command.try_get_matches_from(arguments.split_whitespace()).expect("valid");
        let options = Options::from_arg_matches(&matches).expect("all options");
        let rows = options.bursts();
        rows.map(|row| (row.messages, row.receivers, row.gap_us, row.bursts)).collect()
    }

    #[test]
    fn without_options_it_is_the_table_of_burst_pool() {
        let pairs: Vec<_> = rows("").iter().map(|row| (row.0, row.1)).collect();
        assert_eq!(pairs, TABLE);
    }

    #[test]
    fn one_of_the_two_numbers_is_enough() {
        assert_eq!(rows("--messages 5 --bursts 7"), [(5, 3, 5_000, 7)]);
        assert_eq!(rows("--receivers 6 --bursts 7"), [(6, 6, 5_000, 7)]);
    }

    #[test]
    fn every_gap_is_measured_with_every_pair() {
        let rows_of_two = rows("--gap-ms 0.25,40 --bursts 1 --messages 1");
        assert_eq!(rows_of_two, [(1, 3, 250, 1), (1, 3, 40_000, 1)]);
        assert_eq!(rows("--sweep").len(), SWEEP.len() * TABLE.len());
    }

    #[test]
    fn a_run_is_as_long_as_its_gaps_allow() {
        assert_eq!(
            rows("--messages 1 --gap-ms 0.01,9,1000"),
            [(1, 3, 10, 495), (1, 3, 9_000, 50), (1, 3, 1_000_000, 10)]
        );
        assert_eq!(rows("--messages 1 --gap-ms 0.01 --block-ms 0")[0].3, 50_000);
    }
}
