//! The default pool when the program sets none. One test: first use happens once.

#![forbid(unsafe_code)]

use std::sync::Barrier;
use std::thread;

use brigade::Pool;

#[test]
fn first_use_creates_the_default_pool() {
    let together = Barrier::new(8);
    let handles: Vec<_> = thread::scope(|scope| {
        let first_users: Vec<_> = (0..8)
            .map(|n| {
                let together = &together;
                scope.spawn(move || {
                    together.wait();
                    assert_eq!(brigade::submit(move || n).join().unwrap(), n);
                    brigade::default_pool().handle()
                })
            })
            .collect();
        first_users.into_iter().map(|user| user.join().unwrap()).collect()
    });
    assert!(handles.iter().all(|handle| *handle == handles[0]), "one pool for all");
    let offered = thread::available_parallelism().map_or(1, usize::from);
    assert_eq!(brigade::default_pool().size(), offered..=offered);

    let late = brigade::set_default_pool(Pool::new(offered + 1)).expect_err("there is one");
    assert_eq!(*late.size().end(), offered + 1);
    assert_eq!(brigade::default_pool().handle(), handles[0]);
}
