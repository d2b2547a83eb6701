//! Names are looked up as blocking code of the pool.

use std::future::Future;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::time::Duration;

use brigade::Pool;
use brigade::io::TcpStream;
use brigade_testkit::test;

/// The look-up is over when the first poll returns, and the task goes on to block the only thread. So the job is run by
/// another thread, and that is there because of the look-up.
#[test]
fn a_name_lookup_leaves_a_thread_for_jobs() {
    let pool = Pool::new(1);
    let handle = pool.handle();
    let (ran, runs) = mpsc::channel();
    let outcome = pool.spawn(async move {
        handle.execute(move || ran.send(()).unwrap());
        {
            let connect = pin!(TcpStream::connect("localhost:1"));
            let _ = connect.poll(&mut Context::from_waker(Waker::noop()));
        }
        // Long enough for a thread to start on a busy machine; it is over when the job has run.
        runs.recv_timeout(Duration::from_secs(20))
    });
    assert_eq!(outcome.join().unwrap(), Ok(()), "no other thread ran the job");
}
