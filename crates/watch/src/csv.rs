//! `monitor/<node>.csv`: a line a sample, appended by one agent.
//!
//! Columns go by their names, so that a file of another version is read as far as it is known. A
//! line that is no row is passed over: a disk that was full leaves half lines.

use crate::{Measure, Sample, Subject};
use model::Timestamp;
use std::fmt::Write;
use std::sync::LazyLock;

/// Columns before those of [`Measure`].
const FIRST: [&str; 4] = ["time_ms", "job", "restart", "what"];

/// The longest line that is looked at, in bytes.
const LONGEST: usize = 4096;

/// The first line, its end included.
pub static HEADER: LazyLock<String> = LazyLock::new(|| {
    let measures = Measure::ALL.iter().map(|measure| measure.column());
    let columns: Vec<&str> = FIRST.into_iter().chain(measures).collect();
    format!("{}\n", columns.join(","))
});

/// A sample as a line, its end included.
#[must_use]
pub fn csv_row(sample: &Sample) -> String {
    let mut line = format!(
        "{},{},{},{}",
        sample.at.0, sample.job, sample.restart, sample.subject
    );
    for measure in Measure::ALL {
        line.push(',');
        if let Some(value) = sample.get(*measure) {
            let rounded = (f64::from(value) * 100.0).round() / 100.0;
            write!(line, "{rounded}").expect("invariant: a string takes all");
        }
    }
    line.push('\n');
    line
}

/// Reads a file in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct CsvReader {
    /// The line that has not ended yet.
    rest: Vec<u8>,
    /// What each column is; empty before a header was seen.
    columns: Vec<Column>,
    passed_over: u64,
}

#[derive(Clone, Copy, Debug)]
enum Column {
    Time,
    Job,
    Restart,
    What,
    Measure(Measure),
    Unknown,
}

impl CsvReader {
    /// Takes the next piece and gives the samples whose lines end in it.
    pub fn read(&mut self, bytes: &[u8], mut each: impl FnMut(Sample)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let Some(end) = piece.strip_suffix(b"\n") else {
                self.keep(piece);
                continue;
            };
            if self.rest.is_empty() {
                self.line(end, &mut each);
            } else {
                self.keep(end);
                let line = std::mem::take(&mut self.rest);
                self.line(&line, &mut each);
            }
        }
    }

    /// Lines that were no samples.
    #[must_use]
    pub fn passed_over(&self) -> u64 {
        self.passed_over
    }

    fn keep(&mut self, piece: &[u8]) {
        // One byte too many shows that the line was too long.
        let room = (LONGEST + 1).saturating_sub(self.rest.len());
        self.rest.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    fn line(&mut self, line: &[u8], each: &mut impl FnMut(Sample)) {
        let text = std::str::from_utf8(line).ok();
        let text = text.filter(|text| text.len() <= LONGEST);
        match text.map(|text| text.trim_end_matches('\r')) {
            Some("") => {}
            Some(text) if text.starts_with(FIRST[0]) => {
                self.columns = text.split(',').map(column).collect();
            }
            Some(text) => match sample(&self.columns, text) {
                Some(sample) => each(sample),
                None => self.passed_over += 1,
            },
            None => self.passed_over += 1,
        }
    }
}

fn column(name: &str) -> Column {
    let measure = || Measure::ALL.iter().find(|measure| measure.column() == name);
    match FIRST.iter().position(|first| *first == name) {
        Some(0) => Column::Time,
        Some(1) => Column::Job,
        Some(2) => Column::Restart,
        Some(_) => Column::What,
        None => measure().map_or(Column::Unknown, |measure| Column::Measure(*measure)),
    }
}

fn sample(columns: &[Column], line: &str) -> Option<Sample> {
    let (mut at, mut job, mut restart, mut subject) = (None, None, None, None);
    let mut sample = Sample::new(Timestamp(0), 0, 0, Subject::Node);
    let mut cells = line.split(',');
    for column in columns {
        // A line that lacks cells was cut.
        let cell = cells.next()?;
        match column {
            Column::Time => at = cell.parse().ok(),
            Column::Job => job = cell.parse().ok(),
            Column::Restart => restart = cell.parse().ok(),
            Column::What => subject = cell.parse().ok(),
            Column::Measure(_) if cell.is_empty() => {}
            Column::Measure(measure) => sample.set(*measure, cell.parse().ok()?),
            Column::Unknown => {}
        }
    }
    sample.at = Timestamp(at?);
    sample.job = job?;
    sample.restart = restart?;
    sample.subject = subject?;
    cells.next().is_none().then_some(sample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8], piece: usize) -> (Vec<Sample>, u64) {
        let mut reader = CsvReader::default();
        let mut samples = Vec::new();
        for piece in bytes.chunks(piece) {
            reader.read(piece, |sample| samples.push(sample));
        }
        (samples, reader.passed_over())
    }

    fn gpu() -> Sample {
        let mut sample = Sample::new(Timestamp(1_700_000_000_123), 17, 2, Subject::Gpu(3));
        sample.set(Measure::Busy, 93.0);
        sample.set(Measure::Power, 311.25);
        sample
    }

    #[test]
    fn a_sample_comes_back_whatever_the_pieces() {
        let text = format!("{}{}{}", *HEADER, csv_row(&gpu()), csv_row(&gpu()));
        for piece in [1, 7, 4096] {
            assert_eq!(read(text.as_bytes(), piece), (vec![gpu(), gpu()], 0));
        }
    }

    #[test]
    fn half_lines_and_foreign_ones_are_passed_over() {
        let row = csv_row(&gpu());
        let half = &row[..row.len() - 3];
        let long = "x".repeat(100_000);
        let text = format!("{row}{}{half}\n{row}\nwhat is this\n{long}\n{row}", *HEADER);
        // The first stands before any header: its columns aren't known.
        assert_eq!(read(text.as_bytes(), 4096), (vec![gpu(), gpu()], 4));
    }

    #[test]
    fn columns_go_by_their_names() {
        let text = "time_ms,what,new,sm,restart,job\n5,gpu 1,x,40,0,7\n";
        let (samples, _) = read(text.as_bytes(), 4096);
        assert_eq!(samples[0].get(Measure::Busy), Some(40.0));
        assert_eq!((samples[0].job, samples[0].subject), (7, Subject::Gpu(1)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_survived(bytes: Vec<u8>, piece in 1usize..50) {
            let mut all = HEADER.clone().into_bytes();
            all.extend(bytes);
            read(&all, piece);
        }
    }
}
