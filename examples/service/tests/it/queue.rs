//! Several processes, and a NATS server between them.

use std::collections::HashMap;
use std::env;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use async_compat::CompatExt;
use async_nats::jetstream::consumer::pull::Config;
use async_nats::jetstream::{self, Context};
use brigade::TaskSet;
use bytes::Bytes;
use futures_lite::StreamExt;
use hyper::Method;
use thumbnails::client::Client;

use crate::support::{Nats, POOL, Service, eventually, noise, quick, slow};

/// A number from the environment, else the default.
fn number(name: &str, default: usize) -> usize {
    env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

fn start(nats: &Nats, settings: &[&str]) -> Service {
    let queue = ["--queue", &nats.url()];
    Service::try_start(&[queue.as_slice(), settings].concat()).unwrap()
}

/// What the server has, seen by nobody's client but this one.
fn context(nats: &Nats) -> Context {
    let connect = async { async_nats::connect(nats.url()).await.map(jetstream::new) };
    POOL.block_on(connect.compat()).unwrap()
}

/// How many messages a stream has, and how many it ever had.
fn messages(context: &Context, stream: &str) -> (u64, u64) {
    let state = POOL.block_on(
        async { context.get_stream(stream).await.unwrap().info().await.unwrap().state.clone() }
            .compat(),
    );
    (state.messages, state.last_sequence)
}

/// Posts all jobs to a process, over several connections; each again until it is accepted.
fn feed(server: &Service, jobs: usize) {
    const CONNECTIONS: usize = 16;
    let address = server.address;
    let mut feeders = TaskSet::new(&*POOL);
    for first in 0..CONNECTIONS {
        feeders.spawn(async move {
            let mut client = Client::connect(address).await.unwrap();
            for job in (first..jobs).step_by(CONNECTIONS) {
                let (key, file) = (format!("job-{job}"), Bytes::from(quick(job as u32)));
                loop {
                    let path = "/jobs?side=8";
                    let answer = client.ask(Method::POST, path, Some(&key), file.clone()).await;
                    match answer.unwrap().status().as_u16() {
                        200 | 202 => break,
                        429 | 503 => brigade::sleep(Duration::from_millis(20)).await,
                        status => panic!("status {status}"),
                    }
                }
            }
        });
    }
    assert!(feeders.outcomes().all(|outcome| outcome.is_ok()));
}

/// `SERVICE_MESSAGES` jobs, and `SERVICE_KILLS` times SIGKILL for one of two processes, which another one replaces.
#[test]
#[ignore = "needs nats-server"]
fn a_killed_process_loses_and_doubles_no_job() {
    let (jobs, kills) = (number("SERVICE_MESSAGES", 5_000), number("SERVICE_KILLS", 3));
    let nats = Nats::start();
    let context = context(&nats);
    let settings = ["--ack-wait-ms", "1000", "--threads", "1", "--max-attempts", "100"];
    // This one also takes requests, so it is not killed.
    let front = start(&nats, &settings);
    let mut workers = [start(&nats, &settings), start(&nats, &settings)];

    let begun = Instant::now();
    let results = || messages(&context, "KV_thumbnails-results");
    thread::scope(|scope| {
        let feeding = scope.spawn(|| feed(&front, jobs));
        for kill in 1..=kills {
            // At a moment that differs in each run, and spread over all jobs.
            let at = (jobs * kill / (kills + 1)) as u64 + fastrand::u64(..50);
            eventually("enough results", || results().0 >= at.min(jobs as u64 - 1));
            thread::sleep(Duration::from_micros(fastrand::u64(..20_000)));
            workers[kill % 2].signal("KILL");
            workers[kill % 2] = start(&nats, &settings);
        }
        feeding.join().unwrap();
    });
    eventually("each job is acknowledged", || messages(&context, "thumbnails-jobs").0 == 0);
    let took = begun.elapsed();

    // The ledger: a result of each job, one, and the right one.
    assert_eq!(results(), (jobs as u64, jobs as u64), "as many results as jobs were ever stored");
    let bucket = POOL.block_on(context.get_key_value("thumbnails-results").compat()).unwrap();
    let ledger: HashMap<String, Bytes> = POOL.block_on(
        async {
            let mut entries = bucket.watch_all_from_revision(1).await.unwrap();
            let mut ledger = HashMap::new();
            while ledger.len() < jobs {
                let entry = entries.next().await.unwrap().unwrap();
                ledger.insert(entry.key, entry.value);
            }
            ledger
        }
        .compat(),
    );
    for job in 0..jobs {
        let result = &ledger[&format!("job-{job}")];
        let result: serde_json::Value = serde_json::from_slice(result).unwrap();
        let made = thumbnails::work::thumbnail(&quick(job as u32), 8).unwrap();
        assert_eq!((&result["state"], &result["sha256"]), (&"done".into(), &made.sha256.into()));
    }
    assert_eq!(messages(&context, "thumbnails-dead").0, 0);
    println!("{jobs} jobs and {kills} kills in {took:.1?}: each has one result");
}

#[test]
#[ignore = "needs nats-server"]
fn a_job_killing_its_process_becomes_a_dead_letter() {
    let nats = Nats::start();
    let settings = ["--ack-wait-ms", "500", "--max-attempts", "3"];
    let mut killed = start(&nats, &settings);
    killed.post("", "poison", slow());
    killed.wait_for("poison", "running");
    // Jobs that die with it, or wait beside it, and are not to blame.
    let neighbours = ["n1", "n2", "n3"];
    for id in neighbours {
        killed.post("", id, slow());
    }
    killed.wait_for("n1", "running");
    for _ in 0..3 {
        killed.wait_for("poison", "running");
        killed.signal("KILL");
        killed = start(&nats, &settings);
    }
    neighbours.iter().for_each(|id| killed.wait_for(id, "done"));
    killed.wait_for("poison", "failed");
    let error = killed.get("/jobs/poison").body()["error"].to_string();
    assert!(error.contains("begun 3 times"), "{error}");
    let context = context(&nats);
    eventually("it is a dead letter", || messages(&context, "thumbnails-dead").0 == 1);
    assert_eq!(messages(&context, "thumbnails-jobs").0, 0);
    assert_eq!(killed.post("wait_ms=60000", "next", &quick(1)).body()["state"], "done");
}

#[test]
#[ignore = "needs nats-server"]
fn a_server_gone_for_a_while_costs_no_job() {
    let mut nats = Nats::start();
    let service = start(&nats, &["--threads", "1", "--ack-wait-ms", "2000"]);
    service.post("", "before", slow());
    service.wait_for("before", "running");
    nats.kill();
    let answer = service.post("", "meanwhile", &quick(1));
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["retry-after"]),
        (503, &"1".parse().unwrap())
    );
    eventually("the service says so", || service.get("/healthz").status().as_u16() == 503);
    eventually("its result waits", || service.log().contains("can't store a result"));
    nats.start_again();
    service.wait_for("before", "done");
    eventually("it is well", || service.get("/healthz").status().as_u16() == 200);
    eventually("it accepts", || service.post("", "after", &quick(2)).status().as_u16() < 300);
    service.wait_for("after", "done");
}

#[test]
#[ignore = "needs nats-server"]
fn a_full_queue_refuses_and_a_large_image_is_final() {
    let nats = Nats::start();
    let service = start(&nats, &["--queue-capacity", "3", "--threads", "1"]);
    let post = |n| service.post("", &format!("n{n}"), slow()).status().as_u16();
    assert_eq!([0, 1, 2, 3].map(post), [202, 202, 202, 429]);
    // It takes two for its thread, so the third one is with the server.
    let context = context(&nats);
    let mut workers = POOL.block_on(
        async {
            context.get_stream("thumbnails-jobs").await?.get_consumer::<Config>("workers").await
        }
        .compat(),
    );
    let workers = workers.as_mut().unwrap();
    assert_eq!(POOL.block_on(workers.info().compat()).unwrap().num_pending, 1);
    assert_eq!(service.state("n2"), "queued");
    let answer = service.post("", "large", &vec![7; 2 << 20]);
    assert_eq!(answer.status().as_u16(), 413, "{answer:?}");
    for id in ["n0", "n1", "n2"] {
        service.wait_for(id, "done");
    }
}

#[test]
#[ignore = "needs nats-server"]
fn a_thumbnail_too_large_for_the_server_is_a_result() {
    let nats = Nats::start();
    let service = start(&nats, &[]);
    let answer = service.post("side=520&wait_ms=60000", "large", &noise(520));
    assert_eq!(answer.body()["state"], "failed", "{answer:?}");
    assert!(answer.body()["error"].as_str().unwrap().contains("too large for the store"));
    assert_eq!(service.post("wait_ms=60000", "next", &quick(1)).body()["state"], "done");
}

#[test]
#[ignore = "needs nats-server"]
fn a_cancelled_job_goes_to_no_other_process() {
    let nats = Nats::start();
    let mut first = start(&nats, &["--ack-wait-ms", "500"]);
    first.post("", "one", slow());
    first.wait_for("one", "running");
    let mut cancels = TcpStream::connect(first.address).unwrap();
    cancels.write_all(b"DELETE /jobs/one HTTP/1.1\r\n").unwrap();
    // A later connection has been accepted, so that one has, too.
    assert_eq!(first.get("/healthz").status().as_u16(), 200);
    first.signal("TERM");
    eventually("it ends", || first.log().contains("ending"));
    cancels.write_all(b"host: service\r\n\r\n").unwrap();
    let mut answer = String::new();
    cancels.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 202"), "{answer}");
    let (status, report) = first.wait();
    assert!(status.success() && report.contains(r#"{"cancelled": 1}"#), "{report}");
    start(&nats, &[]).wait_for("one", "cancelled");
}

#[test]
#[ignore = "needs nats-server"]
fn a_processs_settings_change_the_servers() {
    let nats = Nats::start();
    let settings = ["--queue-capacity", "1", "--ack-wait-ms", "600000"];
    drop(start(&nats, &settings));
    let killed = start(&nats, &["--ack-wait-ms", "500"]);
    killed.post("", "one", slow());
    killed.wait_for("one", "running");
    drop(killed);
    let service = start(&nats, &["--ack-wait-ms", "500"]);
    service.post("", "two", &quick(1));
    for id in ["one", "two"] {
        service.wait_for(id, "done");
    }
}

#[test]
#[ignore = "needs nats-server"]
fn an_ending_process_hands_its_jobs_over() {
    let nats = Nats::start();
    // Nobody waits for this long: a message that was not handed over would be missed.
    let settings = ["--threads", "1", "--ack-wait-ms", "600000", "--grace-ms", "0"];
    let settings = [settings.as_slice(), &["--max-attempts", "2"]].concat();
    let mut process = start(&nats, &settings);
    for n in 0..4 {
        process.post("", &format!("n{n}"), slow());
    }
    // More often than a job may be begun by processes that die.
    for _ in 0..3 {
        let runs = || (0..4).any(|n| process.state(&format!("n{n}")) == "running");
        eventually("a job runs", runs);
        let next = start(&nats, &settings);
        let (status, report) = std::mem::replace(&mut process, next).end();
        assert!(status.success(), "{report}");
    }
    for n in 0..4 {
        process.wait_for(&format!("n{n}"), "done");
    }
}
