//! The table of pool configurations that the conformance body runs over.

use std::panic::{self, AssertUnwindSafe};
use std::time::Duration;

use brigade::{Builder, Idle, Order, Placement, Pool, Queueing, WhenFull};

/// One configuration and the name a failure shows.
pub(crate) struct Row {
    pub(crate) name: String,
    threads: usize,
    queueing: Queueing,
    order: Order,
    idle: Idle,
    placement: Placement,
    /// A capacity; the submitter of one job too many waits or runs it.
    capacity: Option<usize>,
    /// Whether a hook is told how each job ends.
    is_observed: bool,
}

impl Row {
    fn builder(&self) -> Builder {
        let builder = Pool::builder()
            .threads(self.threads)
            .queueing(self.queueing)
            .order(self.order)
            .idle(self.idle)
            .placement(self.placement);
        let builder = if self.is_observed { builder.on_outcome(|_| ()) } else { builder };
        match self.capacity {
            Some(jobs) => builder.capacity(jobs).when_full(WhenFull::Block),
            None => builder,
        }
    }
}

/// As many jobs as any row must queue at once; some submit more.
const ROOM: usize = 200;

fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for threads in [1, 2, 4] {
        for (shares, queueing) in [("stealing", Queueing::Stealing), ("shared", Queueing::Shared)] {
            for (orders, order) in [("lifo", Order::Lifo), ("fifo", Order::Fifo)] {
                for (waits, idle) in idles() {
                    for (lands, placement) in
                        [("kernel", Placement::Kernel), ("spread", Placement::Spread)]
                    {
                        let name = format!("{threads} {shares} {orders} {waits} {lands}");
                        let capacity = None;
                        rows.push(Row {
                            name,
                            threads,
                            queueing,
                            order,
                            idle,
                            placement,
                            capacity,
                            is_observed: false,
                        });
                    }
                }
            }
        }
    }
    let plain = |row: &&Row| row.idle == Idle::Park && row.placement == Placement::Kernel;
    let bounded =
        |row: &Row| Row { name: format!("{} bounded", row.name), capacity: Some(ROOM), ..*row };
    let bounded: Vec<_> = rows.iter().filter(plain).map(bounded).collect();
    let watched =
        |row: &Row| Row { name: format!("{} observed", row.name), is_observed: true, ..*row };
    let observed: Vec<_> =
        rows.iter().filter(plain).chain(bounded.iter().take(1)).map(watched).collect();
    rows.extend(bounded);
    rows.extend(observed);
    rows
}

fn idles() -> [(&'static str, Idle); 3] {
    let short = Idle::SpinThenPark(Duration::from_micros(20));
    [("park", Idle::Park), ("spin-then-park", short), ("spin", Idle::Spin)]
}

/// Runs `claim` with a pool of every row; a failure names the row.
pub(crate) fn for_every_row(claim: impl Fn(Pool)) {
    for row in rows() {
        let pool = row.builder().build().unwrap();
        assert_eq!(*pool.size().end(), row.threads, "{}", row.name);
        if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| claim(pool))) {
            eprintln!("failed with the pool: {}", row.name);
            panic::resume_unwind(payload);
        }
    }
}

/// Stealing and shared, each with both orders: for claims that waiting cannot change.
pub(crate) fn queue_kinds(threads: usize) -> Vec<(String, Pool)> {
    let plain = |row: &Row| {
        row.threads == threads && row.name.contains(" park ") && row.name.ends_with("kernel")
    };
    let threads_known = [1, 2, 4].contains(&threads);
    assert!(threads_known, "the table has no rows with {threads} threads");
    let rows = rows().into_iter().filter(plain);
    rows.map(|row| (row.name.clone(), row.builder().build().unwrap())).collect()
}
