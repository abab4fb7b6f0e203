//! On a node with a network of its own: what listens at its loopback is reached at its address too.

use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// Hands each connection to a port of this address on to the same port of the loopback, until this
/// process ends.
///
/// # Errors
/// The port of this address is taken, or no address.
pub(super) fn start(address: &str, port: u16) -> io::Result<()> {
    let listener = TcpListener::bind((address, port))?;
    thread::Builder::new()
        .name("forward".to_owned())
        .spawn(move || {
            for outside in listener.incoming().flatten() {
                let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
                if let Ok(inside) = TcpStream::connect(loopback) {
                    let (outside, inside) = (Arc::new(outside), Arc::new(inside));
                    copy(Arc::clone(&outside), Arc::clone(&inside));
                    copy(inside, outside);
                }
            }
        })?;
    Ok(())
}

/// Copies one direction on a thread; its end ends that direction of the other connection.
fn copy(from: Arc<TcpStream>, to: Arc<TcpStream>) {
    thread::spawn(move || {
        let _ended = io::copy(&mut &*from, &mut &*to);
        let _gone = to.shutdown(Shutdown::Write);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn both_directions_and_their_ends() {
        let inside = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = inside.local_addr().unwrap().port();
        start("127.0.0.2", port).unwrap();
        let mut client = TcpStream::connect(("127.0.0.2", port)).unwrap();
        client.write_all(b"ask").unwrap();
        client.shutdown(Shutdown::Write).unwrap();
        let (mut server, _) = inside.accept().unwrap();
        let mut text = String::new();
        server.read_to_string(&mut text).unwrap();
        assert_eq!(text, "ask");
        server.write_all(b"answer").unwrap();
        drop(server);
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        assert_eq!(text, "answer");
    }
}
