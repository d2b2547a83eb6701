//! The programs on small inputs, and a pool that loses some of the work.

use clap::ValueEnum;

use super::Kind;
use super::Program;
use super::search::Search;
use super::{ForkJoin, fib, nqueens, skynet, sort, uts};
use crate::failure::Failure;
use crate::fault::Fault;
use crate::tally::Tally;
use crate::target::fork::{self, Tree};
use crate::targets::forks::sequential::Sequential;
use crate::workload::{Bench, ForkWorkload, Workload};

/// The answer of this program for this size.
fn answer<P: Program>(size: usize) -> u64 {
    let mut program = P::prepare(size).expect("an input");
    program.run::<Sequential>(&mut ());
    program.answer()
}

#[test]
fn a_fibonacci_number_takes_its_joins() {
    assert_eq!(answer::<fib::Fib>(20), 6_765);
    assert_eq!([1, 2, 3, 4, 30].map(fib::forks), [0, 1, 2, 4, 1_346_268]);
}

#[test]
fn a_skynet_adds_up_its_leaves() {
    assert_eq!(answer::<Search<skynet::Node, true>>(3), 999 * 1_000 / 2);
    assert_eq!(skynet::forks(6), 999_999);
}

#[test]
fn eight_queens_have_92_solutions() {
    let answers =
        [answer::<Search<nqueens::Board, true>>(8), answer::<Search<nqueens::Board, false>>(8)];
    // The nodes of the search are the upper half.
    assert_eq!(answers.map(|answer| (answer >> 32, answer & 0xFFFF_FFFF)), [(2_057, 92); 2]);
}

/// Nodes and leaves below this one, with itself.
fn size<T: Tree>(node: T) -> (u64, u64) {
    let children = (0..node.width()).map(|index| size(node.child(index)));
    children.fold((1, u64::from(node.width() == 0)), |(a, b), (c, d)| (a + c, b + d))
}

#[test]
fn the_unbalanced_tree_is_the_published_one() {
    assert_eq!(size(uts::Node::root(42, 20)), (6_213, 5_438));
    // All of T3 takes too long without optimisation.
    if !cfg!(debug_assertions) {
        assert_eq!(size(uts::Node::root(42, 2_000)), (4_112_897, 3_599_034));
    }
}

#[test]
fn both_sorts_sort() {
    for size in [1, 2, 3, 32, 33, 5_000, 30_000] {
        let mut quick = sort::Sort::<false>::prepare(size).expect("an input");
        quick.run::<Sequential>(&mut ());
        assert!(quick.items.is_sorted(), "{size}");
        assert_eq!(quick.answer(), answer::<sort::Sort<true>>(size), "{size}");
    }
}

/// A pool that leaves out the first part of a loop and the first child of a node.
struct Careless;

impl fork::ForkJoin for Careless {
    type Outside<'o> = ();
    type Context<'c> = ();

    fn attach<R>(&self, body: impl FnOnce(&mut ()) -> R) -> R {
        body(&mut ())
    }

    fn enter<R: Send>(_: &mut (), root: impl FnOnce(&mut ()) -> R + Send) -> R {
        root(&mut ())
    }

    fn join<A: Send, B: Send>(
        _: &mut (),
        a: impl FnOnce(&mut ()) -> A + Send,
        b: impl FnOnce(&mut ()) -> B + Send,
    ) -> (A, B) {
        (a(&mut ()), b(&mut ()))
    }

    fn explore<T: Tree>(context: &mut (), root: T, answer: &'static Tally) {
        root.count(answer);
        (1..root.width()).for_each(|index| Self::explore(context, root.child(index), answer));
    }

    fn for_each_chunk<T: Send>(
        _: &mut (),
        items: &mut [T],
        length: usize,
        work: impl Fn(usize, &mut [T]) + Send + Sync,
    ) {
        let chunks = items.chunks_mut(length).enumerate().skip(1);
        chunks.for_each(|(index, chunk)| work(index, chunk));
    }

    fn for_each_below(_: &mut (), count: usize, _: usize, work: impl Fn(usize) + Send + Sync) {
        (1..count).for_each(work);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_wrong_answer_is_no_number() {
    // The others consist of joins, which a pool can't leave out: it has to return their results.
    for program in Kind::value_variants() {
        let size = if program.facts().0 <= 150 { 5 } else { 20 };
        let row = ForkJoin { program: *program, size: Some(size), threads: 1, repetitions: 1 };
        let run = |careless: bool| {
            let bench = Bench::new(Tally::leak(), Fault::None);
            bench.tally.expect(row.expected());
            match careless {
                true => row.run(|_| Ok(Careless), &bench),
                false => row.run(|_| Ok(Sequential), &bench),
            }
        };
        assert!(run(false).is_ok(), "{row:?}");
        let of_joins = [Kind::Fib, Kind::Skynet, Kind::Nqueens, Kind::Quicksort, Kind::Mergesort];
        let joins = of_joins.contains(program);
        match run(true) {
            Ok(_) => assert!(joins, "{row:?}"),
            Err(Failure::Told(reason)) => {
                assert!(!joins && reason.contains("answered"), "{reason}")
            }
            Err(failure) => panic!("{row:?}: {failure}"),
        }
    }
}
