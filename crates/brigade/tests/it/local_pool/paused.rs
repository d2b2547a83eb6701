//! A virtual clock: it stands while anything can run, and leaps to the next deadline where the owner would sleep.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::Log;
use brigade::time::{advance, interval, now, sleep, sleep_until, timeout};
use brigade::{LocalPool, Missed, Pool, Shutdown, block_on, spawn, spawn_local, yield_now};
use brigade_testkit::{Gate, Latch, eventually, panics, poll_once, test};

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const SOON: Duration = Duration::from_millis(20);

fn paused() -> LocalPool {
    LocalPool::paused().unwrap()
}

/// What the clock of the pool shows.
fn time_of(pool: &LocalPool) -> Instant {
    pool.handle().enter(now)
}

/// Waits for that long by the clock of the pool.
fn pass(pool: &LocalPool, time: Duration) {
    pool.run_until(async { sleep(time).await });
}

#[test]
fn a_week_passes_at_once_to_the_nanosecond() {
    let pool = paused();
    let begun = time_of(&pool);
    pool.run_until(async {
        sleep(7 * DAY).await;
        assert_eq!(now() - begun, 7 * DAY);
        sleep_until(begun + 8 * DAY).await;
        assert_eq!(now() - begun, 8 * DAY);
        sleep_until(begun).await;
    });
    assert_eq!(time_of(&pool) - begun, 8 * DAY);
}

/// Also where an ordinary pool has several fire together.
#[test]
fn timers_fire_in_order_each_at_its_time() {
    let (pool, log) = (paused(), Log::default());
    let begun = time_of(&pool);
    for micros in [500, 300, 1, 200, 300_000_000, 400, 100] {
        let (after, log) = (Duration::from_micros(micros), log.clone());
        let note = move || {
            assert_eq!(now() - begun, after);
            log.note(micros as u32);
        };
        if micros > 300 {
            drop(pool.handle().job().after(after).execute(note).unwrap());
        } else {
            drop(pool.handle().spawn(async move {
                sleep(after).await;
                note();
            }));
        }
    }
    pass(&pool, DAY);
    assert_eq!(log.take(), [1, 100, 200, 300, 400, 500, 300_000_000]);
}

#[test]
fn no_time_passes_while_anything_can_run() {
    let pool = paused();
    let begun = time_of(&pool);
    let slept = pool.handle().spawn(async { sleep(Duration::from_nanos(1)).await });
    let yielding = pool.handle().spawn(async move {
        for _ in 0..1000 {
            yield_now().await;
        }
        now() - begun
    });
    assert_eq!(pool.run_until(yielding).unwrap(), Duration::ZERO);
    pool.run_until_idle();
    while pool.tick() {}
    assert_eq!(time_of(&pool), begun, "no wait, no leap");
    pool.run_until(slept).unwrap();
    assert_eq!(time_of(&pool) - begun, Duration::from_nanos(1));
}

/// The next tick is found when it is asked for, seven days after the first one. It is due a period after the one before was due, not
/// after that ended; except with `Delay`.
#[test]
fn an_interval_skips_delays_or_catches_up_ticks() {
    for (missed, expected) in [
        (Missed::Skip, [2, 10, 12, 14, 16]),
        (Missed::Delay, [2, 11, 13, 15, 17]),
        (Missed::Burst, [2, 9, 9, 9, 10]),
    ] {
        let pool = paused();
        let begun = time_of(&pool);
        pool.run_until(async {
            let mut ticks = interval(2 * DAY).missed(missed);
            let mut seen = Vec::new();
            for tick in 0..5 {
                let due = ticks.tick().await;
                seen.push((now() - begun).as_secs() / DAY.as_secs());
                if tick == 0 {
                    assert_eq!(due, now());
                    advance(7 * DAY).await;
                }
            }
            assert_eq!(seen, expected, "{missed:?}");
        });
    }
}

/// The second tick is due after four days, and runs after nine.
#[test]
fn a_closure_skips_delays_or_catches_up_ticks() {
    for (missed, expected) in [
        (Missed::Skip, [2, 9, 10, 12, 14]),
        (Missed::Delay, [2, 9, 11, 13, 15]),
        (Missed::Burst, [2, 9, 9, 9, 10]),
    ] {
        let (pool, log) = (paused(), Log::default());
        let (begun, note) = (time_of(&pool), log.clone());
        let tick = move || note.note((now() - begun).as_secs() as u32 / DAY.as_secs() as u32);
        let timer = pool.handle().job().every(2 * DAY).missed(missed).execute(tick).unwrap();
        pass(&pool, 2 * DAY + DAY / 2);
        pool.run_until(async { advance(13 * DAY / 2).await });
        pass(&pool, 8 * DAY);
        assert!(timer.cancel());
        assert_eq!(log.take()[..5], expected, "{missed:?}");
        pass(&pool, 10 * DAY);
        assert_eq!(log.take(), [], "{missed:?}");
    }
}

#[test]
fn the_earlier_of_future_and_limit_wins() {
    let pool = paused();
    pool.run_until(async {
        let begun = now();
        assert!(timeout(DAY, sleep(2 * DAY)).await.is_err());
        assert_eq!(now() - begun, DAY);
        assert!(timeout(2 * DAY, sleep(DAY)).await.is_ok());
        assert_eq!(now() - begun, 2 * DAY, "the limit is gone with its timer");
    });
}

/// A time that can't be represented is no time.
#[test]
fn the_clock_never_leaps_to_an_endless_timer() {
    let (pool, other, gate) = (paused(), Pool::new(1), Gate::closed());
    let wait = gate.clone();
    let never = pool.handle().spawn(sleep(Duration::MAX));
    let answer = pool.run_until(async {
        sleep(DAY).await;
        let answer = other.submit(move || {
            wait.wait();
            42
        });
        let pool = pool.handle();
        let opened = thread::spawn(move || {
            eventually("the owner waits", || pool.metrics().idle_threads == 1);
            gate.open();
        });
        let answer = timeout(Duration::MAX, answer).await;
        opened.join().unwrap();
        answer
    });
    assert_eq!(answer.unwrap().unwrap(), 42);
    assert!(!never.is_finished());
}

#[test]
fn an_advanced_clock_makes_a_timer_due() {
    let (pool, log) = (paused(), Log::default());
    let begun = time_of(&pool);
    for days in [3, 1, 2] {
        drop(pool.handle().job().after(days * DAY).execute(log.job(days)).unwrap());
    }
    let (late, local) = (log.clone(), log.clone());
    pool.run_until(async {
        let slept = sleep(DAY);
        drop(spawn_local(async move {
            slept.await;
            local.note(10);
        }));
        advance(DAY - Duration::from_nanos(1)).await;
        assert_eq!(log.take(), []);
        advance(Duration::from_nanos(1)).await;
        let mut due = log.take();
        due.sort_unstable();
        assert_eq!(due, [1, 10], "local futures have a queue of their own");
        let slept = sleep(DAY);
        drop(spawn(async move {
            slept.await;
            late.note((now() - begun).as_secs() as u32 / 3600);
        }));
        advance(Duration::ZERO).await;
        assert_eq!(log.take(), []);
        // In one jump, also in a task.
        spawn(advance(5 * DAY)).await.unwrap();
        assert_eq!(log.take(), [2, 6 * 24, 3]);
    });
    assert_eq!(time_of(&pool) - begun, 6 * DAY);
}

#[test]
fn a_blocking_job_has_the_clock_leap() {
    let (pool, log) = (paused(), Log::default());
    let begun = time_of(&pool);
    drop(pool.handle().job().after(DAY).execute(log.job(1)).unwrap());
    let job = pool.handle().submit(move || {
        block_on(async {
            sleep(2 * DAY).await;
            assert!(timeout(DAY, std::future::pending::<()>()).await.is_err());
        });
        now() - begun
    });
    assert_eq!(pool.run_until(job).unwrap(), 3 * DAY);
    assert_eq!(log.take(), [1], "it ran in the wait");
}

#[test]
fn the_clock_stands_beside_foreign_work() {
    let (pool, other, gate) = (paused(), Pool::new(1), Gate::closed());
    let begun = time_of(&pool);
    pool.run_until(async {
        let wait = gate.clone();
        let elsewhere = other.submit(move || wait.wait());
        let waits = spawn(async move {
            elsewhere.await.unwrap();
            now() - begun
        });
        sleep(DAY).await;
        assert!(!waits.is_finished());
        gate.open();
        assert_eq!(waits.await.unwrap(), DAY);
    });
}

#[test]
fn an_ordinary_pools_timers_take_real_time() {
    let (pool, other) = (paused(), Pool::new(1));
    pool.run_until(async {
        sleep(DAY).await;
        let slept = other.spawn(async {
            let (begun, real) = (now(), Instant::now());
            sleep(SOON).await;
            assert!(now() - begun >= SOON && real.elapsed() >= SOON);
            begun - real
        });
        assert!(slept.await.unwrap() < DAY, "its clock is the system's");
        // From here too.
        let begun = Instant::now();
        other.job().after(SOON).submit(|| ()).unwrap().await.unwrap();
        other.enter(|| assert!(now() >= begun + SOON && now() < begun + DAY));
    });
}

/// Another thread's timers in the pool have the pool's clock.
#[test]
fn a_thread_inside_the_pool_has_its_clock() {
    let (pool, end) = (paused(), Latch::default());
    let (begun, handle, ends) = (time_of(&pool), pool.handle(), end.clone());
    pass(&pool, DAY);
    let thread = thread::spawn(move || {
        handle.block_on(async {
            sleep(DAY / 2).await;
            assert_eq!(now() - begun, 3 * DAY / 2);
        });
        // Wherever it is polled later.
        let mut slept = handle.enter(|| sleep(DAY / 2));
        assert!(handle.enter(|| poll_once(&mut slept, &Arc::default())).is_pending());
        block_on(slept);
        let job = handle.job().after(DAY).submit(move || now() - begun).unwrap();
        let passed = job.join().unwrap();
        ends.open();
        passed
    });
    pool.run_until(end.wait());
    assert_eq!(thread.join().unwrap(), 3 * DAY);
}

#[cfg(all(feature = "io", unix))]
#[test]
fn a_ready_event_precedes_any_timer() {
    use brigade::io::UnixStream;
    use futures::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let pool = paused();
    let passed = pool.run_until(async {
        let begun = now();
        let (mut reader, mut writer) = UnixStream::pair().unwrap();
        let read = spawn(async move {
            let read = timeout(DAY, reader.read_exact(&mut [0])).await;
            read.map(|read| read.map(|()| now() - begun))
        });
        yield_now().await; // It waits by now.
        writer.write_all(b"!").await.unwrap();
        read.await.unwrap()
    });
    assert_eq!(passed.unwrap().unwrap(), Duration::ZERO);
}

#[test]
fn a_queued_jobs_deadline_cancels_it() {
    let pool = paused();
    pool.run_until(async {
        let job = |after| brigade::job().deadline(now() + after).submit(|| 42).unwrap();
        let (late, in_time) = (job(DAY), job(DAY + Duration::from_nanos(1)));
        // Queued behind a day that passes in one jump.
        advance(DAY).await;
        assert!(late.await.is_err_and(|error| error.is_cancelled()));
        assert_eq!(in_time.await.unwrap(), 42);
    });
}

#[test]
fn a_finishing_pool_leaps_to_its_last_timers() {
    let (pool, log) = (paused(), Log::default());
    drop(pool.handle().job().after(DAY).execute(log.job(1)).unwrap());
    let slept = pool.handle().spawn(async { sleep(2 * DAY).await });
    pool.handle().shutdown(Shutdown::Finish);
    pool.run_until(slept).unwrap();
    assert_eq!(log.take(), [1]);
}

#[test]
fn only_a_paused_clock_advances_and_only_finitely() {
    let panic_of = |call: &dyn Fn()| {
        let payload = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        panics::text(&*payload).unwrap().to_owned()
    };
    let pool = Pool::new(1);
    assert!(panic_of(&|| block_on(advance(DAY))).contains("`run_until`"));
    assert!(panic_of(&|| pool.block_on(advance(DAY))).contains("`run_until`"));
    let local = LocalPool::new().unwrap();
    assert!(panic_of(&|| local.run_until(advance(DAY))).contains("`LocalPool::paused`"));
    let error = pool.spawn(advance(DAY)).join().unwrap_err();
    assert!(error.panic_message().unwrap().contains("`LocalPool::paused`"));

    let paused = paused();
    assert!(panic_of(&|| paused.run_until(advance(Duration::MAX))).contains("hundred years"));
    paused.run_until(advance(99 * 365 * DAY));
    assert!(panic_of(&|| paused.run_until(advance(365 * DAY))).contains("hundred years"));
    pass(&paused, 300 * DAY);
}
