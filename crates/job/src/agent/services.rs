//! The actor of the programs beside the ranks: it starts them on the first node, says where they listen and
//! which of them died, and ends them with the job. One that dies ends nothing.

use super::Surroundings;
use super::actor::{self, ActorName};
use super::address as node_address;
use super::forward;
use super::outbox::Outbox;
use crate::exit_code;
use crate::start_values::start_values;
use folder::{Attempt, Event, RunFolder};
use signal_hook::consts::{SIGKILL, SIGTERM};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use sys::ProgramPort;
use sys::process::kill_group;
use train::{Plan, ServicePlan, UnknownPlaceholder, Values};

/// How long a service may take until it listens.
const START: Duration = Duration::from_secs(120);
/// Between two looks at services while one of them does not listen yet.
const LOOK: Duration = Duration::from_millis(200);
/// Between two looks at services that all listen.
const RARE_LOOK: Duration = Duration::from_secs(1);
/// How long one that was signalled to end may take.
const LEAVE: Duration = Duration::from_secs(2);
/// Between two looks at services that are ending.
const LEAVING_LOOK: Duration = Duration::from_millis(20);

/// Why a service could not be started.
#[derive(Debug, thiserror::Error)]
enum ServiceError {
    #[error(transparent)]
    Placeholder(#[from] UnknownPlaceholder),
    #[error("port {port} can't be used: {source}; leave it out for a free one")]
    PortTaken { port: u16, source: io::Error },
    #[error("no port is free: {0}")]
    NoPort(io::Error),
    #[error("its log can't be written: {0}")]
    Log(io::Error),
    #[error("it can't be started: {0}")]
    Start(io::Error),
}

/// The services of a start, as its agent's keeper knows them.
#[derive(Debug)]
pub(super) struct Services {
    end: Sender<EndServices>,
}

/// The services are to end; what this sender leads to hears when they have.
type EndServices = Sender<()>;

impl Services {
    /// Starts all of the plan's. `resume`: what `{resume}` holds.
    ///
    /// # Errors
    /// The run folder can't be read.
    pub fn start(
        at: &Surroundings,
        resume: Option<&str>,
        terminated: Arc<AtomicBool>,
        outbox: Outbox,
    ) -> io::Result<Services> {
        let (run, json) = RunFolder::open(at.run.path()).map_err(io::Error::other)?;
        // A service shows the event files of all nodes and of all starts.
        let values = Values {
            logs: run.tensorboard(),
            ..start_values(&run, &json, &at.local(), resume)
        };
        let place = ServicePlace {
            run,
            attempt: at.attempt,
            node: at.node.clone(),
            submit_host: std::env::var("SLURM_SUBMIT_HOST").ok(),
            plan: at.plan.clone(),
            values,
        };
        let (end, inbox) = channel();
        let mut pending = at.plan.services.clone();
        // One that crashed finds again what it has started.
        let mut running = RunningServices {
            services: Vec::new(),
            terminated,
        };
        actor::start(ActorName::Services, outbox, inbox, move |inbox, outbox| {
            while !pending.is_empty() {
                let service = pending.remove(0);
                match RunningService::start(&service, &place) {
                    Ok(service) => running.services.push(service),
                    Err(why) => outbox.note(format!("service {}: {why}", service.name)),
                }
            }
            running.follow(&place, inbox, outbox);
        });
        Ok(Services { end })
    }

    /// Ends them, with everything that they started, and waits for that.
    pub fn end(&self) {
        let (tell, told) = channel();
        if self.end.send(tell).is_ok() {
            let _ = told.recv_timeout(LEAVE + LOOK);
        }
    }

    /// Has them end while other things are done.
    pub fn end_soon(&self) {
        let (tell, _told) = channel();
        let _ = self.end.send(tell);
    }
}

/// Where services run.
struct ServicePlace {
    run: RunFolder,
    attempt: Attempt,
    /// The node's name.
    node: String,
    /// Where the job was submitted.
    submit_host: Option<String>,
    plan: Plan,
    /// What placeholders stand for.
    values: Values,
}

impl ServicePlace {
    /// The address at which a service's port is reached: the node's own where the cluster's nodes are
    /// this machine with networks of their own.
    fn host(&self, port: u16) -> String {
        if node_address::has_own_network() {
            let own = node_address::address(&self.node, false).address;
            if forward::start(&own, port).is_ok() {
                return own;
            }
        }
        Ipv4Addr::LOCALHOST.to_string()
    }
}

struct RunningServices {
    services: Vec<RunningService>,
    /// Whether SIGTERM came to all of the job's processes: then services end with it.
    terminated: Arc<AtomicBool>,
}

impl RunningServices {
    /// Looks at them until they are to end.
    fn follow(&mut self, place: &ServicePlace, inbox: &Receiver<EndServices>, outbox: &Outbox) {
        loop {
            let starts = self.services.iter().any(RunningService::is_starting);
            match inbox.recv_timeout(if starts { LOOK } else { RARE_LOOK }) {
                Ok(tell) => {
                    self.end();
                    // The keeper may not wait for it.
                    let _ = tell.send(());
                    return;
                }
                Err(RecvTimeoutError::Disconnected) => return self.end(),
                Err(RecvTimeoutError::Timeout) => {
                    let is_told = !self.terminated.load(Ordering::Relaxed);
                    let news = self.services.iter_mut();
                    let news = news.filter_map(|service| service.look(place));
                    news.filter(|_| is_told)
                        .for_each(|event| outbox.record(event));
                    // What one has left behind is ended with the others.
                    self.services
                        .retain_mut(|service| service.stage != Stage::Ended || service.is_there());
                }
            }
        }
    }

    fn end(&mut self) {
        let services = std::mem::take(&mut self.services);
        for service in &services {
            let _ = kill_group(service.group(), SIGTERM);
        }
        let until = Instant::now() + LEAVE;
        for mut service in services {
            while service.is_there() && Instant::now() < until {
                std::thread::sleep(LEAVING_LOOK);
            }
            let _ = kill_group(service.group(), SIGKILL);
        }
    }
}

/// A service that was started. It leads a process group.
struct RunningService {
    name: String,
    child: Child,
    port: u16,
    /// Keeps it for the service.
    _reserved: Option<ProgramPort>,
    started: Instant,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It does not listen yet.
    Starts,
    /// Its address was said.
    Listens,
    /// Its first process ended.
    Ended,
}

impl RunningService {
    fn start(service: &ServicePlan, place: &ServicePlace) -> Result<RunningService, ServiceError> {
        let wanted = service.port.as_ref();
        let wanted = wanted.and_then(|port| u16::try_from(port.value).ok());
        let (port, reserved) = free_port(wanted)?;
        let words = service.words(&place.plan, &place.values, port)?;
        // What it prints may hold a token.
        let log = place
            .run
            .logs()
            .join(log_name(place.attempt, &service.name));
        let mut options = File::options();
        let log = options.append(true).create(true).mode(0o600).open(log);
        let log = log.map_err(ServiceError::Log)?;
        let errors = log.try_clone().map_err(ServiceError::Log)?;
        let yard = std::env::current_exe().map_err(ServiceError::Start)?;
        let child = Command::new(yard)
            .args(["job", "service", &place.attempt.to_string()])
            .arg(place.run.path())
            .args(words)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .process_group(0)
            .spawn()
            .map_err(ServiceError::Start)?;
        Ok(RunningService {
            name: service.name.clone(),
            child,
            port,
            _reserved: reserved,
            started: Instant::now(),
            stage: Stage::Starts,
        })
    }

    /// Its process group, which is its own.
    fn group(&self) -> u32 {
        self.child.id()
    }

    /// Whether any process of its group is left.
    fn is_there(&mut self) -> bool {
        // One that ended and was not waited for counts as there.
        let _ = self.child.try_wait();
        kill_group(self.group(), 0).is_ok()
    }

    /// Whether it may begin to listen any moment.
    fn is_starting(&self) -> bool {
        self.stage == Stage::Starts && self.started.elapsed() < START
    }

    /// What became of it, where that is new.
    fn look(&mut self, place: &ServicePlace) -> Option<Event> {
        let name = self.name.clone();
        if self.stage != Stage::Ended
            && let Ok(Some(status)) = self.child.try_wait()
        {
            // Processes that it has left behind end with the job.
            self.stage = Stage::Ended;
            return Some(Event::ServiceEnded {
                log: log_name(place.attempt, &name),
                status: exit_code::of(status),
                name,
            });
        }
        (self.is_starting() && is_listening(self.port)).then(|| {
            self.stage = Stage::Listens;
            let host = place.host(self.port);
            let address = if node_address::is_closed_in() {
                closed_in(&place.node, &host, self.port)
            } else {
                address(
                    &place.node,
                    (&host, self.port),
                    place.submit_host.as_deref(),
                )
            };
            Event::Service { name, address }
        })
    }
}

fn log_name(attempt: Attempt, name: &str) -> String {
    format!("{attempt}.service-{name}")
}

/// The one that is wanted, if it is free, else one that is reserved.
fn free_port(wanted: Option<u16>) -> Result<(u16, Option<ProgramPort>), ServiceError> {
    if let Some(port) = wanted {
        return match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(_free) => Ok((port, None)),
            Err(source) => Err(ServiceError::PortTaken { port, source }),
        };
    }
    let mut reserved = ProgramPort::choose(Ipv4Addr::LOCALHOST).map_err(ServiceError::NoPort)?;
    drop(reserved.take_listener());
    Ok((reserved.number(), Some(reserved)))
}

fn is_listening(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    TcpStream::connect_timeout(&address, LOOK).is_ok()
}

/// Where it is, and how to reach it from elsewhere.
fn address(node: &str, (host, port): (&str, u16), submit_host: Option<&str>) -> String {
    let jump = match submit_host {
        Some(host) if host != node => format!("-J {host} "),
        _ => String::new(),
    };
    format!(
        "http://{host}:{port} on {node}; from elsewhere: ssh -N -L {port}:{host}:{port} {jump}{node}"
    )
}

/// Where it is, in a network that leads nowhere.
fn closed_in(node: &str, host: &str, port: u16) -> String {
    format!(
        "http://{host}:{port} on {node}, for jobs of this engine alone: its nodes' networks lead nowhere outside; \
         yard attach opens a shell there, and an engine without --networks has this machine's"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_to_reach_it() {
        let near = address("box", ("127.0.0.1", 6006), Some("box"));
        assert!(
            near.ends_with("ssh -N -L 6006:127.0.0.1:6006 box"),
            "{near}"
        );
        let far = address("n17", ("127.0.0.1", 6006), Some("login1"));
        assert!(far.ends_with(":6006 -J login1 n17"), "{far}");
    }

    #[test]
    fn a_port_that_is_taken_is_said() {
        let taken = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let said = free_port(Some(port)).unwrap_err().to_string();
        assert!(said.contains("can't be used"), "{said}");
        assert!(free_port(None).is_ok());
    }
}
