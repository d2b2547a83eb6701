//! The files in which Linux describes itself. Other systems lack them, and some containers lack a part: an absent value is
//! `None`, never 0.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The folder with `proc` and `sys`: the root of the system, or made up by a test.
#[derive(Clone, Debug)]
pub(crate) struct Kernel(PathBuf);

impl Kernel {
    /// The kernel that runs this process.
    pub(crate) fn here() -> Self {
        Kernel(PathBuf::from("/"))
    }

    /// The kernel of a folder made up by a test.
    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Kernel(root.to_owned())
    }

    /// The text of this file, without the white space around it.
    pub(crate) fn text(&self, file: &str) -> Option<String> {
        fs::read_to_string(self.0.join(file)).ok().map(|text| text.trim().to_owned())
    }

    /// The value of a file with a single value.
    pub(crate) fn value<T: FromStr>(&self, file: &str) -> Option<T> {
        self.text(file)?.parse().ok()
    }

    /// The text behind the colon in the first line of this file called `name`.
    pub(crate) fn field(&self, file: &str, name: &str) -> Option<String> {
        let text = self.text(file)?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    }

    /// The control group of this process, and those that it is in. Version 1 has none.
    pub(crate) fn groups(&self) -> Vec<String> {
        let lines = self.text("proc/self/cgroup").unwrap_or_default();
        let path = lines.lines().find_map(|line| line.strip_prefix("0::/")).map(Path::new);
        let groups = path.into_iter().flat_map(Path::ancestors);
        groups.map(|group| format!("sys/fs/cgroup/{}", group.display())).collect()
    }
}

/// A made-up kernel, of these files.
#[cfg(test)]
pub(crate) fn made_up(files: &[(&str, &str)]) -> (tempfile::TempDir, Kernel) {
    let folder = tempfile::tempdir().expect("a folder");
    for (file, text) in files {
        let file = folder.path().join(file);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }
    let kernel = Kernel::at(folder.path());
    (folder, kernel)
}

#[cfg(test)]
mod tests {
    use super::made_up;

    #[test]
    fn a_group_has_its_parents() {
        let lines = "4:cpu,cpuacct:/c\nnonsense\n0::/a/b\n";
        let (_folder, kernel) = made_up(&[("proc/self/cgroup", lines)]);
        assert_eq!(kernel.groups(), ["a/b", "a", ""].map(|path| format!("sys/fs/cgroup/{path}")));
        assert!(made_up(&[]).1.groups().is_empty());
    }

    #[test]
    fn an_absent_or_binary_file_is_none() {
        let (folder, kernel) = made_up(&[("proc/loadavg", "0.5 0.4 0.3 1/100 7\n")]);
        assert_eq!(kernel.text("proc/loadavg").as_deref(), Some("0.5 0.4 0.3 1/100 7"));
        assert_eq!((kernel.value::<f64>("proc/loadavg"), kernel.text("proc/stat")), (None, None));
        std::fs::write(folder.path().join("proc/stat"), [0xff, 0xfe]).expect("a file");
        assert_eq!((kernel.text("proc/stat"), kernel.text("proc")), (None, None));
    }
}
