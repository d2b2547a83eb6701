//! Parallel iterators and sorts, each compared with the sequential code.

mod pools;

use std::collections::{BTreeMap, HashMap, HashSet};

use pools::in_each;
use rayon::prelude::*;

fn numbers(count: usize) -> Vec<u64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    std::iter::repeat_with(next).take(count).collect()
}

#[test]
fn reductions_match_sequential_iterators() {
    in_each(|| {
        let numbers = numbers(100_000);
        let small: Vec<_> = numbers.iter().map(|n| n % 1000).collect();
        assert_eq!(small.par_iter().sum::<u64>(), small.iter().sum());
        assert_eq!(numbers.par_iter().max(), numbers.iter().max());
        assert_eq!(
            numbers.par_iter().min_by_key(|&&n| n ^ 0xff),
            numbers.iter().min_by_key(|&&n| n ^ 0xff)
        );
        assert_eq!(
            numbers.par_iter().filter(|&&n| n % 3 == 0).count(),
            numbers.iter().filter(|&&n| n % 3 == 0).count()
        );
        let xor = numbers.iter().fold(0, |all, n| all ^ n);
        assert_eq!(numbers.par_iter().copied().reduce(|| 0, |a, b| a ^ b), xor);
        assert_eq!(numbers.par_iter().fold(|| 0, |all, n| all ^ n).reduce(|| 0, |a, b| a ^ b), xor);
        assert!(numbers.par_iter().any(|&n| n == numbers[77_777]));
        assert!(small.par_iter().all(|&n| n < 1000));
        assert_eq!(
            small
                .par_iter()
                .try_fold(|| 0, |all: u64, &n| all.checked_add(n))
                .try_reduce(|| 0, u64::checked_add),
            Some(small.iter().sum())
        );
    });
}

#[test]
fn searches_match_sequential_iterators() {
    in_each(|| {
        let numbers = numbers(50_000);
        let wanted = |&n: &u64| n % 1009 == 7;
        assert_eq!(
            numbers.par_iter().copied().find_first(wanted),
            numbers.iter().copied().find(wanted)
        );
        assert_eq!(
            numbers.par_iter().copied().find_last(wanted),
            numbers.iter().copied().rfind(wanted)
        );
        assert!(numbers.par_iter().copied().find_any(wanted).is_some_and(|n| wanted(&n)));
        assert_eq!(numbers.par_iter().copied().find_any(|&n| n == 0), None);
        assert_eq!(
            numbers.par_iter().position_first(|n| wanted(n)),
            numbers.iter().position(wanted)
        );
        assert_eq!(
            (0..u64::MAX).into_par_iter().find_any(|&n| n % 10_000 == 9_999).map(|n| n % 10_000),
            Some(9_999)
        );
    });
}

#[test]
fn collections_keep_items_and_order() {
    in_each(|| {
        let numbers = numbers(20_000);
        let doubled: Vec<_> = numbers.par_iter().map(|n| n.wrapping_mul(2)).collect();
        assert!(
            doubled.iter().eq(numbers.iter().map(|n| n.wrapping_mul(2)).collect::<Vec<_>>().iter())
        );
        let flat: Vec<_> = (0..500_usize)
            .into_par_iter()
            .flat_map(|n| (0..n % 7).into_par_iter().map(move |m| (n, m)))
            .collect();
        assert_eq!(
            flat,
            (0..500_usize).flat_map(|n| (0..n % 7).map(move |m| (n, m))).collect::<Vec<_>>()
        );
        let flat: Vec<_> = (0..500_usize)
            .into_par_iter()
            .flat_map_iter(|n| (0..n % 7).map(move |m| n * m))
            .collect();
        assert_eq!(
            flat,
            (0..500_usize).flat_map(|n| (0..n % 7).map(move |m| n * m)).collect::<Vec<_>>()
        );
        let filtered: Vec<_> =
            numbers.par_iter().filter_map(|&n| (n % 5 == 0).then_some(n / 5)).collect();
        assert_eq!(
            filtered,
            numbers.iter().filter_map(|&n| (n % 5 == 0).then_some(n / 5)).collect::<Vec<_>>()
        );
        let zipped: Vec<_> =
            numbers.par_iter().zip(doubled.par_iter().rev()).map(|(a, b)| a ^ b).collect();
        assert_eq!(
            zipped,
            numbers.iter().zip(doubled.iter().rev()).map(|(a, b)| a ^ b).collect::<Vec<_>>()
        );
        let chunks: Vec<u64> =
            numbers.par_chunks(77).map(|chunk| chunk.iter().fold(0, |a, b| a ^ b)).collect();
        assert_eq!(
            chunks,
            numbers.chunks(77).map(|chunk| chunk.iter().fold(0, |a, b| a ^ b)).collect::<Vec<_>>()
        );
        let windows: Vec<_> = numbers.par_windows(2).map(|pair| pair[0] < pair[1]).collect();
        assert_eq!(windows, numbers.windows(2).map(|pair| pair[0] < pair[1]).collect::<Vec<_>>());
        let chained: Vec<_> =
            (0..1000).into_par_iter().chain(5000..6000).enumerate().skip(10).step_by(3).collect();
        assert_eq!(
            chained,
            (0..1000).chain(5000..6000).enumerate().skip(10).step_by(3).collect::<Vec<_>>()
        );
        let (even, odd): (Vec<u64>, Vec<u64>) = numbers.par_iter().partition(|&&n| n % 2 == 0);
        assert_eq!((even, odd), numbers.iter().partition(|&&n| n % 2 == 0));
        let map: HashMap<_, _> = numbers.par_iter().enumerate().map(|(at, &n)| (n, at)).collect();
        assert_eq!(map, numbers.iter().enumerate().map(|(at, &n)| (n, at)).collect());
        let set: HashSet<_> = numbers.par_iter().map(|n| n % 100).collect();
        assert_eq!(set, numbers.iter().map(|n| n % 100).collect());
        let failed: Result<Vec<u64>, usize> =
            (0..10_000).into_par_iter().map(|n| if n == 6_000 { Err(n) } else { Ok(1) }).collect();
        assert_eq!(failed, Err(6_000));
        let text: String =
            (0..1000).into_par_iter().map(|n| char::from(b'a' + (n % 26) as u8)).collect();
        assert_eq!(text, (0..1000).map(|n| char::from(b'a' + (n % 26) as u8)).collect::<String>());
    });
}

#[test]
fn bridges_and_mutable_iterators_visit_each_item_once() {
    in_each(|| {
        let mut bridged: Vec<_> =
            (0..10_000_u64).filter(|n| n % 3 != 0).par_bridge().map(|n| n * n).collect();
        bridged.sort_unstable();
        assert_eq!(
            bridged,
            (0..10_000_u64).filter(|n| n % 3 != 0).map(|n| n * n).collect::<Vec<_>>()
        );
        let mut cells = vec![0_u32; 10_000];
        for _ in 0..20 {
            cells.par_iter_mut().for_each(|cell| *cell += 1);
            cells.par_chunks_mut(97).for_each(|chunk| chunk.iter_mut().for_each(|cell| *cell += 1));
        }
        assert!(cells.iter().all(|&cell| cell == 40));
        let words = "a parallel iterator over the words of a text ".repeat(500);
        assert_eq!(words.par_split_whitespace().count(), words.split_whitespace().count());
        let tree: BTreeMap<_, _> = (0..1000).map(|n| (n, n * n)).collect();
        assert_eq!(tree.par_iter().map(|(_, square)| square).sum::<u64>(), tree.values().sum());
        let nested: u64 = (0..50_u64)
            .into_par_iter()
            .map(|a| {
                (0..a).into_par_iter().map(|b| (0..b).into_par_iter().sum::<u64>()).sum::<u64>()
            })
            .sum();
        assert_eq!(
            nested,
            (0..50_u64).map(|a| (0..a).map(|b| (0..b).sum::<u64>()).sum::<u64>()).sum()
        );
        assert_eq!(
            rayon::iter::split(0..1000_u64, |range| {
                let middle = range.start + (range.end - range.start) / 2;
                if range.end - range.start < 10 {
                    (range, None)
                } else {
                    (range.start..middle, Some(middle..range.end))
                }
            })
            .flat_map_iter(|range| range)
            .sum::<u64>(),
            499_500
        );
    });
}

#[test]
fn sorts_match_the_standard_library() {
    in_each(|| {
        for count in [0, 1, 2, 20, 2_000, 60_000] {
            let numbers = numbers(count);
            let sorted = |sort: fn(&mut [u64])| {
                let mut copy = numbers.clone();
                sort(&mut copy);
                copy
            };
            assert_eq!(sorted(|s| s.par_sort()), sorted(|s| s.sort()));
            assert_eq!(sorted(|s| s.par_sort_unstable()), sorted(|s| s.sort()));
            assert_eq!(
                sorted(|s| s.par_sort_by_key(|n| n % 100)),
                sorted(|s| s.sort_by_key(|n| n % 100)),
                "stable"
            );
            assert_eq!(
                sorted(|s| s.par_sort_by(|a, b| b.cmp(a))),
                sorted(|s| s.sort_by(|a, b| b.cmp(a)))
            );
            assert_eq!(
                sorted(|s| s.par_sort_by_cached_key(|n| n.to_string())),
                sorted(|s| s.sort_by_cached_key(|n| n.to_string()))
            );
            assert_eq!(
                sorted(|s| s.par_sort_unstable_by_key(|n| !n)),
                sorted(|s| s.sort_by_key(|n| !n))
            );
        }
        let mut text: Vec<String> = numbers(20_000).iter().map(u64::to_string).collect();
        let mut expected = text.clone();
        expected.sort();
        text.par_sort();
        assert_eq!(text, expected);
    });
}
