//! The files of the parent's driver in a child.

use std::cell::RefCell;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use brigade::block_on;
use brigade::io::{NoDriver, PipeReader, pipe};
use futures_lite::{AsyncRead, AsyncReadExt, AsyncWriteExt};

use crate::child::{assert_in_child, claim};
use crate::pools::{ready, works_still};

fn poll_read(reader: &mut PipeReader) -> Poll<std::io::Result<usize>> {
    Pin::new(reader).poll_read(&mut Context::from_waker(Waker::noop()), &mut [0])
}

pub(crate) fn a_file_that_a_child_drops_is_still_watched_for_the_parent() {
    let pool = ready(1);
    let (mut reader, mut writer) = pool.handle().enter(pipe).unwrap();
    assert!(poll_read(&mut reader).is_pending());
    let held = RefCell::new(Some(reader));
    assert_in_child(vec![
        claim("a wait there fails", || {
            let outcome = poll_read(held.borrow_mut().as_mut().unwrap());
            matches!(outcome, Poll::Ready(Err(error)) if error.get_ref().is_some_and(|error| error.is::<NoDriver>()))
        }),
        claim("no file can be made for the parent's pool", || pool.handle().enter(pipe).is_err()),
        claim("a drop returns", || held.borrow_mut().take().is_some()),
    ]);
    let mut reader = held.into_inner().unwrap();
    let mut read = pool.spawn(async move {
        let mut byte = [0];
        reader.read_exact(&mut byte).await.map(|()| byte[0])
    });
    // It waits by now, if it can.
    pool.wait_idle();
    block_on(writer.write_all(&[7])).unwrap();
    let byte = read.join_timeout(Duration::from_secs(10)).expect("the parent's event");
    assert_eq!(byte.unwrap().unwrap(), 7);
    assert!(works_still(&pool));
}
