//! Peers in other languages: programs of one file or two that answer as the laboratory answers itself for one run, see
//! [`apart`](crate::apart).
//!
//! The laboratory has their sources and builds one when it is named, beside itself, unless that has been done. Its file is named
//! after its sources, so that other sources are another program.

use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// A program in another language.
#[derive(Debug)]
pub(crate) struct Peer {
    /// Its name as a target.
    pub(crate) name: &'static str,
    /// Its language.
    language: &'static str,
    /// The compiler, and the variable that names another.
    compiler: (&'static str, Option<&'static str>),
    /// The arguments of the compiler that come before the name of the program.
    before: &'static [&'static str],
    /// Those that come after it.
    after: &'static [&'static str],
    /// Its files.
    sources: &'static [(&'static str, &'static str)],
    /// The program, once it has been looked for.
    built: OnceLock<Result<PathBuf, String>>,
}

/// Goroutines. Nothing is downloaded: it has no dependencies, and is for any compiler from 1.22 on.
static GO: Peer = Peer {
    name: "go",
    language: "Go",
    compiler: ("go", None),
    before: &["build", "-buildvcs=false", "-o"],
    after: &["."],
    sources: &[
        ("go.mod", include_str!("../peers/go/go.mod")),
        ("main.go", include_str!("../peers/go/main.go")),
        ("parent_linux.go", include_str!("../peers/go/parent_linux.go")),
    ],
    built: OnceLock::new(),
};

/// oneTBB.
static CPP: Peer = Peer {
    name: "cpp",
    language: "C++",
    compiler: ("c++", Some("CXX")),
    before: &["-std=c++17", "-O2", "-o"],
    after: &["main.cpp", "-ltbb", "-pthread"],
    sources: &[("main.cpp", include_str!("../peers/cpp/main.cpp"))],
    built: OnceLock::new(),
};

/// All of them.
pub(crate) const ALL: [&Peer; 2] = [&GO, &CPP];

/// The one with this name.
pub(crate) fn named(name: &str) -> Option<&'static Peer> {
    ALL.into_iter().find(|peer| peer.name == name)
}

impl Peer {
    /// A command that starts its program, which is built first if it is not there.
    pub(crate) fn command(&self) -> io::Result<Command> {
        let built = self.built.get_or_init(|| self.find_or_build());
        let command = built.as_ref().map(Command::new);
        command.map_err(|reason| io::Error::new(io::ErrorKind::NotFound, reason.clone()))
    }

    /// Its compiler and its libraries, each with its version, as the program says; nothing if it can't be built.
    pub(crate) fn versions(&self) -> Vec<(String, String)> {
        let said = self.command().and_then(|mut program| program.arg("version").output());
        let said = said.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let version = |line: &str| {
            let (name, version) = line.split_once(' ')?;
            Some((name.to_owned(), version.to_owned()))
        };
        said.unwrap_or_default().lines().filter_map(version).collect()
    }

    /// The program, or why there is none.
    fn find_or_build(&self) -> Result<PathBuf, String> {
        let mut hasher = DefaultHasher::new();
        (self.before, self.after, self.sources).hash(&mut hasher);
        let name = format!("brigade-lab-{}-{:016x}", self.name, hasher.finish());
        let this = env::current_exe().map_err(|error| error.to_string())?;
        let program = this.with_file_name(name);
        if !program.is_file() {
            self.build(&program)?;
        }
        Ok(program)
    }

    /// Builds the program. It appears when it is complete: another laboratory may look for it meanwhile.
    fn build(&self, program: &Path) -> Result<(), String> {
        let (usual, variable) = self.compiler;
        let compiler = variable.and_then(env::var_os).unwrap_or_else(|| usual.into());
        let error = |error: io::Error| format!("{} can't be built: {error}", program.display());
        let folder = program.parent().unwrap_or(Path::new("."));
        let folder = tempfile::tempdir_in(folder).map_err(error)?;
        for (name, text) in self.sources {
            fs::write(folder.path().join(name), text).map_err(error)?;
        }
        let made = folder.path().join("program");
        let mut command = Command::new(&compiler);
        command.args(self.before).arg(&made).args(self.after).current_dir(folder.path());
        // Not another version of the compiler from the network, and no module.
        command.envs([("GOTOOLCHAIN", "local"), ("GOPROXY", "off"), ("GOFLAGS", "")]);
        let compiler = compiler.to_string_lossy();
        let output = command.stdin(Stdio::null()).output().map_err(|error| {
            format!(
                "it is not built, as there is no {} compiler `{compiler}`: {error}",
                self.language
            )
        })?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let line = said.lines().find(|line| line.contains("error")).or(said.lines().last());
            return Err(format!("`{compiler}` can't build it: {}", line.unwrap_or("it failed")));
        }
        fs::rename(made, program).map_err(error)
    }
}
