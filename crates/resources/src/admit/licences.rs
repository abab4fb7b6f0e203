//! Whether a cluster has the licences that a job asks for (`license_validate` of 22.05).

use super::{Denial, Refusal, refusal};
use model::{LicenceCount, Request, counted, parse_licences};

/// The first licence of a request that a cluster with these never gives.
#[must_use]
pub fn no_licence(there: &[LicenceCount], request: &Request) -> Option<Refusal> {
    let text = request.rare.licenses.as_deref()?;
    let asked = format!("--licenses={text}");
    let Some(all) = parse_licences(text) else {
        let todo = "write them as NAME:NUMBER,NAME:NUMBER";
        return Some(refusal(Denial::Licence, asked, "no list of licences", todo));
    };
    all.iter().find_map(|wanted| {
        let known = there.iter().find(|licence| licence.name == wanted.name);
        if known.is_some_and(|known| known.count >= wanted.count) {
            return None;
        }
        let (is_there, todo) = match known {
            Some(known) => (
                format!(
                    "{} of {}",
                    counted(known.count as usize, "licence"),
                    known.name
                ),
                format!("--licenses={}:{}", known.name, known.count),
            ),
            None if there.is_empty() => (
                "no licences are counted there".to_owned(),
                "leave --licenses out".to_owned(),
            ),
            None => {
                let names: Vec<&str> = there.iter().map(|one| one.name.as_str()).collect();
                let near = model::nearest(&wanted.name, names.iter().copied());
                let todo = match near {
                    Some(near) => format!("did you mean {near}?"),
                    None => "name one of those, or leave --licenses out".to_owned(),
                };
                (format!("licences {}", names.join(", ")), todo)
            }
        };
        Some(refusal(Denial::Licence, asked.clone(), is_there, todo))
    })
}
