//! What a worker was started as is known to its jobs and its hooks.

use std::sync::mpsc;
use std::time::Duration;

use brigade::{Pool, Role, WorkerInfo, current_worker};

use brigade_testkit::{Gate, test};

fn here() -> WorkerInfo {
    current_worker().expect("a worker")
}

#[test]
fn the_role_follows_from_the_thread_count() {
    let builder = Pool::builder().threads(1..=2).spare_threads(1).pool_name("roles");
    let pool = builder.build().unwrap();
    let gate = Gate::closed();
    let (sender, roles) = mpsc::channel();
    let next = || {
        let (wait, sender) = (gate.clone(), sender.clone());
        pool.execute(move || {
            sender.send(here()).unwrap();
            brigade::blocking(|| wait.wait());
        });
        roles.recv_timeout(Duration::from_secs(10)).unwrap()
    };
    for (index, role) in [Role::Core, Role::BeyondCore, Role::Spare].into_iter().enumerate() {
        let worker = next();
        assert_eq!((worker.index, worker.role, &*worker.pool), (index, role, "roles"));
    }
    gate.open();
}
