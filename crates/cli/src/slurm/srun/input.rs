//! `srun`'s own stdin, read as far as the tasks take it.

use super::session::Event;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Reads stdin in a thread, a portion each time it is asked for.
#[derive(Debug)]
pub struct Input {
    asks: SyncSender<()>,
    waiting: Option<(Receiver<()>, SyncSender<Event>)>,
}

impl Input {
    /// Most bytes at once.
    pub const PORTION: usize = 64 * 1024;

    /// Ready to read; nothing is read before [`Input::start`].
    pub fn new(events: SyncSender<Event>) -> Input {
        let (asks, asked) = sync_channel(1);
        Input {
            asks,
            waiting: Some((asked, events)),
        }
    }

    /// Reads the first portion.
    pub fn start(&mut self) {
        if let Some((asked, events)) = self.waiting.take() {
            thread::spawn(move || read(&asked, &events));
            self.more();
        }
    }

    /// Reads one more portion, unless it was asked for already.
    pub fn more(&mut self) {
        let _ = self.asks.try_send(());
    }
}

fn read(asked: &Receiver<()>, events: &SyncSender<Event>) {
    let mut portion = vec![0; Input::PORTION];
    while asked.recv().is_ok() {
        let event = loop {
            match io::stdin().read(&mut portion) {
                Ok(length @ 1..) => break Event::Input(portion[..length].to_vec()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Ok(0) | Err(_) => break Event::InputEnd,
            }
        };
        let last = matches!(event, Event::InputEnd);
        if events.send(event).is_err() || last {
            return;
        }
    }
}
