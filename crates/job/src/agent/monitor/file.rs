//! `monitor/<node>.csv`, appended.

use std::fs::File;
use std::io::{self, Write};
use std::path::PathBuf;

/// Where the samples of one node go.
#[derive(Debug)]
pub(super) struct MonitorFile {
    path: PathBuf,
    open: Option<File>,
    /// Whether what is there may end within a line, as on a disk that was full.
    torn: bool,
}

impl MonitorFile {
    /// The file, which is made when something is appended.
    pub fn new(path: PathBuf) -> MonitorFile {
        MonitorFile {
            path,
            open: None,
            // An earlier start may have been killed while it wrote.
            torn: true,
        }
    }

    /// Appends rows; what fails is lost, and the next ones begin a new line.
    pub fn append(&mut self, rows: &str) -> io::Result<()> {
        let mut file = match self.open.take() {
            Some(file) => file,
            None => {
                let file = File::options().create(true).append(true).open(&self.path)?;
                if file.metadata()?.len() == 0 {
                    (&file).write_all(watch::HEADER.as_bytes())?;
                    self.torn = false;
                }
                file
            }
        };
        let begin = if self.torn { "\n" } else { "" };
        self.torn = true;
        file.write_all(format!("{begin}{rows}").as_bytes())?;
        self.torn = false;
        self.open = Some(file);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;
    use watch::{CsvReader, Sample, Subject, csv_row};

    #[test]
    fn an_earlier_half_line_costs_no_sample() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("n1.csv");
        let row = |at| csv_row(&Sample::new(Timestamp(at), 1, 0, Subject::Node));
        MonitorFile::new(path.clone()).append(&row(1)).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{}", &row(2)[..9])).unwrap();
        let mut file = MonitorFile::new(path.clone());
        file.append(&row(3)).unwrap();
        file.append(&row(4)).unwrap();
        let mut reader = CsvReader::default();
        let mut times = Vec::new();
        reader.read(&std::fs::read(&path).unwrap(), |sample| {
            times.push(sample.at.0)
        });
        assert_eq!((times, reader.passed_over()), (vec![1, 3, 4], 1));
    }

    #[test]
    fn a_full_disk_and_a_folder_that_is_gone_are_errors_and_no_end() {
        assert!(MonitorFile::new("/dev/full".into()).append("x\n").is_err());
        let folder = tempfile::tempdir().unwrap();
        let mut file = MonitorFile::new(folder.path().join("monitor/n1.csv"));
        assert!(file.append("x\n").is_err());
        std::fs::create_dir(folder.path().join("monitor")).unwrap();
        file.append("x\n").unwrap();
    }
}
