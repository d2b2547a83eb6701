//! The location of a panic is the caller's line. The panic hook is the process's, so this is a binary of its own.
#![cfg(not(brigade_loom))]
#![forbid(unsafe_code)]

use std::panic;
use std::sync::mpsc;

use brigade_sync::ParkerGroup;

#[test]
fn a_missing_seats_panic_names_the_callers_line() {
    let (heard, lines) = mpsc::channel();
    panic::set_hook(Box::new(move |info| {
        let at = info.location().map(|at| (at.file().to_owned(), at.line()));
        _ = heard.send(at);
    }));
    let first = line!() + 1;
    assert!(panic::catch_unwind(|| ParkerGroup::new().park(ParkerGroup::SEATS, None)).is_err());
    assert!(panic::catch_unwind(|| ParkerGroup::new().try_take(ParkerGroup::SEATS)).is_err());
    drop(panic::take_hook());
    let here = |line| Some((file!().to_owned(), line));
    assert_eq!(lines.iter().collect::<Vec<_>>(), [here(first), here(first + 1)]);
}
