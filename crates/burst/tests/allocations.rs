//! A channel allocates nothing for a value, a wake or a receiver that reuses a seat. Fault 22.

#![cfg(not(brigade_loom))]
#![allow(clippy::disallowed_types, reason = "the tests stand outside every loom model")]

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};

use brigade_burst::channel;
use brigade_testkit::Observed;

static CALLS: AtomicUsize = AtomicUsize::new(0);
static BYTES: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Observed = Observed::new(
    |bytes| {
        if IS_COUNTED.get() {
            CALLS.fetch_add(1, Ordering::Relaxed);
            BYTES.fetch_add(bytes, Ordering::Relaxed);
        }
        true
    },
    |bytes| {
        if IS_COUNTED.get() {
            BYTES.fetch_sub(bytes, Ordering::Relaxed);
        }
    },
);

thread_local! {
    /// Whether what this thread allocates is counted: the thread that started the test allocates too, after that.
    static IS_COUNTED: Cell<bool> = const { Cell::new(false) };
}

/// Returns how often a closure allocates, and by how many bytes the allocated memory grows.
fn allocated(body: impl FnOnce()) -> (usize, usize) {
    let before = (CALLS.load(Ordering::SeqCst), BYTES.load(Ordering::SeqCst));
    body();
    (CALLS.load(Ordering::SeqCst) - before.0, BYTES.load(Ordering::SeqCst).wrapping_sub(before.1))
}

/// The only test of this binary: others would be counted, too.
#[test]
fn memory_is_flat_over_1000_receivers_and_values() {
    IS_COUNTED.set(true);
    let open_files = || std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count);
    let files = open_files();
    let (sender, mut receiver) = channel();
    let one_by_one = allocated(|| (0..1_000).for_each(|_| drop(sender.new_receiver())));
    assert_eq!(one_by_one, (0, 0), "each reuses the seat of the one before");

    let mut together: Vec<_> = Vec::with_capacity(1_000);
    together.extend((0..1_000).map(|_| sender.new_receiver()));
    together.clear();
    let again = allocated(|| together.extend((0..1_000).map(|_| sender.new_receiver())));
    assert_eq!(again, (0, 0), "the seats of the first thousand");
    together.clear();

    let values = allocated(|| {
        for value in 0..1_000_u64 {
            assert!(receiver.try_recv().is_err());
            assert_eq!(sender.burst([value]).count(), 0);
            assert_eq!(receiver.try_recv(), Ok(value));
        }
    });
    assert_eq!(values, (0, 0));

    assert_eq!(open_files(), files, "no file descriptors");
    let (_, left) = allocated(|| {
        let (sender, receiver) = channel::<u64>();
        let many: Vec<_> = (0..100).map(|_| sender.new_receiver()).collect();
        drop((sender, receiver, many));
    });
    assert_eq!(left, 0, "a channel leaves nothing");
}
