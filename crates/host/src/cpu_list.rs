//! The kernel's list syntax for CPU and node ids: `0-3,8,10-11`.

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
            Some((first, last)) => (id(first)?, id(last)?),
            None => (id(range)?, id(range)?),
        };
        let (used, group) = match stride.map(|stride| stride.split_once('/')) {
            None => (1, 1),
            Some(Some((used, group))) => (id(used)?, id(group)?),
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

fn id(text: &str) -> Option<usize> {
    text.parse().ok().filter(|id| *id <= MAX_ID)
}

/// Whether the ascending list `ids` holds `id`.
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
