//! A server that a test starts, and clients of it that say what no hostmark says.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use hostmark_launch::channel::{
    Channel, Dialling, GREETING, Greeting, HANDSHAKE_MESSAGE, MOST_CARRIED, Records, Token,
};

use crate::prelude::*;

/// A server without which a test ends, and its sessions with it.
pub struct Server {
    pub home: Home,
    pub child: Running,
    pub address: String,
    pub token: Token,
    /// What it has said on standard error.
    pub complaints: Arc<Mutex<String>>,
}

impl Server {
    /// One on loopback, with these further arguments.
    pub fn start(arguments: &[&str]) -> Server {
        let (home, token) = (Home::new(), Token::fresh().unwrap());
        let file = Server::file_in(&home, &token);
        let mut command = home.heeding(&["serve", "--bind", "127.0.0.1:0", "--token-file"]);
        let mut child = Running::start(command.arg(file).args(arguments));
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().rsplit(' ').next().expect(&line).to_owned();
        let (complaints, errors) = (Arc::new(Mutex::new(String::new())), child.stderr.take().unwrap());
        let said = Arc::clone(&complaints);
        std::thread::spawn(move || {
            for line in BufReader::new(errors).lines().map_while(Result::ok) {
                said.lock().unwrap().push_str(&format!("{line}\n"));
            }
        });
        Server { home, child, address, token, complaints }
    }

    fn file_in(home: &Home, token: &Token) -> PathBuf {
        let file = home.scratch.path().join(format!("token-{}", &token.hex()[..8]));
        fs::write(&file, token.hex()).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        file
    }

    /// Its token, in a file of another home.
    pub fn token_file(&self, home: &Home) -> PathBuf {
        Server::file_in(home, &self.token)
    }

    /// hostmark of another home, which measures there.
    pub fn client(&self, home: &Home, arguments: &[&str]) -> Command {
        self.client_with(home, &self.token, arguments)
    }

    /// The same, with a token of its own.
    pub fn client_with(&self, home: &Home, token: &Token, arguments: &[&str]) -> Command {
        let mut command = home.hostmark(arguments);
        command.args(["--on", &format!("tcp:{}", self.address), "--token-file"]).arg(Server::file_in(home, token));
        command
    }

    /// A number of the server's in /proc.
    pub fn status(&self, key: &str) -> usize {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Whether it still serves; a server that has ended fails its test.
    #[track_caller]
    pub fn assert_serves(&mut self) {
        assert!(self.child.try_wait().unwrap().is_none(), "{}", self.complaints.lock().unwrap());
        let home = Home::new();
        let (code, _, errors) = ended(&mut self.client(&home, &["host"]));
        assert_eq!((code, errors.as_str()), (0, ""), "{}", self.complaints.lock().unwrap());
    }

    pub fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(&self.address).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket
    }
}

/// What a server greets with.
pub fn greeting(mut socket: &TcpStream) -> Greeting {
    let mut record = [0; 2 + GREETING];
    socket.read_exact(&mut record).unwrap();
    Greeting::of(&record[2..]).unwrap()
}

/// Whether the connection has ended, or ends, and nothing is said before.
pub fn is_shown_out(mut socket: &TcpStream) -> bool {
    match socket.read(&mut [0]) {
        Ok(length) => length == 0,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

/// The listening sockets of a server's processes that are not at this address: protocol and address, as the kernel shows them.
pub fn listening_elsewhere(server: &Server, address: &str) -> Vec<String> {
    let mut inodes = Vec::new();
    for (pid, _) in processes(&server.home) {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let links = files.filter_map(|file| fs::read_link(file.path()).ok()?.into_os_string().into_string().ok());
        inodes.extend(links.filter_map(|link| Some(link.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned())));
    }
    let mut found = Vec::new();
    // Of a datagram socket, whoever it is connected to.
    for (protocol, state) in [("tcp", Some("0A")), ("tcp6", Some("0A")), ("udp", None), ("udp6", None)] {
        let table = fs::read_to_string(format!("/proc/net/{protocol}")).unwrap_or_default();
        for line in table.lines().skip(1) {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_ours = state.is_none_or(|state| words[3] == state) && inodes.iter().any(|inode| inode == words[9]);
            if is_ours && words[1].split(':').next() != Some(address) {
                found.push(format!("{protocol} {}", words[1]));
            }
        }
    }
    found
}

/// 127.0.0.1 as the kernel shows it.
pub fn loopback() -> String {
    format!("{:08X}", u32::from_ne_bytes([127, 0, 0, 1]))
}

/// A client that is let in, and says what it likes.
pub struct Client {
    pub socket: TcpStream,
    pub channel: Channel,
    records: Records,
    received: Vec<u8>,
}

impl Client {
    pub fn enter(server: &Server) -> Client {
        let socket = server.connect();
        let (dialling, first) = Dialling::begin(&server.token, &greeting(&socket)).unwrap();
        (&socket).write_all(&first).unwrap();
        let mut answer = [0; 2 + HANDSHAKE_MESSAGE];
        (&socket).read_exact(&mut answer).unwrap();
        let channel = dialling.answered(&answer[2..]).unwrap();
        let records = Records::of_at_most(usize::from(u16::MAX));
        let mut client = Client { socket, channel, records, received: Vec::new() };
        client.says(b"");
        client
    }

    /// Sends this in records; an empty one ends this direction, but for the first.
    pub fn says(&mut self, carried: &[u8]) {
        let mut sealed = Vec::new();
        match carried {
            [] => self.channel.seal(&[], &mut sealed).unwrap(),
            _ => carried.chunks(MOST_CARRIED).for_each(|part| self.channel.seal(part, &mut sealed).unwrap()),
        }
        // Whoever was shown out is told nothing more.
        let _ = self.socket.write_all(&sealed);
    }

    /// The next line; none at the end.
    pub fn next_line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.received.iter().position(|&byte| byte == b'\n') {
                return Some(String::from_utf8(self.received.drain(..=end).collect()).unwrap());
            }
            let mut part = vec![0; self.records.wants()];
            let length = self.socket.read(&mut part).ok().filter(|&length| length > 0)?;
            self.records.take(&part[..length]).unwrap();
            let Some(record) = self.records.whole() else { continue };
            self.received.extend(Some(self.channel.open(&record).unwrap()).filter(|carried| !carried.is_empty())?);
        }
    }

    /// What it hears to one line that it says, after a greeting.
    pub fn asks(server: &Server, line: &str) -> String {
        let mut client = Client::enter(server);
        client.says(format!("{{\"hello\":{{\"protocol\":3}}}}\n{line}\n").as_bytes());
        let hello = client.next_line().unwrap();
        assert!(hello.starts_with("{\"hello\""), "{hello}");
        client.next_line().unwrap_or_default()
    }
}
