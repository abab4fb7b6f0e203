//! How far staging is: what was read or copied, said some times a second at most.

use folder::Event;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

/// Counts what is read.
pub(super) struct Counted<'a, 'b, R> {
    pub(super) inner: R,
    pub(super) progress: &'a mut Progress<'b>,
}

impl<R: Read> Read for Counted<'_, '_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.progress.came(u64::try_from(read).unwrap_or(0));
        Ok(read)
    }
}

/// What of all sources has arrived.
pub(super) struct Progress<'a> {
    say: &'a mut dyn FnMut(Event),
    what: String,
    done: u64,
    /// Of all sources; none where one is a folder.
    total: Option<u64>,
    reported: Option<Instant>,
}

impl<'a> Progress<'a> {
    const PAUSE: Duration = Duration::from_millis(500);

    /// Nothing has arrived yet, of so many bytes in all; none where one of the sources is a folder.
    pub(super) fn new(say: &'a mut dyn FnMut(Event), total: Option<u64>) -> Progress<'a> {
        Progress {
            say,
            what: String::new(),
            done: 0,
            total,
            reported: None,
        }
    }

    /// Says an event of another kind.
    pub(super) fn say(&mut self, event: Event) {
        (self.say)(event);
    }

    /// The next source.
    pub(super) fn begin(&mut self, path: &Path) {
        self.what = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        self.reported = None;
        self.came(0);
    }

    /// So many bytes more.
    pub(super) fn came(&mut self, bytes: u64) {
        self.done += bytes;
        if self
            .reported
            .is_none_or(|reported| reported.elapsed() >= Progress::PAUSE)
        {
            self.reported = Some(Instant::now());
            // What comes out of a compressed archive is more than the archive.
            let total = self.total.filter(|total| self.done <= *total);
            (self.say)(Event::Staging {
                what: self.what.clone(),
                done: self.done,
                total,
            });
        }
    }
}
