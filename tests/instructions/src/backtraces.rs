//! How many frames a panic of a job shows.

use std::backtrace::Backtrace;
use std::time::Duration;

use brigade::{Pool, TaskSet};

/// What the standard library prints no frame below, in `library/std/src/sys/backtrace.rs`.
const END: &str = "__rust_begin_short_backtrace";

/// The frames that a panic in the caller would show; two more are those of the panic itself.
#[inline(never)]
fn frames() -> usize {
    let trace = Backtrace::force_capture().to_string();
    let names = trace.lines().filter_map(|line| line.trim_start().split_once(": "));
    let names = names.filter(|(number, _)| number.parse::<u32>().is_ok()).map(|(_, name)| name);
    let own = names.skip_while(|name| !name.contains("backtraces::frames"));
    own.skip(1).take_while(|name| !name.contains(END)).count() + 2
}

type Row = (&'static str, fn(&Pool) -> usize);

const ROWS: &[Row] = &[
    ("a closure", |pool| pool.submit(frames).join().unwrap()),
    ("a closure with a name", |pool| {
        pool.job().name("row").submit(frames).unwrap().join().unwrap()
    }),
    ("a closure that a job joins", |pool| {
        pool.submit(|| brigade::submit(frames).join().unwrap()).join().unwrap()
    }),
    ("a future", |pool| pool.spawn(async { frames() }).join().unwrap()),
    ("a local future", |pool| {
        pool.submit(|| brigade::spawn_local(async { frames() }).join().unwrap()).join().unwrap()
    }),
    ("a closure of a scope", |pool| {
        let mut shown = 0;
        pool.scope(|scope| scope.execute(|| shown = frames())).unwrap();
        shown
    }),
    ("a future of a scope", |pool| {
        pool.scope(|scope| scope.spawn(async { frames() }).join().unwrap()).unwrap()
    }),
    ("a fork", |pool| pool.install(|| brigade::join(frames, || ()).0).unwrap()),
    ("a loop", |pool| {
        let shown = pool.install(|| brigade::map_reduce(0..100, 1, |_| frames(), usize::max));
        shown.unwrap().unwrap()
    }),
    ("an installed closure", |pool| pool.install(frames).unwrap()),
    ("a timer", |pool| {
        let timer = pool.job().after(Duration::from_millis(1)).submit(frames).unwrap();
        timer.join().unwrap()
    }),
    ("a closure of a set", |pool| {
        let mut set = TaskSet::new(pool.handle());
        set.submit(frames);
        set.join_next().unwrap().unwrap()
    }),
];

#[test]
fn a_panic_shows_at_most_twelve_frames() {
    let pool = Pool::new(1);
    let shown = ROWS.iter().map(|(name, row)| (*name, row(&pool)));
    let many: Vec<_> = shown.filter(|(_, frames)| *frames > 12).collect();
    assert!(many.is_empty(), "{many:?}");
}
