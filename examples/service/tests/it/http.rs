//! The service in one process.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::Value;

use crate::support::{Folder, Service, eventually, noise, plain, quick, slow};

/// One thread that is busy for a second or so.
fn busy(settings: &[&str]) -> Service {
    let service = Service::start(&[&["--threads", "1"], settings].concat());
    service.post("", "busy", slow());
    service.wait_for("busy", "running");
    service
}

/// The stream of events.
fn events(service: &Service) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(service.address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream.write_all(b"GET /events HTTP/1.1\r\nhost: service\r\n\r\n").unwrap();
    let mut events = BufReader::new(stream);
    let mut line = String::new();
    // To the end of the head: from here on, nothing is missed.
    while line != "\r\n" {
        line.clear();
        events.read_line(&mut line).unwrap();
    }
    events
}

#[test]
fn an_image_becomes_a_thumbnail_once() {
    let service = Service::start(&[]);
    let answer = service.post("side=4", "one", &quick(1));
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["location"]),
        (202, &"/jobs/one".parse().unwrap())
    );
    service.wait_for("one", "done");
    let made = service.get("/jobs/one").into_body();
    assert_eq!((&made["width"], &made["height"]), (&8.into(), &8.into()));
    let thumbnail = service.get("/jobs/one/thumbnail");
    assert_eq!(thumbnail.headers()["content-type"], "image/png");

    // The same key is the same job, whatever comes with it; and another key is another one, whose result can be waited for.
    let again = service.post("side=4", "one", &quick(2));
    assert_eq!((again.status().as_u16(), again.body()), (200, &made));
    let other = service.post("wait_ms=60000", "two", &quick(2));
    assert_eq!((other.status().as_u16(), &other.body()["state"]), (200, &"done".into()));
    assert_ne!(other.body()["sha256"], made["sha256"]);

    // Without a key, the service makes one.
    let answer = service.ask(Method::POST, "/jobs?wait_ms=60000", &quick(3));
    assert_eq!(
        (&answer.body()["state"], answer.body()["id"].as_str().unwrap().len()),
        (&"done".into(), 32)
    );
    let (status, said) = service.end();
    assert!(status.success() && said.contains(r#"{"done": 3}"#), "{said}");
}

#[test]
fn a_bad_request_names_its_fault() {
    let service = Service::start(&["--max-body", "1000"]);
    for (method, path, body, status, says) in [
        (Method::POST, "/jobs?size=4", quick(1), 400, "unknown field"),
        (Method::POST, "/jobs?side=0", quick(1), 400, "side must be 1 to"),
        (Method::POST, "/jobs?priority=urgent", quick(1), 400, "high"),
        (Method::POST, "/jobs", vec![0; 1001], 413, "at most 1000 bytes"),
        (Method::GET, "/jobs/none", vec![], 404, "no such job"),
        (Method::GET, "/jobs/.probe", vec![], 400, "an id has"),
        (Method::GET, "/jobs/../etc", vec![], 400, "an id has"),
        (Method::DELETE, "/jobs/none", vec![], 404, "no such job"),
        (Method::PUT, "/jobs/none", vec![], 405, "allowed here: GET, DELETE"),
        (Method::GET, "/jobs", vec![], 405, "allowed here: POST"),
        (Method::GET, "/jobs/none/size", vec![], 404, "nothing at this path"),
        (Method::GET, "/favicon.ico", vec![], 404, "nothing at this path"),
    ] {
        let answer = service.ask(method, path, &body);
        assert_eq!(answer.status().as_u16(), status, "{path}");
        assert!(answer.body()["error"].as_str().unwrap().contains(says), "{path}: {answer:?}");
    }
    let answer = service.try_ask(Method::POST, "/jobs", Some("a/b"), &quick(1)).unwrap();
    assert!(answer.body()["error"].as_str().unwrap().starts_with("Idempotency-Key"));

    // A poison job: it fails, and is not tried again.
    let answer = service.post("wait_ms=60000", "essay", b"an essay");
    assert_eq!(answer.body()["state"], "failed");
    assert!(answer.body()["error"].as_str().unwrap().contains("not an image"));
    assert_eq!(service.get("/jobs/essay/thumbnail").status().as_u16(), 409);
    assert_eq!(service.get("/healthz").status().as_u16(), 200);
    let deadline = format!("wait_ms=60000&deadline_ms={}", u64::MAX);
    assert_eq!(service.post(&deadline, "later", &quick(1)).body()["state"], "done");
    let (_, report) = service.end();
    assert!(report.contains(r#"{"done": 1, "failed": 1}"#), "{report}");
}

#[test]
fn a_full_queue_refuses_and_finishes_its_jobs() {
    let service = busy(&["--capacity", "2"]);
    let answers: Vec<_> = (0..8).map(|n| service.post("", &format!("n{n}"), &quick(n))).collect();
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status().as_u16()).collect();
    assert_eq!(statuses, [202, 202, 429, 429, 429, 429, 429, 429]);
    assert_eq!(answers[2].headers()["retry-after"], "1");
    for id in ["busy", "n0", "n1"] {
        service.wait_for(id, "done");
    }
    assert_eq!(service.state("n2"), "none");
    assert_eq!(service.post("wait_ms=60000", "n2", &quick(2)).body()["state"], "done");
}

#[test]
fn a_high_job_overtakes_and_a_late_job_expires() {
    let service = busy(&[]);
    let mut events = events(&service);
    // Each takes longer than to store the result of the one before.
    let file = plain(3000, 2000);
    service.post("priority=low", "low", &file);
    service.post("", "normal", &file);
    service.post("priority=high", "high", &file);
    service.post("deadline_ms=1", "late", &file);
    let (mut order, mut line) = (Vec::new(), String::new());
    while order.len() < 5 {
        line.clear();
        events.read_line(&mut line).unwrap();
        let event = line.strip_prefix("data: ").map(|data| serde_json::from_str(data).unwrap());
        let event: serde_json::Value = event.unwrap_or_default();
        if let Some(id) = event["id"].as_str() {
            order.push((id.to_owned(), event["result"]["state"].as_str().unwrap().to_owned()));
        }
    }
    let place = |id: &str| order.iter().position(|(other, _)| other == id).unwrap();
    assert!(place("busy") < place("high") && place("high") < place("normal"), "{order:?}");
    assert!(place("normal") < place("low"), "{order:?}");
    assert_eq!(order[place("late")].1, "expired");
}

#[test]
fn a_cancelled_job_stops_queued_or_running() {
    let service = busy(&[]);
    service.post("", "waits", slow());
    for id in ["waits", "busy"] {
        assert_eq!(service.ask(Method::DELETE, &format!("/jobs/{id}"), b"").status().as_u16(), 202);
        service.wait_for(id, "cancelled");
    }
    assert_eq!(service.ask(Method::DELETE, "/jobs/busy", b"").status().as_u16(), 404);
    assert_eq!(service.post("wait_ms=60000", "next", &quick(1)).body()["state"], "done");
}

#[test]
fn a_slow_client_is_cut_off_and_delays_no_other() {
    let service = Service::start(&["--client-ms", "300", "--max-connections", "2"]);
    let begun = Instant::now();
    let heads = ["POST /jo", "POST /jobs HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n1234"];
    let slow = heads.map(|head| {
        let mut stream = TcpStream::connect(service.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        stream
    });
    // It has the third place of two, and gets it when they are gone.
    assert_eq!(service.get("/healthz").status().as_u16(), 200);
    assert!(begun.elapsed() >= Duration::from_millis(300), "not before");
    let [header, body] = slow.map(|mut stream| {
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    });
    assert_eq!(header, "", "it is closed");
    assert!(body.starts_with("HTTP/1.1 408") && body.contains("in time"), "{body}");
}

#[test]
fn a_slow_reader_misses_events_and_is_told() {
    let service = Service::start(&["--client-ms", "600000"]);
    let mut slow = events(&service);
    let (file, mut quick) = (noise(300), events(&service));
    let read = std::thread::spawn(move || {
        let (mut line, mut results) = (String::new(), 0);
        while results < 100 {
            line.clear();
            quick.read_line(&mut line).unwrap();
            assert!(!line.starts_with("event: missed"));
            results += usize::from(line.starts_with("event: result"));
        }
    });
    for n in 0..100 {
        let answer = service.post("side=300&wait_ms=60000", &format!("n{n}"), &file);
        assert_eq!(answer.body()["state"], "done");
    }
    read.join().unwrap();
    let mut line = String::new();
    while !line.starts_with("event: missed") {
        line.clear();
        slow.read_line(&mut line).unwrap();
    }
}

#[test]
fn a_late_reader_gets_the_counts_and_the_last_20_results_once() {
    let service = Service::start(&[]);
    for n in 0..25 {
        service.post("wait_ms=60000", &format!("n{n}"), &quick(1));
    }
    let mut late = events(&service);
    service.post("", "live", &quick(1));
    let (mut line, mut ids, mut first) = (String::new(), Vec::new(), None);
    while ids.last().is_none_or(|id| id != "live") {
        line.clear();
        late.read_line(&mut line).unwrap();
        let event = line.strip_prefix("event: ").map(str::to_owned);
        first = first.or(event);
        let data =
            line.strip_prefix("data: ").and_then(|data| serde_json::from_str::<Value>(data).ok());
        ids.extend(data.and_then(|data| Some(data["id"].as_str()?.to_owned())));
    }
    assert_eq!(first.as_deref().map(str::trim), Some("queue"));
    let expected = (5..25).map(|n| format!("n{n}")).chain(["live".into()]);
    assert_eq!(ids, expected.collect::<Vec<_>>());
}

/// Limits the bytes of each file that the service writes.
fn limit_files(service: &Service, bytes: &str) {
    let (pid, limit) = (service.pid().to_string(), format!("--fsize={bytes}"));
    assert!(Command::new("prlimit").args(["--pid", &pid, &limit]).status().unwrap().success());
}

#[test]
fn a_reader_of_nothing_loses_its_connection() {
    let service = Service::start(&["--client-ms", "300"]);
    let slow = events(&service);
    let file = noise(300);
    let mut number = 0;
    eventually("its connection ends", || {
        number += 1;
        service.post("side=300&wait_ms=60000", &format!("n{number}"), &file);
        service.log().contains("timed out")
    });
    drop(slow);
}

#[test]
fn a_full_disk_refuses_jobs_and_loses_no_result() {
    let service = busy(&[]);
    service.post("", "waits", &quick(1));
    limit_files(&service, "0:unlimited");
    eventually("it is unwell", || service.get("/healthz").status().as_u16() == 503);
    let answer = service.post("", "refused", &quick(2));
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["retry-after"]),
        (503, &"1".parse().unwrap())
    );
    assert!(answer.body()["error"].as_str().unwrap().contains("too large"), "{answer:?}");
    eventually("it says why", || service.log().contains("can't store a result"));
    let store = || fs::read_dir(service.folder.as_ref().unwrap().path()).unwrap().count();
    assert_eq!(store(), 0, "no parts of files");

    limit_files(&service, "unlimited:unlimited");
    eventually("both results are stored", || store() == 2);
    service.wait_for("waits", "done");
    eventually("it is well", || service.get("/healthz").status().as_u16() == 200);
    assert_eq!(service.post("wait_ms=60000", "refused", &quick(2)).body()["state"], "done");
}

#[test]
fn the_end_waits_for_jobs_and_their_clients() {
    let mut service = busy(&[]);
    service.post("", "waits", &quick(1));
    let address = service.address;
    let waits = std::thread::spawn(move || {
        let mut stream = TcpStream::connect(address).unwrap();
        let head = "POST /jobs?wait_ms=60000 HTTP/1.1\r\nhost: a\r\nidempotency-key: x\r\ncontent-length: 5\r\n\r\nessay";
        stream.write_all(head.as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said
    });
    service.wait_for("x", "queued");
    let folder = service.folder.as_ref().unwrap().path().to_owned();
    let stored = |id: &str| fs::read_to_string(folder.join(id)).unwrap_or_default();
    service.signal("TERM");
    let said = waits.join().unwrap();
    assert!(said.contains("not an image"), "{said}");
    let (status, report) = service.wait();
    assert!(
        status.success() && report.contains(r#"{"done": 2, "failed": 1}, 0 discarded"#),
        "{report}"
    );
    assert!(stored("busy").contains("done") && stored("waits").contains("done"));
}

#[test]
fn an_end_reports_a_result_it_cannot_store() {
    let mut service = busy(&["--grace-ms", "3000"]);
    limit_files(&service, "0:0");
    eventually("it is unwell", || service.get("/healthz").status().as_u16() == 503);
    service.signal("TERM");
    let (status, report) = service.wait();
    assert!(report.contains("{}, 0 discarded, 1 without a result"), "{report}");
    assert_eq!(status.code(), Some(1));
}

#[test]
fn the_end_cancels_jobs_beyond_its_time() {
    let mut service = busy(&["--grace-ms", "0"]);
    service.post("", "waits", &quick(1));
    let folder = service.folder.as_ref().unwrap().path().to_owned();
    service.signal("TERM");
    let (status, report) = service.wait();
    assert!(report.contains("1 discarded"), "{report}");
    let waits = fs::read_to_string(folder.join("waits")).unwrap();
    assert!(status.success() && waits.contains("cancelled"), "{report} {waits}");
}

#[test]
fn a_killed_process_loses_jobs_but_no_results() {
    let folder = Folder::new();
    let settings = ["--threads", "1", "--store", folder.path().to_str().unwrap()];
    let killed = Service::try_start(&settings).unwrap();
    assert_eq!(killed.post("wait_ms=60000", "stored", &quick(1)).body()["state"], "done");
    killed.post("", "lost", slow());
    killed.wait_for("lost", "running");
    drop(killed);
    let service = Service::try_start(&settings).unwrap();
    assert_eq!((service.state("stored"), service.state("lost")), ("done".into(), "none".into()));
    assert_eq!(service.post("wait_ms=60000", "lost", slow()).body()["state"], "done");
}

#[test]
fn concurrent_requests_of_one_key_are_one_job() {
    let service = busy(&[]);
    let post = || loop {
        // While the first request may yet be refused, the others are to come again.
        let answer = service.post("wait_ms=60000", "same", &quick(1));
        if answer.status().as_u16() != 429 {
            return answer.body()["state"] == "done";
        }
    };
    std::thread::scope(|scope| {
        let posts: Vec<_> = (0..8).map(|_| scope.spawn(post)).collect();
        assert!(posts.into_iter().all(|post| post.join().unwrap()));
    });
    let (_, report) = service.end();
    assert!(report.contains(r#"{"done": 2}"#), "{report}");
}

#[test]
fn metrics_and_log_have_requests_jobs_and_stalls() {
    let service = busy(&["--stall-ms", "1"]);
    service.wait_for("busy", "done");
    let metrics = service.get("/metrics");
    let metrics = metrics.body().as_str().unwrap();
    for line in [
        "thumbnails_jobs_total{state=\"done\"} 1",
        "thumbnails_requests_total{status=\"202\"} 1",
        "thumbnails_job_seconds_count 1",
        "brigade_jobs_executed_total{pool=\"work\"} 1",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    // The log comes through a pipe.
    let logs = |texts: &[&str]| {
        let log = service.log();
        log.lines().any(|line| texts.iter().all(|text| line.contains(text)))
    };
    eventually("it logs the stall", || logs(&["busy from", "has run for"]));
    let stored = ["stored", "request{method=POST uri=/jobs?}", "id=busy"];
    eventually("it logs the request of a result", || logs(&stored));
}

#[test]
fn settings_are_flags_then_file_then_defaults() {
    let folder = Folder::new();
    let file = folder.path().join("settings.toml");
    let (file, store) = (file.to_str().unwrap(), folder.path().join("store"));
    fs::write(file, format!("store = {store:?}\nmax_body = 10\nthreads = 1\n")).unwrap();
    let service = Service::try_start(&["--config", file, "--max-body", "100000"]).unwrap();
    assert_eq!(service.post("wait_ms=60000", "one", &quick(1)).body()["state"], "done");
    assert!(store.join("one").exists());

    for (text, says) in
        [("storage = 'x'", "unknown field `storage`"), ("capacity = 0", "at least 1")]
    {
        fs::write(file, text).unwrap();
        let said = Service::try_start(&["--config", file]).err().unwrap();
        assert!(said.contains(says), "{said}");
    }
    let said = Service::try_start(&["--config", "none.toml"]).err().unwrap();
    assert!(said.contains("none.toml: No such file"), "{said}");
    let said = Service::try_start(&["--store", "/dev/null/x"]).err().unwrap();
    assert!(said.contains("/dev/null/x"), "{said}");
}
