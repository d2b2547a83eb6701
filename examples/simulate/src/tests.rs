//! The model where the answer is known.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use crate::costs::{Costs, FAR};
use crate::machine::{Cpu, Line, Lock, Machine, Thread, time};
use crate::pool::{Pool, Worker};
use crate::workloads::{FanOut, Run, Setting, Stream, Throughput, Wake};

/// A machine on which nothing takes any time.
const FREE: Costs = Costs {
    hit: 0.0,
    atomic: 0.0,
    fence: 0.0,
    transfer: 0.0,
    far: 0.0,
    stream: 0.0,
    job: 0.0,
    inject: 0.0,
    call: 0.0,
    wake: 0.0,
    park: 0.0,
    affinity: 0.0,
    jitter: 0.0,
};

fn setting(costs: Costs, seed: u64) -> Setting {
    Setting { costs, group: usize::MAX, seed }
}

fn throughput(workers: usize, producers: usize, messages: u64, amplification: u32) -> Throughput {
    Throughput { workers, producers, messages, amplification, pre: 0.0, post: 0.0 }
}

/// Whether two numbers are equal but for rounding.
fn same(one: f64, other: f64) -> bool {
    (one / other - 1.0).abs() < 1e-9
}

/// Lets so many CPUs do the same; returns the nanoseconds until the last one has done it.
fn together<F: Future<Output = ()> + 'static>(
    costs: Costs,
    cpus: usize,
    group: usize,
    run: impl Fn(Cpu) -> F,
) -> f64 {
    let (machine, left) = (Machine::new(costs, cpus, group), Rc::new(Cell::new(cpus)));
    let thread = |index| -> Thread {
        let (run, left) = (run(Cpu::new(&machine, index, 1)), left.clone());
        let machine = machine.clone();
        Box::pin(async move {
            run.await;
            left.set(left.get() - 1);
            if left.get() == 0 {
                machine.stop();
            }
        })
    };
    assert!(machine.run((0..cpus).map(thread).collect()), "one of them sleeps");
    machine.now() as f64 / 1e3
}

#[test]
fn a_single_core_pays_for_each_job() {
    let costs = Costs { job: 100.0, ..FREE };
    let run = throughput(1, 1, 1, 999).run(&setting(costs, 1), 2);
    assert!(same(run.time, 1_000.0 * 100e-9), "{run:?}");
}

#[test]
fn a_free_fan_out_takes_work_over_cores() {
    for workers in [1, 2, 4, 32] {
        let one = FanOut { workers, children: 64, work: 1_000.0, shots: 3 };
        let run = one.run(&setting(FREE, 1), workers);
        assert!(same(run.time, 64e-6 / workers as f64), "{workers}: {run:?}");
    }
}

#[test]
fn an_idle_pool_begins_a_job_at_its_wake_up() {
    let costs = Costs { wake: 7_000.0, call: 3_000.0, ..FREE };
    let run = Wake { workers: 4, shots: 5 }.run(&setting(costs, 1), 4);
    assert!(same(run.time, 7e-6) && same(run.submit, 3e-6), "{run:?}");
}

#[test]
fn the_woken_workers_looks_delay_the_job() {
    let costs = Costs { wake: 7_000.0, call: 3_000.0, hit: 100.0, ..FREE };
    let start = |workers: usize| {
        let run = Wake { workers, shots: 5 }.run(&setting(costs.clone(), 1), workers);
        run.time * 1e9
    };
    // Two lines of each queue, and of each of the injectors: 4 and 16.
    let looks = |queues: f64| 2.0 * 100.0 * queues;
    assert!(start(2) >= 7_000.0 + looks(2.0 + 4.0), "{}", start(2));
    assert!(start(64) >= start(2) + looks(64.0 - 2.0 + 16.0 - 4.0), "{}", start(64));
}

#[test]
fn each_submission_gets_a_flag_and_every_second_a_slot() {
    let costs = Costs { wake: 7_000.0, transfer: 50.0, stream: 0.5, ..FREE };
    let machine = Machine::new(costs.clone(), 2, usize::MAX);
    let (pool, times) = (Pool::new(1, 2), Rc::<RefCell<Vec<f64>>>::default());
    let worker = Worker::thread(&pool, Cpu::new(&machine, 0, 1));
    let (cpu, taken) = (Cpu::new(&machine, 1, 1), times.clone());
    let submitter: Thread = Box::pin(async move {
        for _ in 0..6 {
            cpu.spend(1e6).await;
            let time = pool.run(&cpu).await as f64 / 1e3;
            taken.borrow_mut().push(time);
        }
        cpu.machine.stop();
    });
    assert!(machine.run(vec![worker, submitter]));
    let [_, second, plain, rest @ ..] = &times.borrow()[..] else { panic!("six times") };
    assert_eq!(
        [*second, rest[0], rest[1], rest[2]],
        // The flag comes along with the slot, or alone.
        [plain + 25.0, plain + 25.0, *plain, plain + 25.0]
    );
    // The middle of all, and not the last one.
    let submit = Wake { workers: 1, shots: 4 }.run(&setting(costs, 1), 2).submit;
    assert!(same(submit * 1e9, plain + 12.5), "{submit}");
}

#[test]
fn a_line_touched_per_job_bounds_the_rate() {
    let line = Rc::new(Line::default());
    let nanos = together(Costs { transfer: 50.0, ..FREE }, 8, usize::MAX, |cpu| {
        let line = line.clone();
        async move {
            for _ in 0..100 {
                cpu.spend(1.0).await;
                cpu.update(&line).await;
            }
        }
    });
    // The first CPU has it at once.
    assert!((nanos - 800.0 * 50.0).abs() <= 51.0, "{nanos}");
    assert_eq!(line.busy.get(), time(799.0 * 50.0));
}

#[test]
fn reads_are_free_until_another_cpu_writes() {
    let line = Rc::new(Line::default());
    let nanos = together(Costs { transfer: 50.0, ..FREE }, 2, usize::MAX, |cpu| {
        let line = line.clone();
        async move {
            cpu.spend(1_000.0 * cpu.index as f64).await;
            if cpu.index == 0 {
                cpu.write(&line).await;
            }
            for _ in 0..100 {
                cpu.read(&line).await;
            }
        }
    });
    assert!(same(nanos, 1_050.0), "{nanos}");
}

#[test]
fn a_transfer_to_another_group_takes_longer() {
    let costs = Costs { transfer: 50.0, far: 200.0, ..FREE };
    let to_and_fro = |group| {
        let line = Rc::new(Line::default());
        together(costs.clone(), 2, group, |cpu| {
            let line = line.clone();
            async move {
                for turn in 0..10 {
                    cpu.spend(1_000.0 * f64::from(1 + turn % 2)).await;
                    cpu.update(&line).await;
                }
            }
        });
        line.busy.get()
    };
    assert_eq!(to_and_fro(1), 4 * to_and_fro(2));
}

#[test]
fn a_lock_has_a_single_holder() {
    let (lock, inside) = (Rc::new(Lock::default()), Rc::new(Cell::new(false)));
    let nanos = together(FREE, 8, usize::MAX, |cpu| {
        let (lock, inside) = (lock.clone(), inside.clone());
        async move {
            for _ in 0..5 {
                cpu.acquire(&lock).await;
                assert!(!inside.replace(true));
                cpu.spend(10.0).await;
                inside.set(false);
                cpu.release(&lock);
            }
        }
    });
    assert!(same(nanos, 8.0 * 5.0 * 10.0), "{nanos}");
}

/// Runs of every kind, with the jobs that each must run and its workers.
fn runs(setting: &Setting) -> Vec<(Run, u64, usize)> {
    let mut runs = Vec::new();
    for workers in [1, 2, 5] {
        let busy = throughput(workers, 3, 40, 5);
        runs.push((busy.run(setting, workers), busy.jobs(), workers));
        let late = Throughput { post: 300.0, ..throughput(workers, 1, 2, 100) };
        runs.push((late.run(setting, workers), late.jobs(), workers));
        // More than fit into the queue of a worker.
        let wide = FanOut { workers, children: 300, work: 500.0, shots: 2 };
        runs.push((wide.run(setting, workers), 602, workers));
        runs.push((Wake { workers, shots: 5 }.run(setting, workers), 5, workers));
        let single = Stream { workers, submitters: 4, jobs: 20 };
        runs.push((single.run(setting, workers), 80, workers));
    }
    runs
}

#[test]
fn every_job_runs_and_every_park_ends_or_lasts() {
    // Few nanoseconds to sleep and to wake let submissions meet workers at every step.
    let short = Costs { call: 20.0, wake: 30.0, park: 10.0, ..Costs::RECORDED };
    for (costs, seed) in [(Costs::RECORDED, 1), (short.clone(), 2), (short, 3), (FREE, 4)] {
        for group in [2, usize::MAX] {
            let setting = Setting { group, ..setting(costs.clone(), seed) };
            for (Run { counts, parked, .. }, jobs, workers) in runs(&setting) {
                assert_eq!(counts.ran, jobs, "{setting:?} {counts:?}");
                // All sleep in the beginning.
                let parks = workers as u64 + counts.parks;
                assert_eq!(parks, counts.withdrawn + counts.wakes + parked as u64, "{counts:?}");
            }
        }
    }
}

#[test]
fn a_seed_is_a_run() {
    let runs = |seed| runs(&setting(Costs::RECORDED, seed));
    assert_eq!(runs(1), runs(1));
    assert_ne!(runs(1), runs(2));
}

#[test]
fn a_cost_is_changed_by_its_name() {
    let costs = FREE.with(&[("transfer".to_owned(), 90.0)]).expect("a cost");
    assert_eq!(costs, Costs { transfer: 90.0, far: 90.0 * FAR, ..FREE });
    let changes = [("far", 7.0), ("transfer", 90.0)].map(|(name, cost)| (name.to_owned(), cost));
    assert_eq!(FREE.with(&changes).expect("costs"), Costs { transfer: 90.0, far: 7.0, ..FREE });
    assert!(FREE.with(&[("transfr".to_owned(), 90.0)]).is_err());
}
