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

    /// The CPUs on which this thread may run.
    pub(crate) fn allowed(&self) -> Option<Vec<usize>> {
        cpus(&self.field("proc/thread-self/status", "Cpus_allowed_list")?)
    }

    /// The control groups of this process, by this controller, each with its ancestors: version 2 and version 1.
    pub(crate) fn groups(&self, controller: &str) -> Vec<Vec<String>> {
        let lines = self.text("proc/self/cgroup").unwrap_or_default();
        let mine = lines.lines().filter_map(|line| {
            let (kinds, path) = line.split_once(':')?.1.split_once(':')?;
            let root = match kinds {
                "" => GROUPS.to_owned(),
                _ if kinds.split(',').any(|kind| kind == controller) => {
                    format!("{GROUPS}/{controller}")
                }
                _ => return None,
            };
            let group = format!("{root}/{}", path.trim_start_matches('/'));
            let above = Path::new(&group).ancestors().take_while(|group| group.starts_with(&root));
            Some(above.filter_map(|group| Some(group.to_str()?.to_owned())).collect())
        });
        mine.collect()
    }
}

/// Where control groups are listed: those of version 2, and a folder for each controller of version 1.
const GROUPS: &str = "sys/fs/cgroup";

/// The greatest number of CPUs of a list: more are a damaged file.
const MOST_CPUS: usize = 1 << 16;

/// The CPUs of a list as the kernel writes it: `0-3,8`.
pub(crate) fn cpus(list: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.trim().parse().ok()?, last.trim().parse::<usize>().ok()?);
        if last >= MOST_CPUS {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
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
    use super::{cpus, made_up};

    #[test]
    fn a_list_of_cpus_has_numbers_and_ranges() {
        assert_eq!(cpus("0-2,5"), Some(vec![0, 1, 2, 5]));
        assert_eq!(cpus("7"), Some(vec![7]));
        for damaged in ["", "a", "1-", "-1", "0-99999999999", "0-99999999999999999999999", "1,,2"] {
            assert_eq!(cpus(damaged), None, "{damaged}");
        }
        assert_eq!(cpus("3-1"), Some(vec![]), "no CPU, and no endless loop");
    }

    #[test]
    fn a_group_has_its_parents_to_the_controller() {
        let lines = "4:cpu,cpuacct:/a/b\n2:pids:/c\nnonsense\n0::/d\n";
        let (_folder, kernel) = made_up(&[("proc/self/cgroup", lines)]);
        let groups = |path: &str| format!("sys/fs/cgroup{path}");
        assert_eq!(
            kernel.groups("cpu"),
            [["/cpu/a/b", "/cpu/a", "/cpu"].map(groups).to_vec(), ["/d", ""].map(groups).to_vec()]
        );
        assert_eq!(kernel.groups("pids")[0], ["/pids/c", "/pids"].map(groups));
        assert!(made_up(&[]).1.groups("cpu").is_empty());
    }

    #[test]
    fn an_absent_or_binary_file_is_none() {
        let (folder, kernel) = made_up(&[("proc/loadavg", "0.5 0.4 0.3 1/100 7\n")]);
        assert_eq!(kernel.text("proc/loadavg").as_deref(), Some("0.5 0.4 0.3 1/100 7"));
        assert_eq!((kernel.value::<f64>("proc/loadavg"), kernel.text("proc/stat")), (None, None));
        std::fs::write(folder.path().join("proc/stat"), [0xff, 0xfe]).expect("a file");
        assert_eq!((kernel.text("proc/stat"), kernel.text("proc")), (None, None));
        assert!(kernel.allowed().is_none());
    }
}
