//! Account, QOS, mail, and what exists on one cluster alone.

use super::partitions::seconds;
use super::porter::Porter;
use cluster_file::{List, Sourced};
use model::option_table::Key;
use resources::Denial;

impl Porter<'_> {
    /// The accounts there of which the script's jobs may be: the user's, where the cluster file tells them.
    pub fn accounts_there(&self) -> Vec<String> {
        let own = self.user_there().and_then(|user| user.accounts.as_ref());
        match own {
            Some(accounts) => accounts.value.clone(),
            None => {
                let all = self.to.accounts.iter();
                all.map(|account| account.name.clone()).collect()
            }
        }
    }

    pub fn account(&mut self) {
        let user = self.user_there();
        let default = user.and_then(|user| user.default_account.as_ref());
        let own = user.and_then(|user| user.accounts.as_ref());
        let names = self.accounts_there();
        let Some(given) = self.last(Key::Account) else {
            return;
        };
        let asked = given.value.clone().unwrap_or_default();
        if names.iter().any(|name| name.eq_ignore_ascii_case(&asked)) {
            return;
        }
        let cluster = self.to.name.clone();
        // Everybody's, or those of the user whom the file names.
        let named = user.filter(|user| user.name != "*");
        let (has_none, of_default, no_other) = match named.map(|user| &user.name) {
            Some(user) => (
                format!("{user} has no account {asked} on {cluster}"),
                format!("by default jobs of {user} are of this"),
                format!("{user} has no other than"),
            ),
            None => (
                format!("{cluster} has no account {asked}"),
                "by default all jobs are of this".to_owned(),
                "there is no other than".to_owned(),
            ),
        };
        // Whose account the job is counted on is decided by the cluster's people alone: only where
        // all accounts are known is everyone's default the one that is meant.
        let sure = |default: &&Sourced<String>| {
            self.to.knows_all(List::Accounts) && !default.is_assumed() && !default.is_disputed()
        };
        match (default.filter(sure), &names[..]) {
            (Some(default), _) => {
                let why = format!("{has_none}; {of_default}");
                self.set_value(given, &default.value, why);
            }
            (None, [one])
                if self.to.knows_all(List::Accounts)
                    && own.is_none_or(|own| !own.is_assumed() && !own.is_disputed()) =>
            {
                let why = format!("{has_none}; {no_other} {one}");
                self.set_value(given, one, why);
            }
            (None, []) => self.ask_about(
                self.line(given),
                format!("account {asked}: {cluster}'s file knows no accounts, so it stays"),
                "which account there? without any, take the line out",
                Some(Denial::Account),
            ),
            (None, names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                let there = match named.filter(|_| own.is_some()) {
                    Some(user) => format!("{} has {} there", user.name, names.join(", ")),
                    None => self.to.list_words(List::Accounts, &names),
                };
                self.ask_about(
                    self.line(given),
                    format!("account {asked}: {there}"),
                    "which is yours there?",
                    Some(Denial::Account),
                );
            }
        }
    }

    pub fn qos(&mut self) {
        let Some(given) = self.last(Key::Qos) else {
            return;
        };
        let asked = given.value.clone().unwrap_or_default();
        if self.to.qos(&asked).is_some() {
            return;
        }
        let cluster = self.to.name.clone();
        // A time over the partition's limit is cut, or asked about, as it is.
        let time = self.script.request().time;
        let most = self
            .partition_there()
            .and_then(|there| there.max_time.as_ref());
        let cut = most.filter(|most| time.is_some_and(|time| seconds(most.value) < seconds(time)));
        let time = cut.map(|most| most.value).or(time);
        let enough: Vec<String> = self
            .to
            .qos
            .iter()
            .filter(|qos| match (&qos.max_wall, time) {
                (Some(most), Some(time)) => seconds(time) <= seconds(most.value),
                _ => true,
            })
            .map(|qos| qos.name.clone())
            .collect();
        let allowed = self.user_there().and_then(|user| user.qos.as_ref());
        let enough: Vec<String> = enough
            .into_iter()
            .filter(|name| allowed.is_none_or(|allowed| allowed.contains(name)))
            .collect();
        // What is assumed of a user's QOS decides nothing.
        let sure = match allowed {
            Some(allowed) => !allowed.is_assumed() && !allowed.is_disputed(),
            None => self.to.knows_all(List::Qos),
        };
        let all = self
            .to
            .qos
            .iter()
            .filter(|qos| allowed.is_none_or(|allowed| allowed.contains(&qos.name)));
        let all: Vec<String> = all
            .map(|qos| match &qos.max_wall {
                Some(most) => format!("{} ({})", qos.name, most.value),
                None => qos.name.clone(),
            })
            .collect();
        match &enough[..] {
            [] if self.to.qos.is_empty() => {
                let about = format!("QOS {asked}: {cluster}'s file knows no QOS, so it stays");
                self.ask_about(
                    self.line(given),
                    about,
                    "which QOS there? without any, take the line out",
                    Some(Denial::Qos),
                );
            }
            [one] if sure => {
                let why = format!("of the QOS of {cluster}'s users only {one} allows the time");
                self.set_value(given, one, why);
            }
            several => {
                let about = if several.is_empty() {
                    format!("QOS {asked}: none of {cluster}'s is known to allow the time")
                } else {
                    format!("QOS {asked}: {cluster} has {}", all.join(", "))
                };
                self.ask_about(self.line(given), about, "which one?", Some(Denial::Qos));
            }
        }
    }

    pub fn mail(&mut self) {
        let Some(given) = self.last(Key::MailUser) else {
            return;
        };
        let asked = given.value.clone().unwrap_or_default();
        let Some((_, domain)) = asked.split_once('@') else {
            return;
        };
        let own = |domain: &Option<Sourced<String>>, name: &str| {
            domain
                .as_ref()
                .is_some_and(|own| name == own.value || name.ends_with(&format!(".{}", own.value)))
        };
        if !own(&self.from.mail_domain, domain) || own(&self.to.mail_domain, domain) {
            return;
        }
        // Where a person reads mail doesn't follow from where the jobs run.
        self.ask(
            self.line(given),
            format!("mail goes to {asked}, an address of {}", self.from.name),
            format!(
                "does {} send mail there, and is it still yours?",
                self.to.name
            ),
        );
    }

    /// What names things of the first cluster that have no counterpart.
    pub fn of_one_cluster(&mut self) {
        let keys = [
            (Key::NodeList, "nodes"),
            (Key::Exclude, "nodes"),
            (Key::Reservation, "a reservation"),
            (Key::Dependency, "jobs"),
            (Key::Clusters, "clusters"),
            (Key::Licenses, "licences"),
        ];
        for (key, what) in keys {
            let Some(given) = self.last(key) else {
                continue;
            };
            let about = format!("{} names {what} of {}", self.written(given), self.from.name);
            let covers = match key {
                Key::NodeList | Key::Exclude => Some(Denial::NodeName),
                _ => None,
            };
            self.ask_about(
                self.line(given),
                about,
                format!("what is it on {}?", self.to.name),
                covers,
            );
        }
    }
}
