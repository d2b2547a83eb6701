//! Jobs that call Python, and a fork: an extension of pyo3 on the default pool.
//!
//! No test harness here: it starts and ends threads, and a child forked at such a moment [can start none](brigade::Pool#forks).

#[cfg(not(unix))]
fn main() {}

#[cfg(unix)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    program::run()
}

#[cfg(unix)]
mod program {
    use std::error::Error;
    use std::ffi::CStr;
    use std::process;
    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use brigade::{Pool, default_pool};
    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    /// A deadlock must fail.
    const LIMIT: Duration = Duration::from_secs(60);

    /// The extension.
    #[pymodule]
    mod extension {
        use brigade::{Pool, blocking, set_default_pool, submit};
        use pyo3::exceptions::PyRuntimeError;
        use pyo3::prelude::*;

        /// Calls a Python function in a job. The wait releases the GIL, which the job takes.
        #[pyfunction]
        fn call(py: Python<'_>, function: Py<PyAny>) -> PyResult<Py<PyAny>> {
            let job = submit(move || blocking(|| Python::attach(|py| function.call0(py))));
            let outcome = py.detach(|| job.join());
            outcome.map_err(|error| PyRuntimeError::new_err(error.to_string()))?
        }

        /// Configures the default pool of this process, which has not used it yet.
        #[pyfunction]
        fn configure(threads: usize) -> PyResult<()> {
            let pool =
                Pool::builder().threads(threads).prestart(threads).spare_threads(0).build()?;
            let set = set_default_pool(pool);
            set.map_err(|_| PyRuntimeError::new_err("it has a default pool"))
        }

        /// The number of threads of the default pool.
        #[pyfunction]
        fn threads() -> usize {
            *brigade::default_pool().size().end()
        }
    }

    /// The child kills itself if it hangs.
    const FORK: &CStr = c"
import os, signal

def forked(expected):
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.alarm(30)
            if extension.call(lambda: 42) == 42 and expected in (None, extension.threads()):
                code = 0
        finally:
            os._exit(code)
    return os.waitpid(pid, 0)[1]

assert forked(None) == 0
os.register_at_fork(after_in_child=lambda: extension.configure(3))
assert forked(3) == 0
assert extension.threads() == 2
assert extension.call(lambda: 42) == 42
";

    pub(super) fn run() -> Result<(), Box<dyn Error>> {
        let (over, ends) = mpsc::channel::<()>();
        let (started, starts) = mpsc::channel();
        thread::spawn(move || {
            started.send(()).ok();
            if ends.recv_timeout(LIMIT) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("it has not ended in {LIMIT:?}");
                process::exit(1);
            }
        });
        starts.recv()?;

        Python::attach(|py| {
            let globals = PyDict::new(py);
            globals.set_item("extension", pyo3::wrap_pymodule!(extension)(py))?;
            py.run(
                c"extension.configure(2)\nassert extension.call(lambda: 42) == 42",
                Some(&globals),
                None,
            )?;
            // All threads have started.
            while default_pool().metrics().idle_threads < 2 {
                thread::yield_now();
            }
            py.run(FORK, Some(&globals), None)
        })?;
        println!("a child of a fork has a default pool of its own");

        // This thread has the GIL, so the first job waits for it, and the only worker needs a thread in its place.
        let pool = Pool::new(1);
        let (first, second) = Python::attach(|_| {
            let first = pool.submit(|| brigade::blocking(|| Python::attach(|_| 1)));
            (first, pool.submit(|| 2).join())
        });
        assert_eq!((first.join()?, second?), (1, 2));
        println!("a job that waits for the GIL delays no other");
        drop(over);
        Ok(())
    }
}
