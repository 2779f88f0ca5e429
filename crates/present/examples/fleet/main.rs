//! Makes up run files of a fleet with known truth, `fleet DIR HOSTS ODD SHIFT quota|modules|huge_pages|mitigations [SAMPLES [KINDS [SEED]]]`,
//! or reads them and says what time and memory that took: `fleet read DIR`.

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use hostmark_analysis::fleet::planted::{MadeUp, Planted};
use hostmark_analysis::fleet::{Fleet, Gathering};
use hostmark_model::Lang;
use hostmark_present::RenderOptions;
use hostmark_present::export::fleet::FORMATS;

fn main() -> Result<(), String> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.as_slice() {
        [read, directory] if read == "read" => {
            let said = read_all(directory)
                .map_err(|error| format!("the files cannot be read ({error}); give another directory"))?;
            std::io::stdout().write_all(said.as_bytes()).map_err(|error| error.to_string())
        }
        words => made(words)
            .ok_or("give DIR HOSTS ODD SHIFT quota|modules|huge_pages|mitigations [SAMPLES [KINDS [SEED]]]")?
            .map_err(|error| format!("the files cannot be written ({error}); give another directory")),
    }
}

#[expect(clippy::disallowed_methods, reason = "no probe is timed here, and no tick rate is known")]
fn read_all(directory: &str) -> std::io::Result<String> {
    let began = Instant::now();
    let (mut gathering, mut bytes) = (Gathering::new(&[]), 0);
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let text = std::fs::read(&path)?;
        bytes += text.len();
        gathering.read(&path.to_string_lossy(), &text);
    }
    let read = began.elapsed();
    let fleet = Fleet::of(&gathering);
    let judged = began.elapsed();
    let options = RenderOptions { width: 100, color: false, lang: Lang::En, verbose: false };
    let mut sizes = Vec::new();
    for format in FORMATS {
        let (mut size, began) = (0, Instant::now());
        (format.write)(&fleet, &options, &mut |part| size += part.len());
        sizes.push(format!("{} {:.1} MB in {:.2} s", format.name, size as f64 / 1e6, began.elapsed().as_secs_f64()));
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or_default();
    Ok(format!(
        "{} runs, {:.0} MB: read {:.2} s, judged {:.2} s; {} odd; {peak}; {}\n",
        fleet.runs,
        bytes as f64 / 1e6,
        read.as_secs_f64(),
        (judged - read).as_secs_f64(),
        fleet.odd().count(),
        sizes.join(", ")
    ))
}

fn made(words: &[String]) -> Option<std::io::Result<()>> {
    let number = |index: usize, otherwise: usize| words.get(index).map_or(Some(otherwise), |word| word.parse().ok());
    let fleet = MadeUp {
        odd: words.get(2)?.parse().ok()?,
        shift: words.get(3)?.parse().ok()?,
        planted: match words.get(4)?.as_str() {
            "quota" => Planted::Quota,
            "modules" => Planted::Modules,
            "huge_pages" => Planted::HugePages,
            "mitigations" => Planted::Mitigations,
            _ => return None,
        },
        samples: number(5, 0)?,
        kinds: number(6, 1)?.max(1),
        ..MadeUp::usual(words.get(1)?.parse().ok()?, number(7, 1)? as u64)
    };
    let directory = PathBuf::from(words.first()?);
    let write = || {
        std::fs::create_dir_all(&directory)?;
        for host in 0..fleet.hosts {
            std::fs::write(directory.join(format!("{}.json", MadeUp::name(host))), fleet.run(host, 0))?;
        }
        Ok(())
    };
    Some(write())
}
