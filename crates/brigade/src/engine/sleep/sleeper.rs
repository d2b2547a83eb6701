//! Where a worker sleeps, and how other threads wake it: a parker, or the driver. A thread that waits inside a job may also sleep as a
//! parked worker.

use brigade_sync::affinity::{CpuSet, ThreadRef, current_cpu};
use brigade_sync::atomic::{AtomicBool, Ordering, fence};
use brigade_sync::unmodelled::AtomicUsize;
use brigade_sync::{Mutex, Parker};

use super::events::driver::Driving;

/// Where a worker sleeps.
pub(in crate::engine) struct Sleeper {
    pub(in crate::engine) spot: ParkSpot,
    placed: Mutex<Placed>,
    /// The CPU of the waking thread plus 1, if this thread runs on after the wake-up; else 0.
    waker: AtomicUsize,
}

/// Where the worker's thread may run.
#[derive(Default)]
struct Placed {
    /// The thread, while it runs the worker.
    thread: Option<ThreadRef>,
    /// The CPUs allowed until the thread runs, and the CPUs allowed before.
    narrowed: Option<(CpuSet, CpuSet)>,
}

impl Sleeper {
    pub(in crate::engine) fn new() -> Self {
        Self { spot: ParkSpot::new(), placed: Mutex::default(), waker: AtomicUsize::new(0) }
    }

    /// Notes whether the calling thread runs the worker from now on: the kernel may soon reuse the id of a former thread.
    pub(in crate::engine) fn set_thread(&self, runs: bool) {
        self.placed.lock().thread = runs.then(ThreadRef::current);
    }

    /// Sets the token for the worker, wherever it sleeps.
    pub(in crate::engine) fn unpark(&self, driver: &Driving) {
        if Driving::CAN_BE_MADE {
            self.spot.unpark(|| driver.notify());
        } else {
            self.spot.parker.unpark();
        }
    }

    /// Notes the CPU of a thread that wakes the worker and runs on, during the wake-up. Two such threads at once may
    /// hide each other.
    pub(in crate::engine) fn set_waker(&self, cpu: Option<usize>) {
        self.waker.store(if let Some(cpu) = cpu { cpu + 1 } else { 0 }, Ordering::Relaxed);
    }

    /// Whether the calling worker runs in place of the thread waking it.
    pub(in crate::engine) fn displaces_waker(&self) -> bool {
        let waker = self.waker.load(Ordering::Relaxed);
        waker > 0 && current_cpu() == Some(waker - 1)
    }

    /// Moves the worker's thread away from the caller's CPU, if the thread has been woken and still waits for a CPU.
    /// `docs/design/placement.md` has the reason.
    pub(in crate::engine) fn keep_off_this_cpu(&self) {
        let mut placed = self.placed.lock();
        // Under the lock: the worker takes the token, then locks in `runs`.
        let waits = placed.narrowed.is_none() && self.spot.parker.has_token();
        match placed.thread {
            Some(thread) if waits => placed.narrowed = keep_off_this_cpu(thread),
            _ => {}
        }
    }

    /// Restores the CPUs of the worker's thread. Only the worker calls this, before it runs a job.
    #[inline(never)]
    pub(in crate::engine) fn runs(&self) {
        if let Some((narrow, all)) = self.placed.lock().narrowed.take() {
            widen(&narrow, &all);
        }
    }
}

/// Moves the calling thread off this CPU.
#[cold]
pub(in crate::engine) fn leave_this_cpu() {
    if let Some((narrow, all)) = keep_off_this_cpu(ThreadRef::caller()) {
        widen(&narrow, &all);
    }
}

/// Keeps a thread off the CPU of the calling thread. Returns the allowed CPUs of the thread, and its former ones.
fn keep_off_this_cpu(thread: ThreadRef) -> Option<(CpuSet, CpuSet)> {
    let (all, here) = (thread.affinity()?, current_cpu()?);
    let narrow = all.without(here);
    let moves = all.contains(here) && !narrow.is_empty() && thread.set_affinity(&narrow);
    if moves { Some((narrow, all)) } else { None }
}

/// Restores the CPUs of the calling thread, unless they were changed in the meantime.
#[cold]
fn widen(narrow: &CpuSet, all: &CpuSet) {
    let me = ThreadRef::caller();
    if me.affinity().as_ref() != Some(narrow) {
        return;
    }
    // The kernel intersects the last mask set here with each later CPU set of the process. So an unrestricted thread
    // must also get CPUs that do not exist yet, or do not belong to the process.
    me.set_affinity(&all.every());
    if me.affinity().as_ref() != Some(all) {
        me.set_affinity(all);
    }
}

/// A parker, and whether the thread sleeps elsewhere instead.
pub(in crate::engine) struct ParkSpot {
    pub(in crate::engine) parker: Parker,
    /// Whether the thread sleeps, or is about to sleep, elsewhere.
    elsewhere: AtomicBool,
}

/// There was a token, which has been taken.
pub(in crate::engine) struct Token;

impl ParkSpot {
    pub(in crate::engine) fn new() -> Self {
        Self { parker: Parker::new(), elsewhere: AtomicBool::new(false) }
    }

    /// Sets the token, and calls `notify` if the thread sleeps elsewhere.
    pub(in crate::engine) fn unpark(&self, notify: impl FnOnce()) {
        self.parker.unpark();
        // Ordering: token, fence, look at `elsewhere`; `sleep_elsewhere` sets `elsewhere`, fences, and looks for a
        // token.
        fence(Ordering::SeqCst);
        if self.elsewhere.load(Ordering::Relaxed) {
            notify();
        }
    }

    /// Calls `sleep`, which sleeps elsewhere, unless there is a token, which is then taken. Only the thread itself
    /// calls this.
    pub(in crate::engine) fn sleep_elsewhere<R>(
        &self,
        sleep: impl FnOnce() -> R,
    ) -> Result<R, Token> {
        let slept = if self.leaves() { Ok(sleep()) } else { Err(Token) };
        self.elsewhere.store(false, Ordering::Relaxed);
        slept
    }

    /// The thread is about to sleep elsewhere; `false` if there was a token, which has been taken.
    fn leaves(&self) -> bool {
        self.elsewhere.store(true, Ordering::Relaxed);
        // Ordering: see `unpark`.
        fence(Ordering::SeqCst);
        !self.parker.try_take()
    }
}

#[cfg(all(test, brigade_loom))]
mod loom_tests {
    use std::sync::Arc;

    use brigade_sync::model::{check, turn};
    use loom::thread;

    use super::*;

    /// Compiles only if the facade really is loom's.
    const _: fn(brigade_sync::atomic::AtomicUsize) -> loom::sync::atomic::AtomicUsize = |a| a;

    /// A second parker stands for the driver.
    ///
    /// Caught: no fence in `unpark`; none in `sleep_elsewhere`.
    #[test]
    fn a_token_wakes_any_sleeping_thread() {
        check(3, || {
            let (spot, driver) = (Arc::new(ParkSpot::new()), Arc::new(Parker::new()));
            let thread = {
                let (spot, driver) = (spot.clone(), driver.clone());
                thread::spawn(move || {
                    turn();
                    let slept = spot.sleep_elsewhere(|| driver.park(None));
                    assert!(slept.is_err() || spot.parker.try_take(), "it was woken for a token");
                })
            };
            turn();
            spot.unpark(|| _ = driver.unpark());
            thread.join().unwrap();
        });
    }
}

#[cfg(all(test, target_os = "linux", not(brigade_loom)))]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::{fs, thread};

    use super::*;

    fn allowed() -> CpuSet {
        ThreadRef::caller().affinity().unwrap()
    }

    /// Calls a closure while a thread is about to run a worker; returns the thread's CPUs once it runs.
    fn before_it_runs(call: impl FnOnce(&Sleeper, ThreadRef)) -> CpuSet {
        let sleeper = Arc::new(Sleeper::new());
        let ((ready, is_ready), (go, may_go)) = (mpsc::channel(), mpsc::channel());
        let thread = {
            let sleeper = sleeper.clone();
            thread::spawn(move || {
                sleeper.set_thread(true);
                ready.send(ThreadRef::current()).unwrap();
                may_go.recv().unwrap();
                sleeper.spot.parker.try_take();
                sleeper.runs();
                allowed()
            })
        };
        call(&sleeper, is_ready.recv().unwrap());
        go.send(()).unwrap();
        thread.join().unwrap()
    }

    #[test]
    fn a_woken_thread_is_moved_until_it_runs() {
        let all = allowed();
        let ran = before_it_runs(|sleeper, thread| {
            sleeper.keep_off_this_cpu();
            assert_eq!(thread.affinity(), Some(all), "it was not woken");
            sleeper.spot.parker.unpark();
            sleeper.keep_off_this_cpu();
            let left = if all.len() > 1 { all.len() - 1 } else { 1 };
            assert_eq!(thread.affinity().unwrap().len(), left);
        });
        assert_eq!(ran, all);
    }

    #[test]
    fn cpus_set_by_another_thread_are_kept() {
        let all = allowed();
        let only = all.none().with(all.cpus().next().unwrap());
        let ran = before_it_runs(|sleeper, thread| {
            sleeper.spot.parker.unpark();
            // On a machine with two CPUs, moves the thread to the second.
            assert!(ThreadRef::caller().set_affinity(&only));
            sleeper.keep_off_this_cpu();
            assert!(thread.set_affinity(&only) && ThreadRef::caller().set_affinity(&all));
        });
        assert_eq!(ran, only);
    }

    /// A CPU set for a single thread, removed on drop.
    struct OwnSet(std::path::PathBuf);

    impl OwnSet {
        /// Moves the calling thread to a set with a single CPU, if the system lets it.
        fn enter(cpu: usize) -> std::io::Result<Self> {
            let root = std::path::Path::new("/sys/fs/cgroup/cpuset");
            let set = Self(root.join(format!("brigade-{}", std::process::id())));
            fs::create_dir(&set.0)?;
            set.write("cpuset.mems", "0")?;
            set.write("cpuset.cpus", &cpu.to_string())?;
            set.write("tasks", "0")?;
            Ok(set)
        }

        fn write(&self, file: &str, text: &str) -> std::io::Result<()> {
            fs::write(self.0.join(file), text)
        }
    }

    impl Drop for OwnSet {
        fn drop(&mut self) {
            let _ = fs::write(self.0.with_file_name("tasks"), "0");
            let _ = fs::remove_dir(&self.0);
        }
    }

    #[test]
    fn a_moved_thread_runs_on_later_cpus_of_its_process() {
        let cpus: Vec<_> = allowed().cpus().collect();
        let set = match OwnSet::enter(cpus[0]) {
            Ok(set) if cpus.len() > 1 => set,
            result => return eprintln!("skipped: no set of CPUs of its own: {:?}", result.err()),
        };
        let before = allowed();
        assert_eq!(before.len(), 1);
        assert!(ThreadRef::caller().set_affinity(&before), "as for a wake");
        widen(&before, &before);
        set.write("cpuset.cpus", &format!("{},{}", cpus[0], cpus[1])).unwrap();
        assert_eq!(allowed().len(), 2);
    }
}
