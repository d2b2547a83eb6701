//! A job that panics. Built with `panic = "abort"` the process ends there, and `ci/panic-abort.sh` sees to it that it does.

fn main() {
    let pool = brigade::Pool::new(2);
    let job = pool.submit(|| panic!("this is what the job says"));
    let contained = job.join().is_err();
    pool.submit(|| ()).join().expect("the pool goes on");
    println!("contained: {contained}");
}
