//! The scalars of a run, from all of its event files.

use super::event::event;
use super::records::{Broken, Records};
use model::Timestamp;
use std::collections::BTreeMap;
use std::io::{Read, Seek};

/// One value of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When it was written.
    pub at: Timestamp,
    /// The step.
    pub step: i64,
    /// The value, which may be no number.
    pub value: f64,
}

/// The scalars of one folder of event files: a TensorBoard "run".
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scalars {
    tags: BTreeMap<String, Line>,
}

/// As many points of a tag are kept, at most: twice of what a chart can show.
const MOST_POINTS: usize = 2048;
/// As many tags, so that a foreign file can't fill the memory.
const MOST_TAGS: usize = 1000;

#[derive(Clone, Debug, PartialEq)]
struct Line {
    points: Vec<Point>,
    /// Every how manieth point is kept.
    every: u64,
    seen: u64,
    /// The newest, whether it is kept or not.
    last: Point,
}

/// Whether a file of that name is one of TensorBoard's.
#[must_use]
pub fn is_event_file(name: &str) -> bool {
    name.contains("tfevents")
}

impl Scalars {
    /// Adds a file; files of a folder go in the order of their names.
    ///
    /// # Errors
    /// Why it was read no further; what came before is there.
    pub fn add_file(&mut self, file: impl Read + Seek) -> Result<u64, Broken> {
        let mut records = Records::new(file);
        while let Some(record) = records.next_record()? {
            let event = event(record);
            // A training that begins again at a step writes all later ones anew.
            if event.starts {
                for line in self.tags.values_mut() {
                    line.points.retain(|point| point.step <= event.step);
                }
            }
            let millis = (event.wall_time * 1000.0).clamp(0.0, 1e15);
            let at = Timestamp(millis as i64);
            for (tag, value) in event.scalars {
                let point = Point {
                    at,
                    step: event.step,
                    value,
                };
                self.add(tag, point);
            }
        }
        Ok(records.damaged())
    }

    fn add(&mut self, tag: String, point: Point) {
        if let Some(line) = self.tags.get_mut(&tag) {
            return line.add(point);
        }
        if self.tags.len() < MOST_TAGS {
            let line = Line {
                points: vec![point],
                every: 1,
                seen: 1,
                last: point,
            };
            self.tags.insert(tag, line);
        }
    }

    /// Tags with their points, by step; the newest is among them.
    pub fn lines(&self) -> impl Iterator<Item = (&str, Vec<Point>)> {
        self.tags.iter().map(|(tag, line)| {
            let mut points = line.points.clone();
            if points.last() != Some(&line.last) {
                points.push(line.last);
            }
            (tag.as_str(), points)
        })
    }
}

impl Line {
    fn add(&mut self, point: Point) {
        // Later points of these steps were of a start whose work was lost.
        while self
            .points
            .last()
            .is_some_and(|last| last.step >= point.step)
        {
            self.points.pop();
        }
        self.last = point;
        self.seen += 1;
        if self.seen.is_multiple_of(self.every) {
            self.points.push(point);
        }
        if self.points.len() >= MOST_POINTS {
            let mut keep = false;
            self.points.retain(|_| {
                keep = !keep;
                keep
            });
            self.every *= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::{bytes_field, scalar_event};
    use super::super::records::framed;
    use super::*;
    use std::io::Cursor;

    fn file(events: &[Vec<u8>]) -> Vec<u8> {
        let events = events.iter().map(|event| framed(event));
        events.collect::<Vec<_>>().concat()
    }

    #[track_caller]
    fn check(files: &[Vec<u8>], want: &[(i64, f64)]) {
        let mut scalars = Scalars::default();
        for file in files {
            scalars.add_file(Cursor::new(file)).unwrap();
        }
        let (_, points) = scalars.lines().next().unwrap();
        let points: Vec<(i64, f64)> = points.iter().map(|p| (p.step, p.value)).collect();
        assert_eq!(points, want);
    }

    #[test]
    fn a_start_that_goes_on_hides_what_was_lost() {
        let loss = |at: u8, step, value| scalar_event(at.into(), step, "loss", value);
        let first = file(&[loss(1, 1, 4.0), loss(2, 2, 3.0), loss(3, 3, 2.0)]);
        let second = file(&[loss(9, 2, 3.5), loss(10, 3, 2.5)]);
        check(&[first.clone(), second], &[(1, 4.0), (2, 3.5), (3, 2.5)]);
        let mut start = vec![2 << 3, 1];
        start.extend(bytes_field(7, &[1 << 3, 1]));
        check(
            &[first, file(&[start, loss(9, 4, 1.0)])],
            &[(1, 4.0), (4, 1.0)],
        );
    }

    #[test]
    fn what_is_before_the_damage_is_there() {
        let mut bytes = file(&[scalar_event(1.0, 1, "loss", 4.0)]);
        bytes.extend(b"a tail of something else");
        let mut scalars = Scalars::default();
        assert_eq!(scalars.add_file(Cursor::new(bytes)), Err(Broken::Length));
        assert_eq!(scalars.lines().count(), 1);
    }

    #[test]
    fn a_million_points_keep_their_shape_and_their_end() {
        let mut scalars = Scalars::default();
        for step in 0..1_000_000 {
            let point = Point {
                at: Timestamp(step),
                step,
                value: step as f64,
            };
            scalars.add("loss".to_owned(), point);
        }
        let (_, points) = scalars.lines().next().unwrap();
        assert!((MOST_POINTS / 2..=MOST_POINTS + 1).contains(&points.len()));
        assert_eq!(points.last().unwrap().step, 999_999);
    }
}
