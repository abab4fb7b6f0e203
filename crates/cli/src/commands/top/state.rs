//! What is on the screen and what a key does. Pure.

use super::source::Wanted;
use super::view::{Detail, News, Row};

/// Last lines that are asked for beside the list.
const FEW_LINES: usize = 40;
/// And where they fill the screen.
const MANY_LINES: usize = 400;
/// Rows that a page key moves by.
const PAGE: usize = 10;

/// What comes in.
#[derive(Debug)]
pub enum Input {
    /// A key.
    Key(Key),
    /// What clusters and files say.
    News(News),
    /// What came of a command, in a line.
    Message(String),
}

/// A key that means something here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A letter or sign.
    Letter(char),
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// To the first.
    Home,
    /// To the last.
    End,
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Ctrl-C.
    Quit,
}

/// What a person can do to a run or job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// End it.
    Cancel,
    /// Put it back into the queue.
    Requeue,
}

/// What goes out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// Leave.
    Quit,
    /// Do it to the run or job of that key.
    Do(Action, String),
}

/// What fills the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Screen {
    /// The list, and the chosen one below or beside it.
    List,
    /// The last lines of one rank.
    Log,
    /// The keys.
    Help,
}

/// All that the screen shows.
#[derive(Debug)]
pub struct State {
    news: Option<News>,
    all: bool,
    chosen: Option<String>,
    rank: u32,
    screen: Screen,
    /// What is asked before it is done.
    question: Option<(Action, String)>,
    /// What came of the last command.
    said: Option<String>,
    /// Lines of the log below the screen's end.
    back: usize,
}

impl State {
    /// Before anything is known. `all`: also what has ended.
    pub fn new(all: bool) -> State {
        State {
            news: None,
            all,
            chosen: None,
            rank: 0,
            screen: Screen::List,
            question: None,
            said: None,
            back: 0,
        }
    }

    /// What must be looked at for the screen.
    pub fn wanted(&self) -> Wanted {
        Wanted {
            key: self.chosen.clone(),
            rank: self.rank,
            lines: match self.screen {
                Screen::List | Screen::Help => FEW_LINES,
                Screen::Log => MANY_LINES,
            },
            all: self.all,
        }
    }

    /// What fills the screen.
    pub fn screen(&self) -> Screen {
        self.screen
    }

    /// The newest news.
    pub fn news(&self) -> Option<&News> {
        self.news.as_ref()
    }

    /// The rows that are listed.
    pub fn rows(&self) -> Vec<&Row> {
        let rows = self.news.iter().flat_map(|news| &news.rows);
        rows.filter(|row| self.all || row.is_live).collect()
    }

    /// The place of the chosen row among them.
    pub fn place(&self) -> Option<usize> {
        let rows = self.rows();
        rows.iter()
            .position(|row| Some(&row.key) == self.chosen.as_ref())
    }

    /// The chosen one, as far as it is known.
    pub fn detail(&self) -> Option<&Detail> {
        let detail = self.news.as_ref()?.detail.as_ref();
        detail.filter(|detail| Some(&detail.key) == self.chosen.as_ref())
    }

    /// Lines of the log below the screen's end.
    pub fn back(&self) -> usize {
        self.back
    }

    /// The rank whose lines are shown.
    pub fn rank(&self) -> u32 {
        self.rank
    }

    /// What is asked of the person, or what came of their last command.
    pub fn line(&self) -> Option<String> {
        match &self.question {
            Some((Action::Cancel, key)) => Some(format!(
                "cancel {key}? Its checkpoints stay.   y yes   n no"
            )),
            Some((Action::Requeue, key)) => {
                Some(format!("put {key} back into the queue?   y yes   n no"))
            }
            None => self.said.clone(),
        }
    }

    /// Whether the line waits for an answer.
    pub fn asks(&self) -> bool {
        self.question.is_some()
    }

    /// Whether what has ended is listed.
    pub fn shows_all(&self) -> bool {
        self.all
    }

    /// Takes what comes; what is to be done about it.
    pub fn update(&mut self, input: Input) -> Option<Command> {
        match input {
            Input::News(news) => {
                self.news = Some(news);
                self.choose_one();
                None
            }
            Input::Message(text) => {
                self.said = Some(text);
                None
            }
            Input::Key(Key::Quit) => Some(Command::Quit),
            Input::Key(key) => self.key(key),
        }
    }

    fn key(&mut self, key: Key) -> Option<Command> {
        self.said = None;
        if let Some((action, name)) = self.question.take() {
            return matches!(key, Key::Letter('y' | 'Y')).then_some(Command::Do(action, name));
        }
        match (key, self.screen) {
            (Key::Letter('q'), _) => return Some(Command::Quit),
            (Key::Escape, Screen::List) => return Some(Command::Quit),
            (Key::Escape, Screen::Log | Screen::Help) | (Key::Letter(_), Screen::Help) => {
                self.screen = Screen::List;
            }
            (Key::Letter('?' | 'h'), _) => self.screen = Screen::Help,
            (Key::Letter('c'), _) => self.ask(Action::Cancel),
            (Key::Letter('r'), _) => self.ask(Action::Requeue),
            (Key::Letter('a'), _) => {
                self.all = !self.all;
                self.choose_one();
            }
            (Key::Letter('l') | Key::Enter, Screen::List) if self.chosen.is_some() => {
                (self.screen, self.back) = (Screen::Log, 0);
            }
            (Key::Letter('l') | Key::Enter, Screen::Log) => self.screen = Screen::List,
            (Key::Left | Key::Letter('['), _) => self.show_rank(self.rank.saturating_sub(1)),
            (Key::Right | Key::Letter(']'), _) => self.show_rank(self.rank.saturating_add(1)),
            (key, Screen::Log) => self.scroll(key),
            (key, Screen::List) => self.walk(key),
            (_, Screen::Help) => {}
        }
        None
    }

    fn ask(&mut self, action: Action) {
        self.question = self.chosen.clone().map(|key| (action, key));
    }

    /// Of another rank, where there is one.
    fn show_rank(&mut self, rank: u32) {
        let last = self
            .detail()
            .map_or(0, |detail| detail.rank_count.saturating_sub(1));
        self.rank = rank.min(last);
        self.back = 0;
    }

    fn scroll(&mut self, key: Key) {
        let lines = self.detail().map_or(0, |detail| detail.lines.len());
        self.back = match key {
            Key::Up | Key::Letter('k') => self.back + 1,
            Key::Down | Key::Letter('j') => self.back.saturating_sub(1),
            Key::PageUp => self.back + PAGE,
            Key::PageDown => self.back.saturating_sub(PAGE),
            Key::Home => lines,
            Key::End => 0,
            _ => self.back,
        }
        .min(lines.saturating_sub(1));
    }

    fn walk(&mut self, key: Key) {
        let keys: Vec<String> = self.rows().iter().map(|row| row.key.clone()).collect();
        let Some(last) = keys.len().checked_sub(1) else {
            return;
        };
        let place = self.place().unwrap_or(0);
        let place = match key {
            Key::Up | Key::Letter('k') => place.saturating_sub(1),
            Key::Down | Key::Letter('j') => place + 1,
            Key::PageUp => place.saturating_sub(PAGE),
            Key::PageDown => place + PAGE,
            Key::Home => 0,
            Key::End => last,
            _ => return,
        };
        let chosen = keys.into_iter().nth(place.min(last));
        if chosen != self.chosen {
            (self.chosen, self.rank, self.back) = (chosen, 0, 0);
        }
    }

    /// A row that is gone can't stay chosen; a log that is read stays.
    fn choose_one(&mut self) {
        if self.place().is_none() && self.screen != Screen::Log {
            self.chosen = self.rows().first().map(|row| row.key.clone());
            self.rank = 0;
        }
    }
}
