//! Where a result file or a chart goes: it appears whole, or not at all.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::Builder;

use crate::program::print;
use crate::stop::Stop;

/// Where something goes.
pub(crate) enum Destination {
    /// To stdout.
    Stdout,
    /// To this file.
    File {
        /// The path, with symbolic links resolved.
        path: PathBuf,
        /// Whether it may replace an existing file.
        replace: bool,
    },
}

impl Destination {
    /// Checks, before anything is measured, that the results can be written to `path`.
    pub(crate) fn open(path: &Path, replace: bool) -> Result<Self, Stop> {
        if path == Path::new("-") {
            return Ok(Destination::Stdout);
        }
        let refused = |error: io::Error| {
            Stop::Refused(format!("{} can't be written: {error}", path.display()))
        };
        let real = match fs::canonicalize(path) {
            // A link must lead somewhere: replacing the link would leave the target as it was.
            Err(error) if error.kind() == ErrorKind::NotFound && !path.is_symlink() => {
                let name = path.file_name().unwrap_or_default();
                fs::canonicalize(folder(path)).map_err(refused)?.join(name)
            }
            real => real.map_err(refused)?,
        };
        let (path, is_there) = (path.display(), real.exists());
        Stop::usage_if(is_there && !real.is_file(), format!("{path} is not a regular file"))?;
        Stop::usage_if(is_there && !replace, format!("{path} exists; --force replaces it"))?;
        // Never visible, and gone with the handle: it only shows whether there can be a file.
        tempfile::tempfile_in(folder(&real)).map_err(refused)?;
        Ok(Destination::File { path: real, replace })
    }

    /// Whether it would replace the file at `path`.
    pub(crate) fn is_at(&self, path: &Path) -> bool {
        let Destination::File { path: own, .. } = self else { return false };
        fs::canonicalize(path).is_ok_and(|real| real == *own)
    }

    /// Writes the results.
    pub(crate) fn write(&self, content: &[u8]) -> Result<(), Stop> {
        match self {
            Destination::Stdout => Ok(print(content)?),
            Destination::File { path, replace } => replace_file(path, *replace, content)
                .map_err(|error| Stop::Failed(format!("{} not written: {error}", path.display()))),
        }
    }
}

/// The folder of `path`.
fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file beside `path` and renames it, so `path` is always whole.
fn replace_file(path: &Path, replace: bool, content: &[u8]) -> io::Result<()> {
    // As any new file has them, before the umask; a temporary file would be the owner's alone.
    let permissions = Permissions::from_mode(0o666);
    let mut file = Builder::new().permissions(permissions).tempfile_in(folder(path))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    // A file created since our look is another's result.
    let kept = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    kept.map(drop).map_err(|error| error.error)
}
