//! What jobs do, and the ways in which they are submitted and waited for.

use std::hint;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use brigade::{Handle, JoinError, JoinHandle, Pool};
use fastrand::Rng;

use crate::ledger::{Ledger, Ticket};
use crate::plan;

/// Children of children of children are the last.
const GENERATIONS: u32 = 3;

/// One job: some work, by chance children, and an end.
fn job(ledger: &Arc<Ledger>, mut random: Rng, generation: u32) -> impl FnOnce() + Send + 'static {
    let mut ticket = Ticket::new(ledger);
    move || {
        let ledger = ticket.called();
        let micros = Duration::from_micros(random.u64(0..50));
        match random.u8(0..40) {
            0 => thread::sleep(micros),
            1..3 => brigade::blocking(|| thread::sleep(micros)),
            3..6 => busy(micros),
            6..10 if generation < GENERATIONS => family(&ledger, &mut random, generation + 1),
            10..12 => {
                ticket.panics();
                // A text that the hook keeps to itself, or no text at all.
                if random.bool() { panic!("expected") } else { std::panic::panic_any(generation) }
            }
            _ => {}
        }
        ticket.returns();
    }
}

fn busy(time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        hint::spin_loop();
    }
}

/// What a job submits to its own pool, and does with the handles.
fn family(ledger: &Arc<Ledger>, random: &mut Rng, generation: u32) {
    let pool = Handle::current().expect("a job runs on a worker");
    let mut children = Vec::new();
    for _ in 0..random.u32(1..5) {
        call(pool, ledger, random, &mut children, generation);
    }
    // Those that are left are joined by their parent, or by nobody.
    if random.bool() {
        for child in children {
            if random.bool() {
                let _ = child.join();
            } else {
                let _ = brigade::blocking(|| child.join());
            }
        }
    }
}

/// Submits to `pool` in one of the ways there are; a handle may be kept for later.
fn call(
    pool: Handle,
    ledger: &Arc<Ledger>,
    random: &mut Rng,
    kept: &mut Vec<JoinHandle<()>>,
    generation: u32,
) {
    match random.u8(0..10) {
        0..4 => {
            let accepted = pool.execute(job(ledger, random.fork(), generation)).is_ok();
            ledger.submitted(accepted.into(), (!accepted).into());
        }
        4 => {
            let count = random.u64(0..20);
            let jobs = (0..count).map(|_| job(ledger, random.fork(), generation));
            let back = pool.execute_batch(jobs).err().map_or(0, |back| back.into_inner().len());
            ledger.submitted(count - back as u64, back as u64);
        }
        _ => match pool.submit(job(ledger, random.fork(), generation)) {
            Ok(handle) => {
                ledger.submitted(1, 0);
                wait(handle, random, kept);
            }
            Err(_) => ledger.submitted(0, 1),
        },
    }
}

/// Does one of the things that a handle is for.
fn wait(mut handle: JoinHandle<()>, random: &mut Rng, kept: &mut Vec<JoinHandle<()>>) {
    match random.u8(0..8) {
        0 => drop(handle),
        1 => _ = handle.join(),
        2 => _ = handle.try_join(),
        3 => _ = handle.join_timeout(Duration::from_micros(random.u64(0..100))),
        4 => {
            if handle.cancel() {
                assert!(matches!(handle.join(), Err(JoinError::Cancelled)), "it was cancelled");
            }
        }
        5 => drop(handle.cancel_on_drop()),
        _ => kept.push(handle),
    }
}

/// A thread from outside that submits; returns when it has made its calls.
///
/// `owner` is the pool while that is sure to be open: it is then resized now and then, and waited for.
pub(crate) fn produce(
    pool: Handle,
    owner: Option<&Pool>,
    ledger: &Arc<Ledger>,
    calls: u32,
    mut random: Rng,
) {
    let mut kept = Vec::new();
    for _ in 0..calls {
        call(pool, ledger, &mut random, &mut kept, 0);
        if let (Some(owner), 0) = (owner, random.u8(0..30)) {
            if random.bool() {
                owner.resize(plan::size(&mut random)).expect("a size that a pool can have");
            } else {
                owner.wait_idle_timeout(Duration::from_micros(random.u64(0..200)));
            }
        }
    }
    for handle in kept {
        let _ = handle.join();
    }
}
