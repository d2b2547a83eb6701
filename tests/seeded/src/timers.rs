//! Operations that take a time.

use std::time::Duration;

use brigade::{JoinHandle, Missed};
use brigade_sync::time;
use fastrand::Rng;

use crate::act::act;
use crate::world::{Output, World, millis};

type Kept = Vec<JoinHandle<Output>>;

pub(crate) fn after(world: &World, random: &mut Rng, _: &mut Kept) {
    let (claim, run) = world.job(random);
    let (begun, wanted) = (time::now(), millis(random));
    let run = move || {
        assert!(time::since(begun) >= wanted, "early");
        run();
    };
    match world.pool.job().after(wanted).execute(run) {
        Ok(timer) => {
            if random.u8(0..3) != 0 {
                claim.must_run_later();
            } else if timer.cancel() {
                claim.has_not_run();
            }
        }
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

pub(crate) fn delayed(world: &World, random: &mut Rng, kept: &mut Kept) {
    match world.pool.job().after(millis(random)).submit(world.body(random)) {
        Ok(handle) => kept.push(handle),
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

pub(crate) fn every(world: &World, random: &mut Rng, _: &mut Kept) {
    let token = world.ledger.token("a periodic job", random);
    let period = Duration::from_micros(random.u64(500..2000));
    // Not `Burst`: the clock may leap by a minute.
    let missed = if random.bool() { Missed::Skip } else { Missed::Delay };
    let panics = random.u8(0..8) == 0;
    let call = move || {
        _ = &token;
        if panics {
            crate::world::panic();
        }
    };
    match world.pool.job().every(period).missed(missed).execute(call) {
        Ok(timer) => {
            time::sleep(millis(random));
            timer.cancel();
        }
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

/// Sleeps in a blocking call, or runs other operations there.
pub(crate) fn blocking(world: &World, random: &mut Rng, _: &mut Kept) {
    if random.bool() {
        return brigade::blocking(|| act(&world.inside(), random));
    }
    let (begun, wanted) = (time::now(), millis(random));
    brigade::blocking(|| time::sleep(wanted));
    assert!(time::since(begun) >= wanted, "early");
}

pub(crate) fn sleep(_: &World, random: &mut Rng, _: &mut Kept) {
    time::sleep(millis(random));
}

pub(crate) fn yields(_: &World, _: &mut Rng, _: &mut Kept) {
    brigade_sync::thread::yield_now();
}
