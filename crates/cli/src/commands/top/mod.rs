//! `yard top`

mod draw;
mod source;
mod state;
mod view;

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use crate::words;
use clap::Args as ClapArgs;
use model::Timestamp;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use runs::places;
use source::{Source, Wanted};
use state::{Action, Command, Input, Key, State};
use std::io::{IsTerminal, stdin};
use std::sync::mpsc::channel;
use std::time::Duration;

/// Watch runs and jobs live: their ranks, GPUs and last lines; cancel and requeue them
///
/// Into a pipe or a file it prints once.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Also what has ended
    #[arg(long)]
    all: bool,
}

/// How long the keyboard is waited for before news are looked for.
const KEY_PAUSE: Duration = Duration::from_millis(100);

/// Runs `yard top`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    if !printer.writes_to_terminal() || !stdin().is_terminal() {
        return once(args, printer);
    }
    let source = Source::start(places()?);
    let mut state = State::new(args.all);
    let result = watch(&mut state, &source);
    ratatui::restore();
    result.map_err(|error| {
        Failure::new(
            FailureKind::Io,
            format!("the terminal can't be used: {error}"),
        )
        .todo("yard ls lists the same once")
    })?;
    Ok(exit_code::DONE)
}

/// Takes keys and news until the person leaves.
fn watch(state: &mut State, source: &Source) -> std::io::Result<()> {
    let ended = std::sync::Arc::default();
    signal_hook::flag::register(signal_hook::consts::SIGTERM, std::sync::Arc::clone(&ended))?;
    // It puts the terminal back where this panics, too.
    let mut terminal = ratatui::try_init()?;
    let (said, hear) = channel();
    let mut changed = true;
    loop {
        if ended.load(std::sync::atomic::Ordering::Relaxed) {
            return Ok(());
        }
        source.want(state.wanted());
        if changed {
            terminal.draw(|frame| draw::draw(frame, state))?;
        }
        changed = false;
        let mut inputs = Vec::new();
        if event::poll(KEY_PAUSE)? {
            match event::read()? {
                Event::Key(key) => inputs.extend(key_of(key).map(Input::Key)),
                Event::Resize(..) => changed = true,
                _ => {}
            }
        }
        inputs.extend(source.news().map(Input::News));
        inputs.extend(hear.try_iter().map(Input::Message));
        for input in inputs {
            changed = true;
            match state.update(input) {
                None => {}
                Some(Command::Quit) => return Ok(()),
                Some(Command::Do(action, key)) => {
                    let said = said.clone();
                    let hurry = source.hurry();
                    std::thread::spawn(move || {
                        // Where the person has left, there is no one to read it.
                        let _ = said.send(act(action, &key));
                        hurry();
                    });
                }
            }
        }
    }
}

fn key_of(event: KeyEvent) -> Option<Key> {
    if event.kind == KeyEventKind::Release {
        return None;
    }
    Some(match event.code {
        KeyCode::Char('c') if event.modifiers.contains(KeyModifiers::CONTROL) => Key::Quit,
        KeyCode::Char(letter) => Key::Letter(letter),
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        _ => return None,
    })
}

/// Does it, and says in one line what came of it.
fn act(action: Action, key: &str) -> String {
    let done = runs::select_to_change(key).and_then(|selected| {
        let name = selected.name();
        Ok(match action {
            Action::Cancel => {
                if runs::cancel(&selected)? {
                    format!("{name} is being cancelled")
                } else {
                    format!("{name} has already ended")
                }
            }
            Action::Requeue => match runs::requeue(&selected)? {
                runs::Requeued::SameJob(job) => {
                    format!("{} goes back into the queue", selected.name_and(job))
                }
                runs::Requeued::NextJob(job) => format!("{name} continues in job {job}"),
                runs::Requeued::Waits => format!("{name} is already waiting"),
            },
        })
    });
    done.unwrap_or_else(|failure| failure.line())
}

/// The list and the newest samples as text.
fn once(args: &Args, printer: &Printer) -> Outcome {
    let now = Timestamp(sys::now());
    let since = Timestamp(now.0.saturating_sub(source::REMEMBERED.as_millis() as i64));
    let listing = runs::list(&places()?, since)?;
    let mut looks = source::Looks::default();
    let wanted = Wanted {
        all: args.all,
        ..Wanted::default()
    };
    let news = looks.news(&listing, &wanted, now);
    let shown = news.rows.iter().filter(|row| args.all || row.is_live);
    let cells: Vec<Vec<String>> = shown.map(view::Row::cells).collect();
    if cells.is_empty() {
        printer.show_line("nothing waits or runs; yard top --all shows what has ended");
    } else {
        printer.shown(&words::fitted(&view::HEAD, &cells, printer.width()));
    }
    for problem in &news.problems {
        printer.say(&format!("note: {problem}"));
    }
    Ok(exit_code::DONE)
}
