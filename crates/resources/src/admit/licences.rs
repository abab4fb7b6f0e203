//! Whether a cluster has the licences that a job asks for (`license_validate` of 22.05).

use super::{Change, Denial, Finding, Requested, There, finding};
use model::option_table::Key;
use model::{LicenceCount, Request, parse_licences};

/// The first licence of a request that a cluster with these never gives.
#[must_use]
pub fn no_licence(there: &[LicenceCount], request: &Request) -> Option<Finding> {
    let text = request.rare.licenses.as_deref()?;
    let requested = || Requested::Option(Key::Licenses, text.to_owned());
    let of = |there, instead| finding(Denial::Licence, requested(), there, instead);
    let Some(all) = parse_licences(text) else {
        return Some(of(There::NoLicenceList, vec![Change::LicenceList]));
    };
    all.iter().find_map(|wanted| {
        let known = there.iter().find(|licence| licence.name == wanted.name);
        if known.is_some_and(|known| known.count >= wanted.count) {
            return None;
        }
        let out = Change::LeaveOut(Key::Licenses);
        Some(match known {
            Some(known) => of(
                There::Licences(known.clone()),
                vec![Change::Set(
                    Key::Licenses,
                    format!("{}:{}", known.name, known.count),
                )],
            ),
            None if there.is_empty() => of(There::NoLicences, vec![out]),
            None => {
                let names: Vec<&str> = there.iter().map(|one| one.name.as_str()).collect();
                let near = model::nearest(&wanted.name, names.iter().copied());
                let instead = match near {
                    Some(near) => vec![Change::DidYouMean(Key::Licenses, near.to_owned())],
                    None => vec![Change::OneOfThose, out],
                };
                let there = There::Names(format!("licences {}", names.join(", ")));
                of(there, instead)
            }
        })
    })
}
