//! The default pool when the program chooses it. One test: the choice can be made once.

#![forbid(unsafe_code)]

use std::thread;

use brigade::{Handle, Pool};

fn named(name: &'static str, threads: usize) -> Pool {
    Pool::builder().threads(threads).name(move |_| name.to_owned()).build().unwrap()
}

fn thread_name() -> String {
    thread::current().name().unwrap_or_default().to_owned()
}

#[test]
fn the_first_pool_set_is_the_default_pool() {
    assert!(brigade::set_default_pool(named("chosen", 3)).is_ok());
    // The rejected pool is returned unchanged, and works.
    let refused = brigade::set_default_pool(named("too late", 2)).expect_err("there is one");
    assert_eq!(*refused.size().end(), 2);
    assert_eq!(refused.submit(thread_name).join().unwrap(), "too late");

    assert_eq!(brigade::default_pool().size(), 3..=3);
    assert_eq!(brigade::submit(thread_name).join().unwrap(), "chosen");
    let (told, tells) = std::sync::mpsc::channel();
    assert!(brigade::try_execute(move || told.send(Handle::current()).unwrap()).is_ok());
    assert_eq!(tells.recv().unwrap(), Some(brigade::default_pool().handle()));

    // On a worker of another pool that pool comes first.
    let nested = refused.submit(|| brigade::submit(thread_name).join().unwrap());
    assert_eq!(nested.join().unwrap(), "too late");
    drop(refused);
    assert_eq!(brigade::submit(thread_name).join().unwrap(), "chosen");
}
