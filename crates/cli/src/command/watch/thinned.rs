//! Thinning of series: of a series' old turns one an hour stays, of older ones one a day, and of all series as many of the newest turns as
//! a size allows.

use std::path::PathBuf;
use std::{fs, io};

use anyhow::Result;
use hostmark_analysis::over_time::THINNED;
use hostmark_engine::sys::place::Place;

use crate::store;

/// Characters of a turn's name that are its time, its hour and its day: `20261121T061500Z-…`.
const TIME: [usize; 3] = [16, 11, 8];

/// Removes turns of this series that are one too many, and of all that exceed the size the oldest; never the newest of a series. A file
/// that is no turn by its name stays.
pub fn thin(series: &str, most_bytes: u64) -> Result<()> {
    let now = store::now();
    let [hourly, daily] =
        THINNED.map(|(days, _)| now.days_before(days).map_or(String::new(), |time| store::moment(time).0));
    let length = |time: &str| TIME[usize::from(*time < *hourly) + usize::from(*time < *daily)];
    let (mut unwanted, mut kept) = (Vec::new(), Vec::new());
    for name in store::series_names() {
        let mut before = String::new();
        let mut turns: Vec<(String, PathBuf)> = store::turns(&name)?.into_iter().filter_map(timed).collect();
        let newest = turns.pop();
        for (time, file) in turns {
            let part = time[..length(&time)].to_owned();
            match name == series && part == before && part.len() < TIME[0] {
                true => unwanted.push(file),
                false => kept.push((time, file)),
            }
            before = part;
        }
        kept.extend(newest.map(|(_, file)| (String::from("newest"), file)));
    }
    kept.sort();
    let mut bytes = 0;
    for (time, file) in kept.into_iter().rev() {
        bytes += fs::symlink_metadata(&file).map_or(0, |facts| facts.len());
        if bytes > most_bytes && time != "newest" {
            unwanted.push(file);
        }
    }
    for file in unwanted {
        match Place::entry(&file).and_then(|place| place.remove()) {
            // Another watch was faster.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
    }
    Ok(())
}

/// A turn's file, behind the time in its name.
fn timed(file: PathBuf) -> Option<(String, PathBuf)> {
    let time = file.file_name()?.to_str()?.get(..TIME[0])?.to_owned();
    let is_time = time.bytes().enumerate().all(|(at, byte)| match at {
        8 => byte == b'T',
        15 => byte == b'Z',
        _ => byte.is_ascii_digit(),
    });
    is_time.then_some((time, file))
}
