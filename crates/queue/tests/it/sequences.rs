//! Random sequences of operations have the same effect on rings and an injector as on deques.

use crate::model::{Model, Operation};
use brigade_queue::{fifo, lifo};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// A failure prints the shortest failing sequence; no file is written.
fn do_what_deques_do<O: Model>() {
    let mut config = ProptestConfig { failure_persistence: None, ..ProptestConfig::default() };
    if cfg!(miri) {
        config.cases = 8;
    }
    let operations = vec(any::<[u8; 4]>().prop_map(Operation::from_bytes), 0..200);
    let sequences = (vec(1_usize..=9, 2..=3), operations, any::<bool>());
    let result = TestRunner::new(config).run(&sequences, |(capacities, operations, dropped)| {
        crate::model::run::<O>(&capacities, operations, dropped);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn lifo_rings_and_an_injector_are_deques() {
    do_what_deques_do::<lifo::Lifo>();
}

#[test]
fn fifo_rings_and_an_injector_are_deques() {
    do_what_deques_do::<fifo::Fifo>();
}
