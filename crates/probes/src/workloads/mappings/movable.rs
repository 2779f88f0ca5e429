//! Pages that are moved from one memory node to another: move_pages(2) of this process' own.

use std::collections::BTreeSet;
use std::io;

use crate::workloads::call::named;
use crate::workloads::mappings::mapping::Mapping;
use crate::workloads::memory::{Node, Pages};

/// Of the kernel's interface: what only this process maps.
const MPOL_MF_MOVE: libc::c_int = 2;

/// Base pages of one mapping, all written, and what the kernel is told and tells of each.
#[derive(Debug)]
pub struct Movable {
    /// Where the pages are: unmapped with it.
    _mapping: Mapping,
    pages: Vec<*mut libc::c_void>,
    nodes: Vec<libc::c_int>,
    status: Vec<libc::c_int>,
}

impl Movable {
    /// So many pages, which the calling thread has on its own node as far as the kernel can.
    pub fn new(count: usize) -> io::Result<Movable> {
        let page = Pages::Base.bytes();
        let mapping = Mapping::anonymous(count * page, Pages::Base)?;
        mapping.write_every(page, usize::MAX);
        let pages = (0..count).map(|number| mapping.address().wrapping_add(number * page).cast()).collect();
        Ok(Movable { _mapping: mapping, pages, nodes: vec![0; count], status: vec![-1; count] })
    }

    /// Moves all of them there by one call. Where they are then, [`Movable::on`] tells.
    pub fn move_to(&mut self, Node(node): Node) -> io::Result<()> {
        self.nodes.fill(libc::c_int::try_from(node).map_err(io::Error::other)?);
        self.call(true)
    }

    /// The nodes that they are on, as the kernel tells.
    pub fn on(&mut self) -> io::Result<BTreeSet<libc::c_int>> {
        self.call(false)?;
        Ok(self.status.iter().copied().collect())
    }

    fn call(&mut self, moves: bool) -> io::Result<()> {
        let nodes = if moves { self.nodes.as_ptr() } else { std::ptr::null() };
        // SAFETY: there are as many addresses, nodes and statuses as the kernel is told; the pages are this process' own, and what they
        // hold stays.
        let result = unsafe {
            libc::syscall(
                libc::SYS_move_pages,
                0,
                self.pages.len(),
                self.pages.as_ptr(),
                nodes,
                self.status.as_mut_ptr(),
                MPOL_MF_MOVE,
            )
        };
        if result < 0 { Err(named("move_pages", io::Error::last_os_error())) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skip::skipped;

    #[test]
    fn pages_stay_on_the_node_where_they_are_asked_for_and_no_other_node_has_them() {
        let mut movable = Movable::new(8).unwrap();
        let Ok(on) = movable.on() else { return skipped("the kernel, or what this runs in, does not move pages") };
        let node = *on.first().unwrap();
        assert!(on.len() == 1 && node >= 0, "{on:?}");
        movable.move_to(Node(node as usize)).unwrap();
        assert_eq!(movable.on().unwrap(), on);
        assert!(movable.move_to(Node(1 << 20)).is_err());
        assert_eq!(movable.on().unwrap(), on);
    }
}
