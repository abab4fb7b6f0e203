//! The time limit that limits of QOS and accounts give a job that names none and has none by its partition's
//! default: `_acct_policy_validate` of 22.05's `acct_policy.c`.
//!
//! The partitions that a job names are looked at one after the other, in each the QOS first. The first limit gives
//! the time. A later one of a QOS lowers it; one of an account does so only where a QOS refuses what is over a limit
//! (`DenyOnLimit`). Limits on minutes count only there too: they are a time for what the job asks for.

use crate::{Limited, Limits, Qos};
use model::Seconds;

/// The limits that a job meets in one partition, each with whose it is.
#[expect(missing_debug_implementations, reason = "it holds a function")]
pub struct LimitsMet<'a, W> {
    /// Of the partition's QOS and the job's, the first of which counts first.
    pub qos: Vec<(W, &'a Qos)>,
    /// Of the user in the account.
    pub own: Option<(W, &'a Limits)>,
    /// Of the account and of those above it.
    pub accounts: Vec<(W, &'a Limits)>,
    /// How much the job asks for of a TRES.
    pub amount: Amount<'a>,
}

/// How much of a TRES, by its name.
type Amount<'a> = Box<dyn Fn(&str) -> Option<u64> + 'a>;

/// A limit on time, where it is set.
type Wall = fn(&Limits) -> Option<Seconds>;

/// A time that a limit gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeByLimit<W> {
    /// The time.
    pub time: Seconds,
    /// Whose limit it is.
    pub whose: W,
    /// Its key in a cluster file.
    pub key: &'static str,
}

/// The time that the limits give which a job meets in the partitions that it names, in their order; none where no
/// limit is set.
pub fn time_by_limits<'a, W: Clone + 'a>(
    partitions: impl IntoIterator<Item = LimitsMet<'a, W>>,
) -> Option<TimeByLimit<W>> {
    let mut given = Given(None);
    for met in partitions {
        let is_strict = met.qos.iter().any(|(_, qos)| qos.has_flag("DenyOnLimit"));
        given.by_qos(&met, is_strict);
        given.by_associations(&met, is_strict);
    }
    given.0
}

/// What each limit on minutes is called.
const MINUTES: [(&str, Limited); 3] = [
    ("max_tres_minutes_per_job", Limited::JobMinutes),
    ("group_tres_minutes", Limited::GroupMinutes),
    ("group_tres_run_minutes", Limited::GroupRunMinutes),
];

/// The time so far.
struct Given<W>(Option<TimeByLimit<W>>);

impl<W: Clone> Given<W> {
    fn by_qos(&mut self, met: &LimitsMet<'_, W>, is_strict: bool) {
        for (at, (whose, qos)) in met.qos.iter().enumerate() {
            let before = &met.qos[..at];
            for (key, limited) in MINUTES.into_iter().filter(|_| is_strict) {
                let before = before.iter().map(|(_, qos)| qos.limits.on(limited));
                let left = qos.limits.on(limited).but_for(before);
                for time in left.filter_map(|limit| minutes(met, limit)) {
                    self.lower(time, whose, key);
                }
            }
            let is_set = |of: Wall| before.iter().any(|(_, qos)| of(&qos.limits).is_some());
            let walls: [(&str, Wall); 2] = [
                ("max_wall", |it| it.wall),
                ("group_wall", |it| it.group_wall),
            ];
            for (key, of) in walls {
                if let Some(time) = of(&qos.limits).filter(|_| !is_set(of)) {
                    self.lower(time, whose, key);
                }
            }
        }
    }

    fn by_associations(&mut self, met: &LimitsMet<'_, W>, is_strict: bool) {
        let by_qos = |of: Wall| met.qos.iter().any(|(_, qos)| of(&qos.limits).is_some());
        let nearest = |of: Wall| {
            let own = met.own.iter().map(|level| (0, level));
            let mut levels = own.chain(met.accounts.iter().map(|level| (1, level)));
            levels.find_map(|(level, (whose, limits))| Some((level, whose, of(limits)?)))
        };
        let group = nearest(|it| it.group_wall).filter(|_| !by_qos(|it| it.group_wall));
        let wall = nearest(|it| it.wall).filter(|_| !by_qos(|it| it.wall));
        let group = group.map(|(level, whose, time)| (level, time, whose, "group_wall"));
        // What is said of one job is handed down to the first level, which says its own limit on the group before.
        let wall = wall.map(|(_, whose, time)| (0, time, whose, "max_wall"));
        let mut walls: Vec<_> = group.into_iter().chain(wall).collect();
        walls.sort_by_key(|(level, ..)| *level);
        for (_, time, whose, key) in walls {
            if is_strict || self.0.is_none() {
                self.lower(time, whose, key);
            }
        }
        for (key, limited) in MINUTES.into_iter().filter(|_| is_strict) {
            let of_qos = met.qos.iter().map(|(_, qos)| qos.limits.on(limited));
            let levels = || met.own.iter().chain(&met.accounts);
            for (at, (whose, limits)) in levels().enumerate() {
                let nearer = levels().take(at).map(|(_, limits)| limits.on(limited));
                let left = limits.on(limited).but_for(of_qos.clone().chain(nearer));
                for time in left.filter_map(|limit| minutes(met, limit)) {
                    self.lower(time, whose, key);
                }
            }
        }
    }

    fn lower(&mut self, time: Seconds, whose: &W, key: &'static str) {
        if self.0.as_ref().is_none_or(|given| time < given.time) {
            let whose = whose.clone();
            self.0 = Some(TimeByLimit { time, whose, key });
        }
    }
}

/// The longest time in which a job uses no more than so many minutes of a TRES; none where it asks for none of it, or
/// for more than a minute gives.
fn minutes<W>(met: &LimitsMet<'_, W>, (tres, most): (&str, u64)) -> Option<Seconds> {
    let wanted = (met.amount)(tres).filter(|wanted| *wanted > 0)?;
    let minutes = Some(most / wanted).filter(|minutes| *minutes > 0)?;
    Some(Seconds(minutes.saturating_mul(60)))
}
