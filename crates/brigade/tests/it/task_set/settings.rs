//! A job of a set has its own name, priority and deadline, in each kind of pool, and with a limit.

use std::time::{Duration, Instant};

use brigade::{
    Builder, Cause, JoinError, Pool, Priority, TaskSet, current_job_name, current_priority,
};
use brigade_testkit::{Gate, test};

use crate::support::crowd::for_both_queueings;

fn told() -> (Option<String>, Priority) {
    (current_job_name(), current_priority())
}

fn pools(threads: usize) -> [Pool; 3] {
    let builder = || Pool::builder().threads(threads);
    [builder(), builder().capacity(1), builder().observe_jobs()].map(|pool| pool.build().unwrap())
}

#[test]
fn a_job_of_a_set_has_its_name_and_priority() {
    for pool in pools(2) {
        for limit in [usize::MAX, 1] {
            let mut set = TaskSet::new(&pool).limit(limit);
            let expected = |name: Option<&str>, class| (name.map(String::from), class);
            let mut all = Vec::new();
            for (name, class) in [(Some("one"), Priority::Low), (None, Priority::High)] {
                let with = |set: &mut TaskSet<_>| {
                    let job = set.job().priority(class);
                    match name {
                        Some(name) => job.name(name).submit(told).unwrap(),
                        None => job.submit(told).unwrap(),
                    }
                };
                all.push((with(&mut set), expected(name, class)));
                let future = set.job().priority(class).name("future").spawn(async { told() });
                all.push((future.unwrap(), expected(Some("future"), class)));
            }
            all.push((set.submit(told), expected(None, Priority::Normal)));
            let mut seen = Vec::new();
            while let Some((id, outcome)) = set.join_next_with_id() {
                seen.push((id, outcome.unwrap()));
            }
            seen.sort_by_key(|(id, _)| *id);
            assert_eq!(seen, all);
        }
    }
}

#[test]
fn a_late_job_of_a_set_is_cancelled() {
    for pool in pools(1) {
        for limit in [usize::MAX, 1] {
            let mut set = TaskSet::new(&pool).limit(limit);
            let (now, gate) = (Instant::now(), Gate::closed());
            pool.execute(gate.job());
            set.job().deadline(now).submit(|| unreachable!("it is late")).unwrap();
            set.job().deadline(now).spawn(async { unreachable!("it is late") }).unwrap();
            set.job().deadline(now + Duration::from_secs(600)).submit(|| ()).unwrap();
            gate.open();
            let is_late = |outcome: &Result<(), _>| {
                matches!(outcome, Err(JoinError::Cancelled(Cause::Deadline)))
            };
            assert_eq!(set.outcomes().filter(is_late).count(), 2);
        }
    }
}

#[test(for_both_queueings)]
fn a_wait_for_all_tells_how_many_go_on(builder: Builder) {
    let pool = builder.threads(2).build().unwrap();
    let gate = Gate::closed();
    let mut set = TaskSet::new(&pool);
    assert_eq!(set.wait_all_timeout(Duration::ZERO), 0);
    set.submit(gate.job());
    set.spawn(async {});
    assert!(matches!(set.join_next(), Some(Ok(()))));
    assert_eq!(set.wait_all_timeout(Duration::from_millis(1)), 1);
    gate.open();
    assert_eq!(set.wait_all_timeout(Duration::MAX), 0);
    assert_eq!((set.len(), set.join_next().is_some()), (1, true), "the outcome is still there");
}
