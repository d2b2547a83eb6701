//! Operations that take a time.

use brigade::Missed;
use brigade_sync::time;

use crate::act::Kept;
use crate::verb::{Body, End, Micros, Panics, Periodic};
use crate::world::{World, micros};

pub(crate) fn after(world: &World, wanted: Micros, body: &Body, is_cancelled: bool) {
    let (claim, run) = world.job(body);
    let (begun, wanted) = (time::now(), micros(wanted));
    let run = move || {
        assert!(time::since(begun) >= wanted, "early");
        run();
    };
    match world.pool.job().after(wanted).execute(run) {
        Ok(timer) => {
            if !is_cancelled {
                claim.must_run_later();
            } else if timer.cancel() {
                claim.has_not_run();
            }
        }
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

pub(crate) fn delayed(world: &World, time: Micros, body: &Body, end: End, kept: &mut Kept) {
    match world.pool.job().after(micros(time)).submit(world.body(body)) {
        Ok(handle) => kept.keep(world, handle, end),
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

pub(crate) fn every(world: &World, Periodic { period, skips, panics, lasts }: Periodic) {
    let token = world.ledger.token("a periodic job", panics);
    // Not `Burst`: the clock may leap by a minute.
    let missed = if skips { Missed::Skip } else { Missed::Delay };
    let call = move || {
        _ = &token;
        if panics == Panics::AtTheEnd {
            crate::world::panic();
        }
    };
    match world.pool.job().every(micros(period)).missed(missed).execute(call) {
        Ok(timer) => {
            sleep(lasts);
            timer.cancel();
        }
        Err(rejected) => world.refused(rejected.reason(), rejected.into_inner()),
    }
}

pub(crate) fn blocking_sleep(wanted: Micros) {
    let begun = time::now();
    brigade::blocking(|| sleep(wanted));
    assert!(time::since(begun) >= micros(wanted), "early");
}

pub(crate) fn sleep(time: Micros) {
    time::sleep(micros(time));
}
