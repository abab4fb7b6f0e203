//! Programs beside the ranks: started with them on the first node, ended with the job. One that
//! dies is said and ends nothing.

use super::Message;
use crate::exit_code;
use folder::{Attempt, Event, RunFolder};
use signal_hook::consts::{SIGKILL, SIGTERM};
use std::fs::File;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};
use train::{Plan, ServicePlan, Values};

/// How long a service may take until it listens.
const START: Duration = Duration::from_secs(120);
/// Between two looks at one.
const LOOK: Duration = Duration::from_millis(200);
/// How long one that was signalled to end may take.
const LEAVE: Duration = Duration::from_secs(2);

/// Where the services of a start run.
pub struct ServicePlace<'a> {
    /// The program that starts them.
    pub yard: &'a Path,
    /// The run.
    pub run: &'a RunFolder,
    /// Which start.
    pub attempt: Attempt,
    /// The first node's name.
    pub node: &'a str,
    /// What placeholders stand for.
    pub values: &'a Values,
    /// Where what happens to them is said.
    pub sender: &'a Sender<Message>,
}

/// The services that run.
#[derive(Debug, Default)]
pub struct Services {
    groups: Vec<u32>,
    ending: Arc<AtomicBool>,
}

impl Services {
    /// Starts all of the plan's.
    pub fn start(plan: &Plan, place: &ServicePlace<'_>) -> Services {
        let mut services = Services::default();
        for service in &plan.services {
            match start(service, plan, place) {
                Ok((child, port)) => {
                    services.groups.push(child.id());
                    let follow = Followed {
                        name: service.name.clone(),
                        port,
                        node: place.node.to_owned(),
                        log: log_name(place.attempt, &service.name),
                        sender: place.sender.clone(),
                        ending: Arc::clone(&services.ending),
                    };
                    std::thread::spawn(move || follow.follow(child));
                }
                Err(why) => say(place.sender, format!("service {}: {why}", service.name)),
            }
        }
        services
    }

    /// Ends them, with everything that they started.
    pub fn end(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        let groups = std::mem::take(&mut self.groups);
        for group in &groups {
            let _ = sys::process::kill_group(*group, SIGTERM);
        }
        let until = Instant::now() + LEAVE;
        for group in groups {
            // Signal 0 finds whether any process of the group is left.
            while sys::process::kill_group(group, 0).is_ok() && Instant::now() < until {
                std::thread::sleep(LOOK / 10);
            }
            let _ = sys::process::kill_group(group, SIGKILL);
        }
    }
}

fn log_name(attempt: Attempt, name: &str) -> String {
    format!("{attempt}.service-{name}")
}

fn say(sender: &Sender<Message>, text: String) {
    // The conductor may be over.
    let _ = sender.send(Message::Record(Event::Note { text }));
}

fn start(
    service: &ServicePlan,
    plan: &Plan,
    place: &ServicePlace<'_>,
) -> Result<(Child, u16), String> {
    let wanted = service
        .port
        .as_ref()
        .and_then(|port| u16::try_from(port.value).ok());
    let port = free_port(wanted)?;
    let words = service.words(plan, place.values, port);
    let words = words.map_err(|unknown| unknown.to_string())?;
    // What it prints may hold a token.
    let log = place
        .run
        .logs()
        .join(log_name(place.attempt, &service.name));
    let mut options = File::options();
    let log = options.append(true).create(true).mode(0o600).open(log);
    let log = log.map_err(|error| format!("its log can't be written: {error}"))?;
    let errors = log.try_clone().map_err(|error| error.to_string())?;
    let child = Command::new(place.yard)
        .args(["job", "service", &place.attempt.to_string()])
        .arg(place.run.path())
        .args(words)
        .stdin(Stdio::null())
        .stdout(log)
        .stderr(errors)
        .process_group(0)
        .spawn()
        .map_err(|error| format!("it can't be started: {error}"))?;
    Ok((child, port))
}

fn free_port(wanted: Option<u16>) -> Result<u16, String> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted.unwrap_or(0)));
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(|error| match wanted {
            Some(port) => {
                format!("port {port} can't be used: {error}; leave it out for a free one")
            }
            None => format!("no port is free: {error}"),
        })
}

/// A service that was started.
struct Followed {
    name: String,
    port: u16,
    node: String,
    log: String,
    sender: Sender<Message>,
    ending: Arc<AtomicBool>,
}

impl Followed {
    fn follow(self, mut child: Child) {
        let (name, log) = (&self.name, &self.log);
        let begun = Instant::now();
        let mut listens = false;
        loop {
            let status = match child.try_wait() {
                Ok(None) => None,
                Ok(Some(status)) => Some(status),
                Err(_) => return,
            };
            if let Some(status) = status {
                if !self.ending.load(Ordering::Relaxed) {
                    let code = exit_code::of(status);
                    let text = format!(
                        "service {name} ended with {code} and the run goes on; see logs/{log}"
                    );
                    say(&self.sender, text);
                }
                return;
            }
            let due = !listens && begun.elapsed() < START;
            if due && TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_ok() {
                listens = true;
                say(
                    &self.sender,
                    address(name, &self.node, self.port, submit_host().as_deref()),
                );
            }
            std::thread::sleep(LOOK);
        }
    }
}

fn submit_host() -> Option<String> {
    std::env::var("SLURM_SUBMIT_HOST").ok()
}

/// Where it is, and how to reach it from elsewhere.
fn address(name: &str, node: &str, port: u16, submit_host: Option<&str>) -> String {
    let jump = match submit_host {
        Some(host) if host != node => format!("-J {host} "),
        _ => String::new(),
    };
    format!(
        "service {name}: http://127.0.0.1:{port} on {node}; from elsewhere: ssh -N -L \
         {port}:127.0.0.1:{port} {jump}{node}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_to_reach_it() {
        let near = address("tensorboard", "box", 6006, Some("box"));
        assert!(
            near.ends_with("ssh -N -L 6006:127.0.0.1:6006 box"),
            "{near}"
        );
        let far = address("tensorboard", "n17", 6006, Some("login1"));
        assert!(far.ends_with(":6006 -J login1 n17"), "{far}");
    }

    #[test]
    fn a_port_that_is_taken_is_said() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        assert!(free_port(Some(port)).unwrap_err().contains("can't be used"));
        assert!(free_port(None).is_ok());
    }
}
