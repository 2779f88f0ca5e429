//! Stand-ins of clients of clusters and containers, since none of these runs in a test: scripts that take arguments, carry
//! streams and end as the real ones do, as far as a place can tell.

use hostmark_launch::supervise::Ending;

use super::spot::Spot;
use super::terms;

/// Stands in for `kubectl exec -i POD -- COMMAND…`, which passes the words after `--` as they are, without a terminal, and
/// with the pod's environment in place of the caller's.
const KUBECTL: &str = r#"[ "$1 $2" = "exec -i" ] && [ "$4" = -- ] || { echo "error: unknown command" >&2; exit 1; }
temporary=$3; shift 4
exec env -i PATH="$PATH" TMPDIR="$temporary" "$@""#;

/// Stands in for `docker exec -i NAME COMMAND…`: the process there is no child of the client. When the client is killed it
/// lives on, and its standard input ends.
const DOCKER: &str = r#"[ "$1 $2" = "exec -i" ] || { echo "docker: unknown command" >&2; exit 125; }
temporary=$3; shift 3
d=$(mktemp -d "${0%/*}/streams-XXXXXX"); mkfifo "$d/in" "$d/out" "$d/err"
# Both ends of each are open before anybody has one: who opens a fifo alone waits.
exec 3<&0 4<>"$d/in" 5<"$d/in" 6>"$d/in"
exec 4<>"$d/out" 7<"$d/out" 8>"$d/out"
exec 4<>"$d/err" 9<"$d/err"
setsid env -i PATH="$PATH" TMPDIR="$temporary" "$@" <&5 >&8 2>&4 3<&- 4<&- 5<&- 6>&- 7<&- 8>&- 9<&- &
there=$!
exec 4<&- 5<&- 8>&-
cat <&7 6>&- & out=$!
cat <&9 >&2 6>&- & err=$!
cat <&3 >&6 & in=$!
exec 6>&-
wait $there; code=$?
wait $out; wait $err
kill $in 2>/dev/null
exit $code"#;

/// Stands in for `srun -w NODE COMMAND…`, which hands on what a task says by the line.
const SRUN: &str = r#"[ "$1" = -w ] || { echo "srun: error: unknown option" >&2; exit 1; }
temporary=$2; shift 2
{ TMPDIR=$temporary "$@"; echo $? >"${0%/*}/code"; } | grep --line-buffered ''
exit "$(cat "${0%/*}/code")""#;

/// Behind a client of this text, where the words before the last are these.
fn behind(name: &str, text: &str, words: &[&str], last: &[&str]) -> Spot {
    let mut spot = Spot::behind("");
    let client = spot.tool(name, text);
    let temporary = spot.temporary.path().to_str().unwrap().to_owned();
    let words = [&[client.as_str()], words, &[temporary.as_str()], last].concat();
    spot.place = hostmark_launch::transport::Transport::Command(words.into_iter().map(Into::into).collect());
    spot
}

#[test]
fn a_stand_in_of_kubectl_leads_into_a_pod() {
    behind("kubectl", KUBECTL, &["exec", "-i"], &["--"]).works();
}

#[test]
fn a_stand_in_of_docker_leads_into_a_container() {
    behind("docker", DOCKER, &["exec", "-i"], &[]).works();
}

#[test]
fn a_stand_in_of_srun_leads_to_a_node() {
    behind("srun", SRUN, &["-w"], &[]).works();
}

#[test]
fn who_lives_on_in_a_container_whose_client_is_killed_ends_with_its_input() {
    let spot = behind("docker", DOCKER, &["exec", "-i"], &[]);
    let ended = spot.outside.path().join("ended");
    let text = format!("echo $$; cat > /dev/null; echo > {}", ended.display());
    let mut process = spot.start(&text, terms(Ending::Killed));
    let hostmark_launch::supervise::ReadOutcome::Line(pid) = process.read_line_within(super::SOON).unwrap() else {
        panic!()
    };
    let there = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
    assert!(rustix::process::getpgid(Some(there)).unwrap().as_raw_nonzero().get() != process.id() as i32);
    drop(process);
    assert!((0..2000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        ended.exists()
    }));
}

#[test]
fn a_container_of_docker_that_is_killed_while_it_takes_the_program_keeps_nothing_of_it() {
    for parts in [1, 3, 20] {
        let spot = behind("docker", DOCKER, &["exec", "-i"], &[]);
        // The client takes so much, and then is no more.
        let cut = format!("(sleep 0.0{parts}; kill -9 0) & exec \"$0\" \"$@\"");
        let hostmark_launch::transport::Transport::Command(words) = &spot.place else { panic!() };
        let before = ["sh", "-c", &cut].map(std::ffi::OsString::from);
        let place = hostmark_launch::transport::Transport::Command([&before[..], words].concat());
        let programs = hostmark_launch::program::Programs::of(&spot.large("exit", 8 << 20), false, spot.outside.path());
        // Where it was fast, it is killed afterwards.
        drop(place.start(&programs, &[], terms(Ending::Killed)));
        assert!(spot.is_cleared());
    }
}
