//! `topology.conf` of `topology/tree`: switches, and what is at them.

use super::conf_line::conf_lines;
use super::{ConfText, Importer, said};
use crate::{Named, Switch};

impl Importer {
    pub(super) fn topology_conf(&mut self, conf: ConfText<'_>) {
        let lines = conf_lines(conf.name, conf.text);
        for line in &lines {
            self.left_over(line);
        }
        for line in lines.iter().filter(|line| !line.pairs.is_empty()) {
            let Some(name) = line.value("SwitchName") else {
                self.whole(
                    line,
                    "not of topology/tree, which has SwitchName lines alone",
                );
                continue;
            };
            for pair in &line.pairs {
                let key = pair.key.to_ascii_lowercase();
                if !["switchname", "nodes", "switches", "linkspeed"].contains(&key.as_str()) {
                    self.note(
                        line,
                        &pair.key,
                        "a switch has nodes, switches and a link speed",
                    );
                }
            }
            let text = |key: &str| said(line, line.value(key)?.to_owned());
            let speed = line.value("LinkSpeed").and_then(|speed| speed.parse().ok());
            let body = Switch {
                nodes: text("Nodes"),
                switches: text("Switches"),
                link_speed: speed.and_then(|speed| said(line, speed)),
                ..Switch::default()
            };
            self.file.switches.push(Named {
                name: name.to_owned(),
                span: 0..0,
                body,
            });
        }
    }
}
