//! The example on the page of st3 0.4.1, and the same for the other order: nothing but the dependency is another.
#![forbid(unsafe_code)]

macro_rules! page {
    ($($order:ident)*) => {$(
        #[test]
        fn $order() {
            use st3::$order::Worker;
            use std::thread;

            // Push 4 items into a queue of capacity 256.
            let worker = Worker::new(256);
            worker.push("a").unwrap();
            worker.push("b").unwrap();
            worker.push("c").unwrap();
            worker.push("d").unwrap();

            // Steal items concurrently.
            let stealer = worker.stealer();
            let th = thread::spawn(move || {
                let other_worker = Worker::new(256);

                // Try to steal half the items and return the actual count of stolen items.
                match stealer.steal(&other_worker, |n| n / 2) {
                    Ok(actual) => actual,
                    Err(_) => 0,
                }
            });

            // Pop items concurrently.
            let mut pop_count = 0;
            while worker.pop().is_some() {
                pop_count += 1;
            }

            // Does it add up?
            let steal_count = th.join().unwrap();
            assert_eq!(pop_count + steal_count, 4);
        }
    )*};
}

page!(lifo fifo);
