//! A program: threads, jobs and futures that use pools as a seed says.

use fastrand::Rng;

use crate::{ending, io, meeting, pools};

/// Runs the program of this seed.
pub(crate) fn run(seed: u64, operations: i32) {
    let mut random = Rng::with_seed(seed ^ 0x9e37_79b9);
    io::begin(&mut random.fork());
    match random.u8(0..9) {
        0 => pools::driven(&mut random, operations),
        1 => meeting::run(&mut random),
        8 => ending::run(&mut random),
        2 => pools::pair(&mut random, operations),
        _ => {
            let threads = random.u8(0..3);
            pools::lifetime(&mut random, operations, threads);
        }
    }
}
