//! What has which class: that of the job that submits it, unless it is told otherwise.

use core::task::{Poll, Waker};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use super::CLASSES;
use crate::support::full::with_capacity;
use crate::support::policy::queue_kinds;
use brigade::{
    Handle, JobBuilder, Pool, Priority, TaskSet, WhenFull, current_priority, time, yield_now,
};
use brigade_testkit::{Gate, eventually, test};

/// Runs a closure as a job of a class, and returns its result.
fn as_job<T: Send + 'static>(
    pool: &Handle,
    class: Priority,
    job: impl FnOnce() -> T + Send + 'static,
) -> T {
    pool.job().priority(class).submit(job).unwrap().join().unwrap()
}

/// A channel to collect classes: the sender's closure tells its own.
fn tellers() -> (impl Fn() + Clone + Send + 'static, mpsc::Receiver<Priority>) {
    let (ran, runs) = mpsc::channel();
    (move || ran.send(current_priority()).unwrap(), runs)
}

async fn later(tell: impl FnOnce()) {
    tell();
}

/// Submits ten jobs, by each verb of a job builder.
fn submit_in_every_way<T: FnOnce() + Send + 'static>(
    job: impl Fn() -> JobBuilder,
    tell: impl Fn() -> T,
) {
    let named = || job().name("named");
    let room = || brigade::block_on(job().reserve()).unwrap();
    job().execute(tell()).unwrap();
    drop(job().submit(tell()).unwrap());
    drop(job().spawn(later(tell())).unwrap());
    named().execute(tell()).unwrap();
    drop(named().spawn(later(tell())).unwrap());
    job().execute_batch([tell(), tell()]).unwrap();
    job().after(Duration::ZERO).execute(tell()).unwrap();
    room().execute(tell()).unwrap();
    drop(room().spawn(later(tell())).unwrap());
}

#[test((kind, pool) in queue_kinds(2))]
fn children_have_the_class_of_their_job(pool: Pool) {
    // Left to the process, as jobs borrow it.
    let pool: &'static Pool = Box::leak(Box::new(pool));
    for class in CLASSES {
        let (tell, told) = tellers();
        as_job(pool, class, move || {
            assert_eq!(current_priority(), class);
            let tell = || tell.clone();
            brigade::execute(tell());
            drop(brigade::submit(tell()));
            brigade::try_execute(tell()).unwrap();
            drop(brigade::spawn(later(tell())));
            pool.execute(tell());
            pool.try_execute(tell()).unwrap();
            drop(pool.submit(tell()));
            pool.handle().execute(tell());
            drop(pool.handle().submit(tell()));
            drop(pool.spawn(later(tell())));
            submit_in_every_way(|| pool.job(), tell);
            // The child of a child.
            let child = tell();
            brigade::execute(move || brigade::execute(child));
        });
        let told: Vec<_> = told.iter().collect();
        assert_eq!(told, vec![class; 21]);
    }
    pool.shutdown(brigade::Shutdown::Drain);
}

#[test(class in CLASSES, limit in [1, 100], capacity in [None, Some(1)])]
fn a_task_set_takes_the_class_of_its_adding_job(
    class: Priority,
    limit: usize,
    capacity: Option<usize>,
) {
    let pool = with_capacity(Pool::builder().threads(2), capacity).build().unwrap();
    let handle = pool.handle();
    let mut classes = as_job(&pool, class, move || {
        let mut set = TaskSet::new(handle).limit(limit);
        for _ in 0..5 {
            set.submit(current_priority);
            set.spawn(async {
                yield_now().await;
                current_priority()
            });
        }
        set
    });
    let classes: Vec<_> = classes.outcomes().map(Result::unwrap).collect();
    assert_eq!(classes, vec![class; 10]);
}

#[test(parent in CLASSES, child in CLASSES, (kind, pool) in queue_kinds(1))]
fn a_builders_class_overrides_the_jobs(pool: Pool, parent: Priority, child: Priority) {
    let (tell, told) = tellers();
    as_job(&pool, parent, move || {
        let job = || brigade::job().priority(child);
        submit_in_every_way(job, || tell.clone());
    });
    let told: Vec<_> = told.iter().collect();
    assert_eq!(told, vec![child; 10]);
}

#[test]
fn jobs_for_another_pool_are_normal() {
    let (pool, other) = (Pool::new(1), Pool::new(1));
    let (here, there) = (pool.handle(), other.handle());
    let (tell, told) = tellers();
    as_job(&pool, Priority::High, move || {
        there.execute(tell.clone());
        let twice = tell.clone();
        drop(there.spawn(async move { twice() }));
        // Nor does it come back.
        there.execute(move || here.execute(tell));
        assert_eq!(current_priority(), Priority::High);
    });
    assert!(told.iter().eq([Priority::Normal; 3]));
    assert_eq!(current_priority(), Priority::Normal, "on a thread that is no worker");
}

/// A future that is pending until it is woken by what has taken its waker.
async fn woken(wakers: mpsc::Sender<Waker>) {
    let mut sent = false;
    core::future::poll_fn(|context| {
        if sent {
            return Poll::Ready(());
        }
        sent = true;
        wakers.send(context.waker().clone()).unwrap();
        Poll::Pending
    })
    .await;
}

/// The class of each of its polls: whichever thread wakes it, and whatever class that has.
#[test(class in CLASSES, (kind, pool) in queue_kinds(2))]
fn any_wake_keeps_a_futures_class(pool: Pool, class: Priority) {
    let (send, wakers) = mpsc::channel();
    let future = async move {
        let mut classes = vec![current_priority()];
        for _ in 0..4 {
            woken(send.clone()).await;
            classes.push(current_priority());
        }
        yield_now().await;
        classes.push(current_priority());
        time::sleep(Duration::from_millis(1)).await;
        classes.push(current_priority());
        // What it submits after all that.
        classes.push(brigade::submit(current_priority).await.unwrap());
        classes
    };
    let future = pool.job().priority(class).spawn(future).unwrap();
    wakers.recv().unwrap().wake();
    for waker_of in CLASSES {
        let waker = wakers.recv().unwrap();
        as_job(&pool, waker_of, move || waker.wake());
    }
    assert_eq!(future.join().unwrap(), vec![class; 8]);
}

/// Polled in the middle of a high job, timers and futures of others keep their class.
#[test]
fn a_timer_due_in_a_blocked_job_keeps_its_class() {
    let pool = Pool::new(1);
    let handle = pool.handle();
    let (tell, told) = tellers();
    let sleeper = tell.clone();
    let normal = pool.spawn(async move {
        time::sleep(Duration::from_millis(2)).await;
        sleeper();
    });
    let timer = pool.job().after(Duration::from_millis(2)).execute(tell).unwrap();
    let blocks = pool.job().priority(Priority::High).submit(move || {
        // Its thread polls the timers meanwhile: there is no other.
        brigade::block_on(time::sleep(Duration::from_millis(5)));
        handle.submit(current_priority)
    });
    assert_eq!(blocks.unwrap().join().unwrap().join().unwrap(), Priority::High);
    normal.join().unwrap();
    assert!(told.iter().take(2).eq([Priority::Normal; 2]));
    eventually("the timer is over", || timer.is_over());
}

#[test(class in CLASSES, (kind, pool) in queue_kinds(1))]
fn a_timer_has_its_setting_jobs_class(pool: Pool, class: Priority) {
    let (tell, told) = tellers();
    as_job(&pool, class, move || {
        let soon = Duration::from_micros(100);
        brigade::execute_after(soon, tell.clone());
        let twice = tell.clone();
        drop(brigade::submit_after(soon, twice));
        let mut left = 3;
        let (cancelled, cancels) = mpsc::channel::<brigade::Timer>();
        let timer = brigade::execute_every(soon, move || {
            left -= 1;
            if left >= 0 {
                tell();
            }
            if left == 0 {
                cancels.recv().unwrap().cancel();
            }
        });
        cancelled.send(timer).unwrap();
    });
    let told: Vec<_> = told.iter().collect();
    assert_eq!(told, vec![class; 5]);
}

#[test(class in CLASSES, (kind, pool) in queue_kinds(1))]
fn a_job_joined_before_its_start_runs_as_its_joiners_part(pool: Pool, class: Priority) {
    let handle = pool.handle();
    let inside = as_job(&pool, class, move || {
        let low = handle
            .job()
            .priority(Priority::Low)
            .submit(move || (current_priority(), brigade::submit(current_priority)));
        low.unwrap().join().unwrap()
    });
    assert_eq!((inside.0, inside.1.join().unwrap()), (class, class));
}

#[test]
fn a_job_run_by_its_caller_has_the_callers_class() {
    let pool = Pool::builder().threads(1).capacity(1).when_full(WhenFull::RunInCaller);
    let pool = pool.build().unwrap();
    for class in CLASSES {
        let handle = pool.handle();
        let inside = as_job(&pool, class, move || {
            handle.execute(|| ());
            handle.job().priority(Priority::Low).submit(current_priority).unwrap().join().unwrap()
        });
        assert_eq!(inside, class);
        pool.wait_idle();
    }
}

#[test]
fn a_dispatched_job_has_a_class() {
    let pool = Pool::builder().threads(2).prestart(2).build().unwrap();
    for class in CLASSES {
        for name in [None, Some("named")] {
            eventually("a worker sleeps", || pool.metrics().idle_threads == 2);
            let (tell, told) = tellers();
            let job = name.into_iter().fold(pool.job(), |job, name| job.name(name));
            let jobs = [move || brigade::execute(tell)];
            assert_eq!(job.priority(class).dispatch(jobs).count(), 0, "a worker is idle");
            assert!(told.iter().eq([class]));
        }
    }
}

/// The jobs of a scope have no class: on the thread that waits they run inside its job.
#[test]
fn scope_jobs_run_by_the_waiter_are_its_jobs_parts() {
    let pool = Pool::new(1);
    for class in CLASSES {
        let (scoped, forked) = as_job(&pool, class, || {
            let scoped = Mutex::new(Vec::new());
            brigade::scope(|s| {
                s.execute(|| scoped.lock().unwrap().push(current_priority()));
            });
            (scoped.into_inner().unwrap(), brigade::join(current_priority, current_priority))
        });
        assert_eq!((scoped, forked), (vec![class], (class, class)));
    }
}

#[test(class in CLASSES, (kind, pool) in queue_kinds(1))]
fn a_worker_whose_job_panicked_has_no_class(pool: Pool, class: Priority) {
    pool.job().priority(class).execute(|| panic!("expected")).unwrap();
    assert_eq!(pool.submit(current_priority).join().unwrap(), Priority::Normal);
    let child = pool.submit(|| brigade::submit(current_priority));
    assert_eq!(child.join().unwrap().join().unwrap(), Priority::Normal);
}

/// A job inside another's wait has its own class, and so has what each of them submits.
#[test(outer in CLASSES, inner in CLASSES)]
fn a_wait_runs_each_job_with_its_own_class(outer: Priority, inner: Priority) {
    let pool = Pool::builder().threads(2).waits_run_anything().build().unwrap();
    let handle = pool.handle();
    let classes = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&classes);
    let after = as_job(&pool, outer, move || {
        let (taken, gate) = (Gate::closed(), Gate::closed());
        let (begun, open) = (taken.clone(), gate.clone());
        // The other worker is in the half that this one waits for, until the job has run here.
        brigade::join(
            || {
                taken.wait();
                handle
                    .job()
                    .priority(inner)
                    .execute(move || {
                        seen.lock().unwrap().push(current_priority());
                        open.open();
                    })
                    .unwrap();
            },
            || {
                begun.open();
                gate.wait();
            },
        );
        current_priority()
    });
    assert_eq!(after, outer);
    assert_eq!(*classes.lock().unwrap(), [inner]);
}

#[test]
fn a_local_future_is_normal() {
    let pool = Pool::new(1);
    let local = as_job(&pool, Priority::High, || {
        brigade::spawn_local(async {
            yield_now().await;
            current_priority()
        })
    });
    assert_eq!(local.join().unwrap(), Priority::Normal);
    // Polled in the wait of a high job, it still is.
    let inside = as_job(&pool, Priority::High, || {
        let local = brigade::spawn_local(async { current_priority() });
        let waits = brigade::block_on(local);
        (waits.unwrap(), current_priority())
    });
    assert_eq!(inside, (Priority::Normal, Priority::High));
}
