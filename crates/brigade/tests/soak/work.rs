//! What jobs do.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

use brigade::Handle;
use fastrand::Rng;

use crate::doing::Doing;
use crate::ledger::Ticket;
use crate::submitter::Submitter;

/// Children of children of children are the last.
const GENERATIONS: u32 = 3;

/// A job of `pool`: some work, by chance children, and an end.
pub(crate) fn job(
    pool: Handle,
    mut ticket: Ticket,
    mut random: Rng,
    generation: u32,
) -> impl FnOnce() + Send + 'static {
    move || {
        Doing::Other.during(|| {
            let ledger = ticket.called();
            let micros = Duration::from_micros(random.u64(0..50));
            match random.u8(0..40) {
                0 => thread::sleep(micros),
                1..3 => brigade::blocking(|| thread::sleep(micros)),
                3..6 => busy(micros, || false),
                6..10 if generation < GENERATIONS => {
                    let mut parent = Submitter::new(pool, &ledger, random.fork(), generation + 1);
                    family(&mut parent, &mut random);
                }
                10..12 => {
                    ticket.panics();
                    // A text that the hook keeps to itself, or no text at all.
                    if random.bool() {
                        panic!("expected")
                    } else {
                        std::panic::panic_any(generation)
                    }
                }
                12..14 => busy(4 * micros, brigade::cancelled),
                // On another thread it would be the default pool's, also if the pool that it has entered ends meanwhile.
                14..16 if is_worker_of(pool) => {
                    brigade::block_on(brigade::time::sleep(4 * micros));
                }
                _ => {}
            }
            ticket.returns();
        });
    }
}

/// Whether this thread is a worker of that pool: a job that runs in its caller has entered the pool, but is on no worker.
pub(crate) fn is_worker_of(pool: Handle) -> bool {
    brigade::current_worker_index().is_some() && Handle::current() == Some(pool)
}

/// Works for this long, or until it must stop.
fn busy(time: Duration, is_over: impl Fn() -> bool) {
    let begun = Instant::now();
    while begun.elapsed() < time && !is_over() {
        hint::spin_loop();
    }
}

/// What a job submits to its own pool, and does with the handles.
fn family(parent: &mut Submitter<'_>, random: &mut Rng) {
    for _ in 0..random.u32(1..5) {
        parent.call();
    }
    // The remaining ones are joined by their parent, or not at all.
    if random.bool() {
        for child in parent.kept() {
            if random.bool() {
                let _ = child.join();
            } else {
                let _ = brigade::blocking(|| child.join());
            }
        }
    }
}
