//! Fork cost of this process, made as small as a small program's: memory that its children never need is not copied for them.

use std::ffi::{c_int, c_void};
use std::io;
use std::ops::Range;

use crate::workloads::call::returned;

/// The program or a library, as the loader has mapped it: whole pages.
#[derive(Debug, Default)]
struct Object {
    segments: Vec<Range<usize>>,
    /// Pages of constants that hold addresses: the loader has written all of these, and nobody writes them again.
    relocated: Range<usize>,
}

impl Object {
    fn holds(&self, address: usize) -> bool {
        self.segments.iter().any(|segment| segment.contains(&address))
    }

    fn of_this_program(&self) -> bool {
        self.holds(share_relocated as *const () as usize)
    }
}

fn objects() -> Vec<Object> {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, objects: *mut c_void) -> c_int {
        // SAFETY: the loader's description of an object, and the list given below, which nobody else has.
        let (info, objects) = unsafe { (&*info, &mut *objects.cast::<Vec<Object>>()) };
        // SAFETY: the loader tells how many headers there are.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
        let page = rustix::param::page_size();
        let bytes = |header: &libc::Elf64_Phdr| {
            let start = info.dlpi_addr as usize + header.p_vaddr as usize;
            start..start + header.p_memsz as usize
        };
        let of_kind = |kind| headers.iter().filter(move |header| header.p_type == kind).map(bytes);
        let whole = |range: Range<usize>| range.start / page * page..range.end.next_multiple_of(page);
        let segments = of_kind(libc::PT_LOAD).map(whole).collect();
        let inside = |range: Range<usize>| {
            let end = range.end / page * page;
            range.start.next_multiple_of(page).min(end)..end
        };
        let relocated = of_kind(libc::PT_GNU_RELRO).next().map_or(0..0, inside);
        objects.push(Object { segments, relocated });
        0
    }
    let mut objects: Vec<Object> = Vec::new();
    // SAFETY: the function takes what the loader gives it and the list, and keeps nothing.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut objects).cast()) };
    objects
}

/// Puts a shared copy in the place of this program's constants that hold addresses, as long as it lives: pages of a process alone are copied
/// at each fork, shared ones are not. A program of this size has a hundred, a small one none.
pub fn share_relocated() -> io::Result<()> {
    let Some(constants) = objects().into_iter().find(Object::of_this_program).map(|program| program.relocated) else {
        return Ok(());
    };
    if constants.is_empty() {
        return Ok(());
    }
    let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_ANONYMOUS);
    let place = std::ptr::with_exposed_provenance_mut::<c_void>(constants.start);
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
    let copy = unsafe { libc::mmap(std::ptr::null_mut(), constants.len(), access, flags, -1, 0) };
    returned("mmap", if copy == libc::MAP_FAILED { -1 } else { 0 })?;
    // SAFETY: the loader has mapped the constants, and the copy is as long, new and writable.
    unsafe { copy.cast::<u8>().copy_from_nonoverlapping(place.cast(), constants.len()) };
    // SAFETY: the copy is nobody else's.
    returned("mprotect", unsafe { libc::mprotect(copy, constants.len(), libc::PROT_READ) })?;
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    // SAFETY: whoever reads here finds the same bytes before and after, and nobody writes: the pages are read-only.
    let moved = unsafe { libc::mremap(copy, constants.len(), constants.len(), flags, place) };
    returned("mremap", if moved == libc::MAP_FAILED { -1 } else { 0 }).map(drop)
}

/// Memory left out of children while this lives: they have this program and its C library, as those of a C program; other libraries are not
/// mapped for them. They may do system calls and nothing else: code for an orderly end is not there.
#[derive(Debug)]
pub struct LeftOut(Vec<Range<usize>>);

impl LeftOut {
    /// Leaves out all but the program, the C library, the loader and the kernel's own part.
    pub fn libraries() -> io::Result<LeftOut> {
        // SAFETY: reads what the kernel told the process when it began.
        let info = [libc::AT_BASE, libc::AT_SYSINFO_EHDR].map(|kind| unsafe { libc::getauxval(kind) } as usize);
        let is_needed = |object: &Object| {
            object.of_this_program()
                || object.holds(libc::syscall as *const () as usize)
                || info.iter().any(|&address| object.holds(address))
        };
        let mut left_out = LeftOut(Vec::new());
        for segment in objects().into_iter().filter(|object| !is_needed(object)).flat_map(|object| object.segments) {
            advise(&segment, libc::MADV_DONTFORK)?;
            left_out.0.push(segment);
        }
        Ok(left_out)
    }
}

impl Drop for LeftOut {
    fn drop(&mut self) {
        for segment in &self.0 {
            // The kernel takes back what it took; a child that lacked a library would end by a signal, which is an error.
            let _ = advise(segment, libc::MADV_DOFORK);
        }
    }
}

fn advise(segment: &Range<usize>, advice: c_int) -> io::Result<()> {
    let place = std::ptr::with_exposed_provenance_mut(segment.start);
    // SAFETY: this process keeps its mappings; its children are made for system calls alone while they lack them.
    returned("madvise", unsafe { libc::madvise(place, segment.len(), advice) }).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workloads::process::in_a_child;
    use crate::workloads::processes;

    /// Returns the private bytes of the mapping that begins with the program's constants; `None` where another one does.
    fn own_bytes() -> Option<String> {
        let constants = objects().into_iter().find(Object::of_this_program)?.relocated;
        let info = std::fs::read_to_string("/proc/self/smaps").ok()?;
        let mapping = info.split_once(&format!("\n{:08x}-", constants.start))?.1;
        Some(mapping.lines().find_map(|line| line.strip_prefix("Anonymous:"))?.trim().to_owned())
    }

    #[test]
    fn constants_are_the_same_where_no_fork_copies_them() {
        in_a_child(|| {
            let texts = || -> String {
                let probes = crate::CATALOGUE.iter().flat_map(|group| group.probes);
                probes.flat_map(|(name, probe)| [*name, probe.title.en, probe.explain.what.zh]).collect()
            };
            let before = texts();
            share_relocated()?;
            assert_eq!(own_bytes().as_deref(), Some("0 kB"));
            assert!(before == texts());
            // Children find them too, also those that end as programs do.
            processes::fork_exit()?;
            processes::fork_exit_by_libc()
        });
    }

    #[test]
    fn libraries_are_left_out_of_children_for_a_while() {
        in_a_child(|| {
            let left_out = LeftOut::libraries()?;
            processes::fork_exit()?;
            let are_marked = || std::fs::read_to_string("/proc/self/smaps").unwrap_or_default().contains(" dc ");
            assert!(are_marked() || left_out.0.is_empty());
            drop(left_out);
            assert!(!are_marked());
            // The end of this one goes through all libraries.
            processes::fork_exit_by_libc()
        });
    }
}
