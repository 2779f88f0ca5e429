//! Messages of forked children on their failure, in memory that they share with this process: an exit status says too
//! little, and a process that waits in a futex, for a signal or for a message is woken by nobody.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::time::Duration;

use hostmark_model::{Event, JsonLine, Message, ReasonCode};
use hostmark_say::say;

use super::call::returned;
use super::waits::Shared;

/// Bytes of a line at most, and characters of a sentence where that would be longer: two copies of it fit, however they are escaped.
const MOST_BYTES: usize = 4096;
const MOST_CHARS: usize = 300;
/// Longest wait for this process to notice by itself that a child has failed: its own reason may say more.
const PATIENCE_S: libc::c_uint = 1;

/// Number of looks, and their distance, for a child's reason why it ends.
const LOOKS: u32 = 20;
const LOOK_AGAIN: Duration = Duration::from_millis(2);

/// The first sentence that any child has said.
struct FirstMessage {
    /// True once one is being said.
    is_taken: AtomicBool,
    /// Bytes of it, when it is complete.
    length: AtomicUsize,
    text: [AtomicU8; MOST_BYTES],
}

static WORDS: OnceLock<Option<Shared<FirstMessage>>> = OnceLock::new();
/// True where this process ends for the sake of a child's last words.
static ANSWERS: AtomicBool = AtomicBool::new(false);
/// True once this process has something of its own to say.
static IS_ANSWERING: AtomicBool = AtomicBool::new(false);

/// Has this process end when a child has failed and nothing followed within a second: it writes that event to standard output.
pub fn answer_with_last_words() {
    ANSWERS.store(true, Ordering::Release);
}

/// Lets this process answer for itself from now on.
pub fn answer_self() {
    IS_ANSWERING.store(true, Ordering::Release);
    // One that a child has set is for a round that is over.
    // SAFETY: no memory is involved; nothing else in this program uses the alarm.
    unsafe { libc::alarm(0) };
}

/// Lets this process wait for children again, as it does at the beginning.
pub fn answer_for_children() {
    IS_ANSWERING.store(false, Ordering::Release);
}

/// Makes room for them and watches for the end of children; to be called before the first fork. Silent without memory.
pub fn prepare() -> io::Result<()> {
    if WORDS.get().is_some() {
        return Ok(());
    }
    let empty = FirstMessage {
        is_taken: AtomicBool::new(false),
        length: AtomicUsize::new(0),
        text: std::array::from_fn(|_| AtomicU8::new(0)),
    };
    WORDS.get_or_init(|| Shared::new(empty).ok());
    if ANSWERS.load(Ordering::Acquire) {
        handle(libc::SIGALRM, end)?;
        handle(libc::SIGCHLD, look)?;
    }
    Ok(())
}

fn handle(signal: libc::c_int, handler: extern "C" fn(libc::c_int)) -> io::Result<()> {
    // SAFETY: an action of zeros is valid: default action, empty mask, no flags.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as *const () as usize;
    // A child that stops, as a traced one does at every call, is none that ends: its signals would be in what is measured.
    action.sa_flags = libc::SA_RESTART | libc::SA_NOCLDSTOP;
    // SAFETY: both handlers do nothing but what is safe at any point of the program: they load atomics, and call alarm(2),
    // write(2) and _exit(2).
    returned("sigaction", unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) }).map(drop)
}

fn words() -> Option<&'static FirstMessage> {
    WORDS.get()?.as_deref()
}

/// A child has ended: if it has said why, the time begins in which something must come of it.
extern "C" fn look(_: libc::c_int) {
    if words().is_some_and(|words| words.length.load(Ordering::Acquire) > 0) && !IS_ANSWERING.load(Ordering::Acquire) {
        // SAFETY: no memory is involved; nothing else in this program uses the alarm.
        unsafe { libc::alarm(PATIENCE_S) };
    }
}

extern "C" fn end(_: libc::c_int) {
    let Some(words) = words().filter(|_| !IS_ANSWERING.load(Ordering::Acquire)) else { return };
    let length = words.length.load(Ordering::Acquire).min(MOST_BYTES);
    // SAFETY: so many bytes are there, and nobody writes to them any more.
    unsafe { libc::write(libc::STDOUT_FILENO, words.text.as_ptr().cast(), length) };
    // SAFETY: ends the process; what it has made is removed by who outlives it, as after any other end.
    unsafe { libc::_exit(0) };
}

/// Says why this child ends. The first of several failures is the cause of the others.
pub fn say(why: impl Into<Message>) {
    let Some(words) = words() else { return };
    let why = why.into();
    let cut = || Message::plain(why.to_string().chars().take(MOST_CHARS).collect::<String>());
    let line = line(&why).or_else(|| line(&cut())).filter(|_| !words.is_taken.swap(true, Ordering::AcqRel));
    if let Some(line) = line {
        words.text.iter().zip(line.bytes()).for_each(|(to, from)| to.store(from, Ordering::Relaxed));
        words.length.store(line.len(), Ordering::Release);
    }
}

/// The event of a child that has failed for this.
fn line(why: &Message) -> Option<String> {
    let event = Event::Failed { reason: ReasonCode::ProcessDied.because(as_reason(why)) };
    event.to_line().ok().filter(|line| line.len() <= MOST_BYTES)
}

/// Waits a moment for the words of a child, where children were forked: what one closes as it ends is noticed before it has
/// said why. To be called when something has gone wrong, and while the children are still there.
#[cold]
pub fn settle() {
    for _ in 0..LOOKS {
        if words().is_none_or(|words| words.length.load(Ordering::Acquire) > 0) {
            return;
        }
        crate::clock::sleep(LOOK_AGAIN);
    }
}

/// The reason of a round in which a child said this before it ended.
pub fn as_reason(words: impl Into<Message>) -> Message {
    say!("another process of the case ended: {words}", words = words.into())
}

/// Returns the message of a child of this process before it ended, if there is one.
pub fn received() -> Option<Message> {
    let words = words()?;
    let length = words.length.load(Ordering::Acquire).min(MOST_BYTES);
    let bytes: Vec<u8> = words.text[..length].iter().map(|byte| byte.load(Ordering::Relaxed)).collect();
    let Ok(Event::Failed { reason }) = Event::from_line(str::from_utf8(&bytes).ok()?) else { return None };
    Message::from(reason).part("words").cloned()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;
    use crate::affinity;
    use crate::process::{Peer, in_a_child};

    #[test]
    fn the_first_that_a_child_says_is_received() {
        // In a process of its own, as the words are the process'.
        in_a_child(|| {
            prepare()?;
            assert_eq!(received(), None);
            for why in ["€\"\n\u{1}".repeat(1000), "write: a consequence".to_owned()] {
                in_a_child(|| {
                    say(why);
                    Ok(())
                });
                let received = received().unwrap().to_string();
                assert_eq!(received, "€\"\n\u{1}".repeat(MOST_CHARS / 4));
            }
            Ok(())
        });
    }

    #[test]
    fn a_child_that_only_stops_has_not_ended() {
        in_a_child(|| {
            answer_with_last_words();
            let peer = Peer::spawn(&affinity::allowed()?, || {
                say("it goes on later");
                // SAFETY: stops this process alone.
                unsafe { libc::raise(libc::SIGSTOP) };
                Ok(())
            })?;
            let mut status = 0;
            // SAFETY: the kernel writes one int; a child that has only stopped is not reaped.
            let stopped = unsafe { libc::waitpid(peer.pid() as libc::pid_t, &raw mut status, libc::WUNTRACED) };
            assert!(stopped > 0 && libc::WIFSTOPPED(status));
            // SAFETY: no memory is involved.
            assert_eq!(unsafe { libc::alarm(0) }, 0, "the time began in which something must come of its end");
            Ok(())
        });
    }

    #[test]
    fn who_waits_for_a_child_that_has_failed_answers_in_its_place() {
        let (read, write) = rustix::pipe::pipe().unwrap();
        in_a_child(|| {
            // SAFETY: this process has one thread, and its standard output is nobody else's.
            unsafe { libc::dup2(write.as_raw_fd(), libc::STDOUT_FILENO) };
            answer_with_last_words();
            let _peer = Peer::spawn(&affinity::allowed()?, || Err(io::Error::other("mq_open: no room")))?;
            loop {
                // Nobody unparks it.
                std::thread::park();
            }
        });
        drop(write);
        let mut said = [0; MOST_BYTES];
        let length = rustix::io::read(&read, &mut said).unwrap();
        assert_eq!(
            str::from_utf8(&said[..length]).ok(),
            line(&Message::from(&io::Error::other("mq_open: no room"))).as_deref()
        );
    }
}
