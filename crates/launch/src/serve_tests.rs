//! The door and a session's relay, looked at from both sides.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};

use rustix::net::{AddressFamily, SocketType};

use super::*;
use crate::channel::{Channel, Dialling, GREETING, Greeting, HANDSHAKE_MESSAGE, Records};
use crate::relay::{Carried, Relay};
use crate::serve::MOST_AT_DOOR;
use crate::timing::timing;

/// A door, the port before it, and the refusals that are counted at it.
struct Street {
    listener: TcpListener,
    door: Admission,
    token: Token,
    refusals: Refusals,
    begin: Instant,
}

impl Street {
    fn new() -> Street {
        let (listener, token) = (TcpListener::bind("127.0.0.1:0").unwrap(), Token::fresh().unwrap());
        Street { listener, door: Admission::new(token.clone()), token, refusals: Refusals::default(), begin: now() }
    }

    /// Somebody comes from this address of loopback, and is greeted.
    fn comes(&mut self, from: u8) -> TcpStream {
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        let from = SocketAddrV4::new(Ipv4Addr::new(127, 0, 0, from), 0);
        rustix::net::bind(&socket, &SocketAddr::V4(from)).unwrap();
        rustix::net::connect(&socket, &self.listener.local_addr().unwrap()).unwrap();
        let accepted = self.listener.accept().unwrap().0;
        self.door.greet(accepted, self.begin, &mut self.refusals);
        let client = TcpStream::from(socket);
        client.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        client
    }

    /// Turns for a while at this time after the begin: loopback may deliver later than a write ends.
    fn turns(&mut self, after: Duration) -> Vec<AdmittedClient> {
        let mut admitted = Vec::new();
        for _ in 0..50 {
            std::thread::sleep(Duration::from_millis(2));
            let mut watched = Vec::new();
            self.door.watch(&mut watched);
            let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut watched, Some(&at_once)).unwrap();
            let ready: Vec<bool> = watched.iter().map(|fd| !fd.revents().is_empty()).collect();
            admitted.extend(self.door.turn(&ready, self.begin + after, &mut self.refusals));
        }
        admitted
    }

    fn reports(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        self.refusals.report(now() + Duration::from_secs(60), &mut |line| lines.push(line.to_string()));
        lines
    }
}

/// Reads the greeting and sends the first message.
fn knock(mut client: &TcpStream, token: &Token) -> Dialling {
    let mut greeting = [0; 2 + GREETING];
    client.read_exact(&mut greeting).unwrap();
    let (dialling, first) = Dialling::begin(token, &Greeting::of(&greeting[2..]).unwrap()).unwrap();
    client.write_all(&first).unwrap();
    dialling
}

/// Hears the answer and confirms it.
fn enter(mut client: &TcpStream, dialling: Dialling) -> Channel {
    let mut answer = [0; 2 + HANDSHAKE_MESSAGE];
    client.read_exact(&mut answer).unwrap();
    let mut channel = dialling.answered(&answer[2..]).unwrap();
    let mut confirmation = Vec::new();
    channel.seal(&[], &mut confirmation).unwrap();
    client.write_all(&confirmation).unwrap();
    channel
}

/// Tells whether nothing came but the greeting, and then the end.
fn is_shown_out(mut client: &TcpStream) -> bool {
    client.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    let mut rest = Vec::new();
    let end = client.read_to_end(&mut rest);
    let is_end = end.is_ok() || end.is_err_and(|error| error.kind() == io::ErrorKind::ConnectionReset);
    is_end && (rest.is_empty() || rest.len() == 2 + GREETING)
}

#[test]
fn in_a_second_no_more_than_ten_are_answered_and_the_others_after_it() {
    let mut street = Street::new();
    let token = street.token.clone();
    let clients: Vec<TcpStream> = (0..25).map(|_| street.comes(1)).collect();
    let waiting: Vec<Dialling> = clients.iter().map(|client| knock(client, &token)).collect();
    let has_answer = |client: &&TcpStream| {
        client.set_nonblocking(true).unwrap();
        matches!(client.peek(&mut [0]), Ok(1))
    };
    let answered = || clients.iter().filter(has_answer).count();
    for (ms, expected) in [(0, 10), (1, 10), (999, 10), (1000, 20), (1999, 20), (2000, 25)] {
        for _ in 0..100 {
            assert!(street.turns(Duration::from_millis(ms)).is_empty());
            if answered() == expected {
                break;
            }
        }
        assert_eq!(answered(), expected, "after {ms} ms");
    }
    for (client, dialling) in clients.iter().zip(waiting) {
        client.set_nonblocking(false).unwrap();
        enter(client, dialling);
    }
    assert_eq!(street.turns(Duration::from_secs(3)).len(), 25);
    assert_eq!(street.reports(), [""; 0]);
}

#[test]
fn who_has_another_token_takes_none_of_the_ten_and_receives_nothing() {
    let mut street = Street::new();
    let (token, other) = (street.token.clone(), Token::fresh().unwrap());
    let strangers: Vec<TcpStream> = (0..50).map(|_| street.comes(2)).collect();
    strangers.iter().for_each(|client| drop(knock(client, &other)));
    let client = street.comes(1);
    let dialling = knock(&client, &token);
    assert!(street.turns(Duration::ZERO).is_empty());
    enter(&client, dialling);
    assert_eq!(street.turns(Duration::ZERO).len(), 1);
    assert!(strangers.iter().all(is_shown_out));
    assert_eq!(street.reports(), ["127.0.0.2 has another token (and 49 more since the last such line)"]);
}

#[test]
fn who_stands_still_anywhere_in_a_handshake_is_shown_out() {
    let mut street = Street::new();
    let token = street.token.clone();
    let [silent, half, unconfirmed, forwarded] = [0; 4].map(|_| street.comes(1));
    (&half).write_all(&[0]).unwrap();
    let (first, second) = (knock(&unconfirmed, &token), knock(&forwarded, &token));
    street.turns(Duration::ZERO);
    // Who only passes on what it hears cannot confirm: here it says something else.
    drop((first, second));
    (&forwarded).write_all(&[[0, 16].to_vec(), vec![7; 16]].concat()).unwrap();
    let limit = timing().handshake;
    assert!(street.turns(limit - Duration::from_millis(1)).is_empty());
    assert!(street.turns(limit).is_empty());
    let mut lines = street.reports();
    lines.sort();
    assert_eq!(
        lines,
        [
            "127.0.0.1 did not end its handshake in time (and 2 more since the last such line)",
            "127.0.0.1 sent an altered record; its session was ended"
        ]
    );
    for client in [&silent, &half] {
        assert!(is_shown_out(client));
    }
}

#[test]
fn a_network_that_fills_the_door_pushes_nobody_else_out() {
    let mut street = Street::new();
    let token = street.token.clone();
    let friend = street.comes(9);
    let crowd: Vec<TcpStream> = (0..2 * MOST_AT_DOOR).map(|_| street.comes(2)).collect();
    let dialling = knock(&friend, &token);
    street.turns(Duration::ZERO);
    enter(&friend, dialling);
    assert_eq!(street.turns(Duration::ZERO).len(), 1);
    assert!(crowd[..MOST_AT_DOOR].iter().all(is_shown_out));
    let mut watched = Vec::new();
    street.door.watch(&mut watched);
    assert_eq!(watched.len(), MOST_AT_DOOR - 1);
    drop(watched);
    let line = street.reports().concat();
    assert!(line.starts_with("127.0.0.2 made room for later connections"), "{line}");
}

#[test]
fn garbage_and_a_long_record_are_refused_before_they_are_read() {
    let mut street = Street::new();
    let texts: [&[u8]; 4] = [b"GET / HTTP/1.1\r\n\r\n", &[0xff; 70_000], &[0, 0], &[0, 47, 1]];
    let clients = texts.map(|text| {
        let mut client = street.comes(1);
        client.set_nonblocking(true).unwrap();
        let _ = client.write(text);
        client.set_nonblocking(false).unwrap();
        client
    });
    (&clients[3]).write_all(&[1; 46]).unwrap();
    assert!(street.turns(Duration::ZERO).is_empty());
    assert!(clients.iter().all(is_shown_out));
    assert_eq!(street.reports(), ["127.0.0.1 sent what is no handshake (and 3 more since the last such line)"]);
}

/// A relay of a session, the client's end of its channel, and the agent's ends of its pipes.
fn session() -> (Relay, TcpStream, Channel, File, File) {
    let mut street = Street::new();
    let token = street.token.clone();
    let client = street.comes(1);
    let dialling = knock(&client, &token);
    street.turns(Duration::ZERO);
    let channel = enter(&client, dialling);
    let guest = street.turns(Duration::ZERO).pop().unwrap();
    let [(input, agent_out), (agent_in, output)] = [0; 2].map(|_| rustix::pipe::pipe().unwrap());
    let relay = Relay::new(guest.socket, *guest.channel, input.into(), output.into());
    (relay, client, channel, agent_out.into(), agent_in.into())
}

/// Turns until it is so, or goes on no more: how.
fn turns_until(relay: &mut Relay, is_so: impl Fn(&Relay) -> bool) -> Carried {
    for _ in 0..10_000 {
        let carried = relay.turn();
        if carried != Carried::On || is_so(relay) {
            return carried;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    panic!("nothing comes of it");
}

#[test]
fn a_session_carries_both_ways_and_ends_in_peace() {
    let (mut relay, mut client, mut channel, mut agent_out, mut agent_in) = session();
    let mut sealed = Vec::new();
    channel.seal(b"asked\n", &mut sealed).unwrap();
    channel.seal(&[], &mut sealed).unwrap();
    client.write_all(&sealed).unwrap();
    assert_eq!(turns_until(&mut relay, Relay::has_read_all), Carried::On);
    let mut asked = String::new();
    agent_in.read_to_string(&mut asked).unwrap();
    assert_eq!(asked, "asked\n");
    agent_out.write_all(b"answered\n").unwrap();
    drop(agent_out);
    assert_eq!(turns_until(&mut relay, Relay::has_said_all), Carried::On);
    let mut records = Records::of_at_most(usize::from(u16::MAX));
    let mut received = Vec::new();
    while received.len() < 2 {
        let mut part = vec![0; records.wants()];
        let length = client.read(&mut part).unwrap();
        records.take(&part[..length]).unwrap();
        received.extend(records.whole().map(|record| channel.open(&record).unwrap()));
    }
    assert_eq!(received, [b"answered\n".to_vec(), Vec::new()]);
}

#[test]
fn who_reads_nothing_is_sent_nothing_more_than_fits_and_costs_no_memory() {
    let (mut relay, client, _channel, agent_out, _agent_in) = session();
    let mut out = agent_out;
    let writer = std::thread::spawn(move || (0..4096).take_while(|_| out.write_all(&[b'x'; 4096]).is_ok()).count());
    let (mut carried, mut turns_without) = (0, 0);
    while turns_without < 200 {
        assert_eq!(relay.turn(), Carried::On);
        turns_without = if relay.bytes() == carried { turns_without + 1 } else { 0 };
        carried = relay.bytes();
        std::thread::sleep(Duration::from_millis(1));
    }
    drop((client, relay));
    assert!(writer.join().unwrap() < 4096);
}

#[test]
fn an_altered_record_and_a_lost_connection_end_a_session() {
    let (mut relay, mut client, mut channel, _out, _in) = session();
    let mut sealed = Vec::new();
    channel.seal(b"asked\n", &mut sealed).unwrap();
    sealed[5] ^= 1;
    client.write_all(&sealed[..7]).unwrap();
    assert_eq!(relay.turn(), Carried::On);
    client.write_all(&sealed[7..]).unwrap();
    assert_eq!(turns_until(&mut relay, |_| false), Carried::Altered);

    let (mut relay, client, _channel, _out, _in) = session();
    assert_eq!(relay.turn(), Carried::On);
    drop(client);
    assert_eq!(turns_until(&mut relay, |_| false), Carried::Lost);
}

#[test]
fn the_oldest_of_the_network_that_most_are_of_makes_room() {
    let of = |waiting: &[&str]| who_makes_room(waiting.iter().map(|from| from.parse().ok()));
    assert_eq!(of(&[]), None);
    assert_eq!(of(&["10.0.0.1"]), Some(0));
    assert_eq!(of(&["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.2"]), Some(1));
    // A host has 64 bits of IPv6, and one of IPv4 may come as one of IPv6.
    assert_eq!(of(&["10.0.0.1", "fd00::1:0:0:0:1", "fd00::2:0:0:0:1", "fd00::2:0:0:0:2"]), Some(2));
    assert_eq!(of(&["10.0.0.1", "10.0.0.2", "::ffff:10.0.0.2"]), Some(1));
    // Who cannot be told apart is of one network.
    assert_eq!(of(&["10.0.0.1", "nowhere", "gone"]), Some(1));
}
