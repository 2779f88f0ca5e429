//! What both ends of a stream know of how it is to be carried.

use std::net::TcpListener;
use std::str::FromStr;

use hostmark_engine::prelude::*;
use rustix::fd::AsFd;

use super::congestion::Congestion;
use super::direction::Direction;
use super::method::SendMethod;
use super::receiver::block_of;
use super::window::Window;
use crate::workloads::network::socket;

/// How streams are to be carried.
#[derive(Debug, Clone)]
pub struct StreamOptions {
    /// Who sends.
    pub direction: Direction,
    /// Bytes of a message.
    pub message: u64,
    /// How it is sent.
    pub method: SendMethod,
    /// The buffers of both ends.
    pub window: Window,
    /// The sender's congestion control.
    pub congestion: Congestion,
    /// Bytes that one read asks for.
    pub block: u64,
}

impl StreamOptions {
    /// Those of a point of net.tcp_bandwidth, whose values `value` tells.
    pub fn of(value: impl Fn(&str) -> Result<String>) -> Result<StreamOptions> {
        Ok(StreamOptions {
            direction: parsed(value("direction")?)?,
            message: parsed(value("message")?)?,
            method: parsed(value("method")?)?,
            window: parsed(value("window")?)?,
            congestion: parsed(value("congestion")?)?,
            block: parsed(value("block")?)?,
        })
    }

    /// Those of a bulk flow that is nothing special.
    pub fn plain(direction: Direction) -> StreamOptions {
        let (window, congestion) = (Window::default(), Congestion::default());
        StreamOptions { direction, message: 64 << 10, method: SendMethod::Write, window, congestion, block: 64 << 10 }
    }

    /// Sets what a socket that listens needs for all that it accepts.
    pub fn set_listener(&self, listener: &TcpListener) -> Result<()> {
        self.set(listener, self.direction.receives(), self.direction.sends())
    }

    /// Sets what a socket needs that is about to connect, to send or to receive.
    pub fn set_near(&self, socket: &impl AsFd, sends: bool) -> Result<()> {
        self.set(socket, sends, !sends)
    }

    fn set(&self, socket: &impl AsFd, sends: bool, receives: bool) -> Result<()> {
        if sends {
            self.congestion.set(socket)?;
        }
        let Some(bytes) = self.window.bytes() else { return Ok(()) };
        if sends {
            socket::set_send_buffer(socket, bytes)?;
        }
        if receives {
            socket::set_receive_buffer(socket, bytes)?;
        }
        Ok(())
    }

    /// Bytes of a read.
    pub fn block(&self) -> Result<Vec<u8>> {
        block_of(self.block)
    }
}

fn parsed<T: FromStr<Err: Into<Message>>>(value: String) -> Result<T> {
    value.parse().map_err(|error| RoundError::failed(ReasonCode::Internal, error))
}
