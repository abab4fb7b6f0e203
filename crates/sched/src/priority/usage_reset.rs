//! When all usage begins anew at 0: `PriorityUsageResetPeriod`.

use crate::State;
use cluster_file::UsageReset;
use jiff::ToSpan;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use model::Timestamp;

/// When it began anew last, and when it will. It follows from the clock and the cluster, and is no part of
/// what two states are compared by.
#[derive(Clone, Debug)]
pub(crate) struct UsageResets {
    /// What was used before counts no more.
    pub(crate) last: Timestamp,
    next: Option<Timestamp>,
    zone: TimeZone,
}

impl Default for UsageResets {
    fn default() -> UsageResets {
        UsageResets {
            last: Timestamp(0),
            next: None,
            zone: TimeZone::UTC,
        }
    }
}

impl PartialEq for UsageResets {
    fn eq(&self, _other: &UsageResets) -> bool {
        true
    }
}

impl State {
    /// The zone in whose days, weeks and months usage begins anew.
    pub fn set_zone(&mut self, zone: TimeZone, now: Timestamp) {
        self.usage_resets.zone = zone;
        self.plan_usage_reset(now);
        if self.usage_resets.next.is_some() {
            self.work_out_priorities(now);
        }
    }

    /// When usage begins anew.
    pub(crate) fn next_usage_reset(&self) -> Option<Timestamp> {
        self.usage_resets.next
    }

    /// Looks when usage began anew and when it will; what was used before that is forgotten.
    pub(crate) fn plan_usage_reset(&mut self, now: Timestamp) {
        let resets = &mut self.usage_resets;
        let period = self.cluster.priority().usage_reset;
        let bounds = period_around(period, now, &resets.zone);
        resets.next = bounds.map(|(_, next)| next);
        if let Some((last, _)) = bounds {
            resets.last = last;
            self.forget_usage();
        }
    }

    /// Begins anew where it is time for that.
    pub(crate) fn reset_usage(&mut self, now: Timestamp) {
        if self.usage_resets.next.is_some_and(|next| next <= now) {
            self.plan_usage_reset(now);
            self.work_out_priorities(now);
        }
    }

    /// What was used until now counts no more, where the cluster says so of each start.
    pub(crate) fn reset_usage_at_start(&mut self, now: Timestamp) {
        if self.cluster.priority().usage_reset == UsageReset::Now {
            self.usage_resets.last = now;
            self.forget_usage();
        }
    }

    fn forget_usage(&mut self) {
        let last = self.usage_resets.last;
        self.priorities.forget_before(last);
        self.spent.forget_before(last);
    }
}

/// Where the period around a moment begins and ends, at midnight.
pub(crate) fn period_around(
    period: UsageReset,
    now: Timestamp,
    zone: &TimeZone,
) -> Option<(Timestamp, Timestamp)> {
    let moment = jiff::Timestamp::from_second(now.seconds()).ok()?;
    let today = moment.to_zoned(zone.clone()).date();
    let first_of_month = |month: i8| Date::new(today.year(), month, 1).ok();
    let (first, span) = match period {
        UsageReset::None | UsageReset::Now => return None,
        UsageReset::Daily => (today, 1.day()),
        UsageReset::Weekly => {
            let since_sunday = today.weekday().to_sunday_zero_offset();
            (
                today.checked_sub(i64::from(since_sunday).days()).ok()?,
                1.week(),
            )
        }
        UsageReset::Monthly => (first_of_month(today.month())?, 1.month()),
        UsageReset::Quarterly => (first_of_month((today.month() - 1) / 3 * 3 + 1)?, 3.months()),
        UsageReset::Yearly => (first_of_month(1)?, 1.year()),
    };
    let midnight = |date: Date| {
        let moment = date.to_zoned(zone.clone()).ok()?.timestamp();
        Some(Timestamp(moment.as_millisecond()))
    };
    Some((midnight(first)?, midnight(first.checked_add(span).ok()?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(period: UsageReset, now: &str, want: Option<(&str, &str)>) {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let moment = |text: &str| {
            let time: jiff::civil::DateTime = text.parse().expect("a moment");
            let zoned = time.to_zoned(zone.clone()).expect("it is in the zone");
            Timestamp(zoned.timestamp().as_millisecond())
        };
        let want = want.map(|(last, next)| (moment(last), moment(next)));
        assert_eq!(
            period_around(period, moment(now), &zone),
            want,
            "{period:?} at {now}"
        );
    }

    #[test]
    fn periods_begin_at_midnight() {
        for (period, last, next) in [
            (UsageReset::Daily, "2024-05-15", "2024-05-16"),
            // A Wednesday: weeks begin on Sunday.
            (UsageReset::Weekly, "2024-05-12", "2024-05-19"),
            (UsageReset::Monthly, "2024-05-01", "2024-06-01"),
            (UsageReset::Quarterly, "2024-04-01", "2024-07-01"),
            (UsageReset::Yearly, "2024-01-01", "2025-01-01"),
        ] {
            let [last, next] = [last, next].map(|day| format!("{day}T00:00:00"));
            check(period, "2024-05-15T10:20:30", Some((&last, &next)));
            check(period, &last, Some((&last, &next)));
        }
        let quarter = ("2024-10-01T00:00:00", "2025-01-01T00:00:00");
        check(UsageReset::Quarterly, "2024-12-31T23:59:59", Some(quarter));
        check(UsageReset::None, "2024-05-15T10:20:30", None);
        check(UsageReset::Now, "2024-05-15T10:20:30", None);
    }
}
