//! Programs of `tests/seeded`, whose choices and schedule are the input.
#![cfg(brigade_seeded)]
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| brigade_seeded::run_input(input));
