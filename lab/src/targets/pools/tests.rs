//! The sizes of the adapters of elastic pools.

use std::io;
use std::sync::mpsc;
use std::time::Duration;

use brigade_testkit::Gate;

use super::{ElasticPools, Pools};
use crate::failure::Outcome;
use crate::target::pool::{self, MANY, Running, Size, StartSized, Submit, VisitElastic, VisitPool};
use crate::target::{Accept, Family as _};

/// Time in which one job too many would be seen. If a busy machine needs longer, a defect is missed, but the
/// test passes without one.
const LOOK: Duration = Duration::from_millis(50);

/// Time in which a job must begin if the pool may have a thread for it, however busy the machine is.
const LIMIT: Duration = Duration::from_secs(60);

/// Checks that this pool runs `most` jobs at once and no more: each is submitted when the one before it
/// runs, so that no idle thread is on its way to take it.
fn grows_to<O: Submit, I: Submit>(
    name: &str,
    most: usize,
    pool: io::Result<Running<O, I>>,
) -> Outcome {
    let (pool, gate, (begun, begins)) = (pool.expect("a pool"), Gate::closed(), mpsc::channel());
    let outside = pool.outside.clone();
    let submit = || {
        let (begun, gate) = (begun.clone(), gate.clone());
        outside.submit(move || {
            begun.send(()).expect("the test waits for it");
            gate.wait();
        });
    };
    for number in 1..=most {
        submit();
        let begun = begins.recv_timeout(LIMIT);
        assert!(begun.is_ok(), "{name}: job {number} of {most} has not begun");
    }
    submit();
    assert!(begins.recv_timeout(LOOK).is_err(), "{name}: {most} jobs and one more ran at once");
    gate.open();
    assert!(begins.recv_timeout(LIMIT).is_ok(), "{name}: the last job has not begun");
    drop(outside);
    pool.shutdown();
    Ok(Vec::new())
}

/// Starts a target with this size, and checks how far it grows.
struct Grows {
    /// Its name.
    name: &'static str,
    /// How large it is to be.
    size: Size,
    /// How many jobs are to run at once.
    most: usize,
}

impl VisitPool for Grows {
    fn threads(&self) -> usize {
        self.size.max
    }

    fn visit<O: Submit, I: Submit>(self, start: pool::Start<O, I>) -> Outcome {
        grows_to(self.name, self.most, start(self.size.max))
    }
}

impl VisitElastic for Grows {
    fn visit<O: Submit, I: Submit>(self, start: StartSized<O, I>) -> Outcome {
        grows_to(self.name, self.most, start(self.size))
    }
}

/// Checks that each of these targets of the family, asked for this size, runs that many jobs at once.
fn all_grow_to<F: Accept<Grows>>(names: &[&str], size: Size, most: usize) {
    for target in F::TARGETS.iter().filter(|target| names.contains(&target.name)) {
        let grown = F::accept(target, Grows { name: target.name, size, most });
        assert!(grown.is_ok(), "{}", target.name);
    }
}

#[test]
fn a_2_to_50_pool_grows_to_50_for_any_smaller_request() {
    let names = ["brigade-elastic-50", "rusty_pool-50", "brigade-rusty_pool-50"];
    all_grow_to::<Pools>(&names, Size::of(1), MANY);
}

#[test]
fn a_2_to_50_pool_grows_beyond_50_on_request() {
    let names = ["brigade-elastic-50", "rusty_pool-50"];
    all_grow_to::<Pools>(&names, Size::of(MANY + 3), MANY + 3);
}

#[test]
fn an_elastic_pool_has_the_requested_threads() {
    let names = ["brigade-elastic", "rusty_pool-elastic", "brigade-rusty_pool-elastic"];
    all_grow_to::<Pools>(&names, Size::of(3), 3);
}

#[test]
fn an_elastic_target_grows_to_its_size() {
    let size = Size { core: 1, max: 3, keep_alive: Duration::from_secs(60) };
    let mut names: Vec<_> = ElasticPools::TARGETS.iter().map(|target| target.name).collect();
    names.retain(|name| *name != "brigade-fixed");
    all_grow_to::<ElasticPools>(&names, size, 3);
}
