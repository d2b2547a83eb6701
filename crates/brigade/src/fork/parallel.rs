//! Parallel loops.
//!
//! A loop first forks halves until there is a part for each thread. Then each part runs its items in order, a *grain* at a
//! time, and keeps the second half of the remaining items forked, for an idle worker to take. It forks the next half
//! only when the last fork has been taken: as often as workers are idle. This is lazy binary splitting (A. Tzannes, G.
//! Caragea, R. Barua, U. Vishkin, "Lazy Binary-Splitting", PPoPP 2010).

use core::convert::identity;
use core::ops::Range;
use core::slice;
use core::time::Duration;
use std::time::Instant;

use brigade_sync::atomic::Ordering;
use brigade_sync::unmodelled::AtomicBool;
use brigade_sync::{Mutex, call_user, time};

use super::outside::install_here;
use super::scoped::join;
use crate::engine::{Worker, with_worker};

/// The items of a [`par_for`], [`par_map`] or [`map_reduce`]: a range of `usize`, a reference to a slice, an array or a
/// [`Vec`], or the [`chunks`](slice::chunks) of a slice.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not something that a parallel loop can run over",
    label = "not a range of `usize`, nor a reference to a slice, nor its chunks",
    note = "use a `Range<usize>`, `&[T]`, `&Vec<T>`, `&[T; N]` or `slice.chunks(n)`, or `par_chunks_mut` to change the items"
)]
pub trait ParItems: Send + Sync {
    /// A number of the range, a reference to an item, or a chunk.
    type Item;

    /// The numbers of the items.
    #[doc(hidden)]
    fn range(&self) -> Range<usize>;

    /// The items with these numbers.
    #[doc(hidden)]
    fn items(&self, part: Range<usize>) -> impl Iterator<Item = Self::Item>;
}

impl ParItems for Range<usize> {
    type Item = usize;

    fn range(&self) -> Range<usize> {
        self.clone()
    }

    fn items(&self, part: Range<usize>) -> impl Iterator<Item = usize> {
        part
    }
}

macro_rules! by_reference {
    ($($slice:ty, [$($length:tt)*];)*) => {$(
        impl<'a, T: Sync, $($length)*> ParItems for &'a $slice {
            type Item = &'a T;

            fn range(&self) -> Range<usize> {
                0..self.len()
            }

            fn items(&self, part: Range<usize>) -> impl Iterator<Item = &'a T> {
                self[part].iter()
            }
        }
    )*};
}

by_reference!([T], []; Vec<T>, []; [T; N], [const N: usize];);

impl<'a, T: Sync> ParItems for slice::Chunks<'a, T> {
    type Item = &'a [T];

    fn range(&self) -> Range<usize> {
        0..ExactSizeIterator::len(self)
    }

    fn items(&self, part: Range<usize>) -> impl Iterator<Item = &'a [T]> {
        self.clone().skip(part.start).take(part.end - part.start)
    }
}

/// Calls a closure for each number of a range, or for each item of a slice, in parallel if workers are idle.
///
/// `grain` is the number of items run between two checks for idle workers. A check and a fork take a few
/// nanoseconds, so 1 is right for items of a microsecond, and 1,000 for additions. A grain of 0 counts as 1.
///
/// On a worker, the loop runs on that worker's pool. On any other thread, the calling thread takes part, and so do
/// workers of the [current pool](crate::Handle::current): one fewer than it has are woken, and one that is awake takes
/// part, too. See [`join`](crate::join()).
///
/// # Panics
/// If the closure panics, with the payload of one of its panics; items that have not begun by then may be skipped.
/// Outside of a worker also as [`execute`](crate::execute()) does.
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicU64, Ordering};
/// let sum = AtomicU64::new(0);
/// brigade::par_for(0..1000, 50, |number| _ = sum.fetch_add(number as u64, Ordering::Relaxed));
/// assert_eq!(sum.into_inner(), 499_500);
///
/// let words = vec!["to", "borrow"];
/// let letters = AtomicU64::new(0);
/// brigade::par_for(&words, 1, |word| _ = letters.fetch_add(word.len() as u64, Ordering::Relaxed));
/// assert_eq!(letters.into_inner(), 8);
/// ```
#[doc(alias = "for_each")]
#[doc(alias = "par_for_each")]
#[doc(alias = "par_iter")]
#[track_caller]
pub fn par_for<I, F>(items: I, grain: usize, call: F)
where
    I: ParItems,
    F: Fn(I::Item) + Sync,
{
    run_each(items.range(), grain, |part| items.items(part).for_each(&call));
}

/// Like [`par_for`], with a state that `call` may change, such as a buffer: `init` makes a state where there is none.
///
/// At most as many states are made as calls run at once: one for each thread that takes part, unless `call` itself waits
/// for other jobs. Later items run with the states of earlier items, on whatever thread. The states are dropped when the
/// loop ends, the state of a call that panics at once.
///
/// # Panics
/// As for [`par_for`].
///
/// # Examples
/// ```
/// use std::fmt::Write;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let digits = AtomicUsize::new(0);
/// brigade::par_for_with(0..1000, 50, String::new, |buffer, number| {
///     buffer.clear();
///     _ = write!(buffer, "{number}");
///     digits.fetch_add(buffer.len(), Ordering::Relaxed);
/// });
/// assert_eq!(digits.into_inner(), 2890);
/// ```
#[doc(alias = "for_each_init")]
#[doc(alias = "for_each_with")]
#[track_caller]
pub fn par_for_with<I, S, N, F>(items: I, grain: usize, init: N, call: F)
where
    I: ParItems,
    S: Send,
    N: Fn() -> S + Sync,
    F: Fn(&mut S, I::Item) + Sync,
{
    // The states that no thread uses now.
    let free = Mutex::new(Vec::new());
    let work = |state: &mut Option<S>, part| {
        for item in items.items(part) {
            let state = state.get_or_insert_with(|| {
                let former = free.lock().pop();
                former.unwrap_or_else(&init)
            });
            call(state, item);
        }
    };
    let end = |state| free.lock().extend(state);
    let body = Body { begin: || None, work, end, reduce: |(), ()| () };
    install_here(|| split(items.range(), grain, &body, Splits::first()));
}

/// Like [`par_for`], until a call returns an error: items that have not begun by then may be skipped.
///
/// # Errors
/// Of the errors that were returned, that of the first item, in the order of the items. Earlier items that would fail, too, may
/// have been skipped.
///
/// # Panics
/// As for [`par_for`].
///
/// # Examples
/// ```
/// let lines = ["1", "2", "three", "4"];
/// let parsed = brigade::try_par_for(&lines, 1, |line| line.parse::<u32>().map(|_| ()));
/// assert!(parsed.is_err());
/// assert_eq!(brigade::try_par_for(0..100, 10, |_| Ok::<(), String>(())), Ok(()));
/// ```
#[doc(alias = "try_for_each")]
#[track_caller]
pub fn try_par_for<I, E, F>(items: I, grain: usize, call: F) -> Result<(), E>
where
    I: ParItems,
    E: Send,
    F: Fn(I::Item) -> Result<(), E> + Sync,
{
    let has_failed = AtomicBool::new(false);
    let work = |error: &mut Option<E>, part| {
        for item in items.items(part) {
            if has_failed.load(Ordering::Relaxed) {
                return;
            }
            if let Err(new) = call(item) {
                has_failed.store(true, Ordering::Relaxed);
                *error = Some(new);
            }
        }
    };
    let body = Body { begin: || None, work, end: identity, reduce: Option::or };
    install_here(|| split(items.range(), grain, &body, Splits::first())).map_or(Ok(()), Err)
}

/// Calls a closure for each number of a range, or for each item of a slice, in parallel if workers are idle, and returns the
/// results in the order of the items. See [`par_for`] for the `grain`.
///
/// # Panics
/// As for [`par_for`]; the results are dropped.
///
/// # Examples
/// ```
/// let squares = brigade::par_map(&[1, 2, 3], 1, |number| number * number);
/// assert_eq!(squares, [1, 4, 9]);
/// let numbers: Vec<u32> = (0..1000).collect();
/// let sums = brigade::par_map(numbers.chunks(300), 1, |chunk| chunk.iter().sum::<u32>());
/// assert_eq!(sums, [44_850, 134_850, 224_850, 94_950]);
/// ```
#[doc(alias = "par_iter")]
#[doc(alias = "collect")]
#[must_use = "`par_for` has no results"]
#[track_caller]
pub fn par_map<I, R, F>(items: I, grain: usize, call: F) -> Vec<R>
where
    I: ParItems,
    R: Send,
    F: Fn(I::Item) -> R + Sync,
{
    let work = |results: &mut Vec<R>, part| results.extend(items.items(part).map(&call));
    let reduce = |mut results: Vec<R>, mut more: Vec<R>| {
        if results.is_empty() {
            return more;
        }
        results.append(&mut more);
        results
    };
    let body = Body { begin: Vec::new, work, end: identity, reduce };
    install_here(|| split(items.range(), grain, &body, Splits::first()))
}

/// Calls a closure for each chunk of a slice, in parallel if workers are idle.
///
/// The closure gets the index of the chunk and the chunk: `length` items, or fewer in the last chunk. See
/// [`par_for`].
///
/// # Panics
/// If `length` is 0, or as for [`par_for`].
///
/// # Examples
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let text = "the quick brown fox jumps over the lazy dog";
/// let vowels = AtomicUsize::new(0);
/// brigade::par_chunks(text.as_bytes(), 10, |_, chunk| {
///     let count = chunk.iter().filter(|byte| b"aeiou".contains(byte)).count();
///     vowels.fetch_add(count, Ordering::Relaxed);
/// });
/// assert_eq!(vowels.into_inner(), 11);
/// ```
#[track_caller]
pub fn par_chunks<T, F>(slice: &[T], length: usize, call: F)
where
    T: Sync,
    F: Fn(usize, &[T]) + Sync,
{
    assert!(length > 0, "the chunk length must be at least 1");
    let chunks = slice.len().div_ceil(length);
    let item = |index: usize| {
        let from = index * length;
        call(index, &slice[from..slice.len().min(from + length)]);
    };
    run_each(0..chunks, 1, |chunks| chunks.for_each(item));
}

/// Calls a closure for each mutable chunk of a slice, in parallel if workers are idle.
///
/// The closure gets the index of the chunk and the chunk: `length` items, or fewer in the last chunk. See
/// [`par_for`].
///
/// # Panics
/// If `length` is 0, or as for [`par_for`].
///
/// # Examples
/// ```
/// let mut squares = vec![0; 100];
/// brigade::par_chunks_mut(&mut squares, 8, |index, chunk| {
///     for (offset, square) in chunk.iter_mut().enumerate() {
///         *square = (index * 8 + offset).pow(2);
///     }
/// });
/// assert_eq!((squares[1], squares[99]), (1, 9801));
/// ```
#[track_caller]
pub fn par_chunks_mut<T, F>(slice: &mut [T], length: usize, call: F)
where
    T: Send,
    F: Fn(usize, &mut [T]) + Sync,
{
    assert!(length > 0, "the chunk length must be at least 1");
    let each_chunk = |chunks: Chunks<'_, T>| {
        let numbered = (chunks.first..).zip(chunks.slice.chunks_mut(length));
        numbered.for_each(|(index, chunk)| call(index, chunk));
    };
    run_each(Chunks { slice, first: 0, length }, 1, each_chunk);
}

/// Calls `map` for each number of a range, or for each item of a slice, in parallel if workers are idle, and reduces the results to a single result;
/// `None` if there is no item.
///
/// The results are reduced in the order of the items: `reduce` must be associative, but need not be commutative. See [`par_for`] for
/// the `grain`.
///
/// # Panics
/// As for [`par_for`].
///
/// # Examples
/// ```
/// let sum = brigade::map_reduce(1..1001, 50, |number| number as u64, |a, b| a + b);
/// assert_eq!(sum, Some(500_500));
/// let digits = brigade::map_reduce(0..10, 1, |digit| digit.to_string(), |a, b| a + &b);
/// assert_eq!(digits.as_deref(), Some("0123456789"), "in order");
/// let letters = brigade::map_reduce(&["to", "borrow"], 1, |word| word.len(), |a, b| a + b);
/// assert_eq!(letters, Some(8));
/// assert_eq!(brigade::map_reduce(0..0, 1, |number| number, |a, b| a + b), None);
/// ```
#[must_use = "the result is all that it is for"]
#[track_caller]
pub fn map_reduce<I, R, M, F>(items: I, grain: usize, map: M, reduce: F) -> Option<R>
where
    I: ParItems,
    R: Send,
    M: Fn(I::Item) -> R + Sync,
    F: Fn(R, R) -> R + Sync,
{
    let both = |left, right| match (left, right) {
        (Some(left), Some(right)) => Some(reduce(left, right)),
        (left, right) => left.or(right),
    };
    let work = |done: &mut Option<R>, part| {
        *done = both(done.take(), items.items(part).map(&map).reduce(&reduce));
    };
    let body = Body { begin: || None, work, end: identity, reduce: both };
    install_here(|| split(items.range(), grain, &body, Splits::first()))
}

/// The items of a loop.
trait Items: Sized + Send {
    fn len(&self) -> usize;

    /// The first `count` items, and the rest.
    fn split_at(self, count: usize) -> (Self, Self);
}

impl Items for Range<usize> {
    fn len(&self) -> usize {
        ExactSizeIterator::len(self)
    }

    fn split_at(self, count: usize) -> (Self, Self) {
        let middle = self.start + count;
        (self.start..middle, middle..self.end)
    }
}

/// The chunks of a slice; the items are chunks.
struct Chunks<'a, T> {
    slice: &'a mut [T],
    /// The number of the first chunk.
    first: usize,
    /// The number of slice items per chunk; the last chunk may have fewer.
    length: usize,
}

impl<T: Send> Items for Chunks<'_, T> {
    fn len(&self) -> usize {
        self.slice.len().div_ceil(self.length)
    }

    fn split_at(self, count: usize) -> (Self, Self) {
        let Self { slice, first, length } = self;
        let (left, right) = slice.split_at_mut(slice.len().min(count * length));
        (Self { slice: left, first, length }, Self { slice: right, first: first + count, length })
    }
}

/// How a loop runs: a thread begins with a state, runs some items with it, and ends the state, for a result. The results are
/// reduced in the order of the items.
struct Body<B, W, E, R> {
    begin: B,
    work: W,
    end: E,
    reduce: R,
}

/// Runs a loop without results.
#[track_caller]
fn run_each<I: Items>(items: I, grain: usize, work: impl Fn(I) + Sync) {
    let work = |(): &mut (), items| work(items);
    let body = Body { begin: || (), work, end: identity, reduce: |(), ()| () };
    install_here(|| split(items, grain, &body, Splits::first()));
}

/// When a part of a loop is split.
#[derive(Clone, Copy)]
struct Splits {
    /// How often it is split at once, and so are its halves: until each thread of the pool may have a part.
    at_once: u32,
    /// When it was split off.
    since: Option<Instant>,
}

/// How long a part runs before it is split again, if that is not needed to give each thread a part: to hand over half of a part takes about a
/// microsecond. Without it `fork-join --program short --size 64` takes twice as long.
const PACE: Duration = Duration::from_micros(2);

impl Splits {
    /// Of a loop that begins. If the thread has forked, no other thread has been idle since.
    fn first() -> Self {
        let is_idle = |own: &&Worker| own.has_forked_nothing();
        let threads = with_worker(|own| own.filter(is_idle).map_or(1, Worker::threads));
        Self { at_once: threads.next_power_of_two().ilog2(), since: None }
    }

    /// Whether a thread has taken all that this one has forked, and the part has run for long enough.
    #[inline]
    fn are_wanted(self) -> bool {
        with_worker(|own| own.is_some_and(Worker::has_forked_nothing)) && self.may_follow()
    }

    #[cold]
    #[inline(never)]
    fn may_follow(self) -> bool {
        self.since.is_none_or(|since| time::since(since) >= PACE)
    }

    /// Of the halves.
    fn halved(self) -> Self {
        Self { at_once: self.at_once.saturating_sub(1), since: time::try_now() }
    }
}

/// Runs the items, and reduces the results in their order.
fn split<I, S, O, B, W, E, R>(
    mut items: I,
    grain: usize,
    body: &Body<B, W, E, R>,
    splits: Splits,
) -> O
where
    I: Items,
    O: Send,
    B: Fn() -> S + Sync,
    W: Fn(&mut S, I) + Sync,
    E: Fn(S) -> O + Sync,
    R: Fn(O, O) -> O + Sync,
{
    let (Body { begin, work, end, reduce }, grain) = (body, grain.max(1));
    let mut state = begin();
    while items.len() > grain {
        if splits.at_once > 0 || splits.are_wanted() {
            // This thread may run other items of the loop until the join returns.
            let done = end(state);
            let half = items.len() / 2;
            let (left, right) = items.split_at(half);
            let splits = splits.halved();
            let left = || split(left, grain, body, splits);
            let (left, right) = join(left, || split(right, grain, body, splits));
            return reduce(reduce(done, left), right);
        }
        let (now, rest) = items.split_at(grain);
        // A panic shows the call, and not the frames of all splits.
        call_user(|| work(&mut state, now));
        items = rest;
    }
    call_user(|| work(&mut state, items));
    end(state)
}

#[cfg(all(test, not(brigade_loom)))]
mod tests {
    use brigade_sync::atomic::Ordering::Relaxed;
    use brigade_sync::unmodelled::AtomicUsize;

    use super::*;
    use crate::Pool;

    /// A range that counts its splits into two halves.
    struct Counted<'a>(Range<usize>, &'a AtomicUsize);

    impl Items for Counted<'_> {
        fn len(&self) -> usize {
            Items::len(&self.0)
        }

        fn split_at(self, count: usize) -> (Self, Self) {
            // A grain is a single item.
            self.1.fetch_add(usize::from(count > 1), Relaxed);
            let (left, right) = self.0.split_at(count);
            (Self(left, self.1), Self(right, self.1))
        }
    }

    #[test]
    fn an_unwanted_loop_splits_at_most_log2_times() {
        let pool = Pool::builder().threads(1).spare_threads(0).build().unwrap();
        for log in 1..=14 {
            let (splits, ran) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let work = |items: Counted<'_>| _ = ran.fetch_add(items.len(), Relaxed);
            let items = || Counted(0..1 << log, &splits);
            pool.install(|| run_each(items(), 1, work)).unwrap();
            assert_eq!(ran.load(Relaxed), 1 << log);
            // The last split leaves an item on each side, as a grain does. A part that was split off just now is not split again.
            assert!((1..log).contains(&splits.load(Relaxed)) || log == 1);
        }
    }
}
