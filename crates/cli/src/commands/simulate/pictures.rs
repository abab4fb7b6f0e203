//! Schedules as pictures: use over time, waits by size, and who held what in a window.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::{FontStyle, register_font};
use sched::replay::{Bar, Lanes, Played, in_use, lanes, waits_by_size};
use std::fmt;

/// Letters, digits and signs of DejaVu Sans, for pictures that are no text.
const FONT: &[u8] = include_bytes!("DejaVuSans-latin.ttf");
const SIZE: (u32, u32) = (1200, 700);
/// Of these, so many rows have the title and the names of colours.
const HEAD: u32 = 46;
/// Use is shown as the mean of so many spans.
const SPANS: usize = 200;
const MILLIS_OF_DAY: f64 = 86_400_000.0;
/// Waits that have a line: seconds to months.
const TICKS: [f64; 14] = [
    1.0,
    5.0,
    20.0,
    60.0,
    300.0,
    1200.0,
    3600.0,
    4.0 * 3600.0,
    12.0 * 3600.0,
    86_400.0,
    3.0 * 86_400.0,
    10.0 * 86_400.0,
    30.0 * 86_400.0,
    100.0 * 86_400.0,
];
/// One policy each: colours that differ for the colour-blind too (Okabe and Ito).
const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
/// Jobs that started in order, by user.
const IN_ORDER: [RGBColor; 4] = [
    RGBColor(120, 160, 200),
    RGBColor(150, 185, 215),
    RGBColor(95, 140, 185),
    RGBColor(175, 203, 226),
];
/// Those that were backfilled.
const BACKFILLED: [RGBColor; 4] = [
    RGBColor(230, 159, 80),
    RGBColor(240, 180, 110),
    RGBColor(220, 140, 60),
    RGBColor(246, 200, 145),
];

/// One schedule, with the name of its policy.
pub struct Schedule<'a> {
    /// `easy`
    pub name: &'static str,
    /// What was played.
    pub played: &'a Played<'a>,
}

/// The machine on which it was played.
#[derive(Clone, Copy)]
pub struct Machine {
    pub cpus: u64,
    pub gpus: u64,
}

/// Part of the time, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub from: i64,
    pub to: i64,
}

/// A picture in its two forms.
pub struct Picture {
    /// The file's name without its end.
    pub name: String,
    pub svg: String,
    pub png: Vec<u8>,
}

/// No picture could be drawn.
#[derive(Debug)]
pub struct NoPicture(String);

impl fmt::Display for NoPicture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn failed(error: impl fmt::Display) -> NoPicture {
    NoPicture(error.to_string())
}

/// What can be drawn, whatever it is drawn on.
trait Drawing {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), NoPicture>;
}

/// The pictures of some schedules of one trace.
pub fn pictures(
    schedules: &[Schedule<'_>],
    machine: Machine,
    window: Option<Window>,
) -> Result<Vec<Picture>, NoPicture> {
    register_font("sans-serif", FontStyle::Normal, FONT)
        .map_err(|_no_font| NoPicture("the font can't be read".to_owned()))?;
    let mut drawn = vec![
        drawn("use".to_owned(), &UseOverTime { schedules, machine })?,
        drawn("waits".to_owned(), &WaitsBySize { schedules })?,
    ];
    for schedule in schedules {
        let name = if schedules.len() > 1 {
            format!("gantt-{}", schedule.name)
        } else {
            "gantt".to_owned()
        };
        let window = window.unwrap_or_else(|| around_longest_wait(schedule.played));
        let Machine { cpus, gpus } = machine;
        drawn.push(self::drawn(
            name,
            &Gantt {
                schedule,
                lanes: lanes(schedule.played, window.from, window.to, cpus, gpus),
                units: machine,
                window,
                begin: first_submission(schedule.played),
            },
        )?);
    }
    Ok(drawn)
}

/// The first submission of a trace, in milliseconds.
pub fn first_submission(played: &Played<'_>) -> i64 {
    played.trace.jobs.first().map_or(0, |job| job.submit.0)
}

/// A day around the start of the job that waited longest.
fn around_longest_wait(played: &Played<'_>) -> Window {
    let waited = |start: &&sched::replay::Start| start.at.0 - played.trace.jobs[start.job].submit.0;
    let at = played
        .starts
        .iter()
        .max_by_key(waited)
        .map_or(0, |start| start.at.0);
    let half = MILLIS_OF_DAY as i64 / 2;
    let from = (at - half).max(first_submission(played));
    Window {
        from,
        to: from + 2 * half,
    }
}

fn drawn(name: String, drawing: &impl Drawing) -> Result<Picture, NoPicture> {
    let mut svg = String::new();
    drawing.draw(&SVGBackend::with_string(&mut svg, SIZE).into_drawing_area())?;
    let mut pixels = vec![255; (SIZE.0 * SIZE.1 * 3) as usize];
    drawing.draw(&BitMapBackend::with_buffer(&mut pixels, SIZE).into_drawing_area())?;
    let mut png = Vec::new();
    let mut encoder = png::Encoder::new(&mut png, SIZE.0, SIZE.1);
    encoder.set_color(png::ColorType::Rgb);
    let mut writer = encoder.write_header().map_err(failed)?;
    writer.write_image_data(&pixels).map_err(failed)?;
    writer.finish().map_err(failed)?;
    Ok(Picture { name, svg, png })
}

/// Two charts, one above the other: what is in use, and how many jobs wait.
struct UseOverTime<'a> {
    schedules: &'a [Schedule<'a>],
    machine: Machine,
}

impl Drawing for UseOverTime<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), NoPicture> {
        area.fill(&WHITE).map_err(failed)?;
        let names = self.schedules.iter().map(|schedule| schedule.name);
        let uses: Vec<_> = self
            .schedules
            .iter()
            .map(|schedule| in_use(schedule.played, SPANS))
            .collect();
        let of_gpus = uses
            .iter()
            .any(|used| used.gpus.iter().any(|gpus| *gpus > 0.0));
        let begin = uses.iter().filter_map(|used| used.at.first()).min();
        let begin = begin.copied().unwrap_or(0);
        let days = |at: i64| (at - begin) as f64 / MILLIS_OF_DAY;
        let last = uses.iter().filter_map(|used| used.at.last()).max();
        let last = last.map_or(1.0, |at| days(*at)).max(1e-6);
        let most_waiting = uses
            .iter()
            .flat_map(|used| used.waiting.iter().copied())
            .fold(1.0, f64::max);
        let (what, there) = if of_gpus {
            ("GPUs in use", self.machine.gpus)
        } else {
            ("CPUs in use", self.machine.cpus)
        };
        let charts = head(area, what, names)?;
        let (above, below) = charts.split_vertically((SIZE.1 - HEAD) * 3 / 5);
        let mut chart = ChartBuilder::on(&above)
            .margin(15)
            .x_label_area_size(35)
            .y_label_area_size(70)
            .build_cartesian_2d(0.0..last, 0.0..105.0)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .y_desc("% of the machine")
            .y_label_formatter(&|share| format!("{share:.0}"))
            .x_label_formatter(&|day| short(*day))
            .label_style(("sans-serif", 15))
            .draw()
            .map_err(failed)?;
        for (index, used) in uses.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let shares = if of_gpus { &used.gpus } else { &used.cpus };
            let points = used.at.iter().zip(shares);
            let points = points.map(|(at, share)| (days(*at), share * 100.0 / there.max(1) as f64));
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(2)))
                .map_err(failed)?;
        }
        let mut chart = ChartBuilder::on(&below)
            .caption("jobs that wait", ("sans-serif", 20))
            .margin(15)
            .x_label_area_size(40)
            .y_label_area_size(70)
            .build_cartesian_2d(0.0..last, 0.0..most_waiting * 1.05)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .x_desc("days since the first submission")
            .y_desc("jobs")
            .x_label_formatter(&|day| short(*day))
            .y_label_formatter(&|jobs| short(*jobs))
            .label_style(("sans-serif", 15))
            .draw()
            .map_err(failed)?;
        for (index, used) in uses.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let points = used.at.iter().zip(&used.waiting);
            let points = points.map(|(at, jobs)| (days(*at), *jobs));
            chart
                .draw_series(LineSeries::new(points, colour.stroke_width(2)))
                .map_err(failed)?;
        }
        area.present().map_err(failed)
    }
}

/// Mean and 95th percentile of the waits, by the size of jobs.
struct WaitsBySize<'a> {
    schedules: &'a [Schedule<'a>],
}

impl Drawing for WaitsBySize<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), NoPicture> {
        area.fill(&WHITE).map_err(failed)?;
        let all: Vec<_> = self
            .schedules
            .iter()
            .map(|schedule| waits_by_size(schedule.played))
            .collect();
        let sizes: Vec<String> = all.first().map_or(Vec::new(), |classes| {
            classes.iter().map(super::tables::size_name).collect()
        });
        let of_gpus = self.schedules.iter().any(|schedule| {
            let mut jobs = schedule.played.trace.jobs.iter();
            jobs.any(|job| job.gpus > 0)
        });
        let longest = all
            .iter()
            .flatten()
            .map(|class| class.wait.p95.max(class.wait.mean))
            .fold(60.0, f64::max);
        let shortest = all
            .iter()
            .flatten()
            .map(|class| class.wait.mean)
            .fold(longest, f64::min)
            .max(1.0)
            / 1.5;
        let count = sizes.len().max(1);
        let names = self.schedules.iter().map(|schedule| schedule.name);
        let area_of_chart = head(
            area,
            "waits by size: mean (line) and 95 of 100 (dots)",
            names,
        )?;
        let mut chart = ChartBuilder::on(&area_of_chart)
            .margin(15)
            .x_label_area_size(50)
            .y_label_area_size(80)
            .build_cartesian_2d(
                -0.5..count as f64 - 0.5,
                (shortest..longest * 1.5)
                    .log_scale()
                    .with_key_points(TICKS.to_vec()),
            )
            .map_err(failed)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(TRANSPARENT)
            .x_labels(2 * count + 1)
            .x_label_formatter(&|place| {
                let is_whole = (place - place.round()).abs() < 1e-6;
                let at = is_whole.then(|| sizes.get(place.round() as usize));
                at.flatten().cloned().unwrap_or_default()
            })
            .y_label_formatter(&|seconds| span(*seconds))
            .x_desc(if of_gpus {
                "GPUs of a job"
            } else {
                "processors of a job"
            })
            .y_desc("wait")
            .label_style(("sans-serif", 15))
            .draw()
            .map_err(failed)?;
        for (index, classes) in all.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let point = |place: usize, seconds: f64| (place as f64, seconds.max(shortest));
            let means = classes.iter().enumerate();
            let means = means.map(|(place, class)| point(place, class.wait.mean));
            chart
                .draw_series(LineSeries::new(means, colour.stroke_width(3)))
                .map_err(failed)?;
            let highest = classes.iter().enumerate();
            let highest = highest.map(|(place, class)| point(place, class.wait.p95));
            chart
                .draw_series(highest.map(|at| Circle::new(at, 5, colour.filled())))
                .map_err(failed)?;
        }
        area.present().map_err(failed)
    }
}

/// Who held what in a window.
struct Gantt<'a> {
    schedule: &'a Schedule<'a>,
    lanes: Lanes,
    units: Machine,
    window: Window,
    /// The first submission.
    begin: i64,
}

impl Drawing for Gantt<'_> {
    fn draw<B: DrawingBackend>(&self, area: &DrawingArea<B, Shift>) -> Result<(), NoPicture> {
        area.fill(&WHITE).map_err(failed)?;
        let Window { from, to } = self.window;
        let hours = |at: i64| (at.clamp(from, to) - from) as f64 / 3_600_000.0;
        let (units, there) = if self.lanes.are_gpus {
            ("GPUs", self.units.gpus)
        } else {
            ("CPUs", self.units.cpus)
        };
        let day = (from - self.begin) as f64 / MILLIS_OF_DAY;
        let title = format!(
            "{}: who held the {units}, from day {}",
            self.schedule.name,
            short(day)
        );
        let kinds = [
            (IN_ORDER, false, "started in order"),
            (BACKFILLED, true, "backfilled"),
        ];
        let legend = kinds.map(|(colours, _, name)| (colours[0], name));
        let area_of_chart = head_of(area, &title, &legend)?;
        let mut chart = ChartBuilder::on(&area_of_chart)
            .margin(15)
            .x_label_area_size(50)
            .y_label_area_size(80)
            .build_cartesian_2d(0.0..hours(to).max(1e-6), 0.0..there.max(1) as f64)
            .map_err(failed)?;
        chart
            .configure_mesh()
            .disable_mesh()
            .x_desc("hours")
            .y_desc(format!("{units}, laid out in the order of starts"))
            .x_label_formatter(&|hour| short(*hour))
            .y_label_formatter(&|unit| short(*unit))
            .label_style(("sans-serif", 15))
            .draw()
            .map_err(failed)?;
        let corners = |bar: &Bar| {
            let (low, high) = (bar.first as f64, (bar.first + bar.count) as f64);
            [(hours(bar.from), low), (hours(bar.to), high)]
        };
        for (colours, backfilled, _) in kinds {
            let bars = || {
                let bars = self.lanes.bars.iter();
                bars.filter(move |bar| bar.backfilled == backfilled)
            };
            chart
                .draw_series(bars().map(|bar| {
                    let colour = colours[self.shade(bar)];
                    Rectangle::new(corners(bar), colour.filled())
                }))
                .map_err(failed)?;
            chart
                .draw_series(
                    bars().map(|bar| Rectangle::new(corners(bar), WHITE.mix(0.6).stroke_width(1))),
                )
                .map_err(failed)?;
        }
        area.present().map_err(failed)
    }
}

impl Gantt<'_> {
    /// Jobs of one user have one shade.
    fn shade(&self, bar: &Bar) -> usize {
        let user = &self.schedule.played.trace.jobs[bar.job].user;
        let sum: usize = user.bytes().map(usize::from).sum();
        (if user.is_empty() { bar.job } else { sum }) % IN_ORDER.len()
    }
}

/// Draws the title of a picture and, at its right, the names of policies; the rest is for charts.
fn head<'a, B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    title: &str,
    names: impl Iterator<Item = &'a str>,
) -> Result<DrawingArea<B, Shift>, NoPicture> {
    let names = names.enumerate();
    let legend: Vec<(RGBColor, &str)> = names
        .map(|(index, name)| (COLOURS[index % COLOURS.len()], name))
        .collect();
    head_of(area, title, &legend)
}

/// The same with any colours. Nothing of it lies over a chart.
fn head_of<B: DrawingBackend>(
    area: &DrawingArea<B, Shift>,
    title: &str,
    legend: &[(RGBColor, &str)],
) -> Result<DrawingArea<B, Shift>, NoPicture> {
    let (head, rest) = area.split_vertically(HEAD);
    let style = ("sans-serif", 24).into_text_style(&head);
    head.draw(&Text::new(title.to_owned(), (20, 14), style))
        .map_err(failed)?;
    let style = ("sans-serif", 15).into_text_style(&head);
    let mut right = SIZE.0 as i32 - 20;
    for (colour, name) in legend.iter().rev() {
        let (width, _) = head.estimate_text_size(name, &style).map_err(failed)?;
        right -= width as i32;
        head.draw(&Text::new((*name).to_owned(), (right, 20), style.clone()))
            .map_err(failed)?;
        let mark = [(right - 20, 21), (right - 6, 31)];
        head.draw(&Rectangle::new(mark, colour.filled()))
            .map_err(failed)?;
        right -= 36;
    }
    Ok(rest)
}

/// A number without needless digits.
fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A time in the unit that suits it.
fn span(seconds: f64) -> String {
    match seconds {
        less if less < 59.5 => format!("{} s", short(less)),
        less if less < 3570.0 => format!("{:.0} min", less / 60.0),
        less if less < 86_000.0 => format!("{} h", short(less / 3600.0)),
        more => format!("{} d", short(more / 86_400.0)),
    }
}
