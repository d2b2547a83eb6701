//! Files of a file system, read and written as blocking code.
//!
//! No system reports when a regular file is ready, so a task can't wait for a file. A future of this module calls
//! the function of [`std::fs`] when it is polled, on the polling thread, inside [`blocking`](crate::blocking). On a
//! worker, the pool may run its jobs on another thread in the meantime, up to
//! [`spare_threads`](crate::Builder::spare_threads). Elsewhere, for example inside
//! [`block_on`](crate::block_on), the call only blocks the thread. A file does not belong to a pool.
//!
//! For other operations, use `blocking` directly, as in `brigade::blocking(|| std::fs::remove_file(path))`. For several
//! steps, a single `blocking` around all of them is cheaper. Pipes and sockets that have a path are better opened as
//! [I/O resources](super).
//!
//! # Cancel safety
//! A future of this module either [yields](crate::time#operations-that-are-always-ready), or makes the call and is
//! ready. A future that is dropped before has done nothing. A call that has begun is not interrupted: a time limit that
//! passes meanwhile comes too late, and if the task is cancelled meanwhile, the result is dropped.
//!
//! # Examples
//! ```
//! use brigade::io::fs;
//!
//! let path = std::env::temp_dir().join(format!("brigade-fs-{}", std::process::id()));
//! let pool = brigade::Pool::new(2);
//! let length = pool.spawn(async move {
//!     fs::write(&path, "bucket").await?;
//!     assert_eq!(fs::read_to_string(&path).await?, "bucket");
//!     let length = fs::metadata(&path).await?.len();
//!     brigade::blocking(|| std::fs::remove_file(&path))?;
//!     std::io::Result::Ok(length)
//! });
//! assert_eq!(length.join()??, 6);
//! # std::io::Result::Ok(())
//! ```

use std::fs::{self, File, Metadata};
use std::io;
use std::path::Path;

use brigade_sync::budget;

use crate::engine::blocking;

/// Reads a whole file, as [`std::fs::read`] does.
///
/// # Errors
/// The system's, like [`NotFound`](io::ErrorKind::NotFound).
///
/// # Examples
/// ```
/// use brigade::io::fs;
/// let manifest = brigade::block_on(fs::read("Cargo.toml"))?;
/// assert!(manifest.starts_with(b"[package]"));
/// # std::io::Result::Ok(())
/// ```
pub async fn read(path: impl AsRef<Path>) -> io::Result<Vec<u8>> {
    operation(|| fs::read(path)).await
}

/// Reads a whole file of text, as [`std::fs::read_to_string`] does.
///
/// # Errors
/// The system's, and [`InvalidData`](io::ErrorKind::InvalidData) if the content is not UTF-8.
///
/// # Examples
/// ```
/// use brigade::io::fs;
/// let manifest = brigade::block_on(fs::read_to_string("Cargo.toml"))?;
/// assert!(manifest.contains("name = \"brigade\""));
/// # std::io::Result::Ok(())
/// ```
pub async fn read_to_string(path: impl AsRef<Path>) -> io::Result<String> {
    operation(|| fs::read_to_string(path)).await
}

/// Writes a whole file, as [`std::fs::write`] does: the file is created, or its content is replaced.
///
/// # Errors
/// The system's, like [`PermissionDenied`](io::ErrorKind::PermissionDenied). Part of the content may have been
/// written.
///
/// # Examples
/// ```
/// use brigade::io::fs;
/// let path = std::env::temp_dir().join(format!("brigade-write-{}", std::process::id()));
/// brigade::block_on(fs::write(&path, b"bucket"))?;
/// assert_eq!(std::fs::read(&path)?, b"bucket");
/// # std::fs::remove_file(path)?;
/// # std::io::Result::Ok(())
/// ```
pub async fn write(path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> io::Result<()> {
    operation(|| fs::write(path, content)).await
}

/// Opens a file for reading, as [`File::open`] does.
///
/// The returned [`File`] is the standard library's. Its operations block, so call them in
/// [`blocking`](crate::blocking).
///
/// # Errors
/// The system's, like [`NotFound`](io::ErrorKind::NotFound).
///
/// # Examples
/// ```
/// use std::io::Read;
/// use brigade::io::fs;
/// let start = brigade::block_on(async {
///     let mut file = fs::open("Cargo.toml").await?;
///     let mut start = [0; 9];
///     brigade::blocking(|| file.read_exact(&mut start))?;
///     std::io::Result::Ok(start)
/// })?;
/// assert_eq!(&start, b"[package]");
/// # std::io::Result::Ok(())
/// ```
pub async fn open(path: impl AsRef<Path>) -> io::Result<File> {
    operation(|| File::open(path)).await
}

/// Returns the metadata of a path, as [`std::fs::metadata`] does.
///
/// # Errors
/// The system's, like [`NotFound`](io::ErrorKind::NotFound).
///
/// # Examples
/// ```
/// use brigade::io::fs;
/// assert!(brigade::block_on(fs::metadata("src"))?.is_dir());
/// # std::io::Result::Ok(())
/// ```
pub async fn metadata(path: impl AsRef<Path>) -> io::Result<Metadata> {
    operation(|| fs::metadata(path)).await
}

async fn operation<R>(call: impl FnOnce() -> R) -> R {
    budget::begin().await;
    blocking(call)
}
