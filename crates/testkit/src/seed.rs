//! Random numbers whose seed is printed, so a failure can be run again.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// Xorshift with 64 bits.
#[derive(Debug)]
pub struct Seed(u64);

impl Seed {
    /// Returns a new seed, or the seed in `BRIGADE_SEED`; it is shown when the test fails.
    pub fn printed() -> Self {
        let given = std::env::var("BRIGADE_SEED").ok().and_then(|text| text.parse().ok());
        let seed = given.unwrap_or_else(|| RandomState::new().hash_one(0)) | 1;
        println!("BRIGADE_SEED={seed}");
        Self(seed)
    }

    /// Returns another generator for a thread, derived from the same seed.
    pub fn fork(&self, number: u64) -> Self {
        Self(self.0.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Zero to `bound` microseconds.
    pub fn micros(&mut self, bound: u64) -> Duration {
        Duration::from_nanos(self.below(bound * 1000))
    }
}
