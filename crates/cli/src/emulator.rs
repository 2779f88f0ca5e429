//! Whether another program executes this one in the kernel's place, as qemu-user does.

use std::fs::read_link;

/// The name of that program.
pub fn name() -> Option<String> {
    // An emulator answers the first with the program that it executes. The second it leaves to the kernel, which names
    // the emulator.
    let named = std::env::current_exe().ok()?;
    let executed = read_link(format!("/proc/self/task/{}/exe", std::process::id())).ok()?;
    let name = executed.file_name()?.to_string_lossy().into_owned();
    (named != executed).then_some(name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_test_that_is_executed_by_the_kernel_has_no_emulator() {
        // Where tests run emulated they have one, and its name is no path.
        assert!(super::name().is_none_or(|name| !name.is_empty() && !name.contains('/')));
        if cfg!(target_arch = "x86_64") {
            assert_eq!(super::name(), None);
        }
    }
}
