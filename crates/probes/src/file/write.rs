//! Probe file.write: a file is written from its start, by size, synced or not.

use hostmark_engine::prelude::*;
use sys::files;

/// See the module.
pub static PROBE: Probe = Probe {
    title: Text { en: "File write", zh: "写文件" },
    revision: 1,
    unit: Unit::BytesPerSecond,
    better: Better::Higher,
    also: &[],
    explain: Explain {
        what: Text {
            en: "`size` bytes are written to an empty file, 64 KiB at a time; the file is emptied between passes, untimed. sync=fsync waits at the end until \
                 all of it is on the device, within the time.",
            zh: "向空文件写 `size` 字节，每次 64 KiB；各遍之间清空文件，不计时。sync=fsync 在最后等待全部数据写到设备，计入时间。",
        },
        why: Text {
            en: "A write without sync is a promise: the kernel copies, and writes to the device later. What a program may rely on is the rate with \
                 fsync; what it feels, until too much is unwritten, is the one without.",
            zh: "不同步的写只是承诺：内核先复制，稍后才写设备。程序可以依赖的是带 fsync 的速率；在未写数据过多之前，它感受到的是不带 fsync 的速率。",
        },
        reading: Text {
            en: "sync=none 1 to 5 GB/s on every filesystem: a new page is allocated for each 4 KiB, zeroed or not, and copied to. On place=scratch with fsync \
                 the device's rate less a flush: 0.1 to 2 GB/s on flash. On tmpfs both are the same, as there is nothing to sync.",
            zh: "sync=none 在各种文件系统上为 1 到 5 GB/s：每 4 KiB 分配一个新页并复制。place=scratch 加 fsync 则为设备速率再减去一次刷新：闪存 0.1 到 2 GB/s。\
                 tmpfs 上两者相同，因为无可同步。",
        },
    },
    axes: &[
        Axis::size(
            "size",
            "8388608",
            Points::Listed { quick: &["8388608"], standard: &["4096", "65536", "1048576"], thorough: &["67108864"] },
        ),
        Axis::choice("sync", "none", Points::Listed { quick: &["none"], standard: &["fsync"], thorough: &[] }),
        crate::place::PLACE,
    ],
    cross: &[Cross { from: Profile::Standard, axes: &["sync", "place"] }],
    limit: Limit::None,
    blocking: true,
    needs: &[],
    replaces: &["lmdd"],
    section: crate::section::FILES,
    measure: Measure::Run(measure),
};

fn measure(case: &mut Case) -> Result<()> {
    let size: u64 = case.param("size")?;
    let is_synced = case.param::<String>("sync")? == "fsync";
    let directory = crate::place::directory(case)?;
    crate::place::may_hold(case, &directory, size)?;
    let file = files::unnamed(&directory)?;
    let block = case.buffer(super::BLOCK_BYTES as u64, Pages::Base, None)?;
    case.observe_rate(size, |clock| {
        files::set_length(&file, 0)?;
        let start = clock.start();
        let mut done = 0;
        while done < size {
            let part = &block.bytes()[..super::BLOCK_BYTES.min((size - done) as usize)];
            files::write_at(&file, done, part)?;
            done += part.len() as u64;
        }
        if is_synced {
            files::sync(&file)?;
        }
        Ok(clock.end().since(start))
    })
}
