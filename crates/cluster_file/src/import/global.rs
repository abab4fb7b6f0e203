//! Options of the cluster as a whole.

use super::conf_line::ConfLine;
use super::{Importer, known_options, said};
use crate::{EnforcePartLimits, Licence, Mib, Named, PreemptMode, PreemptType, UsageReset};
use model::{Seconds, TimeLimitRequest};

/// Options that say how daemons run and where they write, and nothing of what jobs can have.
const DAEMONS: &[&str] = &[
    "acctgatherenergytype",
    "acctgatherfilesystemtype",
    "acctgatherinfinibandtype",
    "acctgatherinterconnecttype",
    "acctgathernodefreq",
    "acctgatherprofiletype",
    "accountingstoragebackuphost",
    "accountingstorageexternalhost",
    "accountingstoragehost",
    "accountingstorageloc",
    "accountingstorageparameters",
    "accountingstoragepass",
    "accountingstorageport",
    "accountingstoragetres",
    "accountingstoragetype",
    "accountingstorageuser",
    "accountingstorejobcomment",
    "accountingstoreflags",
    "allowspecresourcesusage",
    "authaltparameters",
    "authalttypes",
    "authtype",
    "backupaddr",
    "backupcontroller",
    "batchstarttimeout",
    "bcastexclude",
    "bcastparameters",
    "clifilterplugins",
    "communicationparameters",
    "controladdr",
    "controlmachine",
    "credtype",
    "cryptotype",
    "debugflags",
    "dependencyparameters",
    "eiotimeout",
    "epilogmsgtime",
    "extsensorsfreq",
    "extsensorstype",
    "federationparameters",
    "firstjobid",
    "getenvtimeout",
    "groupupdateforce",
    "groupupdatetime",
    "healthcheckinterval",
    "healthchecknodestate",
    "healthcheckprogram",
    "inactivelimit",
    "interactivestepoptions",
    "jobacctgatherfrequency",
    "jobacctgatherparams",
    "jobacctgathertype",
    "jobcomphost",
    "jobcomploc",
    "jobcompparams",
    "jobcomppass",
    "jobcompport",
    "jobcomptype",
    "jobcompuser",
    "jobcredentialprivatekey",
    "jobcredentialpubliccertificate",
    "keepalivetime",
    "launchtype",
    "logtimeformat",
    "mailprog",
    "maxdbdmsgs",
    "maxjobid",
    "maxnodecount",
    "messagetimeout",
    "plugindir",
    "plugstackconfig",
    "prepparameters",
    "prepplugins",
    "privatedata",
    "proctracktype",
    "rebootprogram",
    "reconfigflags",
    "resumefailprogram",
    "resumeprogram",
    "resumerate",
    "resumetimeout",
    "resvepilog",
    "resvprolog",
    "routeplugin",
    "sbcastparameters",
    "schedulertimeslice",
    "scronparameters",
    "slurmctldaddr",
    "slurmctlddebug",
    "slurmctldhost",
    "slurmctldlogfile",
    "slurmctldparameters",
    "slurmctldpidfile",
    "slurmctldplugstack",
    "slurmctldport",
    "slurmctldprimaryoffprog",
    "slurmctldprimaryonprog",
    "slurmctldsyslogdebug",
    "slurmctldtimeout",
    "slurmddebug",
    "slurmdlogfile",
    "slurmdparameters",
    "slurmdpidfile",
    "slurmdport",
    "slurmdspooldir",
    "slurmdsyslogdebug",
    "slurmdtimeout",
    "slurmduser",
    "slurmschedlogfile",
    "slurmschedloglevel",
    "slurmuser",
    "srunportrange",
    "statesavelocation",
    "suspendexcnodes",
    "suspendexcparts",
    "suspendprogram",
    "suspendrate",
    "suspendtime",
    "suspendtimeout",
    "switchparameters",
    "switchtype",
    "tcptimeout",
    "topologyparam",
    "topologyplugin",
    "treewidth",
    "unkillablestepprogram",
    "unkillablesteptimeout",
    "usepam",
    "mpidefault",
    "mpiparams",
    "taskplugin",
    "taskpluginparam",
    "completewait",
    "prioritycalcperiod",
    "waittime",
    "grestypes",
];

impl Importer {
    /// A line that is neither of nodes nor of partitions.
    pub(super) fn global(&mut self, line: &ConfLine) {
        for pair in &line.pairs {
            let key = pair.key.to_ascii_lowercase();
            let value = pair.value.trim();
            match self.carried(line, &key, value) {
                None if DAEMONS.contains(&key.as_str()) => self.daemon(line, &pair.key),
                taken => self.not_taken(line, pair, taken, known_options::GLOBAL),
            }
        }
    }

    /// Takes a value over; false where it can't be read, none where there is no key for it.
    fn carried(&mut self, line: &ConfLine, key: &str, value: &str) -> Option<bool> {
        let text = || said(line, value.to_owned());
        let number = || {
            value
                .parse::<u32>()
                .ok()
                .and_then(|number| said(line, number))
        };
        let mib = || megabytes(value).and_then(|size| said(line, size));
        let seconds = |unit: u64| {
            let number = value.parse::<u32>().ok()?;
            said(line, Seconds(u64::from(number) * unit))
        };
        let flag = || boolean(value).and_then(|flag| said(line, flag));
        let length = || length(value).and_then(|length| said(line, length));
        let list = || said(line, list(value));
        let file = &mut self.file;
        macro_rules! set {
            ($place:expr, $value:expr) => {{
                $place = $value;
                $place.is_some()
            }};
        }
        Some(match key {
            "clustername" => set!(file.cluster_name, text()),
            "maildomain" => set!(file.mail_domain, text()),
            "tmpfs" => set!(file.node_local.path, text()),
            "prolog" => set!(file.programs.prolog, text()),
            "epilog" => set!(file.programs.epilog, text()),
            "prologslurmctld" => set!(file.programs.controller_prolog, text()),
            "epilogslurmctld" => set!(file.programs.controller_epilog, text()),
            "taskprolog" => set!(file.programs.task_prolog, text()),
            "taskepilog" => set!(file.programs.task_epilog, text()),
            "srunprolog" => set!(file.programs.srun_prolog, text()),
            "srunepilog" => set!(file.programs.srun_epilog, text()),
            "prologepilogtimeout" => value == "65534" || set!(file.programs.timeout, seconds(1)),
            "prologflags" => {
                let word = |word: &String| {
                    let at_start = ["alloc", "contain", "x11", "serial"];
                    at_start.iter().any(|own| word.eq_ignore_ascii_case(own))
                };
                let words = self::list(value);
                if words.iter().any(word) {
                    file.programs.prolog_at_start = said(line, true);
                }
                if !words.iter().all(|word| word.eq_ignore_ascii_case("alloc")) {
                    self.daemon(line, "PrologFlags");
                }
                true
            }
            "maxarraysize" => set!(file.limits.max_array_size, number()),
            "maxjobcount" => set!(file.limits.max_jobs, number()),
            "maxtaskspernode" => set!(file.limits.max_tasks_per_node, number()),
            "maxstepcount" => set!(file.limits.max_steps, number()),
            "defmempercpu" => unlimited(value) || set!(file.limits.default_memory_per_cpu, mib()),
            "defmempernode" => unlimited(value) || set!(file.limits.default_memory_per_node, mib()),
            "maxmempercpu" => unlimited(value) || set!(file.limits.max_memory_per_cpu, mib()),
            "maxmempernode" => unlimited(value) || set!(file.limits.max_memory_per_node, mib()),
            "accountingstorageenforce" => {
                let words = match value.to_ascii_lowercase().as_str() {
                    "0" | "none" => Vec::new(),
                    "1" => vec!["associations".to_owned()],
                    "2" => vec!["associations".to_owned(), "limits".to_owned()],
                    value => self::list(value),
                };
                set!(file.limits.enforce, said(line, words))
            }
            "enforcepartlimits" => {
                let word = match value.to_ascii_lowercase().as_str() {
                    "no" => EnforcePartLimits::No,
                    "any" => EnforcePartLimits::Any,
                    "yes" | "all" => EnforcePartLimits::All,
                    _ => return Some(false),
                };
                set!(file.limits.enforce_partition_limits, said(line, word))
            }
            "licenses" => {
                let Some(all) = model::parse_licences(value) else {
                    return Some(false);
                };
                for licence in all {
                    let body = Licence {
                        count: said(line, licence.count),
                        ..Licence::default()
                    };
                    file.licences.push(Named {
                        name: licence.name,
                        span: 0..0,
                        body,
                    });
                }
                true
            }
            "jobrequeue" => set!(file.scheduling.requeue, flag()),
            "authinfo" => {
                let words = value.split(',').map(str::trim);
                let expire = words
                    .filter_map(|word| word.strip_prefix("cred_expire="))
                    .next_back();
                match expire {
                    None => {
                        self.daemon(line, "AuthInfo");
                        true
                    }
                    Some(expire) => {
                        let delay = expire.parse::<u64>().ok().filter(|it| *it >= 5);
                        let delay = delay.map(|it| Seconds(it.saturating_add(1)));
                        set!(
                            file.scheduling.requeue_delay,
                            delay.and_then(|delay| said(line, delay))
                        )
                    }
                }
            }
            "killwait" => set!(file.scheduling.kill_wait, seconds(1)),
            "overtimelimit" => set!(
                file.scheduling.over_time_limit,
                over_time(value).and_then(|time| said(line, time))
            ),
            "returntoservice" => set!(
                file.scheduling.return_to_service,
                value
                    .parse()
                    .ok()
                    .filter(|rule| *rule <= 2)
                    .and_then(|rule| said(line, rule))
            ),
            "minjobage" => set!(file.scheduling.min_job_age, seconds(1)),
            "selecttypeparameters" => set!(file.scheduling.select, text()),
            // The selection of whole nodes is what a file can't say otherwise.
            "selecttype" => match value {
                "select/linear" => {
                    self.note(
                        line,
                        "SelectType=select/linear",
                        "jobs get whole nodes: add exclusive = true to the partitions",
                    );
                    true
                }
                _ => {
                    self.daemon(line, "SelectType");
                    true
                }
            },
            "schedulertype" => set!(file.scheduling.scheduler, text()),
            "schedulerparameters" => set!(file.scheduling.parameters, text()),
            "dependencyparameters" => set!(file.scheduling.dependency_parameters, text()),
            "prioritytype" => set!(
                file.priority.kind,
                said(line, value.trim_start_matches("priority/").to_owned())
            ),
            "priorityweightage" => set!(file.priority.age, number()),
            "priorityweightfairshare" => set!(file.priority.fair_share, number()),
            "priorityweightjobsize" => set!(file.priority.job_size, number()),
            "priorityweightpartition" => set!(file.priority.partition, number()),
            "priorityweightqos" => set!(file.priority.qos, number()),
            "priorityweightassoc" => set!(file.priority.association, number()),
            "priorityweighttres" => set!(file.priority.tres, text()),
            "prioritymaxage" => set!(file.priority.max_age, length()),
            "prioritydecayhalflife" => set!(file.priority.half_life, length()),
            "prioritycalcperiod" => set!(file.priority.calc_period, length()),
            "priorityusageresetperiod" => {
                let period = match value.to_ascii_lowercase().as_str() {
                    "none" => UsageReset::None,
                    "now" => UsageReset::Now,
                    "daily" => UsageReset::Daily,
                    "weekly" => UsageReset::Weekly,
                    "monthly" => UsageReset::Monthly,
                    "quarterly" => UsageReset::Quarterly,
                    "yearly" => UsageReset::Yearly,
                    _ => return Some(false),
                };
                set!(file.priority.usage_reset, said(line, period))
            }
            "priorityfavorsmall" => set!(file.priority.favor_small, flag()),
            "priorityflags" => set!(file.priority.flags, list()),
            "preempttype" => {
                let kind = match value.to_ascii_lowercase().as_str() {
                    "preempt/none" => PreemptType::None,
                    "preempt/partition_prio" => PreemptType::Partition,
                    "preempt/qos" => PreemptType::Qos,
                    _ => return Some(false),
                };
                set!(file.preemption.kind, said(line, kind))
            }
            "preemptmode" => set!(
                file.preemption.mode,
                preempt_mode(value).and_then(|mode| said(line, mode))
            ),
            "preemptexempttime" => {
                let time = if value == "-1" {
                    Some(Seconds(0))
                } else {
                    self::length(value)
                };
                set!(
                    file.preemption.exempt_time,
                    time.and_then(|time| said(line, time))
                )
            }
            _ => return None,
        })
    }
}

/// `GANG,SUSPEND` is `SUSPEND`: the first word that says what happens to the job.
pub(super) fn preempt_mode(value: &str) -> Option<PreemptMode> {
    let words = value
        .split(',')
        .map(|word| word.trim().to_ascii_lowercase());
    words.into_iter().find_map(|word| match word.as_str() {
        "off" => Some(PreemptMode::Off),
        "cancel" => Some(PreemptMode::Cancel),
        "requeue" => Some(PreemptMode::Requeue),
        "suspend" => Some(PreemptMode::Suspend),
        _ => None,
    })
}

/// A size in MiB, as Slurm's configuration has it without a unit.
pub(super) fn megabytes(value: &str) -> Option<Mib> {
    model::parse_mebibytes(value).map(Mib)
}

/// `OverTimeLimit`: minutes; without a limit it is a year, which no job reaches.
pub(super) fn over_time(value: &str) -> Option<Seconds> {
    if unlimited(value) {
        return Some(Seconds::YEAR);
    }
    value
        .parse()
        .ok()
        .map(|minutes: u16| Seconds(u64::from(minutes) * 60))
}

pub(super) fn unlimited(value: &str) -> bool {
    ["unlimited", "infinite", "-1"]
        .iter()
        .any(|word| word.eq_ignore_ascii_case(value))
}

pub(super) fn boolean(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "yes" | "true" | "1" | "up" => Some(true),
        "no" | "false" | "0" => Some(false),
        _ => None,
    }
}

/// A list with commas, without the words that stand for nothing.
pub(super) fn list(value: &str) -> Vec<String> {
    let words = value
        .split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// A limit of time; below zero there is none but -1, which is no limit (`time_str2mins`).
pub(super) fn time(value: &str) -> Option<TimeLimitRequest> {
    if value.starts_with('-') && value != "-1" {
        None
    } else {
        TimeLimitRequest::parse(value).filter(|time| crate::times::is_counted(*time))
    }
}

/// A length of time in Slurm's form; a number alone is minutes.
pub(super) fn length(value: &str) -> Option<Seconds> {
    match time(value)? {
        TimeLimitRequest::Limit(length) => Some(length),
        TimeLimitRequest::Unlimited if value.trim_matches(['0', ':', '-']).is_empty() => {
            Some(Seconds(0))
        }
        TimeLimitRequest::Unlimited => None,
    }
}
