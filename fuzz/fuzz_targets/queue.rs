//! Sequences of operations on rings and an injector, compared with deques, as in `tests/it/sequences.rs`.
#![no_main]

#[path = "../../crates/queue/tests/it/model/mod.rs"]
mod model;

use brigade_queue::{fifo, lifo};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use model::Operation;

#[derive(Arbitrary, Debug)]
struct Input {
    capacities: [u8; 3],
    dropped: bool,
    operations: Vec<[u8; 4]>,
}

fuzz_target!(|input: Input| {
    let capacities = input.capacities.map(|capacity| usize::from(capacity % 9) + 1);
    let operations = || input.operations.iter().copied().map(Operation::from_bytes);
    model::run::<lifo::Lifo>(&capacities, operations(), input.dropped);
    model::run::<fifo::Fifo>(&capacities, operations(), input.dropped);
});
