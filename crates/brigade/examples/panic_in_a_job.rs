//! A job that panics. The panic is its outcome, and the pool goes on.
//!
//! Built with `panic = "abort"` the process ends there, and `ci/panic-abort.sh` sees to it that it does.
//!
//! ```sh
//! cargo run --example panic_in_a_job
//! ```

fn main() -> Result<(), brigade::JoinError> {
    let pool = brigade::Pool::new(2);
    let job = pool.submit(|| panic!("this is what the job says"));
    let contained = job.join().is_err_and(|error| error.is_panic());
    pool.submit(|| ()).join()?;
    println!("contained: {contained}");
    Ok(())
}
