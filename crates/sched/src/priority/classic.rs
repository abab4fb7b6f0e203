//! The fair share that Slurm had before fair tree (`PriorityFlags=NO_FAIR_TREE`): each has a factor of
//! its own, `2^-(usage / shares)`, with a part of what others of its account used.

use super::{ShareTree, Standing};
use resources::{PriorityPolicy, Shares};

impl ShareTree {
    /// How everyone stands by a cluster's policy.
    #[must_use]
    pub fn standings_by(&self, policy: &PriorityPolicy) -> Vec<Standing> {
        if policy.has_flag("NO_FAIR_TREE") {
            self.classic()
        } else {
            self.standings()
        }
    }

    /// How everyone stands, accounts too (`set_assoc_usage_efctv` and `priority_p_calc_fs_factor` of
    /// 22.05).
    fn classic(&self) -> Vec<Standing> {
        let nodes = self.nodes();
        let mut of_level = vec![0.0; nodes.len()];
        for place in 1..nodes.len() {
            of_level[self.real_parent(place)] += self.shares_of(place).unwrap_or(0.0);
        }
        let all = nodes[0].usage;
        let mut standings = vec![Standing::default(); nodes.len()];
        standings[0].norm_shares = 1.0;
        standings[0].effective_usage = 1.0;
        // Who is above comes first.
        for place in 1..nodes.len() {
            let parent = self.real_parent(place);
            let above = standings[parent];
            let own_usage = if all > 0.0 {
                nodes[place].usage / all
            } else {
                0.0
            };
            let own = &mut standings[place];
            let level = of_level[parent];
            match nodes[place].shares {
                Shares::Parent => {
                    own.norm_shares = above.norm_shares;
                    own.effective_usage = above.effective_usage;
                }
                Shares::Number(shares) => {
                    let part = if level > 0.0 {
                        f64::from(shares) / level
                    } else {
                        0.0
                    };
                    own.norm_shares = above.norm_shares * part;
                    let of_others = if parent == 0 {
                        0.0
                    } else {
                        above.effective_usage - own_usage
                    };
                    own.effective_usage = own_usage + of_others * part;
                }
            }
        }
        for standing in &mut standings {
            let is_due = standing.norm_shares > 0.0;
            let factor = (-standing.effective_usage / standing.norm_shares).exp2();
            standing.fair_share = Some(if is_due { factor } else { 0.0 });
        }
        standings
    }
}
