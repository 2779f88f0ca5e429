//! Errors of the system in a Chinese text: the name and the number of each, and what helps.

/// What helps against the errors that readers can do something about, by their numbers.
const REMEDIES: &[(&[u32], &str)] = &[
    (&[1, 13], "请检查权限，或以 root 运行"),
    (&[12], "请释放内存，或调高 cgroup 的内存上限"),
    (&[23], "请调高 fs.file-max"),
    (&[24], "请调高 ulimit -n"),
    (&[27], "请调高 ulimit -f"),
    (&[28, 122], "请腾出空间，或换一个目录"),
    (&[30], "请换一个可写的目录"),
    (&[98], "请换一个端口，或停止占用它的程序"),
    (&[101, 113], "请检查路由和防火墙"),
    (&[110], "请检查对端是否在运行，途中是否丢包"),
    (&[111], "请检查对端程序是否在监听，端口是否正确"),
];

const MARK: &str = " (os error ";

/// `EACCES (13)` of `Permission denied (os error 13)` and its like.
pub(super) fn in_chinese(error: &str) -> Option<String> {
    let (words, number) = split(error)?;
    let is_one = !words.is_empty() && !words.contains(": ") && !words.contains("; ");
    // The words of some have a colon in them.
    (is_one || said(number).is_some_and(|said| said == error)).then(|| named(number)).flatten()
}

/// What helps against the error that a reason ends with.
pub(super) fn remedy(reason: &str) -> Option<&'static str> {
    let (_, number) = split(reason)?;
    REMEDIES.iter().find(|(numbers, _)| numbers.contains(&number)).map(|(_, remedy)| *remedy)
}

/// The words and the number of the error at the end of a text.
fn split(text: &str) -> Option<(&str, u32)> {
    let (words, number) = text.strip_suffix(')')?.rsplit_once(MARK)?;
    Some((words, number.parse().ok()?))
}

/// What this system says of an error.
fn said(number: u32) -> Option<String> {
    Some(std::io::Error::from_raw_os_error(i32::try_from(number).ok()?).to_string())
}

fn named(number: u32) -> Option<String> {
    Some(format!("{} ({number})", hostmark_model::errno_name(i32::try_from(number).ok()?)?))
}

/// A text in Chinese in which errors of the system stand as the system says them in English: with their names.
pub(super) fn within(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        let behind = &rest[at + MARK.len()..];
        let digits = behind.find(')').filter(|&end| end <= 4).map_or("", |end| &behind[..end]);
        let end = at + MARK.len() + digits.len() + 1;
        let known = digits.parse().ok().and_then(|number: u32| {
            let before = rest.get(..end)?.strip_suffix(said(number)?.as_str())?;
            Some(format!("{before}{}", named(number)?))
        });
        match known {
            Some(remedy) => {
                out += &remedy;
                rest = &rest[end..];
            }
            None => {
                out += &rest[..at + MARK.len()];
                rest = behind;
            }
        }
    }
    out + rest
}
