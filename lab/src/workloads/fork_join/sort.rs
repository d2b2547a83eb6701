//! Two sorts by forks over the parts of an array.

use super::{Program, fingerprint};
use crate::workloads::prelude::*;

/// Items sorted by insertion in quicksort.
const FEW: usize = 32;
/// Items left to std by mergesort.
const LEAF: usize = 4096;

/// The same items for every run.
fn random(count: usize) -> Vec<u64> {
    let mut random = SmallRng::seed_from_u64(42);
    (0..count).map(|_| random.random()).collect()
}

/// A sorting program: quicksort in place, or mergesort with an array as large beside it.
pub(super) struct Sort<const MERGES: bool> {
    /// The items as they were.
    unsorted: Vec<u64>,
    /// The items to sort.
    pub(super) items: Vec<u64>,
    /// The other array.
    spare: Vec<u64>,
}

impl<const MERGES: bool> Program for Sort<MERGES> {
    fn prepare(size: usize) -> io::Result<Self> {
        let unsorted = random(size);
        // Written, so no run makes it resident.
        let spare = if MERGES { unsorted.clone() } else { Vec::new() };
        Ok(Sort { items: unsorted.clone(), spare, unsorted })
    }

    fn reset(&mut self) {
        self.items.copy_from_slice(&self.unsorted);
    }

    fn run<F: ForkJoin>(&mut self, outside: &mut F::Outside<'_>) {
        let (items, spare) = (&mut self.items, &mut self.spare);
        F::enter(outside, |context| match MERGES {
            true => mergesort::<F>(context, items, spare, false),
            false => quicksort::<F>(context, items),
        });
    }

    fn answer(&self) -> u64 {
        fingerprint(self.items.iter().copied())
    }
}

/// Sorts `items`.
fn quicksort<F: ForkJoin>(context: &mut F::Context<'_>, items: &mut [u64]) {
    if items.len() <= FEW {
        return insert(items);
    }
    let pivot = partition(items);
    let (left, right) = items.split_at_mut(pivot);
    F::join(
        context,
        |context| quicksort::<F>(context, left),
        |context| quicksort::<F>(context, &mut right[1..]),
    );
}

/// Sorts a few items. Like the two below it has the same machine code for all pools.
#[inline(never)]
fn insert(items: &mut [u64]) {
    for sorted in 1..items.len() {
        let place = items[..sorted].partition_point(|item| *item <= items[sorted]);
        items[place..=sorted].rotate_right(1);
    }
}

/// Moves smaller items before the median of three, and returns the place of the median. There are at least three.
#[inline(never)]
fn partition(items: &mut [u64]) -> usize {
    let (middle, last) = (items.len() / 2, items.len() - 1);
    let mut three = [0, middle, last];
    three.sort_unstable_by_key(|&place| items[place]);
    items.swap(three[1], last);
    let pivot = items[last];
    let mut place = 0;
    for index in 0..last {
        // Without a branch, which would be mispredicted half of the time.
        let smaller = items[index] < pivot;
        items.swap(index, place);
        place += usize::from(smaller);
    }
    items.swap(place, last);
    place
}

/// Sorts `items`, into `spare` if `across`.
fn mergesort<F: ForkJoin>(
    context: &mut F::Context<'_>,
    items: &mut [u64],
    spare: &mut [u64],
    across: bool,
) {
    if items.len() <= LEAF {
        items.sort_unstable();
        if across {
            spare.copy_from_slice(items);
        }
        return;
    }
    let middle = items.len() / 2;
    let (left, right) = items.split_at_mut(middle);
    let (spare_left, spare_right) = spare.split_at_mut(middle);
    F::join(
        context,
        |context| mergesort::<F>(context, left, spare_left, !across),
        |context| mergesort::<F>(context, right, spare_right, !across),
    );
    let (from, to) = if across { (items, spare) } else { (spare, items) };
    let (left, right) = from.split_at(middle);
    merge::<F>(context, left, right, to);
}

/// Merges two sorted slices into `to`, by forks too: otherwise the last merge would run on a single thread.
fn merge<F: ForkJoin>(context: &mut F::Context<'_>, a: &[u64], b: &[u64], to: &mut [u64]) {
    if to.len() <= 2 * LEAF {
        return merge_few(a, b, to);
    }
    let (long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
    let (long_left, long_right) = long.split_at(long.len() / 2);
    let (short_left, short_right) = short.split_at(short.partition_point(|x| *x < long_right[0]));
    let (left, right) = to.split_at_mut(long_left.len() + short_left.len());
    F::join(
        context,
        |context| merge::<F>(context, long_left, short_left, left),
        |context| merge::<F>(context, long_right, short_right, right),
    );
}

/// Merges two sorted slices into `to`, item by item.
#[inline(never)]
fn merge_few(a: &[u64], b: &[u64], to: &mut [u64]) {
    let (mut i, mut j) = (0, 0);
    for place in to {
        let first = j == b.len() || (i < a.len() && a[i] <= b[j]);
        *place = if first { a[i] } else { b[j] };
        i += usize::from(first);
        j += usize::from(!first);
    }
}
