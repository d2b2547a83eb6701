//! Every message of every channel arrives once.

use super::Options;
use super::{Capacity, Channels, Kind, WARM_UP};
use crate::fault::Fault;
use crate::row::Rows as _;
use crate::tally::Tally;
use crate::target::runtime::Runtime as _;
use crate::targets::runtimes::threads::Threads;
use crate::workload::{Bench, RuntimeWorkload as _, Workload as _};
use clap::{Args as _, Command, FromArgMatches as _, ValueEnum as _};

/// Few messages from three tasks to as many.
fn few(kind: Kind, capacity: Capacity) -> Channels {
    let receivers = if kind.has(3) { 3 } else { 1 };
    Channels { kind, capacity, senders: 3, receivers, messages: 100, threads: 2 }
}

#[test]
fn a_fault_of_one_message_is_counted_whatever_the_channel() {
    for &kind in Kind::value_variants() {
        for capacity in [Capacity::Of(1), Capacity::Of(100), Capacity::Unbounded] {
            for (fault, ran) in [(Fault::Lost, -1), (Fault::None, 0), (Fault::Repeated, 1)] {
                let (channels, tally) = (few(kind, capacity), Tally::leak());
                // A thread for each task: no runtime has a part in it.
                let values = channels.run(&Threads, &Bench::new(tally, fault)).expect("values");
                assert_eq!(values.len(), Channels::METRICS.len());
                let expected = channels.expected();
                assert_eq!(tally.count(), expected.tasks.saturating_add_signed(ran), "{kind:?}");
                assert_eq!(tally.check(expected).is_ok(), fault == Fault::None, "{kind:?}");
            }
        }
    }
    Threads.shutdown();
}

#[test]
fn every_sender_sends_one_message_at_least() {
    let channels = Channels { senders: 50, messages: 3, ..few(Kind::Flume, Capacity::Of(1)) };
    assert_eq!((channels.each(), channels.warm_up()), (1, 1));
    let channels = Channels { messages: 100, senders: 1, ..channels };
    assert_eq!((channels.each(), channels.warm_up()), (100, 100 / WARM_UP));
}

/// How many rows this command line stands for.
fn rows(line: &str) -> usize {
    let command = Options::augment_args(Command::new("channels").no_binary_name(true));
    let matches = command.try_get_matches_from(line.split_whitespace()).expect("options");
    Options::from_arg_matches(&matches).expect("options").rows().map_or(0, |rows| rows.len())
}

#[test]
fn options_that_are_not_given_stand_for_all() {
    // Four senders need four receivers in one row of the three, which tokio's channel does not have.
    assert_eq!(rows(""), 2 * (3 + 3 + 2));
    assert_eq!(rows("--kind flume"), 6);
    assert_eq!(rows("--kind tokio --capacity unbounded"), 2);
    assert_eq!(rows("--receivers 4 --capacity 7"), 2);
    assert_eq!(rows("--kind tokio --receivers 4"), 0);
}
