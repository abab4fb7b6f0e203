//! Options whose text is more than a number, a name or a time, each read by itself.

use crate::options::diagnostic::Diagnostic;
use crate::options::given::{Given, Origin};
use crate::options::given_options::Exclusive;
use crate::options::option_value::{Wrong, invalid, wrong_number};
use crate::options::reading::Reading;
use crate::options::value_check;
use crate::values::begin_time::parse_moment_in;
use crate::values::number::{self, leading_number, parse_number};
use crate::values::{
    ArraySpec, Constraint, Dependency, GresList, NodeName, SlurmVersion, TimeLimitRequest,
    Timestamp, mail_type, node_list,
};
use std::sync::Arc;

impl Reading<'_> {
    pub(super) fn features(&mut self, text: &str, given: &Given) {
        if !text.is_empty() && !Constraint::is_taken(self.surroundings.version, text) {
            self.refuse_as_any_controller(given, "Invalid feature specification");
        }
    }

    pub(super) fn gres(&mut self, text: &str, given: &Given) {
        let list = GresList::of_gres(text);
        // Commas that part nothing, and nothing at all, pass the command and not the controller.
        let parts_nothing = text.split(',').any(str::is_empty);
        self.counts(list.as_ref(), parts_nothing, given);
        self.options.gres = Some(list);
    }

    pub(super) fn gpus(&mut self, text: &str, given: &Given) -> Option<GresList> {
        let list = GresList::of_gpus(text);
        self.counts(Some(&list), false, given);
        Some(list)
    }

    pub(super) fn counts(&mut self, list: Option<&GresList>, parts_nothing: bool, given: &Given) {
        let early = self.surroundings.version < SlurmVersion::V23_11;
        let wrong = parts_nothing || list.is_some_and(GresList::has_digit_for_count);
        if early && wrong {
            let words = "Invalid Trackable RESource (TRES) specification";
            self.refuse_as_any_controller(given, words);
        }
    }

    pub(super) fn array(&mut self, text: &str, given: &Given) {
        self.options.array = ArraySpec::parse(text);
        // An empty text is no array.
        if self.options.array.is_none() && !text.is_empty() {
            self.refuse_as_any_controller(given, "Invalid job array specification");
        }
    }

    pub(super) fn dependency(&mut self, text: &str, given: &Given) {
        self.options.dependency = Dependency::parse(text);
        if self.options.dependency.is_none() && !text.is_empty() && text != "0" {
            let words = if Dependency::asks_to_expand(text) {
                "Requested operation not supported on this system"
            } else {
                "Job dependency problem"
            };
            self.refuse_as_any_controller(given, words);
        }
    }

    pub(super) fn exclude(&mut self, text: &str, given: &Given) {
        match names(text) {
            Ok(names) => self.options.exclude = Arc::new(names),
            // Slurm's commands leave the list to the controller.
            Err(message) => self.refuse(given, "invalid-value", message),
        }
    }

    /// A text with a slash is a file's name, which is read when all options are known.
    pub(super) fn nodelist(&mut self, text: &str) {
        self.options.nodelist_wrong = None;
        self.options.nodelist = Arc::default();
        self.options.nodelist_written = Some(text.to_owned()).filter(|text| !text.is_empty());
        self.options.nodelist_names_none = text.is_empty();
        if text.contains('/') {
            return;
        }
        match names(text) {
            Ok(names) => self.options.nodelist = Arc::new(names),
            Err(message) => self.options.nodelist_wrong = Some(message),
        }
    }

    /// Directives and command line add up, until 25.05.
    pub(super) fn mail_type(&mut self, text: &str, given: &Given) -> Option<()> {
        let types = mail_type::parse_mail_types(text)?;
        if self.surroundings.version >= SlurmVersion::V25_05 || given.origin == Origin::Environment
        {
            self.options.mail_types.clear();
        }
        self.options.mail_types.extend(types);
        Some(())
    }

    pub(super) fn extra_node_info(&mut self, text: &str) -> Result<(), Wrong> {
        // What stands behind a third colon is not looked at.
        let mut parts = text.split(':');
        let mut part = |which| {
            let text = parts.next().unwrap_or_default();
            let name = format!("{which} arg of -B");
            value_check::least_of_range(text, &name).map_err(wrong_number)
        };
        let (sockets, cores, threads) = (part("first")?, part("second")?, part("third")?);
        let o = &mut self.options;
        o.extra_node_info = true;
        (o.sockets_per_node, o.cores_per_socket, o.threads_per_core) = (sockets, cores, threads);
        Ok(())
    }

    pub(super) fn moment(&mut self, text: &str, given: &Given) -> Result<Option<Timestamp>, Wrong> {
        let around = self.surroundings;
        match parse_moment_in(around.version, text, around.now, around.zone) {
            Ok(moment) => Ok(Some(moment)),
            Err(line) => {
                let said = (!line.is_empty()).then(|| Diagnostic {
                    voice: crate::options::Voice::Bare,
                    ..Diagnostic::warning("invalid-value", given.span.clone(), line)
                });
                self.diagnostics.extend(said);
                Err(invalid(format!(
                    "Invalid --{} specification",
                    given.option.long
                )))
            }
        }
    }

    /// `cpu=4,gres/gpu:v100=1`, or with `:` where 24.05 has `=`.
    pub(super) fn tres_per_task(&mut self, text: &str, given: &Given) -> Result<(), Wrong> {
        let wrong = || invalid(format!("Invalid --{} argument: {text}", given.option.long));
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let gpus = part
                .strip_prefix("gres/gpu")
                .or_else(|| part.strip_prefix("gres:gpu"));
            let cpus = part.strip_prefix("cpu");
            match (gpus, cpus) {
                (Some(""), _) => self.options.gpus_per_task = Some(GresList::of_gpus("1")),
                (Some(rest), _) => {
                    let rest = rest.trim_start_matches(['=', ':']).replace('=', ":");
                    let list = GresList::of_gpus(&rest);
                    list.items().map_err(|_| wrong())?;
                    self.options.gpus_per_task = Some(list);
                }
                (None, Some(rest)) => {
                    let number = rest.trim_start_matches(['=', ':']).parse().ok();
                    let number = number.filter(|number: &u32| *number > 0);
                    self.options.cpus_per_task = Some(number.ok_or_else(wrong)?);
                }
                // Licences and other resources: a controller's to judge.
                (None, None) if part.contains(['=', ':']) && !self.surroundings.embedded => {}
                (None, None) => return Err(wrong()),
            }
        }
        Ok(())
    }
}

/// `none` is `/dev/null`.
pub(super) fn file(text: &str) -> String {
    if text.eq_ignore_ascii_case("none") {
        return "/dev/null".to_owned();
    }
    text.to_owned()
}

pub(super) fn exclusive(text: &str, version: SlurmVersion) -> Option<Exclusive> {
    match text.to_ascii_lowercase().as_str() {
        "" | "exclusive" => Some(Exclusive::Yes),
        "user" => Some(Exclusive::User),
        "oversubscribe" => Some(Exclusive::No),
        "mcs" => Some(Exclusive::Mcs),
        "topo" if version >= SlurmVersion::V24_05 => Some(Exclusive::Yes),
        _ => None,
    }
}

/// `--nice[=N]`: what `strtoll` makes of a text, 0 of most.
pub(super) fn nice(value: Option<&str>) -> Result<i64, Wrong> {
    match value {
        Some(text) if !text.is_empty() => number::nice(text).ok_or_else(|| {
            let most = number::MOST_NICE;
            invalid(format!("Invalid --nice value, out of range (+/- {most})"))
        }),
        _ => Ok(100),
    }
}

/// `--priority=N|TOP`.
pub(super) fn priority(text: &str) -> Result<u32, Wrong> {
    const MOST: u32 = 0xffff_fffe;
    if text.eq_ignore_ascii_case("TOP") {
        return Ok(MOST - 1);
    }
    let number = leading_number(text);
    if number < 0 {
        return Err(invalid("Priority must be >= 0".to_owned()));
    }
    let number = u32::try_from(number).ok().filter(|number| *number < MOST);
    number.ok_or_else(|| invalid(format!("Priority must be < {MOST}")))
}

/// `--switches=COUNT[@TIME]`; an invalid time is no error to Slurm.
pub(super) fn switches(text: &str, version: SlurmVersion) -> Result<(u32, Option<u64>), Wrong> {
    let (count, wait) = match text.split_once('@') {
        Some((count, wait)) => (count, TimeLimitRequest::parse(wait)),
        None => (text, None),
    };
    // What means without end for a limit is no time here.
    let endless = text.ends_with(|c: char| !c.is_ascii_digit()) || text.ends_with("-1");
    let count = parse_number("--switches", count, 1, version).map_err(wrong_number)?;
    let wait = wait.and_then(|wait| match wait {
        TimeLimitRequest::Limit(seconds) => Some(seconds.0),
        TimeLimitRequest::Unlimited => (!endless).then_some(0),
    });
    Ok((count, wait))
}

/// Reads a node list; names given twice count once. The error is Slurm's.
fn names(text: &str) -> Result<Vec<NodeName>, String> {
    let mut names = node_list::expand(text).map_err(|error| match error.detail() {
        Some(detail) => format!("{detail}\n{error}"),
        None => error.to_string(),
    })?;
    node_list::drop_repeated(&mut names);
    Ok(names)
}
