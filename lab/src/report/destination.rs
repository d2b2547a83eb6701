//! Where the result file or a chart goes: it appears whole, or not at all.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::builder::{OsStringValueParser, TypedValueParser};
use tempfile::Builder;

use crate::stop::Stop;

/// Where the results go.
pub(crate) enum Destination {
    /// Nowhere.
    Nowhere,
    /// To stdout.
    Stdout,
    /// To this file.
    File {
        /// Its path, with symbolic links resolved if it exists.
        path: PathBuf,
        /// Whether it may replace one that exists.
        replace: bool,
    },
}

/// Reads a path, which need not be UTF-8 but must not be empty.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().try_map(|text: OsString| {
        if text.is_empty() { Err("must not be empty") } else { Ok(PathBuf::from(text)) }
    })
}

impl Destination {
    /// Checks, before anything is measured, that the results can be written to `path`.
    pub(crate) fn open(path: Option<&Path>, replace: bool) -> Result<Self, Stop> {
        let path = match path {
            None => return Ok(Destination::Nowhere),
            Some(path) if path == Path::new("-") => return Ok(Destination::Stdout),
            Some(path) => path,
        };
        let path = match fs::symlink_metadata(path) {
            Ok(_) => existing(path, replace)?,
            Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
            Err(error) => return Err(refused(path, &error)),
        };
        // Never visible, and gone with the handle: it only shows that there could be a file.
        tempfile::tempfile_in(folder(&path)).map_err(|error| refused(&path, &error))?;
        Ok(Destination::File { path, replace })
    }

    /// Whether stdout is the result file.
    pub(crate) fn is_stdout(&self) -> bool {
        matches!(self, Destination::Stdout)
    }

    /// Writes the results.
    pub(crate) fn write(&self, content: &[u8]) -> Result<(), Stop> {
        match self {
            Destination::Nowhere => Ok(()),
            Destination::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(content)?;
                stdout.flush()?;
                Ok(())
            }
            Destination::File { path, replace } => replace_file(path, *replace, content)
                .map_err(|error| Stop::Failed(format!("{} not written: {error}", path.display()))),
        }
    }
}

/// The real path of something that exists, if it may be replaced.
fn existing(path: &Path, replace: bool) -> Result<PathBuf, Stop> {
    // A link must lead somewhere: replacing the link would leave its target as it was.
    let real = fs::canonicalize(path).map_err(|error| refused(path, &error))?;
    let what = fs::metadata(&real).map_err(|error| refused(path, &error))?;
    if !what.is_file() {
        return Err(Stop::Usage(format!("{} is not a regular file", path.display())));
    }
    if !replace {
        let reason = format!("{} exists; --force replaces it", path.display());
        return Err(Stop::Usage(reason));
    }
    Ok(real)
}

/// Says that the machine doesn't let us write there.
pub(super) fn refused(path: &Path, error: &io::Error) -> Stop {
    Stop::Refused(format!("{} can't be written: {error}", path.display()))
}

/// The folder that `path` is in.
pub(super) fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Writes a file beside `path` and renames it, so that `path` is always whole.
fn replace_file(path: &Path, replace: bool, content: &[u8]) -> io::Result<()> {
    // As any new file has them, before the umask; a temporary file would be its owner's alone.
    let permissions = Permissions::from_mode(0o666);
    let mut file = Builder::new().permissions(permissions).tempfile_in(folder(path))?;
    file.write_all(content)?;
    file.as_file().sync_all()?;
    // A file that came to be since we looked is another's result.
    let kept = if replace { file.persist(path) } else { file.persist_noclobber(path) };
    kept.map(drop).map_err(|error| error.error)
}
