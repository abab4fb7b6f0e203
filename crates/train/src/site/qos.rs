//! By which account and QOS a job runs.

use super::LeftToSlurm;
use crate::{Plan, Resolved, Source, say_limit};
use cluster_file::{ClusterFile, Named, Qos, Sourced};
use model::TimeLimitRequest;
use resources::{Finding, LimitPath};

/// Leaves Slurm its defaults where they serve; else names the QOS that does.
pub(super) fn choose(
    plan: &mut Plan,
    left: &mut LeftToSlurm,
    file: &ClusterFile,
    user: Option<&str>,
) {
    let own = file.user(user.unwrap_or("*"));
    if plan.account.is_none()
        && let Some(account) = own.and_then(|own| own.default_account.as_ref())
    {
        let why = format!("your default on {}: not named in the script", file.name);
        left.account = Some(Resolved::new(account.value.clone(), Source::cluster(why)));
    }
    if plan.qos.is_some() || file.qos.is_empty() {
        return;
    }
    let account = plan.account.as_ref().or(left.account.as_ref());
    let account = account.map_or_else(String::new, |account| account.value.clone());
    let named = super::request(plan).partition;
    let partition = file.first_partition(named.as_deref());
    let allowed = allowed(file, user, &account, partition);
    let default = file.default_qos(user.unwrap_or("*"), &account, partition);
    if let Some(default) = default {
        let serves = |name: &String| {
            file.qos(name)
                .is_some_and(|qos| takes(plan, file, user, qos))
        };
        if default.all().all(serves) {
            let why = if default.is_disputed() {
                disputed(file, default)
            } else {
                format!("your default on {}: not named in the script", file.name)
            };
            let chosen = Resolved::new(default.value.clone(), Source::cluster(why));
            // Two are said to be the default: the plan holds by naming one.
            if default.is_disputed() {
                plan.qos = Some(chosen)
            } else {
                left.qos = Some(chosen)
            }
            return;
        }
    }
    if default.is_none() && allowed.len() > 1 {
        // Slurm takes `normal` then, and none where that is not allowed.
        let normal = allowed.iter().find(|qos| qos.name == "normal");
        if normal.is_none_or(|qos| takes(plan, file, user, qos)) {
            let source = |qos: &&Named<Qos>| {
                let why = format!("Slurm's own default: {} names none of yours", file.name);
                Resolved::new(qos.name.clone(), Source::cluster(why))
            };
            left.qos = normal.map(source);
            return;
        }
    }
    let mut serving: Vec<&Named<Qos>> = allowed
        .iter()
        .copied()
        .filter(|qos| takes(plan, file, user, qos))
        .collect();
    serving.sort_by_key(|qos| std::cmp::Reverse(qos.priority.as_ref().map_or(0, |p| p.value)));
    let Some(chosen) = serving.first() else {
        // Nothing serves: what is wrong with the default is what a person should hear.
        if let Some(default) = default {
            let why = format!("your default on {}", file.name);
            left.qos = Some(Resolved::new(default.value.clone(), Source::cluster(why)));
        }
        return;
    };
    let what = match plan.time.as_ref().map(|time| time.value) {
        Some(limit @ TimeLimitRequest::Limit(_)) => format!("allows {}", say_limit(limit)),
        _ => "takes the job".to_owned(),
    };
    let why = match serving.len() {
        1 => format!(
            "the only one of yours that {what}{}",
            others(&allowed, chosen)
        ),
        _ => format!(
            "of yours that {}, the one of highest priority",
            what.replace("s ", " ")
        ),
    };
    plan.qos = Some(Resolved::new(chosen.name.clone(), Source::cluster(why)));
}

/// What is assumed of the user, where an account or a QOS was chosen by it.
pub(super) fn assumed(
    assumed: &mut Vec<(String, String)>,
    plan: &Plan,
    left: &LeftToSlurm,
    file: &ClusterFile,
    user: Option<&str>,
) {
    let Some(own) = file.user(user.unwrap_or("*")) else {
        return;
    };
    let path = |key: &str| format!("user.{}.{key}", own.name);
    if left.account.is_some() {
        super::note(
            assumed,
            path("default_account"),
            own.default_account.as_ref(),
        );
    }
    let chosen = plan.qos.as_ref().filter(|qos| !qos.source.is_asked());
    if chosen.is_some() {
        super::note(assumed, path("qos"), own.qos.as_ref());
    }
    if left.qos.is_some() {
        super::note(assumed, path("default_qos"), own.default_qos.as_ref());
    }
}

/// The QOS that this user may name.
fn allowed<'a>(
    file: &'a ClusterFile,
    user: Option<&str>,
    account: &str,
    partition: Option<&str>,
) -> Vec<&'a Named<Qos>> {
    let own = file.user(user.unwrap_or("*"));
    let of_association = own.and_then(|own| {
        let association = own.association(account, partition)?;
        association.qos.as_ref()
    });
    let of_account = || {
        let account = file.accounts.iter().find(|of| of.name == account)?;
        account.qos.as_ref()
    };
    let list = of_association
        .or_else(|| own.and_then(|own| own.qos.as_ref()))
        .or_else(of_account);
    match list {
        Some(list) => list.iter().filter_map(|name| file.qos(name)).collect(),
        None => file.qos.iter().collect(),
    }
}

/// Whether the job keeps within the limits of that QOS.
fn takes(plan: &Plan, file: &ClusterFile, user: Option<&str>, qos: &Named<Qos>) -> bool {
    let mut request = super::request(plan);
    request.qos = Some(qos.name.clone());
    let findings = resources::findings(file, &request, user);
    let of_it = |found: &Finding| matches!(&found.at, LimitPath::Qos(name, _) if *name == qos.name);
    !findings.iter().any(of_it)
}

fn disputed(file: &ClusterFile, default: &Sourced<String>) -> String {
    let others = default.others.iter();
    let others: Vec<String> = others.map(|other| other.value.clone()).collect();
    format!(
        "{} names {} and {} as its default; named, to be sure",
        file.name,
        default.value,
        others.join(", ")
    )
}

/// What the others allow: ` (opp: 8 h, test: 4 h)`.
fn others(allowed: &[&Named<Qos>], chosen: &Named<Qos>) -> String {
    let others: Vec<String> = allowed
        .iter()
        .filter(|qos| qos.name != chosen.name)
        .filter_map(|qos| {
            Some(format!(
                "{}: {}",
                qos.name,
                say_limit(qos.max_wall.as_ref()?.value)
            ))
        })
        .collect();
    if others.is_empty() {
        String::new()
    } else {
        format!(" ({})", others.join(", "))
    }
}
