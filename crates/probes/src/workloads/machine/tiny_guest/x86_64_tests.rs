//! The guest's code, and the guest itself where KVM can make one.

use super::*;
use crate::skip::skipped;

const ALL: [&str; 6] = ["cpuid", "msr", "hypercall", "port", "mmio", "hlt"];

#[test]
fn both_loops_differ_by_the_cause_alone() {
    for name in ALL {
        let cause = ExitCause::of_name(name).unwrap();
        for is_amd in [false, true] {
            let (code, instruction) = (Code::of(cause, is_amd), cause.instruction(is_amd));
            let (loaded, empty) = code.bytes[code.loaded..].split_at(code.empty - code.loaded);
            assert_eq!(loaded.len(), empty.len() + instruction.len(), "{name}");
            let at = 5 + cause.preparation().len();
            assert_eq!((&loaded[..at], &loaded[at..at + instruction.len()]), (&empty[..at], instruction), "{name}");
            // Each goes back to its own first turn, and at the end to the jump at the start.
            for (begin, bytes) in [(code.loaded, loaded), (code.empty, empty)] {
                let [.., jump, distance, 0xe6, END_PORT, 0xeb, to_start] = *bytes else { panic!("{name}: {bytes:x?}") };
                assert_eq!((jump, i64::from(distance as i8)), (0x75, 5 - (bytes.len() as i64 - 4)), "{name}");
                assert_eq!((begin + bytes.len()) as i64 + i64::from(to_start as i8), 0, "{name}");
            }
        }
    }
    assert_eq!(ExitCause::of_name("triple_fault"), None);
}

#[test]
fn a_guest_leaves_by_its_cause_as_often_as_it_should() {
    for name in ALL {
        let mut guest = match TinyGuest::new(ExitCause::of_name(name).unwrap()) {
            Ok(guest) => guest,
            Err(error) => return skipped(&format!("no guest can be made here: {error}")),
        };
        for pass in [Pass::Empty, Pass::Loaded, Pass::Loaded, Pass::Empty] {
            match guest.pass(pass) {
                Ok(()) => {}
                // A KVM that interprets kernel code refuses the one that is not its own.
                Err(error) if name == "hypercall" => {
                    skipped(&format!("KVM here has no hypercalls: {error}"));
                    break;
                }
                Err(error) => panic!("{name}, {pass:?}: {error}"),
            }
        }
    }
}

#[test]
fn a_guest_that_leaves_in_another_way_is_no_measurement() {
    let mut guest = match TinyGuest::new(ExitCause::Port) {
        Ok(guest) => guest,
        Err(error) => return skipped(&format!("no guest can be made here: {error}")),
    };
    guest.cause = ExitCause::Halt;
    assert!(guest.pass(Pass::Loaded).unwrap_err().to_string().contains("left by Port where it was to by Halt"));
    let mut guest = TinyGuest::new(ExitCause::Cpuid).unwrap();
    guest.cause = ExitCause::Port;
    assert!(guest.pass(Pass::Loaded).unwrap_err().to_string().contains("left 0 times"));
    // ud2: nobody in the guest takes the fault, nor the fault of that.
    let mut guest = TinyGuest::new(ExitCause::Cpuid).unwrap();
    guest.memory.put(CODE, &[0x0f, 0x0b]);
    assert!(guest.pass(Pass::Empty).unwrap_err().to_string().starts_with("the guest ended by "));
}
