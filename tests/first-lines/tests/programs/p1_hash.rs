//! hash DIR THREADS: hash every file below DIR in parallel, with progress on stderr.
//!
//! Typed: `pool.execute_every(period, Missed::Skip, ..)`, and `set.spawn(closure)?`.

use std::fs;
use std::hash::{DefaultHasher, Hasher};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use brigade::{Missed, Pool, TaskSet};

fn walk(dir: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            walk(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn hash(path: PathBuf, bytes: &AtomicU64) -> std::io::Result<(PathBuf, u64)> {
    let mut file = fs::File::open(&path)?;
    let mut buffer = vec![0; 64 * 1024];
    let mut hasher = DefaultHasher::new();
    loop {
        if brigade::cancelled() {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok((path, hasher.finish()));
        }
        hasher.write(&buffer[..n]);
        bytes.fetch_add(n as u64, Ordering::Relaxed);
    }
}

/// Returns the number of files and bytes, and a hash of all hashes.
fn run(dir: &Path, threads: usize) -> anyhow::Result<(usize, u64, u64)> {
    let mut files = Vec::new();
    walk(dir, &mut files)?;
    let total = files.len();

    let pool = Pool::new(threads);
    let bytes = Arc::new(AtomicU64::new(0));
    let done = Arc::new(AtomicU64::new(0));
    let progress = {
        let (bytes, done) = (bytes.clone(), done.clone());
        pool.job().every(Duration::from_millis(50)).missed(Missed::Skip).execute(move || {
            let (done, bytes) = (done.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed));
            eprint!("\r{done}/{total} files, {bytes} bytes");
        })?
    };
    let mut set = TaskSet::new(pool.handle());
    for path in files {
        let (bytes, done) = (bytes.clone(), done.clone());
        set.submit(move || {
            let hashed = hash(path, &bytes);
            done.fetch_add(1, Ordering::Relaxed);
            hashed
        });
    }
    let mut hashes = Vec::new();
    for outcome in set.outcomes() {
        hashes.push(outcome??);
    }
    progress.cancel();
    hashes.sort();
    let all = hashes.iter().fold(0_u64, |all, (_, hash)| all.rotate_left(1) ^ hash);
    Ok((hashes.len(), bytes.load(Ordering::Relaxed), all))
}

#[test]
fn any_thread_count_finds_the_same_hash() -> anyhow::Result<()> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (files, bytes, hash) = run(dir, 1)?;
    assert!(files > 10 && bytes > 10_000);
    assert_eq!(run(dir, 4)?, (files, bytes, hash));
    Ok(())
}
