//! The programs of burst-pool's documentation, as users write them: with sleeps.

use burst_pool::*;

fn sleep_ms(x: u64) {
    std::thread::sleep(std::time::Duration::from_millis(x));
}

/// The front page's of version 0.5.1.
#[test]
fn values_are_enqueued_and_woken_for() {
    // Create a handle for sending strings
    let mut sender: Sender<String> = Sender::new();

    // Create a handle for receiving strings, and pass it off to a worker thread.
    // Repeat this step as necessary.
    let mut receiver: Receiver<String> = sender.mk_receiver();
    let th = std::thread::spawn(move || {
        loop {
            let x = receiver.recv().unwrap();
            println!("{}", x);
        }
    });

    // Give the worker thread some time to spawn
    sleep_ms(10);

    // Send a string to the worker and unblock it
    sender.enqueue(Box::new(String::from("hello")));
    sender.wake_all();
    sleep_ms(10); // wait for it to process the first string

    // Send another string
    sender.enqueue(Box::new(String::from("world!")));
    sender.wake_all();
    sleep_ms(10);

    // Drop the send handle, signalling the worker to shutdown
    std::mem::drop(sender);
    th.join().unwrap_err(); // RecvError::Orphaned
}

/// The front page's of earlier versions, in which `enqueue` was `send`.
#[test]
fn values_are_sent_and_woken_for() {
    // Create a handle for sending strings
    let mut sender: Sender<String> = Sender::new();

    // Create a handle for receiving strings, and pass it off to a worker thread.
    // Repeat this step as necessary.
    let mut receiver: Receiver<String> = sender.mk_receiver();
    let th = std::thread::spawn(move || {
        loop {
            let x = receiver.recv().unwrap();
            println!("{}", x);
        }
    });

    // Give the worker thread some time to spawn
    sleep_ms(10);

    // Send a string to the worker and unblock it
    sender.send(Box::new(String::from("hello")));
    sender.wake_all();

    // Wait for it to process the first string and send another
    sleep_ms(10);
    sender.send(Box::new(String::from("world!")));
    sender.wake_all();

    // Drop the send handle, signalling the worker to shutdown
    sleep_ms(10);
    std::mem::drop(sender);
    th.join().unwrap_err(); // RecvError::Orphaned
}
