//! All adapters behave alike.

use brigade_testkit::{Gate, Watchdog};

use super::{Handovers, VisitHandover};
use crate::failure::Outcome;
use crate::inbox::{Inbox, Value};
use crate::tally::{Sum, Tally};
use crate::target::handover::{Handover, Start};
use crate::target::{Accept, Family};

/// Three threads that receive values, each busy with the first one until the gate is open.
struct Three {
    /// The handover.
    target: Handover,
    /// Their tally.
    tally: &'static Tally,
    /// The gate that a busy thread waits for.
    gate: Gate,
}

impl Three {
    /// Hands over these values, and again those that were returned because a thread did not wait
    /// yet.
    fn hand_over(&mut self, mut values: Vec<Value>) {
        while !values.is_empty() {
            let (mut back, sent) = (Vec::new(), self.tally.count() + values.len() as u64);
            self.target.burst(values, &mut back);
            // A burst must begin when all of the one before has been received.
            self.tally.wait_for(sent - back.len() as u64).expect("received");
            values = back;
        }
    }
}

/// Runs `$body` on three threads of every target, which is named.
macro_rules! on_every_target {
    ($body:ident) => {
        struct Body(&'static str);

        impl VisitHandover for Body {
            fn visit(self, start: Start) -> Outcome {
                let _watchdog = Watchdog::start(10);
                let (tally, gate) = (Tally::leak(), Gate::closed());
                let busy = gate.clone();
                let inbox = Inbox::leak(tally, 5, move || busy.wait());
                let target = start(3, inbox).expect("started");
                $body(self.0, Three { target, tally, gate });
                Ok(Vec::new())
            }
        }

        for target in Handovers::TARGETS {
            let outcome = Handovers::accept(target, Body(target.name));
            assert!(outcome.is_ok(), "{}", target.name);
        }
    };
}

/// The values with these numbers.
fn values(numbers: std::ops::Range<u32>) -> Vec<Value> {
    numbers.map(|index| Value { burst: 0, index }).collect()
}

#[test]
fn waiting_threads_receive_a_value_each() {
    fn body(name: &str, mut three: Three) {
        three.hand_over(values(0..3));
        // None of them had two: it would have had to be done with the first.
        assert_eq!(three.target.inbox.done(), 0, "{name}");
        assert_eq!(three.target.inbox.times().count(), 3, "{name}");
        three.gate.open();
        let inbox = three.target.inbox;
        three.target.shutdown();
        three.tally.check(Sum::grid(3, 1)).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        assert_eq!(inbox.done(), 3, "{name}");
    }
    on_every_target!(body);
}

#[test]
fn an_untaken_value_is_kept_or_returned_as_declared() {
    fn body(name: &str, mut three: Three) {
        let inbox = three.target.inbox;
        let keeps = matches!(name, "spmc" | "crossbeam-channel");
        three.hand_over(values(0..3));
        let mut back = Vec::new();
        three.target.burst(values(3..5), &mut back);
        assert_eq!(back.len(), if keeps { 0 } else { 2 }, "{name}");
        back.into_iter().for_each(|value| inbox.refuse(value));
        three.gate.open();
        three.tally.wait_for(5).expect("received");
        three.target.shutdown();
        three.tally.check(Sum::grid(5, 1)).unwrap_or_else(|failure| panic!("{name}: {failure}"));
        assert_eq!(inbox.done(), if keeps { 5 } else { 3 }, "{name}");
    }
    on_every_target!(body);
}

#[test]
fn waiting_threads_end_when_told() {
    fn body(name: &str, three: Three) {
        let inbox = three.target.inbox;
        // Returns only if all threads do.
        three.target.shutdown();
        assert_eq!(inbox.done(), 0, "{name}");
    }
    on_every_target!(body);
}
