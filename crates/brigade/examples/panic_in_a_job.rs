//! A job that panics: the panic is its outcome, and the pool continues. A scope resumes the panic of its job once it has ended.
//!
//! With `panic = "abort"` the process ends at the panic; `ci/portable.sh` checks that.
//!
//! ```sh
//! cargo run --example panic_in_a_job
//! cargo run --example panic_in_a_job scope
//! ```

use std::env;
use std::panic::{self, AssertUnwindSafe};

use brigade::{JoinError, Pool};

fn main() -> Result<(), JoinError> {
    let pool = Pool::new(2);
    let contained = match env::args().nth(1).as_deref() {
        Some("scope") => in_a_scope(&pool),
        _ => pool
            .submit(|| panic!("this is what the job says"))
            .join()
            .is_err_and(|error| error.is_panic()),
    };
    pool.submit(|| ()).join()?;
    println!("contained: {contained}");
    Ok(())
}

/// Whether a scope ends with the panic of its job, after the other one.
fn in_a_scope(pool: &Pool) -> bool {
    let mut words = ["borrow", "to"];
    let scope = AssertUnwindSafe(|| {
        _ = pool.scope(|s| {
            s.execute(|| panic!("this is what the job says"));
            s.execute(|| words.reverse());
        });
    });
    panic::catch_unwind(scope).is_err() && words == ["to", "borrow"]
}
