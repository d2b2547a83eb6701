//! A worker handles events, then runs a long job, and the monitor has another one handle them.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::support::in_time::{delays, waited};
use brigade::io::{PipeReader, PipeWriter, pipe};
use brigade::{Cpus, Pool};
use brigade_testkit::{spin_for, test};
use futures_lite::{AsyncReadExt, AsyncWriteExt};

/// How long events come before the job.
const OFTEN: Duration = Duration::from_millis(60);

/// The time from its setting to a timer that the monitor knows of in time, without a call.
const AHEAD: Duration = Duration::from_millis(10);

/// How far into a job of 10 ms the timer is due.
const INTO: Duration = Duration::from_millis(3);

/// Writes a byte and waits for it to come back, for that long.
async fn pass(to: &mut PipeWriter, from: &mut PipeReader, time: Duration) {
    let begun = Instant::now();
    while begun.elapsed() < time {
        to.write_all(&[1]).await.unwrap();
        from.read_exact(&mut [0]).await.unwrap();
    }
}

/// How late a timer is that is due in a job of the worker that handles the events, after that time of them. It is set by that job,
/// or before it. Also returns what the threads had waited when the job began.
fn lateness(pool: &Pool, often: Duration, is_set_by_job: bool) -> (Duration, Duration) {
    let (mut there, mut to) = pool.handle().enter(pipe).unwrap();
    let (mut from, mut back) = pool.handle().enter(pipe).unwrap();
    let echo = pool.spawn(async move {
        let mut byte = [0];
        while there.read(&mut byte).await.unwrap() == 1 {
            back.write_all(&byte).await.unwrap();
        }
    });
    let (fired, fires) = mpsc::channel();
    let handle = pool.handle();
    let set = move |after| {
        let at = Instant::now() + after;
        let fire = move || fired.send(Instant::now() - at).unwrap();
        drop(handle.job().at(at).execute(fire).unwrap());
    };
    let events = pool.spawn(async move {
        pass(&mut to, &mut from, often).await;
        let before = match is_set_by_job {
            true => {
                let before = waited();
                set(INTO);
                before
            }
            false => {
                set(AHEAD + INTO);
                pass(&mut to, &mut from, AHEAD).await;
                waited()
            }
        };
        spin_for(Duration::from_millis(10));
        before
    });
    let late = fires.recv().unwrap();
    let before = events.join().unwrap();
    echo.join().unwrap();
    (late, before)
}

#[test(alone)]
fn a_timer_beside_a_long_job_is_on_time() {
    const ROUNDS: usize = 40;
    for is_set_by_job in [true, false] {
        // Each worker has a CPU of its own: the system may run both on one for a time.
        let pool = Pool::builder().threads(2).pin(Cpus::cores()).build().unwrap();
        // The job begins at every part of the 8 ms between two looks of the monitor.
        let mut parts = (0..ROUNDS as u32).map(|part| Duration::from_micros(200) * part);
        let late = delays(ROUNDS, || lateness(&pool, OFTEN + parts.next().unwrap(), is_set_by_job));
        let within = |rounds: usize, micros| late[rounds] <= Duration::from_micros(micros);
        let is_soon = match is_set_by_job {
            // The job wakes a worker for it.
            true => within(30, 1400),
            // The monitor does not look sooner than 1 ms after its last look.
            false => within(20, 1400) && within(26, 3600),
        };
        assert!(is_soon, "by the job: {is_set_by_job}, {late:?}");
    }
}
