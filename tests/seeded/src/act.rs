//! The operations of a thread, a job or a part, and then the end of their handles.

use std::cell::Cell;

use brigade::JoinHandle;
use brigade_sync::seeded;
use fastrand::Rng;

use crate::world::{Output, World};
use crate::{forks, futures, io, jobs, pools, timers};

thread_local! {
    /// Whether programs print their operations.
    static SAYS: Cell<bool> = const { Cell::new(false) };
}

/// Has programs print their operations.
pub(crate) fn say() {
    SAYS.set(true);
}

/// Prints an action of the calling thread.
pub(crate) fn note(text: impl FnOnce() -> String) {
    if SAYS.get() {
        println!("thread {} {}", seeded::number(), text());
    }
}

/// A kind of operation, which may leave handles.
type Operation = fn(&World, &mut Rng, &mut Vec<JoinHandle<Output>>);

/// All of them, each with how often it is chosen.
const OPERATIONS: [(u32, &str, Operation); 28] = [
    (2, "execute", jobs::execute),
    (4, "submit", jobs::submit),
    (1, "batch", jobs::batch),
    (1, "dispatch", jobs::dispatch),
    (1, "class", jobs::class),
    (1, "on_worker", jobs::on_worker),
    (1, "broadcast", jobs::broadcast),
    (1, "free", jobs::free),
    (1, "set", jobs::set),
    (2, "join", forks::join),
    (1, "scope", forks::scope),
    (1, "in_place_scope", forks::in_place_scope),
    (1, "install", forks::install),
    (1, "loops", forks::loops),
    (3, "spawn", futures::spawn),
    (1, "block_on", futures::block_on),
    (1, "reserve", futures::reserve),
    (1, "spawn_local", futures::spawn_local),
    (1, "after", timers::after),
    (1, "delayed", timers::delayed),
    (1, "every", timers::every),
    (2, "blocking", timers::blocking),
    (1, "sleep", timers::sleep),
    (1, "yield", timers::yields),
    (2, "resize", pools::resize),
    (1, "wait_idle", pools::wait_idle),
    (1, "inner pool", pools::inner),
    (3, "io", io::transfer),
];

/// Says when an operation has ended.
struct End(&'static str);

impl Drop for End {
    fn drop(&mut self) {
        note(|| format!("has ended {}", self.0));
    }
}

/// Runs some operations, as the random numbers choose.
pub(crate) fn act(world: &World, random: &mut Rng) {
    let world = &world.here_or_across(random);
    let mut kept: Vec<JoinHandle<Output>> = Vec::new();
    for _ in 0..random.u8(0..4) {
        if !world.has_fuel() {
            break;
        }
        let all = OPERATIONS.iter().map(|(weight, ..)| weight).sum();
        let mut chosen = random.u32(0..all);
        let operation = OPERATIONS.iter().find(|(weight, ..)| match chosen.checked_sub(*weight) {
            None => true,
            Some(rest) => {
                chosen = rest;
                false
            }
        });
        let (_, name, operation) = operation.expect("one of them");
        note(|| format!("begins {name}, at depth {}", world.depth()));
        let _end = End(name);
        operation(world, random, &mut kept);
    }
    for handle in kept {
        note(|| "ends a handle".into());
        world.end(handle, random);
    }
}
