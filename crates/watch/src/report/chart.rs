//! A line chart as SVG: drawn in the page's own colours, read without a script.

use super::html::{escaped, number};
use model::say_length;
use std::fmt::Write;

/// A chart over the time since a run began.
pub(super) struct Chart<'a> {
    pub title: &'a str,
    pub unit: &'a str,
    /// Its lines; each has a colour by its place.
    pub lines: Vec<Line>,
    /// Whether the axis begins at 0.
    pub from_zero: bool,
    /// So high the axis goes at least.
    pub at_least: f64,
    /// A line across: what was asked for, with its words.
    pub limit: Option<(f64, &'a str)>,
    /// Milliseconds from the left end to the right one.
    pub length_ms: i64,
    /// Milliseconds at which the run started again.
    pub restarts: &'a [i64],
}

/// A line: milliseconds and values; `None` is a gap.
pub(super) struct Line {
    pub name: String,
    pub points: Vec<(i64, Option<f64>)>,
}

/// Colours that the page has for lines.
pub(super) const COLOURS: usize = 8;

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 180.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 20.0;

impl Chart<'_> {
    /// The chart in its frame, with its legend.
    pub fn html(&self) -> String {
        let last = self
            .lines
            .iter()
            .filter_map(|line| line.points.iter().rev().find_map(|p| p.1));
        let last: Vec<f64> = last.collect();
        let now = match last[..] {
            [one] => format!("<b>{}</b> ", number(one)),
            _ => String::new(),
        };
        let mut html = format!(
            "<figure><figcaption>{}<span>{now}{}</span></figcaption>",
            escaped(self.title),
            escaped(self.unit)
        );
        html.push_str(&self.svg());
        if self.lines.len() > 1 {
            html.push_str("<ul class=legend>");
            for (index, line) in self.lines.iter().enumerate() {
                let colour = index % COLOURS;
                write!(html, "<li class=c{colour}>{}</li>", escaped(&line.name)).expect(STRING);
            }
            html.push_str("</ul>");
        }
        html.push_str("</figure>\n");
        html
    }

    fn svg(&self) -> String {
        let (low, high, ticks) = self.axis();
        let x = |ms: i64| {
            LEFT + (WIDTH - LEFT - RIGHT)
                * (ms as f64 / self.length_ms.max(1) as f64).clamp(0.0, 1.0)
        };
        let y = |value: f64| {
            TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - (value - low) / (high - low)).clamp(0.0, 1.0)
        };
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=img aria-label=\"{}\">",
            escaped(self.title)
        );
        let right = WIDTH - RIGHT;
        for tick in ticks {
            let at = y(tick);
            let (text_at, text) = (at + 3.5, number(tick));
            write!(
                svg,
                "<path class=grid d=\"M{LEFT} {at:.1}H{right}\"/><text x={:.1} y={text_at:.1} \
                 text-anchor=end>{text}</text>",
                LEFT - 5.0
            )
            .expect(STRING);
        }
        let bottom = HEIGHT - BOTTOM;
        for tick in time_ticks(self.length_ms) {
            let at = x(tick);
            let anchor = if at > right - 20.0 { "end" } else { "middle" };
            let text = if tick == 0 {
                "0".to_owned()
            } else {
                say_length(tick)
            };
            write!(
                svg,
                "<text x={at:.1} y={:.1} text-anchor={anchor}>{text}</text>",
                HEIGHT - 5.0
            )
            .expect(STRING);
        }
        for restart in self.restarts {
            write!(
                svg,
                "<path class=restart d=\"M{:.1} {TOP}V{bottom}\"/>",
                x(*restart)
            )
            .expect(STRING);
        }
        if let Some((limit, words)) = self.limit.filter(|(limit, _)| *limit <= high) {
            let at = y(limit);
            write!(
                svg,
                "<path class=limit d=\"M{LEFT} {at:.1}H{right}\"/><text class=limit x={right} \
                 y={:.1} text-anchor=end>{}</text>",
                if at < TOP + 14.0 { at + 11.0 } else { at - 4.0 },
                escaped(words)
            )
            .expect(STRING);
        }
        for (index, line) in self.lines.iter().enumerate() {
            let path = path(&line.points, &x, &y);
            let (colour, name) = (index % COLOURS, escaped(&line.name));
            write!(
                svg,
                "<path class=\"line c{colour}\" d=\"{path}\"><title>{name}</title></path>"
            )
            .expect(STRING);
        }
        svg.push_str("</svg>");
        svg
    }

    /// The lowest and the highest value of the axis, and where it has ticks.
    fn axis(&self) -> (f64, f64, Vec<f64>) {
        let points = self.lines.iter().flat_map(|line| &line.points);
        let values = points.filter_map(|(_, value)| value.filter(can_be_drawn));
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        for value in values {
            low = low.min(value);
            high = high.max(value);
        }
        if low > high {
            (low, high) = (0.0, 1.0);
        }
        high = high.max(self.at_least);
        if self.from_zero {
            low = 0.0;
        }
        if high - low < 1e-9 * high.abs().max(1e-9) {
            let room = high.abs().max(1.0) * 0.1;
            (low, high) = (low - room * f64::from(!self.from_zero), high + room);
        }
        let step = nice((high - low) / 4.0);
        let first = (low / step).floor();
        let mut ticks = Vec::new();
        for place in 0..8 {
            let tick = (first + f64::from(place)) * step;
            ticks.push(tick);
            if tick >= high - step * 1e-6 {
                break;
            }
        }
        let top = ticks.last().copied().unwrap_or(high);
        (first * step, top.max(high), ticks)
    }
}

/// What is no number, or beyond all measure, is a gap.
fn can_be_drawn(value: &f64) -> bool {
    value.abs() < 1e30
}

/// Why writing into a string is no error.
const STRING: &str = "invariant: a string takes all";

/// 1, 2 or 5 times a power of ten, at least so much.
fn nice(step: f64) -> f64 {
    let power = 10f64.powf(step.log10().floor());
    let times = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|times| times * power >= step * 0.999);
    times.unwrap_or(10.0) * power
}

/// Full minutes, hours or days of which three to six fit.
fn time_ticks(length_ms: i64) -> Vec<i64> {
    const SECOND: i64 = 1000;
    const MINUTE: i64 = 60 * SECOND;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let steps = [
        SECOND,
        2 * SECOND,
        5 * SECOND,
        10 * SECOND,
        20 * SECOND,
        30 * SECOND,
        MINUTE,
        2 * MINUTE,
        5 * MINUTE,
        10 * MINUTE,
        20 * MINUTE,
        30 * MINUTE,
        HOUR,
        2 * HOUR,
        4 * HOUR,
        6 * HOUR,
        12 * HOUR,
        DAY,
        2 * DAY,
        5 * DAY,
        10 * DAY,
    ];
    let longest = DAY.saturating_mul(10);
    let fits = steps.into_iter().find(|step| length_ms / step <= 4);
    let step = fits.unwrap_or(longest.saturating_mul(length_ms / longest / 4 + 1));
    (0..=length_ms / step).map(|count| count * step).collect()
}

fn path(points: &[(i64, Option<f64>)], x: &dyn Fn(i64) -> f64, y: &dyn Fn(f64) -> f64) -> String {
    let mut path = String::new();
    let mut draws = false;
    for (at, value) in points {
        let Some(value) = value.filter(can_be_drawn) else {
            draws = false;
            continue;
        };
        let verb = if draws { 'L' } else { 'M' };
        write!(path, "{verb}{:.1} {:.1}", x(*at), y(value)).expect(STRING);
        draws = true;
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(values: &[Option<f64>]) -> String {
        let points = values.iter().enumerate();
        let points = points
            .map(|(index, value)| (index as i64 * 1000, *value))
            .collect();
        let line = Line {
            name: "a<b".to_owned(),
            points,
        };
        Chart {
            title: "loss",
            unit: "",
            lines: vec![line],
            from_zero: false,
            at_least: f64::MIN,
            limit: None,
            length_ms: 10_000,
            restarts: &[5000],
        }
        .html()
    }

    #[test]
    fn any_values_are_drawn() {
        let ends = [
            0.0,
            1e300,
            -1e300,
            1e-300,
            f64::NAN,
            f64::INFINITY,
            f64::MAX,
            f64::MIN,
        ];
        for first in ends {
            for second in ends {
                let html = chart(&[Some(first), None, Some(second)]);
                let drawn = html
                    .split("<path")
                    .skip(1)
                    .all(|path| !path.contains("NaN"));
                assert!(
                    drawn && html.contains("a&lt;b") && html.len() < 4000,
                    "{first} {second}: {html}"
                );
            }
        }
        assert!(chart(&[]).contains("<svg"));
    }

    #[test]
    fn a_gap_is_not_drawn_over() {
        let html = chart(&[Some(1.0), Some(2.0), None, Some(3.0)]);
        let path = html.split("class=\"line c0\" d=\"").nth(1).unwrap();
        let path = path.split('"').next().unwrap();
        assert_eq!(path.matches('M').count(), 2, "{path}");
    }

    #[test]
    fn times_of_the_axis() {
        let check = |length, want: &[i64]| assert_eq!(time_ticks(length), want);
        check(0, &[0]);
        check(4500, &[0, 1000, 2000, 3000, 4000]);
        check(
            24 * 3_600_000,
            &[0, 6, 12, 18, 24].map(|hours| hours * 3_600_000),
        );
        assert!(time_ticks(i64::MAX).len() <= 6);
    }
}
