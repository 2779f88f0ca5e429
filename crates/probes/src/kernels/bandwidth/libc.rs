//! The C library's own copy and fill, called as a program calls them.

use std::ffi::{c_int, c_void};
use std::hint::black_box;

unsafe extern "C" {
    fn memcpy(destination: *mut c_void, source: *const c_void, bytes: usize) -> *mut c_void;
    fn memset(destination: *mut c_void, byte: c_int, bytes: usize) -> *mut c_void;
}

/// Fills by `memset`, each pass with the lowest byte of its word.
///
/// # Safety
/// `bytes` bytes from `start` must be writable.
pub(super) unsafe fn write(start: *mut u8, bytes: usize, passes: u64, word: u64, step: u64) {
    let mut word = word;
    // Through a pointer that the compiler cannot see through, else it may merge or inline the calls.
    let memset = black_box(memset as unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void);
    for _ in 0..passes {
        // SAFETY: the caller promises that the bytes are writable.
        unsafe { memset(start.cast(), (word & 0xff) as c_int, bytes) };
        word = word.wrapping_add(step);
    }
}

/// Copies by `memcpy`.
///
/// # Safety
/// `bytes` bytes from `source` must be readable, as many from `destination` writable, and the two apart.
pub(in crate::kernels) unsafe fn copy(destination: *mut u8, source: *const u8, bytes: usize, passes: u64) {
    let memcpy = black_box(memcpy as unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void);
    for _ in 0..passes {
        // SAFETY: the caller promises that both are valid and apart.
        unsafe { memcpy(destination.cast(), source.cast(), bytes) };
    }
}
