//! How much of a worker's stack one level of a recursion takes.

use std::hint::black_box;
use std::io;

use brigade::Pool;

/// Recurses to a depth; returns the address of a local of the last level.
type Recurse = fn(u32) -> usize;

/// A name, and the recursion.
pub(crate) const LEVELS: &[(&str, Recurse)] =
    &[("scope-level", by_scope), ("submit-level", by_submit), ("join-level", by_join)];

fn by_scope(depth: u32) -> usize {
    let mut last = None;
    if depth > 0 {
        brigade::scope(|scope| scope.execute(|| last = Some(by_scope(depth - 1))));
    }
    last.unwrap_or_else(here)
}

fn by_submit(depth: u32) -> usize {
    match depth {
        0 => here(),
        _ => brigade::submit(move || by_submit(depth - 1)).join().expect("no panic"),
    }
}

fn by_join(depth: u32) -> usize {
    match depth {
        0 => here(),
        _ => brigade::join(|| by_join(depth - 1), || ()).0,
    }
}

/// An address close to the caller's frame.
#[inline(never)]
fn here() -> usize {
    let local = 0_u8;
    (&raw const *black_box(&local)).addr()
}

/// The bytes of a level.
pub(crate) fn bytes(recurse: Recurse) -> io::Result<usize> {
    /// Far from the first levels, which may have other callers.
    const DEPTHS: [u32; 2] = [20, 120];
    let pool = Pool::new(1);
    let last = DEPTHS.map(|depth| pool.submit(move || recurse(depth)).join());
    let [Ok(outer), Ok(inner)] = last else { return Err(io::Error::other("a recursion panicked")) };
    Ok((outer - inner) / (DEPTHS[1] - DEPTHS[0]) as usize)
}

#[cfg(test)]
mod tests {
    use super::LEVELS;

    /// An overflow ends the process.
    #[test]
    fn a_thousand_levels_fit_a_workers_stack() {
        let pool = brigade::Pool::new(1);
        for (_, recurse) in LEVELS {
            pool.submit(|| recurse(1000)).join().expect("no panic");
        }
    }
}
