//! A key-value store over HTTP, at which the ranks of Horovod's Gloo controller find each other.
//!
//! `horovodrun` has one on the machine where it was started and starts ranks by ssh; here it stands on
//! the job's first node and srun starts them. `GET /SCOPE/KEY` is answered 404 until a rank has
//! `PUT` it; a rank that has all that it needs says `DELETE`.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A rank's value is an address: some hundred bytes, a few thousand for all of its pairs.
const LARGEST_VALUE: usize = 4 << 20;
/// In bytes. Whoever reaches the port can write.
const LARGEST_STORE: usize = 256 << 20;
const LONGEST_LINE: u64 = 8 << 10;
/// Requests that are answered at once; each rank has one under way.
const MOST_AT_ONCE: usize = 1024;
/// For a request that has begun.
const PATIENCE: Duration = Duration::from_secs(10);

type Values = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

/// Answers until the process ends.
pub fn serve(listener: TcpListener) {
    std::thread::spawn(move || {
        let values = Values::default();
        let at_once = Arc::new(AtomicUsize::new(0));
        for stream in listener.incoming().flatten() {
            if at_once.fetch_add(1, Ordering::Relaxed) >= MOST_AT_ONCE {
                // Ranks ask again.
                at_once.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (values, at_once) = (Arc::clone(&values), Arc::clone(&at_once));
            std::thread::spawn(move || {
                // A rank that has gone away needs no answer.
                let _ = answer(&stream, &values);
                at_once.fetch_sub(1, Ordering::Relaxed);
            });
        }
    });
}

/// Reads one request and answers it.
fn answer(stream: &TcpStream, values: &Values) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (status, body) = match request(&mut BufReader::new(stream))? {
        Some(request) => reply(&request, values),
        None => (400, Vec::new()),
    };
    let head = format!(
        "HTTP/1.1 {status} {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        match status {
            200 => "OK",
            404 => "Not Found",
            _ => "Bad Request",
        },
        body.len()
    );
    let mut stream = stream;
    stream.write_all(head.as_bytes())?;
    stream.write_all(&body)
}

struct Request {
    method: String,
    path: String,
    body: Vec<u8>,
}

/// A request; none where it is not one, or too large.
fn request(reader: &mut impl BufRead) -> io::Result<Option<Request>> {
    let first = line(reader)?;
    let mut words = first.split(' ');
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let (method, path) = (method.to_owned(), path.to_owned());
    let mut length = 0;
    loop {
        let header = line(reader)?;
        if header.is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            match value.trim().parse() {
                Ok(found @ 0..=LARGEST_VALUE) => length = found,
                _ => return Ok(None),
            }
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(Request { method, path, body }))
}

/// A line without its end; one that is too long is cut, and what follows is no header.
fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut bytes = Vec::new();
    reader
        .by_ref()
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).trim_end().to_owned())
}

fn reply(request: &Request, values: &Values) -> (u16, Vec<u8>) {
    let mut values = values
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    match request.method.as_str() {
        "GET" => values
            .get(&request.path)
            .map_or((404, Vec::new()), |value| (200, value.clone())),
        "PUT" => {
            let held: usize = values.values().map(Vec::len).sum();
            if held + request.body.len() > LARGEST_STORE {
                return (400, Vec::new());
            }
            values.insert(request.path.clone(), request.body.clone());
            (200, Vec::new())
        }
        "DELETE" => (200, Vec::new()),
        _ => (400, Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(values: &Values, text: &[u8], want: Option<(u16, &str)>) {
        let found = request(&mut BufReader::new(text)).unwrap();
        let found = found.map(|request| reply(&request, values));
        let want = want.map(|(status, body)| (status, body.as_bytes().to_vec()));
        assert_eq!(found, want, "{}", String::from_utf8_lossy(text));
    }

    #[test]
    fn what_ranks_ask() {
        let values = Values::default();
        check(
            &values,
            b"GET /global/0 HTTP/1.1\r\nHost: x\r\n\r\n",
            Some((404, "")),
        );
        let put = b"PUT /global/0 HTTP/1.1\r\nContent-Length: 5\r\n\r\na\nb\0c";
        check(&values, put, Some((200, "")));
        check(
            &values,
            b"GET /global/0 HTTP/1.1\r\n\r\n",
            Some((200, "a\nb\0c")),
        );
        check(
            &values,
            b"GET /local_n1/0 HTTP/1.1\r\n\r\n",
            Some((404, "")),
        );
        check(
            &values,
            b"DELETE /global/0 HTTP/1.1\r\n\r\n",
            Some((200, "")),
        );
        check(
            &values,
            b"GET /global/0 HTTP/1.1\r\n\r\n",
            Some((200, "a\nb\0c")),
        );
        check(&values, b"POST / HTTP/1.1\r\n\r\n", Some((400, "")));
        check(&values, b"nonsense", None);
        check(&values, b"", None);
        let huge = b"PUT /a HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n";
        check(&values, huge, None);
    }
}
