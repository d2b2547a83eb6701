//! What a part of a job knows of the job on another thread: whether it has been cancelled, its name, its class.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::thread;

use brigade::{Handle, Pool, Priority, cancelled, current_job_name, current_priority};
use brigade_testkit::{Gate, test};

/// What code learns of its job.
type Known = (bool, Option<String>, Priority);

fn look() -> Known {
    (cancelled(), current_job_name(), current_priority())
}

/// A call that waits until another thread has made it.
#[derive(Default)]
struct Elsewhere(AtomicBool);

impl Elsewhere {
    fn call<R>(&self, call: impl FnOnce() -> R) -> R {
        let result = call();
        self.0.store(true, SeqCst);
        result
    }

    fn wait(&self) {
        while !self.0.load(SeqCst) {
            thread::yield_now();
        }
    }
}

/// What parts of each kind see that another thread runs.
fn parts(other: Handle) -> Vec<(&'static str, Known)> {
    let mut seen = Vec::new();
    let mut add = |name, part: &dyn Fn(&Elsewhere) -> Known| {
        seen.push((name, part(&Elsewhere::default())));
    };
    add("join", &|there| brigade::join(|| there.wait(), || there.call(look)).1);
    add("a join inside a stolen half", &|there| {
        let outer = Elsewhere::default();
        // The second half is stolen, and then its own second half, by the thread that waits.
        let inner = || outer.call(|| ());
        let both = || brigade::join(|| (inner(), there.wait()), || there.call(look)).1;
        brigade::join(|| outer.wait(), both).1
    });
    add("par_for", &|there| {
        let seen = Mutex::new(None);
        brigade::par_for(0..2, 1, |number| match number {
            0 => there.wait(),
            _ => *seen.lock().unwrap() = Some(there.call(look)),
        });
        seen.into_inner().unwrap().unwrap()
    });
    add("map_reduce", &|there| {
        let map = |number| match number {
            0 => {
                there.wait();
                None
            }
            _ => Some(there.call(look)),
        };
        brigade::map_reduce(0..2, 1, map, Option::or).unwrap().unwrap()
    });
    add("a job of a scope", &|there| {
        let mut seen = None;
        brigade::scope(|s| {
            s.execute(|| seen = Some(there.call(look)));
            there.wait();
        });
        seen.unwrap()
    });
    add("a job of a scope that a job of it has added", &|there| {
        let seen = Mutex::new(None);
        let tell = || *seen.lock().unwrap() = Some(there.call(look));
        brigade::scope(|s| {
            s.execute_with(|s| s.execute(tell));
            there.wait();
        });
        seen.into_inner().unwrap().unwrap()
    });
    add("a scoped handle", &|there| {
        brigade::scope(|s| {
            let job = s.submit(|| there.call(look));
            there.wait();
            job.join().unwrap()
        })
    });
    add("a future of a scope", &|there| {
        brigade::scope(|s| {
            let job = s.spawn(async { there.call(look) });
            there.wait();
            job.join().unwrap()
        })
    });
    add("a call on another pool", &|_| other.install(look).unwrap());
    add("a job of a scope of another pool", &|there| {
        let mut seen = None;
        other.in_place_scope(|s| s.execute(|| seen = Some(there.call(look)))).unwrap();
        seen.unwrap()
    });
    seen
}

#[test(class in [Priority::Normal, Priority::High])]
fn a_stolen_part_knows_its_waiting_job(class: Priority) {
    let pool = Pool::builder().threads(2).spare_threads(0).build().unwrap();
    let other = Pool::new(1);
    let (begun, handle) = (Gate::closed(), other.handle());
    let begins = begun.clone();
    let job = move || {
        let before = parts(handle);
        begun.open();
        while !cancelled() {
            thread::yield_now();
        }
        (before, parts(handle))
    };
    let job = pool.job().name("search").priority(class).submit(job).unwrap();
    begins.wait();
    assert!(!job.cancel(), "it runs");
    let (before, after) = job.join().unwrap();
    for (is_cancelled, (kind, known)) in
        before.into_iter().map(|one| (false, one)).chain(after.into_iter().map(|one| (true, one)))
    {
        let is_elsewhere = kind.ends_with("another pool");
        let class = if is_elsewhere { Priority::Normal } else { class };
        assert_eq!(known, (is_cancelled, Some("search".into()), class), "{kind}");
    }
}

#[test]
fn a_job_inside_anothers_wait_knows_nothing_of_it() {
    let pool = Pool::builder().threads(2).waits_run_anything().build().unwrap();
    let (handle, begun) = (pool.handle(), Gate::closed());
    let begins = begun.clone();
    let job = move || {
        begun.open();
        while !cancelled() {
            thread::yield_now();
        }
        let (taken, seen) = (Elsewhere::default(), Arc::new(Mutex::new(None)));
        // The second half ends once a job has run that only this thread can run, inside its wait.
        let second = || {
            taken.call(|| ());
            let (ran, tells) = (Gate::closed(), seen.clone());
            let opens = ran.clone();
            let normal = handle.job().priority(Priority::Normal);
            let tell = move || {
                *tells.lock().unwrap() = Some(look());
                opens.open();
            };
            normal.execute(tell).unwrap();
            ran.wait();
        };
        brigade::join(|| taken.wait(), second);
        let seen = seen.lock().unwrap().take();
        (seen, look())
    };
    let outer = pool.job().name("outer").priority(Priority::High);
    let outer = outer.submit(job).unwrap();
    begins.wait();
    assert!(!outer.cancel(), "it runs");
    let (inner, after) = outer.join().unwrap();
    assert_eq!(inner, Some((false, None, Priority::Normal)));
    assert_eq!(after, (true, Some("outer".into()), Priority::High));
}
