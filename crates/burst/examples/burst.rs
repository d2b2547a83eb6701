//! Measures the latency of bursts of one value for each receiver, with a pause of 10 ms before each.
//!
//! `cargo run --release -p brigade-burst --example burst -- 3` prints the time from handing over to receiving, for 3
//! receivers (the default).

#![cfg(not(brigade_loom))]

use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const BURSTS: usize = 200;
const PAUSE: Duration = Duration::from_millis(10);

fn main() {
    let receivers = std::env::args().nth(1).map_or(Ok(3), |count| count.parse());
    let Ok(count @ 1..=1000) = receivers else {
        eprintln!("usage: burst [receivers], a number from 1 to 1000");
        std::process::exit(2);
    };
    let (sender, first) = brigade_burst::channel();
    let others: Vec<_> = (1..count).map(|_| sender.new_receiver()).collect();
    let (report, latencies) = mpsc::channel();
    let workers: Vec<_> = others
        .into_iter()
        .chain([first])
        .map(|mut receiver| {
            let report = report.clone();
            // Each value is the time at which it was handed over.
            thread::spawn(move || {
                receiver.iter().for_each(|sent: Instant| _ = report.send(sent.elapsed()));
            })
        })
        .collect();

    let (mut received, mut returned) = (Vec::new(), 0);
    for _ in 0..BURSTS {
        thread::sleep(PAUSE);
        let handed_over = count - sender.burst((0..count).map(|_| Instant::now())).count();
        returned += count - handed_over;
        received.extend(latencies.iter().take(handed_over));
    }
    drop(sender);
    workers.into_iter().for_each(|worker| worker.join().unwrap());

    received.sort_unstable();
    let at = |percent: usize| received[(received.len() - 1) * percent / 100];
    println!("{BURSTS} bursts to {count} receivers, {returned} values were returned");
    println!("received after: median {:?}, 10 % {:?}, 90 % {:?}", at(50), at(10), at(90));
}
