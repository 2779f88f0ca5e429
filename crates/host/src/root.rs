//! The tree of /proc, /sys and marker files, the machine's own or a captured one; lists of ids as the kernel writes them (`0-3,8`).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::PathBuf;
use std::str::FromStr;

use rustix::fs::{Access, access};
use rustix::io::Errno;

/// No file that is read here is larger (/proc/cpuinfo of 8192 CPUs is 12 MB); a link to an endless one ends here.
const FILE_LIMIT_BYTES: u64 = 32 << 20;

/// Root of the machine's files: `/`, or a directory that holds a captured tree of them.
#[derive(Debug, Clone)]
pub struct Root {
    path: PathBuf,
    is_this_machine: bool,
}

impl Root {
    /// Returns the root of this machine. Facts in no file (CPUID, the page size) are asked from the processor and the kernel.
    pub fn here() -> Root {
        Root { path: PathBuf::from("/"), is_this_machine: true }
    }

    /// A captured tree: `path/proc/cpuinfo` stands for `/proc/cpuinfo`. Only its files decide.
    pub fn at(path: impl Into<PathBuf>) -> Root {
        Root { path: path.into(), is_this_machine: false }
    }

    /// Tells whether this is the running machine rather than a captured tree.
    pub fn is_this_machine(&self) -> bool {
        self.is_this_machine
    }

    fn locate(&self, path: &str) -> PathBuf {
        self.path.join(path.trim_start_matches('/'))
    }

    /// The bytes of `path`, up to where `enough` is satisfied (asked after every read).
    fn bytes_until(&self, path: &str, enough: impl Fn(&[u8]) -> bool) -> Option<Vec<u8>> {
        let mut file = File::open(self.locate(path)).ok()?.take(FILE_LIMIT_BYTES);
        // sysfs fills at most one page a read, and most values are a few bytes: no growing, no fstat.
        let mut chunk = [0u8; 4096];
        let mut bytes = Vec::new();
        loop {
            match file.read(&mut chunk) {
                Ok(0) => return Some(bytes),
                Ok(count) => bytes.extend_from_slice(&chunk[..count]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            }
            if enough(&bytes) {
                return Some(bytes);
            }
        }
    }

    pub(crate) fn bytes(&self, path: &str) -> Option<Vec<u8>> {
        self.bytes_until(path, |_| false)
    }

    /// The whole file, untrimmed; None when it is not readable. Bytes that are not UTF-8 become U+FFFD.
    pub(crate) fn raw(&self, path: &str) -> Option<String> {
        Some(into_text(self.bytes_until(path, |_| false)?))
    }

    /// The start of the file, untrimmed, up to where `enough` is satisfied; it is asked after every page.
    pub(crate) fn raw_until(&self, path: &str, enough: impl Fn(&[u8]) -> bool) -> Option<String> {
        Some(into_text(self.bytes_until(path, enough)?))
    }

    /// The file without surrounding white space; None when absent, unreadable or empty.
    pub(crate) fn text(&self, path: &str) -> Option<String> {
        let raw = self.raw(path)?;
        let text = raw.trim_matches(|c: char| c.is_whitespace() || c == '\0');
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Reads the file by one call: enough for a file of one line.
    pub(crate) fn one_read(&self, path: &str) -> Option<String> {
        Some(into_text(self.bytes_until(path, |_| true)?))
    }

    /// The start of the file, up to and including its first empty line.
    pub(crate) fn first_stanza(&self, path: &str) -> Option<String> {
        let text = into_text(self.bytes_until(path, |bytes| bytes.windows(2).any(|pair| pair == b"\n\n"))?);
        Some(text.split("\n\n").next().unwrap_or_default().to_owned())
    }

    pub(crate) fn number<T: FromStr>(&self, path: &str) -> Option<T> {
        self.text(path)?.parse().ok()
    }

    /// The settings of a sort below /proc/sys by the last part of their names, their columns a space apart.
    pub(crate) fn sysctls(&self, sort: &'static str) -> BTreeMap<String, String> {
        let of = |[path, ..]: [&str; 3]| {
            let (name, text) = (path.rsplit('/').next()?, self.text(&format!("/proc/sys/{path}"))?);
            Some((name.to_owned(), text.split_whitespace().collect::<Vec<_>>().join(" ")))
        };
        table(sort).filter_map(of).collect()
    }

    /// The file's CPU (or node) list; an empty file is an empty list.
    pub(crate) fn id_list(&self, path: &str) -> Option<Vec<usize>> {
        parse_cpu_list(&self.raw(path)?)
    }

    /// Tells whether `path` exists, followed through links.
    pub(crate) fn exists(&self, path: &str) -> bool {
        self.locate(path).exists()
    }

    /// Tells whether this user may read and write what is at `path`, by its permissions alone; `None` when there is nothing.
    pub(crate) fn permits(&self, path: &str) -> Option<bool> {
        match access(self.locate(path), Access::READ_OK | Access::WRITE_OK) {
            Ok(()) => Some(true),
            Err(Errno::NOENT | Errno::NOTDIR) => None,
            Err(_) => Some(false),
        }
    }

    pub(crate) fn link(&self, path: &str) -> Option<String> {
        std::fs::read_link(self.locate(path)).ok()?.to_str().map(str::to_owned)
    }

    /// The sorted names in the directory at `path`; empty when there is none.
    pub(crate) fn names(&self, path: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.locate(path)) else { return Vec::new() };
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort_unstable();
        names
    }
}

fn into_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// The value behind `key:` in a file of `key: value` lines, as /proc/self/status writes them.
pub(crate) fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':').map(str::trim))
}

/// The bytes that a `Key:   123 kB` line tells.
pub(crate) fn kilobytes_field(text: &str, key: &str) -> Option<u64> {
    let number: u64 = field(text, key)?.strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// The rows of one sort of facts that are read alike, without its name.
pub(crate) fn table(sort: &'static str) -> impl Iterator<Item = [&'static str; 3]> {
    include_str!("facts.tsv").lines().filter_map(move |line| {
        let mut columns = line.strip_prefix(sort)?.strip_prefix('\t')?.split('\t');
        Some(std::array::from_fn(|_| columns.next().unwrap_or_default()))
    })
}

/// A number that a run file can carry.
pub(crate) fn finite_number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number >= 0.0)
}

/// The kernel counts CPU time for user space in ticks of 1/100 s (USER_HZ) on both architectures.
pub(crate) const TICK_NS: u64 = 10_000_000;

/// CPU time in the first `fields` of fields 14 to 17 of a process' stat, ns: its own, and that of children it waited for.
pub(crate) fn cpu_ns(stat: &str, fields: usize) -> Option<u64> {
    // The name before them may have spaces and brackets of its own.
    let words: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = words.get(14 - 3..14 - 3 + fields)?.iter().map(|word| word.parse::<u64>().ok());
    ticks.sum::<Option<u64>>()?.checked_mul(TICK_NS)
}

/// The kernel's own limit is 8192 CPUs; a larger id can only be a damaged file, and would exhaust memory.
const MAX_ID: usize = 1 << 16;

/// The ids of a list such as `0-3,8,10-11`, ascending and unique; an empty text is an empty list, a malformed one None.
/// The kernel's stride form `0-31:2/4` (two of every four) is understood.
pub fn parse_cpu_list(text: &str) -> Option<Vec<usize>> {
    let mut ids = Vec::new();
    for part in text.trim().split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (range, stride) = match part.split_once(':') {
            Some((range, stride)) => (range, Some(stride)),
            None => (part, None),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (list_id(first)?, list_id(last)?),
            None => (list_id(range)?, list_id(range)?),
        };
        let (used, group) = match stride.map(|stride| stride.split_once('/')) {
            None => (1, 1),
            Some(Some((used, group))) => (list_id(used)?, list_id(group)?),
            Some(None) => return None,
        };
        if first > last || used == 0 || used > group {
            return None;
        }
        ids.extend((first..=last).filter(|id| (id - first) % group < used));
    }
    ids.sort_unstable();
    ids.dedup();
    Some(ids)
}

fn list_id(text: &str) -> Option<usize> {
    text.parse().ok().filter(|id| *id <= MAX_ID)
}

/// Tells whether the ascending list `ids` holds `id`.
pub(crate) fn holds(ids: &[usize], id: usize) -> bool {
    ids.binary_search(&id).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_ids_and_ranges_are_read() {
        assert_eq!(parse_cpu_list("0-3,8,10-11\n"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!(parse_cpu_list(" 5 , 1-2 "), Some(vec![1, 2, 5]));
        assert_eq!(parse_cpu_list("7,7,6-7"), Some(vec![6, 7]));
        assert_eq!(parse_cpu_list("\n"), Some(vec![]));
        assert_eq!(parse_cpu_list("0-2047").map(|ids| ids.len()), Some(2048));
        assert_eq!(parse_cpu_list("0-9:2/4"), Some(vec![0, 1, 4, 5, 8, 9]));
    }

    #[test]
    fn damaged_lists_are_no_lists() {
        for text in
            ["a", "3-1", "1-", "-1", "0-4294967295", "1;2", "0-7:0/2", "0-7:3/2", "0-7:2", "99999999999999999999"]
        {
            assert_eq!(parse_cpu_list(text), None, "{text}");
        }
    }
}
