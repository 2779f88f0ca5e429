//! `hostmark serve` as a process, used as it is meant to be, and abused: it lets nobody in without its token, goes on whatever comes,
//! and leaves nothing.

use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::Child;

use hostmark_launch::channel::{Dialling, Token};
use hostmark_model::{
    AGENT_PROTOCOL, AgentAnswer, AgentRequest, JsonLine, Nonce, Params, PathBytes, PeerAnswer, PeerRequest, RunRequest,
    ServeRequest,
};

use crate::mutated::{Mutator, trials};
use crate::prelude::*;
use crate::server::{Client, Server, greeting, is_shown_out, listening_elsewhere, loopback};
use crate::support;

/// KiB that a server has ever had in memory at most, whatever was done to it: with nobody there it has some 6000.
const MOST_KIB: usize = 32 << 10;

/// A run that takes some seconds.
const LONG: [&str; 5] = ["run", "clock", "syscall.null", "--format", "json"];

fn hello(protocol: u32) -> String {
    AgentRequest::Hello { protocol }.to_line().unwrap()
}

/// A run under way at a server, killed when dropped.
struct Measuring(Child, Home);

impl Measuring {
    fn at(server: &Server) -> Measuring {
        let home = Home::new();
        let child = server.client(&home, &LONG).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        Measuring(child, home)
    }

    /// Waits until the server's side measures.
    #[track_caller]
    fn once_under_way(self, server: &Server) -> Measuring {
        assert!(within(SOON, || count(server, "worker") > 0), "{:?}", processes(&server.home));
        self
    }
}

impl Drop for Measuring {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Processes of the server's side with this first word.
fn count(server: &Server, word: &str) -> usize {
    processes(&server.home).iter().filter(|(_, first)| first == word).count()
}

/// Nothing is left of the server's sessions.
#[track_caller]
fn assert_alone(server: &Server) {
    let is_alone = || processes(&server.home).iter().all(|(_, word)| word == "serve");
    assert!(within(SOON, is_alone), "{:?}", processes(&server.home));
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_run_is_measured_where_the_server_is_and_kept_here() {
    let mut server = Server::start(&[]);
    let home = Home::new();
    let (code, json, errors) =
        ended(&mut server.client(&home, &["run", "clock.read", "--format", "json", "--seed", "7"]));
    assert_eq!((code, errors.as_str()), (0, ""));
    let run = load_run(&json).unwrap();
    assert_eq!(run.place, Some(format!("tcp:{}", server.address)));
    assert_eq!(run.settings.seed, 7);
    assert!(run.cases.iter().all(|case| case.measured().is_some()));
    assert_eq!(run.tool.digest.map(|digest| digest.len()), Some(64));
    assert_eq!(support::files(home.data.path()).len(), 1);
    assert_eq!(support::files(server.home.data.path()).len(), 0);
    let (code, plan, _) = ended(&mut server.client(&home, &["run", "clock.read", "--dry-run"]));
    assert!(code == 0 && plan.contains("clock.read"), "{plan}");
    server.assert_serves();
    assert_alone(&server);
}

#[test]
fn who_has_another_token_is_informed_and_no_agent_is_started() {
    let mut server = Server::start(&["--lang", "zh"]);
    let home = Home::new();
    let (code, out, errors) =
        ended(&mut server.client_with(&home, &Token::fresh().unwrap(), &["host", "--lang", "zh"]));
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(errors.contains("拒绝此令牌；请给出"), "{errors}");
    assert!(within(SOON, || server.complaints.lock().unwrap().contains("127.0.0.1 的令牌不符")));
    server.assert_serves();
}

/// A request to measure what filters pick.
fn request_with(filters: &[&str], set: &[String], inputs: Inputs) -> String {
    let filters = filters.iter().map(|&filter| filter.to_owned()).collect();
    let (profile, seed, table, via, begun) = (Profile::Quick, None, None, Vec::new(), None);
    let run = RunRequest { filters, profile, seed, set: set.to_vec(), table, inputs, via, begun };
    AgentRequest::Run(Box::new(run)).to_line().unwrap()
}

/// A request for so many values of each of two axes, and so for their product, and so many filters that each pick one case of it.
fn request_for_product(values: usize, filters: usize) -> String {
    let one = |number: usize| {
        let (processes, footprint) = (number % values + 1, number / values % values + 1);
        format!("sched.context_switch@processes={processes},footprint={footprint}")
    };
    let filters: Vec<String> = (0..filters).map(one).chain(["sched.context_switch".to_owned()]).collect();
    let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
    let values: Vec<String> = (1..=values).map(|value| value.to_string()).collect();
    let set = ["processes", "footprint"].map(|axis| format!("{axis}={}", values.join(",")));
    request_with(&filters, &set, Inputs::default())
}

#[test]
fn a_session_gives_facts_and_measurements_and_nothing_of_a_login() {
    let server = Server::start(&[]);
    let request = |inputs: Inputs| request_with(&["clock.read"], &[], inputs);
    let none = Inputs::default();
    let asked = [
        (request(Inputs { command: vec!["id".into()], ..none.clone() }), "runs no commands"),
        (request(Inputs { isolate: vec!["namespaces".into()], ..none.clone() }), "enters no layers"),
        (request(Inputs { peers: vec!["peer".into()], ..none.clone() }), "no other host"),
        (request(Inputs { scratch: Some(PathBytes(b"/etc".to_vec())), ..none.clone() }), "takes no directory"),
        (AgentRequest::Kept { run: "last".into() }.to_line().unwrap(), "gives no runs that are kept"),
        ("{\"shell\":\"id\"}".to_owned(), "is no request"),
        ("x".repeat(2 << 20), "has no end"),
        (request_for_product(1000, 0), "more than 20000 cases"),
    ];
    for (line, expected) in asked {
        let answer = Client::asks(&server, line.trim_end());
        assert!(answer.starts_with("{\"error\"") && answer.contains(expected), "{answer}");
    }
    // Its CPUs may be chosen.
    let cpus = hostmark_host::read_here().usable_cpus().last().map(usize::to_string);
    assert!(Client::asks(&server, &request(Inputs { cpus, ..none })).starts_with("{\"plan\""));
    assert_alone(&server);
}

pub fn show(text: &str) {
    let _ = std::io::stdout().write_all(text.as_bytes());
}

#[test]
fn garbage_at_the_door_is_refused_and_reported_in_few_lines() {
    let mut server = Server::start(&[]);
    let mut draw = Mutator::new(0x0dd_ba11);
    let other = Token::fresh().unwrap();
    let tried = trials(600);
    for trial in 0..tried {
        let mut socket = server.connect();
        let greeting = greeting(&socket);
        let mut said = match trial % 4 {
            0 => vec![0xff; 2 + draw.below(70_000)],
            1 => (0..draw.below(200)).map(|_| draw.below(256) as u8).collect(),
            2 => Dialling::begin(&other, &greeting).unwrap().1,
            _ => Dialling::begin(&server.token, &greeting).unwrap().1,
        };
        if trial % 4 == 3 {
            let at = draw.below(said.len());
            said[at] ^= 1 << draw.below(8);
        }
        let _ = socket.write_all(&said);
        let _ = socket.shutdown(Shutdown::Write);
        assert!(is_shown_out(&socket), "{said:?}");
    }
    server.assert_serves();
    let (lines, kib) = (server.complaints.lock().unwrap().lines().count(), server.status("VmHWM"));
    show(&format!("garbage: {tried} connections, {lines} lines, VmHWM {kib} KiB\n"));
    assert!(lines < 10 + tried / 50 && kib < MOST_KIB, "{lines} {kib}");
    assert_alone(&server);
}

#[test]
fn who_is_killed_leaves_no_agent() {
    let mut server = Server::start(&[]);
    let mut running = Measuring::at(&server).once_under_way(&server);
    running.0.kill().unwrap();
    running.0.wait().unwrap();
    assert_alone(&server);
    assert!(within(SOON, || processes(&running.1).is_empty()), "{:?}", processes(&running.1));
    assert_eq!(support::files(server.home.scratch.path()).len(), 1, "the token alone");
    server.assert_serves();
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_server_that_is_asked_to_end_or_killed_leaves_nothing() {
    for (signal, code) in [(Signal::TERM, Some(143)), (Signal::INT, Some(130)), (Signal::KILL, None)] {
        let mut server = Server::start(&[]);
        let mut running = Measuring::at(&server).once_under_way(&server);
        let _held: Vec<TcpStream> = (0..50).map(|_| server.connect()).collect();
        server.child.signal(signal);
        assert_eq!(server.child.wait().unwrap().code(), code);
        assert!(within(SOON, || processes(&server.home).is_empty()), "{:?}", processes(&server.home));
        assert_eq!(running.0.wait().unwrap().code(), Some(5));
        let mut errors = String::new();
        running.0.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        assert!(errors.contains("broke off"), "{errors}");
        assert!(!errors.contains("--resume"), "{errors}");
    }
}

#[test]
fn one_session_more_than_may_be_is_informed() {
    let mut server = Server::start(&["--sessions", "1"]);
    let first = Client::enter(&server);
    assert!(within(SOON, || count(&server, "agent") == 1));
    let home = Home::new();
    let (code, _, errors) = ended(&mut server.client(&home, &["host", "--lang", "zh"]));
    assert_eq!(code, 5);
    assert!(errors.contains("那里已有 1 个会话，不能再多；请稍后重试"), "{errors}");
    drop(first);
    assert_alone(&server);
    server.assert_serves();
}

#[test]
fn what_comes_from_the_future_is_reported_as_such_at_either_end() {
    let server = Server::start(&[]);
    let mut client = Client::enter(&server);
    client.says(hello(AGENT_PROTOCOL + 1).as_bytes());
    assert!(client.next_line().unwrap().starts_with("{\"hello\""));
    let answer = client.next_line().unwrap();
    assert!(answer.contains("take the same version of both"), "{answer}");

    let later = TcpListener::bind("127.0.0.1:0").unwrap();
    let home = Home::new();
    let mut command = server.client(&home, &["host"]);
    let address = format!("tcp:{}", later.local_addr().unwrap());
    let arguments: Vec<_> = command.get_args().map(std::ffi::OsStr::to_owned).collect();
    let arguments = arguments.into_iter().map(|word| match word.to_string_lossy().starts_with("tcp:") {
        true => address.clone().into(),
        false => word,
    });
    command = home.hostmark(&[]);
    let answers = std::thread::spawn(move || {
        let texts: [&[u8]; 3] = [b"\0\x0chostmark\0\x02xy", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0\x03abc"];
        texts.map(|text| later.accept().unwrap().0.write_all(text).unwrap())
    });
    command.args(arguments);
    for expected in ["speaks version 2 of the channel, this one 1", "is no hostmark serve", "is no hostmark serve"] {
        let (code, _, errors) = ended(&mut command);
        assert!(code == 2 && errors.contains(expected), "{errors}");
    }
    answers.join().unwrap();
}

#[test]
fn a_server_without_a_file_prints_a_token_once_that_lets_in() {
    let home = Home::new();
    let mut command = home.hostmark(&["serve", "--bind", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut said = vec![0; 1000];
    let mut length = 0;
    while !said[..length].windows(2).any(|end| end == b"E\n") {
        length += child.stdout.as_mut().unwrap().read(&mut said[length..]).unwrap();
    }
    let said = String::from_utf8_lossy(&said[..length]).into_owned();
    let token = said.lines().find_map(|line| Token::of(line.strip_prefix("token ")?));
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    assert_eq!(token.map(|token| said.matches(&token.hex()).count()), Some(1), "{said}");
    assert!(said.contains("memory: all sessions together fill at most "), "{said}");
    assert!(said.contains("planning: a request takes at most 5 s of CPU time\n"), "{said}");
}

#[test]
fn a_server_whose_token_nobody_can_read_ends() {
    for outputs in ["exec >/dev/full", "exec >&-", "exec >/dev/null", "exec > >(:); sleep 0.2"] {
        let home = Home::new();
        let mut command = home.start("bash");
        command.args(["-c", &format!("{outputs}; exec \"$0\" serve --bind 127.0.0.1:0"), support::PROGRAM]);
        let (code, _, errors) = ended(&mut command);
        assert_eq!(code, 5, "{outputs}: {errors}");
        assert!(errors.contains("the token cannot be printed"), "{outputs}: {errors}");
    }
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn what_all_sessions_fill_and_plan_is_bounded() {
    let server = Server::start(&[]);
    // Each may fill a third of what was left to the one before.
    let held: Vec<Client> = (0..5).map(|_| Client::enter(&server)).collect();
    assert!(within(SOON, || count(&server, "agent") == held.len()));
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap();
    let available = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:")).unwrap();
    let kib: u64 = available.trim().trim_end_matches(" kB").parse().unwrap();
    let home = Home::new();
    let case = format!("memory.read@size={}M", (kib >> 10) / 100);
    let (_, out, errors) = ended(&mut server.client(&home, &["run", &case, "--format", "json"]));
    assert!(out.contains("or its share of hostmark serve"), "{out}{errors}");
    drop(held);
    assert_alone(&server);
    let answer = Client::asks(&server, request_for_product(250, 2000).trim_end());
    // A fast machine's optimized program has planned it by then.
    let is_answered = answer.contains("of CPU time at most") || answer.starts_with("{\"plan\"");
    assert!(is_answered, "{}", &answer[..answer.len().min(200)]);
    assert_alone(&server);
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn a_server_is_a_peer_and_measures_to_none_itself() {
    let server = Server::start(&[]);
    let home = Home::new();
    let (place, token) = (format!("tcp:{}", server.address), server.token_file(&home));
    let with = |words: &[&str]| {
        let mut command = home.hostmark(words);
        command.args(["--via", "127.0.0.1", "--format", "json", "--token-file"]).arg(&token);
        ended(&mut command)
    };
    let (code, out, errors) = with(&["run", "net.round_trip@to=peer", "net.udp_bandwidth@to=peer", "--peer", &place]);
    assert_eq!((code, errors.as_str()), (0, ""));
    let run = load_run(&out).unwrap();
    assert_eq!(run.peers[0].place.as_deref(), Some(place.as_str()));
    assert!(run.cases.iter().all(|case| case.measured().is_some()), "{:?}", run.cases);
    let (code, _, errors) = with(&["run", "net.round_trip@protocol=tcp,to=peer", "--on", &place, "--peer", "here"]);
    assert_eq!(code, 2, "{errors}");
    assert!(errors.contains("hostmark serve measures to no other host"), "{errors}");
    let (code, _, errors) = with(&["run", "net.round_trip@protocol=tcp,to=peer", "--peer", "here"]);
    assert_eq!(code, 2, "{errors}");
    assert!(errors.contains("--token-file belongs to a place as tcp:HOST"), "{errors}");
}

#[test]
fn far_ends_listen_where_their_server_does_and_are_as_many_as_cpus() {
    let server = Server::start(&[]);
    let mut client = Client::enter(&server);
    client.says(hello(AGENT_PROTOCOL).as_bytes());
    assert!(client.next_line().unwrap().starts_with("{\"hello\""));
    let mut asks = |request: PeerRequest| {
        client.says(AgentRequest::Peer(request).to_line().unwrap().as_bytes());
        match serde_json::from_str(&client.next_line().unwrap()).unwrap() {
            AgentAnswer::Peer(answer) => answer,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(asks(PeerRequest::Addresses), PeerAnswer::Addresses(vec![Ipv4Addr::LOCALHOST.into()]));
    let nonce = Nonce::of([7; 16]);
    let wanted = |protocol: &str, at: IpAddr, parties: usize| {
        PeerRequest::Serve(ServeRequest {
            service: "echo".into(),
            params: Params(vec![("protocol".into(), protocol.into())]),
            at: vec![at],
            nonces: vec![nonce; parties],
            is_bound: false,
            memory_bytes: 0,
            setup_ns: 0,
            silent_ms: 0,
        })
    };
    // Addresses that are none of its own, all of its own, and one that nobody else reaches.
    let addresses: [IpAddr; 5] = ["192.0.2.77", "0.0.0.0", "::", "127.0.0.2", "::1"].map(|at| at.parse().unwrap());
    for (protocol, at) in ["tcp", "udp"].into_iter().flat_map(|protocol| addresses.map(|at| (protocol, at))) {
        let PeerAnswer::Serving { at: listens } = asks(wanted(protocol, at, 1)) else { panic!("{protocol} {at}") };
        assert!(listens[0].ip() == Ipv4Addr::LOCALHOST, "{protocol} {at}: {listens:?}");
        assert_eq!(listening_elsewhere(&server, &loopback()), [""; 0], "{protocol} {at}");
        if protocol == "tcp" {
            // Its client is not kept waiting by those who say nothing.
            let silent: Vec<TcpStream> = (0..20).map(|_| TcpStream::connect(listens[0]).unwrap()).collect();
            let mut peer = TcpStream::connect(listens[0]).unwrap();
            peer.write_all(nonce.told()).unwrap();
            peer.read_exact(&mut [0; 16]).unwrap();
            let is_held = |mut stream: &TcpStream| {
                stream.set_nonblocking(true).unwrap();
                stream.read(&mut [0]).is_err_and(|error| error.kind() == std::io::ErrorKind::WouldBlock)
            };
            // One after the other half of them would have been shown out by then.
            assert!(silent.iter().filter(|stream| is_held(stream)).count() > silent.len() / 2);
        }
        assert!(matches!(asks(PeerRequest::Enough), PeerAnswer::Served { .. }));
    }
    // Those that may be used, however little of them a quota leaves.
    let cpus = hostmark_host::read_here().usable_cpus().len();
    let PeerAnswer::Unserved { is_skipped: true, reason } = asks(wanted("tcp", addresses[0], cpus + 1)) else {
        panic!("more far ends than CPUs");
    };
    let expected = format!("{} far ends were asked for, and hostmark serve starts one for each CPU", cpus + 1);
    assert!(reason.starts_with(&expected) && reason.ends_with(&cpus.to_string()), "{reason}");
    let PeerAnswer::Serving { at } = asks(wanted("tcp", addresses[0], cpus)) else { panic!("none for each CPU") };
    assert_eq!(at.len(), cpus);
}

#[test]
#[cfg_attr(not(feature = "system"), ignore = "takes long")]
fn what_a_session_measures_listens_where_its_server_does() {
    let server = Server::start(&[]);
    let home = Home::new();
    let mut command = server.client(&home, &["run", "net.round_trip", "net.http"]);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let mut has_measured = false;
    while run.try_wait().unwrap().is_none() {
        assert_eq!(listening_elsewhere(&server, &loopback()), [""; 0]);
        has_measured |= count(&server, "service") > 0;
    }
    assert!(has_measured && matches!(run.wait().unwrap().code(), Some(0 | 3)));
}
