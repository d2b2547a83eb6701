//! Files that are written once.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// Creates a file that is whole whenever it is there, also after a crash. Returns `false` if it is there.
///
/// There must be one call at a time for a name.
pub fn create(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<bool> {
    let part = folder.join(format!(".{name}.part"));
    let write = || {
        let mut file = File::create(&part)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        // Unlike a rename, this does not replace a file.
        fs::hard_link(&part, folder.join(name))
    };
    let wrote = write();
    _ = fs::remove_file(&part);
    match wrote {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        // Also a file that was there: its folder may not have been synchronized.
        wrote => File::open(folder)?.sync_all().map(|()| wrote.is_ok()),
    }
}
