//! Accounts and users with what they are due and what they used, and how Slurm's fair tree ranks
//! the users.

use crate::member::{Member, account_of_shares};
use resources::{AccountId, Cluster, Shares};
use std::collections::HashMap;

/// An account or a user in the tree.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeOfTree {
    /// The account's name, or that of the account in which the user is.
    pub account: String,
    /// The user; none for an account.
    pub user: Option<String>,
    /// Of a user the partition, where the association is for one alone.
    pub partition: Option<String>,
    /// The account above; the root is its own.
    pub parent: usize,
    /// What it is due.
    pub shares: Shares,
    /// What it used; of accounts the sum of those below.
    pub usage: f64,
}

impl NodeOfTree {
    /// The association that it is; none of an account.
    #[must_use]
    pub fn member(&self) -> Option<Member> {
        Some(Member {
            account: self.account.clone(),
            user: self.user.clone()?,
            partition: self.partition.clone(),
        })
    }

    /// Whether it is that association.
    #[must_use]
    pub fn is(&self, member: &Member) -> bool {
        self.user.as_ref() == Some(&member.user)
            && self.account == member.account
            && self.partition == member.partition
    }
}

/// Accounts and users. The first is the root account.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareTree {
    nodes: Vec<NodeOfTree>,
}

/// How an account or user stands, as `sshare` shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// Its shares beside those of its siblings.
    pub norm_shares: f64,
    /// Its usage beside theirs.
    pub effective_usage: f64,
    /// What it is due by what it used; infinite where it used nothing.
    pub level: f64,
    /// Of a user: from 1, the best, to 1 / users. By the classic fair share of an account, too.
    pub fair_share: Option<f64>,
}

impl Default for ShareTree {
    /// The root alone.
    fn default() -> ShareTree {
        ShareTree {
            nodes: vec![NodeOfTree {
                account: "root".to_owned(),
                user: None,
                partition: None,
                parent: 0,
                shares: Shares::default(),
                usage: 0.0,
            }],
        }
    }
}

impl ShareTree {
    /// The accounts and users of a cluster, with no usage. Of an account below itself the parent is
    /// the root. Everyone who has no table comes with [`ShareTree::user`].
    #[must_use]
    pub fn of(cluster: &Cluster) -> ShareTree {
        let mut tree = ShareTree::default();
        // Slurm's accounting has it from the start.
        let root_user = tree.add(
            "root".to_owned(),
            Some("root".to_owned()),
            0,
            Shares::default(),
        );
        let mut places: Vec<Option<usize>> = vec![None; cluster.accounts().len()];
        for account in 0..cluster.accounts().len() {
            tree.place_account(cluster, account, &mut places);
        }
        for association in cluster.associations() {
            if association.user == "*" {
                continue;
            }
            let member = Member {
                account: account_of_shares(&association.account).to_owned(),
                user: association.user.clone(),
                partition: association.partition.clone(),
            };
            if tree.nodes[root_user].member().as_ref() == Some(&member) {
                tree.nodes[root_user].shares = association.shares;
                continue;
            }
            tree.add_member(member, association.shares);
        }
        tree
    }

    /// Puts an account below its parent, which comes first.
    fn place_account(
        &mut self,
        cluster: &Cluster,
        account: usize,
        places: &mut [Option<usize>],
    ) -> usize {
        let mut chain: Vec<usize> = Vec::new();
        let mut next = Some(account);
        while let Some(at) = next {
            if places[at].is_some() || chain.contains(&at) {
                break;
            }
            chain.push(at);
            let parent = cluster.accounts()[at].parent;
            next = parent.map(|AccountId(parent)| parent.into());
        }
        let known = next.and_then(|at| places[at]);
        let mut above = known.unwrap_or(0);
        for at in chain.into_iter().rev() {
            let account = &cluster.accounts()[at];
            above = if account.name == "root" {
                0
            } else {
                self.add(account.name.clone(), None, above, account.shares)
            };
            places[at] = Some(above);
        }
        above
    }

    /// Adds an account or a user; the place that it has then.
    pub fn add(
        &mut self,
        account: String,
        user: Option<String>,
        parent: usize,
        shares: Shares,
    ) -> usize {
        self.nodes.push(NodeOfTree {
            account,
            user,
            partition: None,
            parent: parent.min(self.nodes.len() - 1),
            shares,
            usage: 0.0,
        });
        self.nodes.len() - 1
    }

    /// An account's place; it comes below the root where there is none of that name.
    pub fn account(&mut self, name: &str) -> usize {
        let is_it = |node: &NodeOfTree| node.user.is_none() && node.account == name;
        let known = self.nodes.iter().position(is_it);
        known.unwrap_or_else(|| self.add(name.to_owned(), None, 0, Shares::default()))
    }

    /// An association's place, where there is one.
    #[must_use]
    pub fn find_member(&self, member: &Member) -> Option<usize> {
        self.nodes.iter().position(|node| node.is(member))
    }

    /// An association's place; one that has none gets one with a share.
    pub fn member(&mut self, member: &Member) -> usize {
        let known = self.find_member(member);
        known.unwrap_or_else(|| self.add_member(member.clone(), Shares::default()))
    }

    /// Adds an association below its account; the place that it has then.
    fn add_member(&mut self, member: Member, shares: Shares) -> usize {
        let parent = self.account(&member.account);
        let place = self.add(member.account, Some(member.user), parent, shares);
        self.nodes[place].partition = member.partition;
        place
    }

    /// All of them; who is above comes first.
    #[must_use]
    pub fn nodes(&self) -> &[NodeOfTree] {
        &self.nodes
    }

    /// Says what each user used, by place; accounts get the sums.
    pub fn set_usage(&mut self, of_user: impl Fn(usize) -> f64) {
        for (place, node) in self.nodes.iter_mut().enumerate() {
            node.usage = if node.user.is_some() {
                of_user(place)
            } else {
                0.0
            };
        }
        for place in (1..self.nodes.len()).rev() {
            let (usage, parent) = (self.nodes[place].usage, self.nodes[place].parent);
            self.nodes[parent].usage += usage;
        }
    }

    /// How everyone stands (Slurm's fair tree): depth first, those at a level by what they are due
    /// by what they used, and the users so met have ranks from the number of users down.
    #[must_use]
    pub fn standings(&self) -> Vec<Standing> {
        let mut standings = vec![Standing::default(); self.nodes.len()];
        let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
        for place in 1..self.nodes.len() {
            below
                .entry(self.real_parent(place))
                .or_default()
                .push(place);
        }
        for (parent, children) in &below {
            let is_counted = |place: &&usize| self.shares_of(**place).is_some();
            let shares = children.iter().filter(is_counted);
            let shares: f64 = shares.filter_map(|place| self.shares_of(*place)).sum();
            for place in children {
                standings[*place] = self.standing(*place, *parent, shares);
            }
        }
        // What is its parent's has the parent's shares; parents come first.
        for place in 1..self.nodes.len() {
            let node = &self.nodes[place];
            if node.shares == Shares::Parent {
                standings[place].norm_shares = standings[node.parent].norm_shares;
            }
        }
        if let Some(root) = standings.first_mut() {
            root.effective_usage = 1.0;
        }
        let users = self.nodes.iter().filter(|node| node.user.is_some()).count();
        let mut ranks = Ranks {
            users: users as f64,
            next: users,
            given: users,
        };
        self.rank(0, false, &below, &mut standings, &mut ranks);
        standings
    }

    /// Its shares as a number; none for those that are their parent's.
    pub(super) fn shares_of(&self, place: usize) -> Option<f64> {
        match self.nodes[place].shares {
            Shares::Number(shares) => Some(shares.into()),
            Shares::Parent => None,
        }
    }

    /// The account above that is not its own parent's.
    pub(super) fn real_parent(&self, place: usize) -> usize {
        let mut parent = self.nodes[place].parent;
        while parent != 0 && self.nodes[parent].shares == Shares::Parent {
            parent = self.nodes[parent].parent;
        }
        parent
    }

    fn standing(&self, place: usize, parent: usize, shares: f64) -> Standing {
        let own = self.shares_of(place);
        let norm_shares = own.map_or(0.0, |own| if shares > 0.0 { own / shares } else { 0.0 });
        let there = self.nodes[parent].usage;
        let effective_usage = if there > 0.0 {
            self.nodes[place].usage / there
        } else {
            0.0
        };
        let level = match own {
            None => f64::INFINITY,
            Some(_) if norm_shares == 0.0 => 0.0,
            Some(_) if effective_usage == 0.0 => f64::INFINITY,
            Some(_) => norm_shares / effective_usage,
        };
        Standing {
            norm_shares,
            effective_usage,
            level,
            fair_share: None,
        }
    }

    /// Gives ranks to the users below an account. Its depth is that of the accounts.
    fn rank(
        &self,
        account: usize,
        account_ties: bool,
        below: &HashMap<usize, Vec<usize>>,
        standings: &mut [Standing],
        ranks: &mut Ranks,
    ) {
        let is_own_parents = |place: usize| {
            let node = &self.nodes[place];
            node.user.is_none() && node.shares == Shares::Parent
        };
        let children = below.get(&account).into_iter().flatten().copied();
        let mut children: Vec<usize> = children.filter(|place| !is_own_parents(*place)).collect();
        // Slurm has those first that were added last.
        children.reverse();
        children.sort_by(|one, other| {
            let by_level = standings[*other].level.total_cmp(&standings[*one].level);
            let is_account = |place: usize| self.nodes[place].user.is_none();
            by_level.then(is_account(*one).cmp(&is_account(*other)))
        });
        let mut before: Option<f64> = None;
        for (index, place) in children.into_iter().enumerate() {
            let level = standings[place].level;
            // Slurm's code hands a tie of accounts on to the first below the second of them; its
            // manual would merge the children of both.
            let ties = before == Some(level) || (index == 0 && account_ties);
            if self.nodes[place].user.is_some() {
                standings[place].fair_share = Some(ranks.give(ties));
            } else {
                self.rank(place, ties, below, standings, ranks);
            }
            before = Some(level);
        }
    }
}

/// Ranks from the number of users down; equal ones share one, and as many are left out.
struct Ranks {
    users: f64,
    next: usize,
    given: usize,
}

impl Ranks {
    fn give(&mut self, ties: bool) -> f64 {
        if !ties {
            self.given = self.next;
        }
        self.next = self.next.saturating_sub(1);
        self.given as f64 / self.users
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn member(user: &str, account: &str) -> Member {
        Member {
            account: account.to_owned(),
            user: user.to_owned(),
            partition: None,
        }
    }

    #[test]
    fn an_account_below_itself_is_below_the_root() {
        let text = "[account.a]\nparent = \"b\"\n[account.b]\nparent = \"a\"\n\
            [account.c]\nparent = \"c\"\n[user.ann]\naccounts = [\"a\", \"c\"]\n";
        let file = cluster_file::ClusterFile::parse("odd", text).expect("a cluster file");
        let tree = ShareTree::of(&Cluster::build(&file, resources::Trust::All));
        let standings = tree.standings();
        let ranked = standings.iter().filter_map(|standing| standing.fair_share);
        assert_eq!(ranked.count(), 3);
    }

    #[test]
    fn root_stands_once_and_every_account_has_a_name() {
        let check = |text: &str, want: &[(&str, Option<&str>, &str)]| {
            let file = cluster_file::ClusterFile::parse("file", text).expect("a cluster file");
            let tree = ShareTree::of(&Cluster::build(&file, resources::Trust::All));
            let nodes = tree.nodes().iter();
            let got: Vec<(&str, Option<&str>, String)> = nodes
                .map(|node| {
                    let shares = node.shares.to_string();
                    (node.account.as_str(), node.user.as_deref(), shares)
                })
                .collect();
            let want = want
                .iter()
                .map(|(account, user, shares)| (*account, *user, (*shares).to_owned()));
            assert_eq!(got, want.collect::<Vec<_>>(), "{text}");
        };
        let account = ("root", None, "1");
        let user = ("root", Some("root"), "1");
        check("", &[account, user]);
        check("[user.root]\naccounts = [\"root\"]\n", &[account, user]);
        check("[account.root]\n[user.root]\n", &[account, user]);
        check(
            "[user.root]\n[user.root.account.root]\nshares = \"7\"\n",
            &[account, ("root", Some("root"), "7")],
        );
        check(
            "[user.ann]\nqos = [\"normal\"]\n",
            &[account, user, ("root", Some("ann"), "1")],
        );
        check(
            "[account.lab]\n[user.root]\naccounts = [\"root\", \"lab\"]\n",
            &[
                account,
                user,
                ("lab", None, "1"),
                ("lab", Some("root"), "1"),
            ],
        );
    }

    /// `sshare` of a real 22.05.8 whose accounts were added in that order.
    #[test]
    fn before_any_usage_accounts_stand_in_the_order_in_which_they_were_added() {
        let check = |accounts: &[(&str, &str)], users: &[&str], want: &[(&str, &str, f64)]| {
            let mut text = "[user.root]\naccounts = [\"root\"]\n".to_owned();
            for (account, parent) in accounts {
                text += &format!("[account.{account}]\nparent = \"{parent}\"\nshares = \"10\"\n");
            }
            for user in ["games", "man", "news"] {
                let own = users
                    .iter()
                    .filter_map(|own| own.strip_prefix(user)?.strip_prefix('@'));
                let own: Vec<&str> = own.collect();
                if own.is_empty() {
                    continue;
                }
                text += &format!("[user.{user}]\naccounts = {own:?}\n");
                for account in own {
                    let shares = u32::from(user != "man");
                    text += &format!("[user.{user}.account.{account}]\nshares = \"{shares}\"\n");
                }
            }
            let text = text.replace("parent = \"root\"\n", "");
            let file = cluster_file::ClusterFile::parse("file", &text).expect("a cluster file");
            let tree = ShareTree::of(&Cluster::build(&file, resources::Trust::All));
            let standings = tree.standings();
            for (user, account, share) in want {
                let place = tree
                    .find_member(&member(user, account))
                    .expect("it is there");
                let found = standings[place].fair_share.expect("it is a user");
                assert!((found - share).abs() < 1e-6, "{user}@{account}: {found}");
            }
        };
        check(
            &[("physics", "root"), ("biology", "root")],
            &["games@physics", "man@physics", "news@biology"],
            &[
                ("root", "root", 1.0),
                ("news", "biology", 1.0),
                ("games", "physics", 1.0),
                ("man", "physics", 0.25),
            ],
        );
        let accounts = [
            ("mm", "root"),
            ("aa", "root"),
            ("zz", "root"),
            ("kk", "aa"),
            ("bb", "aa"),
        ];
        let names =
            accounts.map(|(account, _)| [format!("games@{account}"), format!("man@{account}")]);
        let names: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
        check(
            &accounts,
            &names,
            &[
                ("root", "root", 1.0),
                ("games", "zz", 1.0),
                ("man", "zz", 0.818_182),
                ("games", "aa", 0.818_182),
                ("games", "bb", 0.818_182),
                ("man", "bb", 0.545_455),
                ("games", "kk", 0.545_455),
                ("man", "kk", 0.363_636),
                ("man", "aa", 0.272_727),
                ("games", "mm", 0.272_727),
                ("man", "mm", 0.090_909),
            ],
        );
    }

    #[test]
    fn usage_of_users_is_their_accounts() {
        let mut tree = ShareTree::default();
        let ann = tree.member(&member("ann", "lab"));
        let bob = tree.member(&member("bob", "lab"));
        tree.set_usage(|place| if place == ann { 3.0 } else { 1.0 });
        assert_eq!(tree.nodes()[0].usage, 4.0);
        let standings = tree.standings();
        assert_eq!(standings[bob].fair_share, Some(1.0));
        assert_eq!(standings[ann].fair_share, Some(0.5));
        assert_eq!(standings[ann].effective_usage, 0.75);
    }
}
