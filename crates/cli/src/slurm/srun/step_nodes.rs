//! The supervisors of a step's nodes: which are connected, which are done, and how much input is on its way to each.

use api::step_io::{StepFrame, ToSupervisor, WINDOW};
use std::collections::{HashMap, HashSet};
use std::io::Write;
use std::os::unix::net::UnixStream;

/// The nodes of a step by their places in it. A node is connected or done, never both.
#[derive(Debug)]
pub struct StepNodes {
    count: u32,
    connected: HashMap<u32, Connected>,
    done: HashSet<u32>,
}

/// The connection with a supervisor.
#[derive(Debug)]
struct Connected {
    stream: UnixStream,
    /// Bytes of input that it did not report as taken.
    untaken: usize,
}

impl StepNodes {
    /// Of a step of so many nodes, before any of their supervisors called.
    pub fn new(count: usize) -> StepNodes {
        StepNodes {
            count: u32::try_from(count).unwrap_or(u32::MAX),
            connected: HashMap::new(),
            done: HashSet::new(),
        }
    }

    /// The supervisor of a node called.
    pub fn join(&mut self, node: u32, stream: UnixStream) {
        if !self.done.contains(&node) {
            let connected = Connected { stream, untaken: 0 };
            self.connected.insert(node, connected);
        }
    }

    /// Nothing comes from the node any more; whether that is news.
    pub fn end(&mut self, node: u32) -> bool {
        self.connected.remove(&node);
        self.done.insert(node)
    }

    /// Those whose supervisors did not call.
    pub fn missing(&self) -> Vec<u32> {
        let has_called = |node: &u32| self.connected.contains_key(node) || self.done.contains(node);
        (0..self.count).filter(|node| !has_called(node)).collect()
    }

    /// Whether each supervisor called, and may be done by now.
    pub fn all_called(&self) -> bool {
        self.connected.len() + self.done.len() >= self.count as usize
    }

    /// Whether no supervisor has called so far.
    pub fn none_called(&self) -> bool {
        self.connected.is_empty() && self.done.is_empty()
    }

    /// Whether nothing comes from any node any more.
    pub fn all_done(&self) -> bool {
        self.done.len() >= self.count as usize
    }

    /// Sends a frame to one that is connected. That a supervisor is gone shows where it is read.
    pub fn send(&mut self, node: u32, frame: &ToSupervisor) {
        if let Some(connected) = self.connected.get_mut(&node) {
            connected.send(&encoded(frame));
        }
    }

    /// Sends a frame to all that are connected.
    pub fn send_all(&mut self, frame: &ToSupervisor) {
        let bytes = encoded(frame);
        for connected in self.connected.values_mut() {
            if let ToSupervisor::Input(input) = frame {
                connected.untaken += input.len();
            }
            connected.send(&bytes);
        }
    }

    /// The tasks of a node took so many bytes of input.
    pub fn taken(&mut self, node: u32, bytes: u32) {
        if let Some(connected) = self.connected.get_mut(&node) {
            let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
            connected.untaken = connected.untaken.saturating_sub(bytes);
        }
    }

    /// Whether a portion of input of so many bytes may be sent to all: what comes before the last one called would not
    /// reach it, and where all are done none is read.
    pub fn has_room_for(&self, portion: usize) -> bool {
        let mut connected = self.connected.values();
        self.all_called()
            && !self.connected.is_empty()
            && connected.all(|node| node.untaken + portion <= WINDOW)
    }
}

impl Connected {
    fn send(&mut self, bytes: &[u8]) {
        let _ = self.stream.write_all(bytes);
    }
}

fn encoded(frame: &ToSupervisor) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame.encode(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use api::step_io::FrameReader;
    use std::io::Read;

    /// The supervisor's side, and ours.
    fn pair() -> (UnixStream, UnixStream) {
        UnixStream::pair().unwrap()
    }

    fn next(stream: &mut UnixStream) -> ToSupervisor {
        let mut reader = FrameReader::default();
        loop {
            if let Some(frame) = reader.take().unwrap() {
                return frame;
            }
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            reader.push(&byte);
        }
    }

    /// A component whose tasks read a file may be through before the other one calls.
    #[test]
    fn a_node_that_is_done_before_the_last_one_calls_keeps_no_input_back() {
        let mut nodes = StepNodes::new(2);
        let (_theirs, ours) = pair();
        nodes.join(1, ours);
        assert!(nodes.end(1) && !nodes.all_called() && !nodes.has_room_for(1));
        assert_eq!(nodes.missing(), [0]);
        let (mut theirs, ours) = pair();
        nodes.join(0, ours);
        assert!(nodes.all_called() && nodes.has_room_for(1) && !nodes.all_done());
        nodes.send_all(&ToSupervisor::InputEnd);
        assert_eq!(next(&mut theirs), ToSupervisor::InputEnd);
        // It hangs up, which is no news of a node that is done.
        assert!(nodes.end(0) && !nodes.end(1) && nodes.all_done());
        assert!(!nodes.has_room_for(1));
    }

    /// Of three, one that is done counts once.
    #[test]
    fn input_waits_for_the_last_of_three() {
        let mut nodes = StepNodes::new(3);
        for node in [2, 1] {
            let (_theirs, ours) = pair();
            nodes.join(node, ours);
            nodes.end(2);
            assert!(!nodes.all_called() && !nodes.has_room_for(1));
        }
        let (_theirs, ours) = pair();
        nodes.join(0, ours);
        assert!(nodes.has_room_for(1));
    }

    /// A task that ends without having read holds the input of the others back until its node is done.
    #[test]
    fn what_a_node_that_is_done_did_not_take_keeps_no_input_back() {
        let mut nodes = StepNodes::new(2);
        let kept: Vec<_> = [0, 1]
            .map(|node| {
                let (theirs, ours) = pair();
                nodes.join(node, ours);
                theirs
            })
            .into();
        nodes.send_all(&ToSupervisor::Input(vec![0; 10]));
        nodes.taken(0, 10);
        assert!(!nodes.has_room_for(WINDOW));
        nodes.end(1);
        assert!(nodes.has_room_for(WINDOW));
        drop(kept);
    }
}
