//! Every message of every channel arrives once.

use super::{Capacity, Channels, Kind, WARM_UP};
use crate::fault::Fault;
use crate::tally::Tally;
use crate::target::runtime::Runtime as _;
use crate::targets::runtimes::threads::Threads;
use crate::workload::{Bench, RuntimeWorkload as _, Workload as _};
use clap::ValueEnum as _;

/// Few messages from three tasks to as many.
fn few(kind: Kind, capacity: Capacity) -> Channels {
    let receivers = if kind == Kind::Tokio { 1 } else { 3 };
    Channels { kind, capacity, senders: 3, receivers, messages: 100, threads: 2 }
}

#[test]
fn any_channels_message_fault_is_counted() {
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
fn every_sender_sends_a_message_at_least() {
    let channels = Channels { senders: 50, messages: 3, ..few(Kind::Flume, Capacity::Of(1)) };
    assert_eq!((channels.each(), channels.warm_up()), (1, 1));
    let channels = Channels { messages: 100, senders: 1, ..channels };
    assert_eq!((channels.each(), channels.warm_up()), (100, 100 / WARM_UP));
}

#[test]
fn tokios_channel_has_a_single_receiver() {
    let of = |kind| Channels { receivers: 2, ..few(kind, Capacity::Unbounded) };
    assert!(of(Kind::Tokio).check().is_err() && of(Kind::Flume).check().is_ok());
}
