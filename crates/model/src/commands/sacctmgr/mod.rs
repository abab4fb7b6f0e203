//! `sacctmgr`: command lines over a state of the accounting. Nothing here keeps anything: what a
//! change made is the caller's to write down.

mod add;
mod columns;
mod condition;
mod coordinators;
mod daemon;
mod default_qos;
mod delete;
mod dump;
mod events;
mod facts;
mod given;
mod kept_names;
mod modify;
mod modify_job;
mod raw_usage;
mod resources;
mod show;
mod show_more;
mod show_request;
mod wckeys;
mod words;

pub use facts::{SacctmgrFacts, TresName};
pub use modify_job::ModifyJob;
pub use raw_usage::UsageReset;
pub use words::Answer as SacctmgrAnswer;

use crate::options::long_options::{
    CommandOption, LongOption, command_options, parse_long_options,
};
use crate::options::option_table::Takes;
use crate::records::Accounting;
use crate::values::Timestamp;
use columns::Style;
use jiff::tz::TimeZone;
use words::Answer;

/// A command line of `sacctmgr`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SacctmgrArgs {
    /// `--immediate`: changes are made without a question.
    pub immediate: bool,
    /// `--quiet`: no word about what was done.
    pub quiet: bool,
    /// `--readonly`: nothing is changed.
    read_only: bool,
    /// `--associations`: `show` of accounts and users, with their associations.
    with_associations: bool,
    /// `--help`, `--version`
    pub show: Option<SacctmgrShow>,
    style: Style,
    words: Vec<String>,
}

/// What is printed instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SacctmgrShow {
    /// `--help`
    Help,
    /// `--version`
    Version,
}

/// A file that a command line reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SacctmgrFile {
    /// `load`
    Read(String),
    /// `dump`
    Write(String),
}

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Help,
    Immediate,
    NoHeader,
    Parsable,
    Parsable2,
    Quiet,
    ReadOnly,
    Version,
    WithAssociations,
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::No as Bare;
    &[
        LongOption::new("help", Some('h'), Bare, Key::Help).does("this text"),
        LongOption::new("usage", None, Bare, Key::Help),
        LongOption::new("immediate", Some('i'), Bare, Key::Immediate).does("changes without a question"),
        LongOption::new("noheader", Some('n'), Bare, Key::NoHeader).does("no header"),
        LongOption::accepted("oneliner", Some('o'), Bare, "each record is a line anyway"),
        LongOption::new("parsable", Some('p'), Bare, Key::Parsable).does("a | after each value"),
        LongOption::new("parsable2", Some('P'), Bare, Key::Parsable2).does("a | between values"),
        LongOption::new("quiet", Some('Q'), Bare, Key::Quiet).does("no word about what was done"),
        LongOption::new("readonly", Some('r'), Bare, Key::ReadOnly).does("refuses what would change something"),
        LongOption::new("associations", Some('s'), Bare, Key::WithAssociations).does("show account and show user with their associations"),
        LongOption::accepted("verbose", Some('v'), Bare, "there is no more to say"),
        LongOption::new("version", Some('V'), Bare, Key::Version).does("what this is"),
    ]
};

/// The options of `sacctmgr`.
pub(crate) fn options() -> Vec<CommandOption> {
    command_options(OPTIONS)
}

impl SacctmgrArgs {
    /// Reads a command line.
    ///
    /// # Errors
    /// As `getopt_long` says it.
    pub fn parse(args: &[String]) -> Result<SacctmgrArgs, String> {
        let parsed = parse_long_options(OPTIONS, args);
        let mut asked = SacctmgrArgs {
            immediate: false,
            quiet: false,
            read_only: false,
            with_associations: false,
            show: None,
            style: Style::default(),
            words: parsed.operands,
        };
        for (key, _) in parsed.options {
            match key {
                Key::Help => asked.show = Some(SacctmgrShow::Help),
                Key::Immediate => asked.immediate = true,
                Key::NoHeader => asked.style.no_header = true,
                Key::Parsable => asked.style.parsable = Some(true),
                Key::Parsable2 => asked.style.parsable = Some(false),
                Key::Quiet => asked.quiet = true,
                Key::ReadOnly => asked.read_only = true,
                Key::WithAssociations => asked.with_associations = true,
                Key::Version => asked.show = Some(SacctmgrShow::Version),
            }
        }
        match asked.words.first() {
            Some(verb) if is(verb, "help", 2) && asked.words.len() == 1 => {
                asked.show = Some(SacctmgrShow::Help);
            }
            Some(verb) if is(verb, "version", 4) && asked.words.len() == 1 => {
                asked.show = Some(SacctmgrShow::Version);
            }
            _ => {}
        }
        match parsed.wrong {
            Some(message) => Err(format!(
                "sacctmgr: {message}\nTry \"sacctmgr --help\" for more information"
            )),
            None => Ok(asked),
        }
    }

    /// The file that it needs, for `dump` and `load`.
    #[must_use]
    pub fn file(&self) -> Option<SacctmgrFile> {
        let (verb, rest) = self.words.split_first()?;
        let name = || {
            let named = rest.iter().find_map(|word| {
                let (key, value) = word.split_once('=')?;
                key.eq_ignore_ascii_case("file").then(|| value.to_owned())
            });
            named.filter(|name| !name.is_empty())
        };
        if is(verb, "dump", 3) {
            let cluster = rest.iter().find(|word| !word.contains('='));
            let own = cluster.map(|cluster| format!("./{cluster}.cfg"));
            return name().or(own).map(SacctmgrFile::Write);
        }
        if is(verb, "load", 2) {
            let mut words = rest.iter();
            let bare = words.find(|word| !word.contains('=') && !dump::is_clean(word));
            return name().or_else(|| bare.cloned()).map(SacctmgrFile::Read);
        }
        None
    }

    /// Whether it shows this: `event`, `transaction`, …
    #[must_use]
    pub fn shows(&self, entity: &str, least: usize) -> bool {
        let mut words = self.words.iter();
        let (verb, shown) = (words.next(), words.next());
        let is_show = verb.is_some_and(|verb| is(verb, "show", 3) || is(verb, "list", 3));
        is_show && shown.is_some_and(|shown| is(shown, entity, least))
    }

    /// Whether it deletes: what jobs use stays.
    #[must_use]
    pub fn deletes(&self) -> bool {
        let verb = self.words.first();
        verb.is_some_and(|verb| is(verb, "delete", 3) || is(verb, "remove", 3))
    }

    /// What it changes of the records of jobs, where it is `modify job`.
    ///
    /// # Errors
    /// What is said of a wrong command line, or of one that may change nothing.
    pub fn modifies_jobs(
        &self,
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<Option<ModifyJob>, SacctmgrAnswer> {
        let [verb, entity, words @ ..] = &self.words[..] else {
            return Ok(None);
        };
        let modifies = is(verb, "modify", 1) || is(verb, "update", 1);
        if !modifies || !is(entity, "job", 1) {
            return Ok(None);
        }
        if self.read_only {
            return Err(read_only());
        }
        ModifyJob::read(words, now, zone).map(Some)
    }

    /// Whose usage begins anew, where it is `modify … set RawUsage=0`.
    ///
    /// # Errors
    /// What is said of a wrong command line, or of one that may change nothing.
    pub fn resets_usage(&self, from: &Accounting) -> Result<Option<UsageReset>, SacctmgrAnswer> {
        let [verb, entity, words @ ..] = &self.words[..] else {
            return Ok(None);
        };
        let entities = [
            ("accounts", 2, raw_usage::Entity::Account),
            ("users", 1, raw_usage::Entity::User),
            ("qos", 1, raw_usage::Entity::Qos),
        ];
        let mut entities = entities.into_iter();
        let entity = entities.find(|(name, least, _)| is(entity, name, *least));
        let modifies = is(verb, "modify", 1) || is(verb, "update", 1);
        match entity.filter(|_| modifies && !self.read_only) {
            Some((_, _, entity)) => raw_usage::usage_reset(entity, words, from),
            None => Ok(None),
        }
    }

    /// What is printed, and what the accounting is then.
    #[must_use]
    pub fn answer(&self, accounting: &mut Accounting, facts: &SacctmgrFacts) -> SacctmgrAnswer {
        let answer = match self.carry_out(accounting, facts) {
            Ok(answer) | Err(answer) => answer,
        };
        if answer.changes {
            accounting.give_numbers();
        }
        answer
    }

    fn carry_out(
        &self,
        accounting: &mut Accounting,
        facts: &SacctmgrFacts,
    ) -> Result<Answer, Answer> {
        let uses = &facts.uses;
        let Some((verb, rest)) = self.words.split_first() else {
            return Err(Answer::refused(
                "sacctmgr: error: a command is missing, and this sacctmgr asks for none: see sacctmgr --help\n".to_owned(),
            ));
        };
        let known = [
            ("show", 3, Verb::Show),
            ("list", 3, Verb::Show),
            ("add", 3, Verb::Add),
            ("create", 3, Verb::Add),
            ("modify", 1, Verb::Modify),
            ("update", 1, Verb::Modify),
            ("delete", 3, Verb::Delete),
            ("remove", 3, Verb::Delete),
            ("dump", 3, Verb::Dump),
            ("load", 2, Verb::Load),
        ];
        let verb_of = known.iter().find(|(name, least, _)| is(verb, name, *least));
        let Some((_, _, action)) = verb_of else {
            return daemon::answer(verb, rest);
        };
        let changes = matches!(action, Verb::Add | Verb::Modify | Verb::Delete | Verb::Load);
        if self.read_only && changes {
            return Err(read_only());
        }
        match action {
            Verb::Dump => return dump::dump(rest, accounting),
            Verb::Load => return dump::load(rest, accounting, facts.text.as_deref()),
            _ => {}
        }
        let Some((entity, words)) = rest.split_first() else {
            return Err(no_entity(*action));
        };
        let one = |name: &str, least| is(entity, name, least);
        match action {
            Verb::Show => self.show(entity, words, accounting, facts),
            Verb::Add if one("accounts", 2) => add::add_account(words, accounting),
            Verb::Add if one("users", 1) => add::add_user(words, accounting),
            Verb::Add if one("qos", 1) => add::add_qos(words, accounting),
            Verb::Add if one("coordinators", 2) => {
                coordinators::coordinators(words, accounting, true)
            }
            Verb::Add if one("resources", 1) => resources::add(words, accounting),
            Verb::Add if one("federations", 1) => resources::add_federation(words, accounting),
            Verb::Add if one("clusters", 2) => {
                let Some(name) = words.first().filter(|name| !name.is_empty()) else {
                    let words = " Need name of cluster to add.\n";
                    return Err(Answer::refused(words.to_owned()));
                };
                let known = format!("This cluster {name} already exists.  Not adding.");
                if *name == accounting.cluster {
                    Err(Answer::nothing(&known))
                } else {
                    Err(Answer::refused(
                        " This accounting is of one cluster alone.\n".to_owned(),
                    ))
                }
            }
            Verb::Modify if one("clusters", 1) => modify::modify_cluster(words, accounting),
            Verb::Modify if one("accounts", 2) => modify::modify_account(words, accounting),
            Verb::Modify if one("users", 1) => modify::modify_user(words, accounting),
            Verb::Modify if one("qos", 1) => modify::modify_qos(words, accounting),
            Verb::Modify if one("resources", 1) => resources::modify(words, accounting),
            Verb::Delete if one("resources", 1) => resources::delete(words, accounting),
            Verb::Delete if one("federations", 1) => {
                resources::delete_federation(words, accounting)
            }
            Verb::Delete if one("accounts", 2) => delete::delete_account(words, accounting, uses),
            Verb::Delete if one("users", 1) => delete::delete_user(words, accounting, uses),
            Verb::Delete if one("qos", 1) => delete::delete_qos(words, accounting),
            Verb::Delete if one("coordinators", 2) => {
                coordinators::coordinators(words, accounting, false)
            }
            Verb::Delete if one("clusters", 2) && words.is_empty() => {
                Err(condition::no_conditions())
            }
            Verb::Delete if one("clusters", 2) => Err(Answer::nothing("Nothing deleted")),
            _ => Err(no_entity(*action)),
        }
    }

    fn show(
        &self,
        entity: &str,
        words: &[String],
        accounting: &Accounting,
        facts: &SacctmgrFacts,
    ) -> Result<Answer, Answer> {
        let style = self.style;
        let one = |name: &str, least| is(entity, name, least);
        let mut words = words.to_vec();
        if self.with_associations && (one("accounts", 2) || one("users", 1)) {
            words.push("withassoc".to_owned());
        }
        let words = &words[..];
        if one("accounts", 2) {
            return show::accounts(words, accounting, style);
        }
        if one("associations", 2) {
            return show::associations(words, accounting, style);
        }
        if one("clusters", 2) {
            return show::clusters(words, accounting, facts, style);
        }
        if one("qos", 1) {
            return show::qos(words, accounting, style);
        }
        if one("transactions", 1) {
            return show_more::transactions(words, facts, style);
        }
        if one("tres", 3) {
            return show::tres(words, facts, style);
        }
        if one("events", 1) {
            return events::events(words, accounting, facts, style);
        }
        if one("problems", 1) {
            return show_more::problems(words, accounting, facts, style);
        }
        if one("wckeys", 1) {
            return wckeys::show(words, accounting, style);
        }
        if one("resources", 4) {
            return resources::show(words, accounting, style);
        }
        if one("reservations", 4) {
            return show_more::reservations(words, accounting, facts, style);
        }
        if one("federations", 1) {
            return resources::federations(words, accounting, style);
        }
        if one("configuration", 2) {
            return Ok(show_more::configuration(facts));
        }
        if one("stats", 1) {
            return Err(Answer::refused(STATISTICS.to_owned()));
        }
        if one("users", 1) {
            return show::users(words, accounting, style);
        }
        if one("runawayjobs", 2) {
            let cluster = &accounting.cluster;
            return Ok(Answer::shown(format!(
                "Runaway Jobs: No runaway jobs found on cluster {cluster}\n"
            )));
        }
        Err(no_entity(Verb::Show))
    }
}

/// There is no slurmdbd whose calls could be counted.
const STATISTICS: &str = "\
sacctmgr: error: there is no slurmdbd here, and so nothing is counted of it
sacctmgr:   asked   show stats
sacctmgr:   there   accounts and jobs, kept by the engine itself
sacctmgr:   do      sdiag shows what was counted of the engine's calls
";

fn read_only() -> Answer {
    Answer::refused("Can't run this command in readonly mode.\n".to_owned())
}

#[derive(Clone, Copy, PartialEq)]
enum Verb {
    Show,
    Add,
    Modify,
    Delete,
    Dump,
    Load,
}

fn no_entity(verb: Verb) -> Answer {
    Answer::refused(match verb {
        Verb::Show => {
            "No valid entity in list command\nInput line must include \"Account\", \"Association\", \"Cluster\", \"Configuration\",\n\"Event\", \"Federation\", \"Problem\", \"QOS\", \"Resource\", \"Reservation\",\n\"RunAwayJobs\", \"Stats\", \"Transaction\", \"TRES\", \"User\", or \"WCKey\"\n".to_owned()
        }
        Verb::Modify => {
            "No valid entity in modify command\nInput line must include \"Account\", \"Cluster\", \"Federation\", \"Job\", \"QOS\", \"Resource\" or \"User\"\n".to_owned()
        }
        other => {
            let name = if other == Verb::Add { "add" } else { "delete" };
            format!(
                "No valid entity in {name} command\nInput line must include \"Account\", \"Cluster\", \"Coordinator\", \"Federation\", \"QOS\", \"Resource\", or \"User\"\n"
            )
        }
    })
}

/// `word` is `name` or the beginning of it, at least so many letters long, in any case.
fn is(word: &str, name: &str, least: usize) -> bool {
    let start = name.get(..word.len());
    word.len() >= least && start.is_some_and(|start| start.eq_ignore_ascii_case(word))
}
