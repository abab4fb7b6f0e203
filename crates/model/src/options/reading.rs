//! Options read one after the other, from script, environment and command line.

use crate::options::Surroundings;
use crate::options::diagnostic::{Diagnostic, Span, Voice, first_error};
use crate::options::given::{Given, Origin};
use crate::options::given_options::GivenOptions;
use crate::options::option_table::{Command, Effect, Key, Opt, Takes, options_in};
use crate::options::option_value::Wrong;
use crate::options::text_lengths::TOO_LONG;
use crate::values::number::leading;

/// The code of what a controller refuses.
const REFUSED: &str = "refused";

/// What controllers refuse, in the order in which they look: they tell the first
/// (`validate_job_create_req` and `_job_create` of 22.05's `job_mgr.c`).
const ORDER: [&str; 10] = [
    TOO_LONG,
    "Invalid job array specification",
    "Requested time limit is invalid (missing or exceeds some limit)",
    "Invalid time-min specification (exceeds job's time or other limits)",
    "Invalid license specification",
    "Invalid Trackable RESource (TRES) specification",
    "Invalid node name specified",
    "Job dependency problem",
    "Requested operation not supported on this system",
    "Invalid feature specification",
];

/// Reads options into [`GivenOptions`], collecting what there is to say.
pub(crate) struct Reading<'a> {
    pub(crate) command: Command,
    pub(crate) surroundings: &'a Surroundings<'a>,
    pub(crate) options: GivenOptions,
    /// What the command says, in its order.
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// What is refused once the command had nothing to say against it: by a controller, or because
    /// the embedded engine does not do it.
    pub(crate) refusals: Vec<Diagnostic>,
    /// All that was read, in order.
    pub(crate) given: Vec<Given>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(command: Command, surroundings: &'a Surroundings<'a>) -> Reading<'a> {
        Reading {
            command,
            surroundings,
            options: GivenOptions::default(),
            diagnostics: Vec::new(),
            refusals: Vec::new(),
            given: Vec::new(),
        }
    }

    /// Reads the command's input variables.
    pub(crate) fn environment(&mut self, variables: &dyn Fn(&str) -> Option<String>) {
        let dialect = self.surroundings.dialect();
        for option in options_in(self.command, dialect) {
            for name in option.variables_in(self.command, dialect) {
                let Some(value) = variables(name) else {
                    continue;
                };
                let value = match name {
                    // A job has the size of its planes in a variable of its own.
                    "SLURM_DISTRIBUTION" if value == "plane" => {
                        let size = variables("SLURM_DIST_PLANESIZE");
                        size.map_or(value, |size| format!("plane={size}"))
                    }
                    // The job's sockets are not asked for again, without which it is no request.
                    "SLURM_GPUS_PER_SOCKET" => continue,
                    _ => value,
                };
                self.variable(option, name, value);
            }
        }
        let set = |name: &str| variables(name).filter(|value| !value.is_empty());
        self.options.host_file = set("SLURM_HOSTFILE");
        if self.command == Command::Srun {
            self.options.dealt_nodes = set("SLURM_ARBITRARY_NODELIST");
        }
    }

    fn variable(&mut self, option: &'static Opt, name: &str, value: String) {
        let value = match option.takes {
            // A flag is set by an empty text, `yes` and any number but 0, and unset by all else.
            Takes::No => {
                let number = matches!(leading(&value), (Some(number), "") if number != 0);
                if !value.is_empty() && !value.eq_ignore_ascii_case("yes") && !number {
                    return;
                }
                // How often it is meant: `SLURM_DEBUG=2` is `-vv`, and an empty one none.
                let counts = option.key == Some(Key::Verbose);
                counts.then_some(value)
            }
            Takes::Optional => Some(value).filter(|value| !value.is_empty()),
            Takes::Required => Some(value),
        };
        let span = Span::Variable(name.to_owned());
        let given = Given {
            option,
            value_span: value.as_ref().map(|_| span.clone()),
            value,
            written: name.to_owned(),
            span,
            origin: Origin::Environment,
        };
        self.read_one(given);
    }

    /// Reads options that were taken apart.
    pub(crate) fn read(&mut self, read: Vec<Result<Given, Diagnostic>>) {
        self.given.reserve(read.len());
        let start = self.diagnostics.len();
        let mut shown = self.options.show;
        for read in read {
            match read {
                Ok(given) => self.read_one(given),
                Err(wrong) => self.diagnostics.push(wrong),
            }
            // What is wrong before it is told instead.
            if self.options.show != shown && first_error(&self.diagnostics[start..]).is_some() {
                self.options.show = shown;
            }
            shown = self.options.show;
        }
    }

    /// Reads one option.
    pub(crate) fn read_one(&mut self, given: Given) {
        self.set(&given);
        self.given.push(given);
    }

    /// What there is to say, refusals of a controller or of the engine last.
    pub(crate) fn into_remarks(mut self) -> (Vec<Diagnostic>, Vec<Given>) {
        let before = self.before_a_refusal();
        let place = |refusal: &Diagnostic| {
            let known = |words: &&str| **words == refusal.message;
            ORDER.iter().position(known).unwrap_or(ORDER.len())
        };
        self.refusals.sort_by_key(place);
        for refusal in &mut self.refusals {
            if refusal.code == REFUSED {
                refusal.message = format!("{before}: {}", refusal.message);
                if self.options.test_only {
                    // Slurm prints it without its command's name.
                    refusal.voice = Voice::Bare;
                }
            }
        }
        self.diagnostics.append(&mut self.refusals);
        (self.diagnostics, self.given)
    }

    pub(crate) fn origin(&self, key: Key) -> Option<Origin> {
        self.options.origins.get(&key).copied()
    }

    /// True when the key was set by directives or the command line: what Slurm calls "by cli".
    pub(crate) fn by_hand(&self, key: Key) -> bool {
        self.origin(key)
            .is_some_and(|origin| origin != Origin::Environment)
    }

    fn set(&mut self, given: &Given) {
        let option = given.option;
        if let Some(key) = option.key {
            match self.apply(key, given) {
                Ok(()) => {
                    self.options.origins.insert(key, given.origin);
                }
                Err(Wrong(code, message, exit)) => {
                    let span = given.span.clone();
                    let error = Diagnostic::error(code, span, message, exit);
                    return self.diagnostics.push(error);
                }
            }
        }
        if !self.surroundings.embedded {
            return;
        }
        if option.on_nodes && self.surroundings.has_nodes {
            return;
        }
        let long = option.long;
        match option.effect {
            Effect::Sets(_) => {}
            Effect::Nothing(why) => {
                let message = format!("--{long} has no effect here: {why}");
                self.note("no-effect", given, message);
            }
            Effect::Refused(why) => {
                let message = format!("--{long} is refused here: {why}");
                self.refuse(given, "not-here", message);
            }
        }
    }

    /// Says something of the embedded engine, which a real Slurm doesn't say.
    pub(crate) fn note(&mut self, code: &'static str, given: &Given, message: String) {
        // What a step takes over from its job was said of the job.
        let is_inherited = self.command == Command::Srun && given.origin == Origin::Environment;
        if self.surroundings.embedded && !is_inherited {
            let note = Diagnostic::note(code, given.span.clone(), message);
            self.diagnostics.push(note);
        }
    }

    /// Refuses what a real Slurm's command lets pass.
    pub(crate) fn refuse(&mut self, given: &Given, code: &'static str, message: String) {
        if self.surroundings.embedded {
            let error = Diagnostic::error(code, given.span.clone(), message, 1);
            self.refusals.push(error);
        }
    }

    /// What the embedded engine's controller says, in the words of the command that it says it to.
    pub(crate) fn refuse_as_controller(&mut self, given: &Given, message: &str) {
        self.refuse(given, REFUSED, message.to_owned());
    }

    /// What every controller says, whatever its cluster has.
    pub(crate) fn refuse_as_any_controller(&mut self, given: &Given, message: &str) {
        self.refused_at(given.span.clone(), message);
    }

    /// What every controller says of options together, where the last of them stands.
    pub(crate) fn refuse_together_as_any_controller(&mut self, keys: &[Key], message: &str) {
        self.refused_at(self.last_of(keys), message);
    }

    fn refused_at(&mut self, span: Span, message: &str) {
        let error = Diagnostic::error(REFUSED, span, message, 1);
        self.refusals.push(error);
    }

    /// Where the last of some options stands.
    pub(crate) fn last_of(&self, keys: &[Key]) -> Span {
        let mut given = self.given.iter().rev();
        let last = given.find(|given| given.option.key.is_some_and(|key| keys.contains(&key)));
        last.map_or(Span::Whole, |given| given.span.clone())
    }

    /// What the embedded engine's controller says of the job as a whole.
    pub(crate) fn refuse_whole_as_controller(&mut self, message: &str) {
        if self.surroundings.embedded {
            self.refused_at(Span::Whole, message);
        }
    }

    /// What stands before a controller's words.
    fn before_a_refusal(&self) -> String {
        let words = match self.command {
            _ if self.options.test_only => "allocation failure",
            Command::Sbatch => "Batch job submission failed",
            Command::Salloc => "Job submit/allocate failed",
            Command::Srun => match self.options.job {
                Some(job) => return format!("Unable to create step for job {job}"),
                None => "Unable to allocate resources",
            },
        };
        words.to_owned()
    }

    /// Says that an option asks for no other nodes where all CPUs are alike.
    pub(crate) fn binds_alone(&mut self, given: &Given) {
        if given.option.on_nodes && self.surroundings.has_nodes {
            return;
        }
        let message = format!(
            "--{} has no effect here but on the binding of tasks: there is one node",
            given.option.long
        );
        self.note("binds-alone", given, message);
    }

    /// Says that an option which was read changes nothing here.
    pub(crate) fn unheeded(&mut self, given: &Given) {
        if given.option.on_nodes && self.surroundings.has_nodes {
            return;
        }
        let value = given.value.as_ref().map(|value| format!("={value}"));
        let value = value.unwrap_or_default();
        let message = format!("--{}{value} has no effect here", given.option.long);
        self.note("no-effect", given, message);
    }
}
