//! The other machines of a run: where their far ends are reached, and how they are asked for.

use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use hostmark_engine::RoundError;
use hostmark_engine::plan::profile_limits;
use hostmark_engine::worker::far::{Distant, FarReport, Missing, Peers, fresh_nonce, of_version};
use hostmark_launch::agent::AgentError;
use hostmark_launch::supervise::Supervised;
use hostmark_launch::timing::timing;
use hostmark_model::{
    AgentAnswer, AgentRequest, Argument, CaseRecord, Event, FarEnd, HERE, Message, Nonce, Peer, PeerAnswer,
    PeerRequest, Profile, Reason, ReasonCode, ServeRequest,
};
use hostmark_say::say;

use super::Target;
use crate::command::far;
use crate::command::measure::ready::Begun;
use crate::command::measure::{OwnRuns, own_program, ready};
use crate::language::{refuse, refused};
use crate::signals::StopRequest;

const MOST_ADDRESSES: usize = 16;
/// Characters of a name at most.
const LONGEST_NAME: usize = 60;
const MOST_NOTES: usize = 100;
/// Characters of a reason, and of each text in it.
const LONGEST_REASON: usize = 500;

/// Reason why a peer gives no answer.
#[derive(Debug, Clone, PartialEq)]
pub enum NoAnswer {
    /// The person asked to stop.
    Stopped,
    /// Peer is unreachable, or answers nonsense. A sentence.
    Lost(Message),
}

/// A way to ask the peers of a run.
pub trait PeerLink {
    /// Asks the peer of this place among them, and waits for its answer.
    fn ask(&self, peer: usize, request: PeerRequest) -> Result<PeerAnswer, NoAnswer>;
}

/// A peer as a run knows it.
#[derive(Debug, Default)]
pub struct KnownPeer {
    pub name: String,
    /// The addresses at which it answered, the best first: one of each version of the Internet Protocol at most.
    pub addresses: Vec<IpAddr>,
    /// The address that this machine has on the way there.
    own: Option<IpAddr>,
    /// Reason why it can be asked no more.
    lost: RefCell<Option<Message>>,
}

pub struct FarPeers<L> {
    link: L,
    known: Vec<KnownPeer>,
    /// True where the person asked to stop.
    is_stopping: Cell<bool>,
}

impl<L: PeerLink> FarPeers<L> {
    /// Finds the addresses at which each answers, `via` before what it says of itself.
    pub fn settle(link: L, names: Vec<String>, via: &[IpAddr]) -> Result<FarPeers<L>> {
        let known = names.into_iter().map(|name| KnownPeer { name, ..KnownPeer::default() }).collect();
        let mut peers = FarPeers { link, known, is_stopping: Cell::new(false) };
        for index in 0..peers.known.len() {
            let found = peers.found(index, via)?;
            peers.known[index].own = found.first().map(|(_, own)| *own);
            peers.known[index].addresses = found.into_iter().map(|(at, _)| at).collect();
        }
        Ok(peers)
    }

    pub fn described(&self) -> Result<Vec<Peer>> {
        let described = |(index, known): (usize, &KnownPeer)| {
            let astray = || astray(&known.name);
            let host = match self.asked(index, PeerRequest::Facts)? {
                PeerAnswer::Facts(report) if ready::is_machine(&report.host) => report.host,
                _ => return Err(astray()),
            };
            let path_back = match known.own {
                None => None,
                Some(to) => match self.asked(index, PeerRequest::Path { to })? {
                    PeerAnswer::Path(path) => Some(*path),
                    _ => return Err(astray()),
                },
            };
            let address = known.addresses.first().copied();
            let path = address.map(hostmark_host::network_path);
            Ok(Peer { name: known.name.clone(), host, place: None, address, path, path_back })
        };
        self.known.iter().enumerate().map(described).collect()
    }

    /// Addresses at which a peer answers that knows the nonce, with this machine's address on each of these ways.
    fn found(&self, index: usize, via: &[IpAddr]) -> Result<Vec<(IpAddr, IpAddr)>> {
        let name = &self.known[index].name;
        let mut candidates = via.to_vec();
        if via.is_empty() {
            match self.asked(index, PeerRequest::Addresses)? {
                PeerAnswer::Addresses(own) => candidates.extend(own.into_iter().take(MOST_ADDRESSES)),
                _ => return Err(astray(name)),
            }
        }
        let (mut found, mut tried): (Vec<(IpAddr, IpAddr)>, Vec<Message>) = (Vec::new(), Vec::new());
        for at in candidates {
            if found.iter().any(|(known, _)| known.is_ipv4() == at.is_ipv4()) {
                continue;
            }
            let nonce = fresh_nonce()
                .map_err(|_| crate::command::lost(say!("there are no random numbers here; mount /dev")))?;
            let request = ServeRequest {
                service: hostmark_probes::REACHED.into(),
                params: hostmark_model::Params::default(),
                at: vec![at],
                nonces: vec![nonce],
                is_bound: false,
                memory_bytes: 0,
                setup_ns: 0,
                silent_ms: timing().lease.as_millis() as u64,
            };
            let reached = match self.asked(index, PeerRequest::Serve(request))? {
                PeerAnswer::Serving { at: listens } => match listens.as_slice() {
                    [listens] => hostmark_probes::reach(&FarEnd { address: (at, listens.port()).into(), nonce })
                        .map_err(|stop| Message::from(&stop)),
                    _ => return Err(astray(name)),
                },
                PeerAnswer::Unserved { reason, .. } => Err(Message::from(of_peer(reason))),
                _ => return Err(astray(name)),
            };
            self.asked(index, PeerRequest::Enough)?;
            match reached {
                Ok(own) => found.push((at, own)),
                Err(why) => tried.push(say!("{what}: {error}", what = at, error = why)),
            }
        }
        if found.is_empty() {
            let named = |interface: String| say!("{interface} is down or has no carrier here");
            tried.extend(hostmark_host::without_carrier().into_iter().take(MOST_ADDRESSES).map(named));
        }
        match (found.is_empty(), tried.is_empty()) {
            (true, true) => refuse!(
                "{name} has no interface that is up with an address for other hosts; bring one up there, or name an address by --via"
            ),
            (true, false) => refuse!(
                "{name} cannot be reached for the measurement ({tried}); open its firewall to this host, or name another address by --via",
                tried = Message::joined(tried, say!("; "))
            ),
            _ => Ok(found),
        }
    }

    fn asked(&self, index: usize, request: PeerRequest) -> Result<PeerAnswer> {
        self.link.ask(index, request).map_err(|error| match error {
            NoAnswer::Stopped => crate::command::EndsWith(hostmark_model::Exit::Signal(2), say!("stopped")).into(),
            NoAnswer::Lost(sentence) => crate::command::lost(sentence),
        })
    }

    /// Asks within a run: a peer that is lost once is not asked again.
    fn answer(&self, index: usize, request: PeerRequest) -> Result<PeerAnswer, Missing> {
        let failed = |sentence: Message| Missing::Round(RoundError::failed(ReasonCode::ConnectionLost, sentence));
        if let Some(sentence) = &*self.known[index].lost.borrow() {
            return Err(failed(sentence.clone()));
        }
        self.link.ask(index, request).map_err(|error| match error {
            NoAnswer::Stopped => {
                self.is_stopping.set(true);
                Missing::Interrupted
            }
            NoAnswer::Lost(sentence) => {
                *self.known[index].lost.borrow_mut() = Some(sentence.clone());
                failed(sentence)
            }
        })
    }
}

impl FarPeers<Direct<'_>> {
    /// Ends their agents in peace.
    pub fn finish(self) {
        self.link.finish();
    }
}

impl<L: PeerLink> Peers for FarPeers<L> {
    fn serve(&self, peer: &str, request: ServeRequest) -> Result<Box<dyn Distant + '_>, Missing> {
        let skipped = |reason: Reason| Missing::Round(RoundError::Skipped(reason));
        let index = self.known.iter().position(|known| known.name == peer);
        let index =
            index.ok_or_else(|| skipped(ReasonCode::NoPeer.because(say!("no peer of this run is called {peer}"))))?;
        let at = of_version(&self.known[index].addresses, &request.params);
        let Some(&first) = at.first() else {
            let text = say!("no address of this version of the Internet Protocol answers there");
            return Err(skipped(ReasonCode::NoPeer.because(text)));
        };
        let nonces = request.nonces.clone();
        match self.answer(index, PeerRequest::Serve(ServeRequest { at: vec![first], ..request }))? {
            PeerAnswer::Serving { at } if at.len() == nonces.len() => {
                // By the address that has answered, at which they need not listen themselves.
                let reached =
                    |(listens, nonce): (&SocketAddr, Nonce)| FarEnd { address: (first, listens.port()).into(), nonce };
                let ends = at.iter().zip(nonces).map(reached).collect();
                Ok(Box::new(PeerFarEnds { peers: self, index, ends, is_over: false }))
            }
            PeerAnswer::Unserved { is_skipped: true, reason } => Err(skipped(of_peer(reason))),
            PeerAnswer::Unserved { reason, .. } => Err(Missing::Round(RoundError::Failed(of_peer(reason)))),
            _ => Err(Missing::Round(RoundError::Failed(unasked()))),
        }
    }
}

/// Error that a peer's answer does not fit the question.
fn astray(name: &str) -> anyhow::Error {
    refused!("{name} said what was not asked for; look at what runs there")
}

/// Plain text of a peer, as a part of a reason here.
fn shown(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).take(LONGEST_REASON).collect()
}

/// Reason of a peer's failed case, as one here.
fn of_peer(reason: Reason) -> Reason {
    let is_plain =
        |text: &str| text.len() <= 20 && text.bytes().all(|byte| byte == b'_' || byte.is_ascii_alphanumeric());
    let mut message = Message::from(&reason);
    message.each_text(&mut |text| *text = shown(text));
    let is_long = message.to_string().len() > LONGEST_REASON;
    let text = shown(&reason);
    let mut kept = reason.with_text(if is_long { Message::plain(text) } else { message });
    kept.arguments
        .retain(|name, value| is_plain(name) && if let Argument::Name(value) = value { is_plain(value) } else { true });
    kept
}

fn unasked() -> Reason {
    ReasonCode::Protocol.because(say!("the peer said what was not asked for"))
}

struct PeerFarEnds<'a, L: PeerLink> {
    peers: &'a FarPeers<L>,
    index: usize,
    ends: Vec<FarEnd>,
    is_over: bool,
}

impl<L: PeerLink> Distant for PeerFarEnds<'_, L> {
    fn ends(&self) -> &[FarEnd] {
        &self.ends
    }

    fn account(mut self: Box<Self>) -> FarReport {
        self.is_over = true;
        let why = match self.peers.answer(self.index, PeerRequest::Enough) {
            Ok(PeerAnswer::Served { notes, said }) if said.len() == self.ends.len() && notes.len() <= MOST_NOTES => {
                let note = |(key, value): (String, String)| Event::Note { key: shown(&key), value: shown(&value) };
                let said = said.into_iter().map(|said| said.map_err(|why| RoundError::Failed(of_peer(why)))).collect();
                return FarReport { notes: notes.into_iter().map(note).collect(), said };
            }
            Ok(_) => unasked(),
            Err(Missing::Round(RoundError::Failed(why) | RoundError::Skipped(why))) => why,
            // A person in a hurry is no fault of the round.
            Err(Missing::Interrupted | Missing::OutOfTime) => return FarReport::default(),
        };
        FarReport { notes: Vec::new(), said: vec![Err(RoundError::Failed(why))] }
    }
}

impl<L: PeerLink> Drop for PeerFarEnds<'_, L> {
    fn drop(&mut self) {
        // One that cannot be told ends its far ends by their lease, or with its link.
        if !self.is_over && !self.peers.is_stopping.get() {
            let _ = self.peers.answer(self.index, PeerRequest::Enough);
        }
    }
}

/// Peers that this command asks itself.
pub struct Direct<'a> {
    fars: RefCell<Vec<far::RunningAgent>>,
    stop: &'a StopRequest,
}

impl<'a> Direct<'a> {
    /// Starts an agent at each of these places, for a run that takes so long.
    pub fn open(places: &[Target], stop: &'a StopRequest, limit: Duration) -> Result<Direct<'a>> {
        let ms = u64::try_from((limit * 2).as_millis()).unwrap_or(u64::MAX);
        let opened = places.iter().map(|place| {
            let mut far = far::RunningAgent::open(place, stop)?;
            far.ask(&AgentRequest::Idle { ms }).map_err(|error| far::failed(error, stop))?;
            Ok(far)
        });
        Ok(Direct { fars: RefCell::new(opened.collect::<Result<_>>()?), stop })
    }

    pub fn finish(self) {
        self.fars.into_inner().into_iter().for_each(far::RunningAgent::finish);
    }
}

impl PeerLink for Direct<'_> {
    fn ask(&self, peer: usize, request: PeerRequest) -> Result<PeerAnswer, NoAnswer> {
        let mut fars = self.fars.borrow_mut();
        let far = &mut fars[peer];
        let answer = far.ask(&AgentRequest::Peer(request)).and_then(|()| far.receive());
        match answer {
            Ok(AgentAnswer::Peer(answer)) => Ok(answer),
            Ok(_) => Err(NoAnswer::Lost(say!("the peer said what was not asked for; look at what runs there"))),
            Err(AgentError::Stopped) => Err(NoAnswer::Stopped),
            Err(_) if self.stop.signal().is_some() => Err(NoAnswer::Stopped),
            Err(error) => Err(NoAnswer::Lost(Message::from(&error))),
        }
    }
}

/// Names of the peers at these places: one alone is `peer`, several have the last word of each that names a host.
pub fn names(places: &[Target]) -> Vec<String> {
    if places.len() == 1 {
        return vec!["peer".to_owned()];
    }
    let mut names: Vec<String> = Vec::new();
    for place in places {
        let word = place.shown().split_whitespace().rfind(|word| !word.starts_with('-')).unwrap_or_default();
        let word = word.strip_prefix("tcp:").unwrap_or(word);
        let host = word.rsplit('@').next().unwrap_or_default();
        let plain = |byte: char| {
            if byte.is_ascii_alphanumeric() || "_.-".contains(byte) { byte.to_ascii_lowercase() } else { '_' }
        };
        let name: String = host.chars().map(plain).take(LONGEST_NAME).collect();
        let name = if name.is_empty() || name == HERE { "peer".to_owned() } else { name };
        let taken = |candidate: &String| names.contains(candidate);
        let mut unique = name.clone();
        for number in 2.. {
            if !taken(&unique) {
                break;
            }
            unique = format!("{name}-{number}");
        }
        names.push(unique);
    }
    names
}

/// Names of the peers at these places in a run: a resumed one has names for them.
pub fn names_of(places: &[Target], begun: Option<&Begun>) -> Result<Vec<String>> {
    let Some(begun) = begun else { return Ok(names(places)) };
    let before = &begun.header.run.settings.inputs.peers;
    match before.len() == places.len() {
        true => Ok(before.clone()),
        false if before.is_empty() => {
            refuse!("the run was begun without peers; leave out --peer")
        }
        false => refuse!(
            "the run was begun with the peers {before}; name each by --peer, in this order",
            before = before.join(", ")
        ),
    }
}

pub fn typed(mut peers: Vec<Peer>, places: &[Target]) -> Vec<Peer> {
    for (peer, place) in peers.iter_mut().zip(places) {
        peer.place = Some(place.shown().to_owned());
    }
    peers
}

/// Cases measured between two hosts, from the first of them.
const FILTERS: [&str; 2] =
    ["net.round_trip@protocol=tcp,to=peer", "net.tcp_bandwidth@to=peer,congestion=default,direction=send"];
pub struct Pairs<'a> {
    runs: OwnRuns,
    seed: Option<u64>,
    stop: &'a StopRequest,
}

impl Pairs<'_> {
    /// Pairs with the seed of all random sequences, where there is one.
    pub fn new(seed: Option<u64>, stop: &StopRequest) -> Result<Pairs<'_>> {
        Ok(Pairs { runs: OwnRuns::of(&own_program()?)?, seed, stop })
    }

    /// Starts one that measures at a place, which is here where there is none, and has its peer at another.
    pub fn begin(
        &mut self,
        from: Option<&str>,
        to: Option<&str>,
        token_file: Option<&Path>,
    ) -> Result<Supervised, String> {
        let mut arguments: Vec<OsString> = FILTERS.iter().chain(&["--profile", "quick"]).map(OsString::from).collect();
        if let Some(seed) = self.seed {
            arguments.extend(["--seed".into(), seed.to_string().into()]);
        }
        arguments.extend(from.into_iter().flat_map(|from| ["--on".into(), from.into()]));
        arguments.extend(token_file.into_iter().flat_map(|file| ["--token-file".into(), file.into()]));
        arguments.extend(["--peer".into(), to.unwrap_or(HERE).into()]);
        self.runs.begin(&[], arguments, Some(self.stop.readable()))
    }

    /// Waits for the end of one, where it could be started: the cases that it printed; none when the person asked to stop, as what
    /// there is of such a pair is none.
    pub fn collect(&mut self, process: Result<Supervised, String>) -> Option<Result<Vec<CaseRecord>, String>> {
        let cases = process.and_then(|process| self.printed(process));
        let is_whole = cases.is_ok() || self.stop.signal().is_none();
        is_whole.then_some(cases)
    }

    fn printed(&mut self, process: Supervised) -> Result<Vec<CaseRecord>, String> {
        // Beyond its limit it may take as much again, and two logins with the copying.
        let limit = (profile_limits(Profile::Quick).limit + timing().login) * 2;
        self.runs.printed(process, limit).map(|run| run.cases)
    }
}

/// The rounds of a tournament of so many hosts, each followed by the same pairs the other way: each pair once either way, and no host
/// twice in a round (the circle method).
pub fn tournament(hosts: usize) -> Vec<Vec<(usize, usize)>> {
    // With an odd number one has nobody to meet in each round.
    let seats = hosts + hosts % 2;
    let rounds = 0..seats.saturating_sub(1);
    let met = |round: usize, seat: usize| match seat {
        0 => 0,
        _ => 1 + (seat - 1 + round) % (seats - 1),
    };
    rounds
        .map(|round| {
            let pairs = (0..seats / 2).map(|seat| (met(round, seat), met(round, seats - 1 - seat)));
            let mut pairs: Vec<_> = pairs.map(|(one, other)| (one.min(other), one.max(other))).collect();
            pairs.retain(|&(_, other)| other < hosts);
            pairs
        })
        .flat_map(|pairs| [pairs.clone(), pairs.into_iter().map(|(one, other)| (other, one)).collect()])
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_pair_meets_once_either_way_and_no_host_is_twice_in_a_round() {
        for hosts in 0..12 {
            let rounds = tournament(hosts);
            let all: Vec<_> = rounds.iter().flatten().copied().collect();
            let others = |one| (0..hosts).filter(move |other| *other != one).map(move |other| (one, other));
            let pairs: BTreeSet<_> = (0..hosts).flat_map(others).collect();
            assert_eq!(all.len(), pairs.len(), "{hosts}");
            assert_eq!(all.into_iter().collect::<BTreeSet<_>>(), pairs, "{hosts}");
            for round in &rounds {
                let present: Vec<usize> = round.iter().flat_map(|&(one, other)| [one, other]).collect();
                assert_eq!(present.iter().collect::<BTreeSet<_>>().len(), present.len(), "{hosts}: {round:?}");
            }
            // As few rounds as there can be.
            assert!(hosts < 2 || rounds.len() == 2 * (hosts - 1 + hosts % 2), "{hosts}");
        }
    }
}
