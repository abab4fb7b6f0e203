//! How a value of `scontrol update JobId=` is read, as Slurm reads its kind.

use crate::requests::job_change::{JobChange, JobChangeError, LimitChange};
use crate::requests::{AskedSwitches, CpuRange};
use crate::values::mail_type::parse_mail_types;
use crate::values::number;
use crate::values::{
    Constraint, MailEvent, NodeCount, NodeName, Seconds, TimeLimitRequest, Timestamp, abbreviates,
    node_list, parse_moment,
};
use jiff::tz::TimeZone;

/// What is to be set, and what its reading depends on.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    pub(super) text: &'a str,
    pub(super) now: Timestamp,
    pub(super) zone: &'a TimeZone,
}

impl Value<'_> {
    pub(super) fn invalid(self, name: &str) -> JobChangeError {
        wrong(&[&format!(
            "scontrol: error: Invalid {name} value: {}",
            self.text
        )])
    }

    /// As `parse_uint32`: nothing is 0.
    pub(super) fn number(self, name: &str) -> Result<u32, JobChangeError> {
        match self.text {
            "" => Ok(0),
            text => text.parse().map_err(|_| self.invalid(name)),
        }
    }

    /// As `parse_uint16`.
    pub(super) fn short(self, name: &str) -> Result<u32, JobChangeError> {
        self.number(name)
            .ok()
            .filter(|number| *number <= u32::from(u16::MAX))
            .ok_or_else(|| self.invalid(name))
    }

    pub(super) fn mebibytes(self, name: &str) -> Result<u64, JobChangeError> {
        self.text.parse().map_err(|_| self.invalid(name))
    }

    /// `yes` and `no`, or the beginning of them, or a number.
    pub(super) fn flag(self, name: &str) -> Result<bool, JobChangeError> {
        let begins = |word: &str| abbreviates(self.text, word, 1);
        if begins("YES") {
            Ok(true)
        } else if begins("NO") {
            Ok(false)
        } else {
            Ok(self.short(name)? != 0)
        }
    }

    pub(super) fn text(self) -> Option<String> {
        Some(self.text.to_owned()).filter(|text| !text.is_empty())
    }

    pub(super) fn moment(self) -> Result<Timestamp, JobChangeError> {
        let moment = parse_moment(self.text, self.now, self.zone);
        moment.map_err(|message| wrong(&[&message, "No changes specified"]))
    }

    pub(super) fn nodes(self) -> Result<Vec<NodeName>, JobChangeError> {
        let list = node_list::expand(self.text);
        list.map_err(|error| wrong(&[&error.to_string()]))
    }

    pub(super) fn owned(self) -> String {
        self.text.to_owned()
    }

    pub(super) fn limit(self) -> Result<LimitChange, JobChangeError> {
        limit(self.text).ok_or_else(|| wrong(&["scontrol: error: Invalid TimeLimit value"]))
    }

    /// Here no time is none, and not no limit as in options.
    pub(super) fn least_time(self) -> Result<Option<TimeLimitRequest>, JobChangeError> {
        let least = TimeLimitRequest::parse(self.text);
        let least = least.ok_or_else(|| wrong(&["scontrol: error: Invalid TimeMin value"]))?;
        let is_zero = self.text.bytes().all(|byte| b"0:-".contains(&byte));
        Ok(Some(least).filter(|_| !is_zero))
    }

    pub(super) fn delay(self) -> Result<Seconds, JobChangeError> {
        match TimeLimitRequest::parse(self.text) {
            Some(TimeLimitRequest::Limit(delay)) => Ok(delay),
            _ if self.text.bytes().all(|byte| byte == b'0') => Ok(Seconds(0)),
            _ => Err(wrong(&["scontrol: error: Invalid DelayBoot value"])),
        }
    }

    pub(super) fn mail_types(self) -> Result<Vec<MailEvent>, JobChangeError> {
        let value = self.text;
        parse_mail_types(value).ok_or_else(|| wrong(&[&format!("Invalid MailType: {value}")]))
    }

    pub(super) fn node_count(self) -> Result<JobChange, JobChangeError> {
        let value = self.text;
        let count = NodeCount::parse(value).map_err(|_| JobChangeError {
            lines: vec![format!(
                "scontrol: error: Invalid numeric value \"{value}\" for requested node count."
            )],
            status: 0,
        })?;
        Ok(JobChange::Nodes(count.min, count.max))
    }

    /// Cores or threads that are kept for the system.
    pub(super) fn spared(self, name: &str) -> Result<JobChange, JobChangeError> {
        if !matches!(self.text, "-1" | "*") {
            self.short(name)?;
        }
        Ok(JobChange::CoreSpec)
    }

    pub(super) fn features(self, name: &str) -> Result<Option<String>, JobChangeError> {
        match self.text() {
            Some(text) if Constraint::parse(&text).is_none() => Err(self.invalid(name)),
            text => Ok(text),
        }
    }

    /// `LEAST[-MOST]`; here a job gets no more than the least.
    pub(super) fn cpus(self) -> Result<CpuRange, JobChangeError> {
        let value = self.text;
        let (least, most) = value.split_once('-').unwrap_or((value, ""));
        let numeric = || {
            let numeric =
                format!("scontrol: error: Invalid numeric value \"{value}\" for NumCPUs.");
            let invalid = format!("scontrol: error: Invalid NumCPUs value: {value}");
            wrong(&[&numeric, &invalid])
        };
        let least: u32 = least.parse().map_err(|_| numeric())?;
        let most: Option<u32> = match most {
            "" => None,
            most => Some(most.parse().map_err(|_| numeric())?),
        };
        if least == 0 || most.is_some_and(|most| most < least) {
            return Err(self.invalid("NumCPUs"));
        }
        Ok(CpuRange { least, most })
    }

    /// As `strtoll`: what is no number is 0.
    pub(super) fn factor(self, name: &str) -> Result<i64, JobChangeError> {
        number::nice(self.text).ok_or_else(|| {
            let what = format!("out of range (+/- {}). Value ignored", number::MOST_NICE);
            wrong(&[&format!("scontrol: error: {name} value {what}")])
        })
    }
}

/// `COUNT[@TIME]`: as `strtol`, what is no number is 0, which asks for none; the wait is one of whole minutes.
pub(super) fn switches(value: &str) -> Option<AskedSwitches> {
    let (count, wait) = match value.split_once('@') {
        Some((count, wait)) => (count, TimeLimitRequest::parse(wait)),
        None => (value, None),
    };
    let count = u32::try_from(number::leading_number(count)).ok();
    let count = count.filter(|count| *count > 0)?;
    let wait = wait.map(|wait| match wait {
        TimeLimitRequest::Limit(Seconds(seconds)) => seconds.div_ceil(60) * 60,
        TimeLimitRequest::Unlimited => 0,
    });
    Some(AskedSwitches { count, wait })
}

fn limit(value: &str) -> Option<LimitChange> {
    let seconds = |text: &str| match TimeLimitRequest::parse(text)? {
        TimeLimitRequest::Limit(limit) => Some(limit),
        TimeLimitRequest::Unlimited => None,
    };
    match (value.strip_prefix('+'), value.strip_prefix('-')) {
        (Some(more), _) => seconds(more).map(LimitChange::More),
        (None, Some(less)) => seconds(less).map(LimitChange::Less),
        _ if value.is_empty() => None,
        _ => TimeLimitRequest::parse(value).map(LimitChange::To),
    }
}

/// An error of Slurm's in these lines.
pub(super) fn wrong(lines: &[&str]) -> JobChangeError {
    JobChangeError {
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        status: 1,
    }
}
