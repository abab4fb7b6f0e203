//! What jobs of random histories ask for, what becomes of that, and reservations.

use super::scene::Scene;
use model::{
    ArraySpec, GresList, JobChange, LengthChange, LimitChange, MemoryRequest, NamesChange,
    NodeOptions, RareOptions, Request, ReservationFlag, ReservationRequest, ReservedNodes, Seconds,
    Sharing, TimeLimitRequest, Timestamp,
};
use proptest::prelude::*;

/// What is asked of GPUs and sockets.
type GpusAndSockets = (&'static str, Of, OfSockets);

/// Of what GPUs are asked.
#[derive(Clone, Copy, Debug)]
enum Of {
    Node,
    Job,
    Task,
    Socket,
}

#[derive(Clone, Copy, Debug)]
enum OfSockets {
    Nothing,
    /// Two free cores of a socket.
    Cores,
    /// One task of a socket.
    Tasks,
}

fn any_asked(scene: Scene) -> BoxedStrategy<GpusAndSockets> {
    match scene {
        Scene::Plain => {
            let gpus = prop_oneof![Just(""), Just("1"), Just("2")];
            (gpus, Just(Of::Node), Just(OfSockets::Nothing)).boxed()
        }
        Scene::Rich => {
            let gpus = prop_oneof![
                3 => Just(""),
                2 => Just("1"),
                2 => Just("2"),
                2 => Just("v100:2"),
                1 => Just("a100:2"),
                2 => Just("v100:1,a100:2"),
            ];
            let of = prop_oneof![
                3 => Just(Of::Node),
                1 => Just(Of::Job),
                1 => Just(Of::Task),
                1 => Just(Of::Socket),
            ];
            let of_sockets = prop_oneof![
                4 => Just(OfSockets::Nothing),
                1 => Just(OfSockets::Cores),
                1 => Just(OfSockets::Tasks),
            ];
            (gpus, of, of_sockets).boxed()
        }
    }
}

pub(super) fn any_request(scene: Scene) -> impl Strategy<Value = Request> {
    let shared = match scene {
        Scene::Plain => 0,
        Scene::Rich => 3,
    };
    let partition = prop_oneof![
        2 => Just(None),
        2 => Just(Some("gpu")),
        2 => Just(Some("whole,gpu")),
        2 => Just(Some("whole")),
        1 => Just(Some("nowhere")),
        shared => Just(Some("shared")),
    ];
    let amounts = (1_u32..4, 1_u32..5, any_asked(scene), 0_u64..5000);
    let rest = (1_u64..20, 0_u32..8, 0_u32..7, 0_usize..6);
    let reservation = prop_oneof![
        3 => Just(None),
        1 => Just(Some("one")),
        1 => Just(Some("two")),
    ];
    (partition, amounts, rest, reservation).prop_map(
        move |(
            partition,
            (nodes, tasks, asked, memory),
            (minutes, sharing, which, qos),
            reservation,
        )| {
            let elements = ArraySpec {
                indices: (0..3).collect(),
                step: 1,
                throttle: None,
            };
            let mut request = Request {
                name: if which >= 5 { "of bob" } else { "" }.to_owned(),
                qos: ["low", "middle", "high"].get(qos).map(|&qos| qos.into()),
                partition: partition.map(str::to_owned),
                min_nodes: Some(nodes).filter(|nodes| *nodes > 1),
                tasks: Some(tasks.max(nodes)),
                memory: (memory > 2000).then_some(MemoryRequest::PerNode(memory)),
                time: Some(TimeLimitRequest::Limit(Seconds(minutes * 60))),
                exclusive: sharing == 0,
                rare: RareOptions {
                    node_options: match sharing {
                        1 | 2 => Some(Box::new(shared_with(Sharing::User))),
                        3.. if partition == Some("shared") => {
                            Some(Box::new(shared_with(Sharing::Anybody)))
                        }
                        _ => None,
                    },
                    constraint: (which == 1).then(|| "fast".into()),
                    licenses: (which == 2).then(|| "x".into()),
                    reservation: reservation.map(str::to_owned),
                    array: (which == 4).then_some(elements),
                    priority: (which == 3).then_some(100),
                    ..RareOptions::default()
                }
                .into(),
                ..Request::default()
            };
            ask_for(&mut request, asked);
            request
        },
    )
}

fn ask_for(request: &mut Request, (gpus, of, of_sockets): GpusAndSockets) {
    let (cores, tasks) = match of_sockets {
        OfSockets::Nothing => (None, None),
        OfSockets::Cores => (Some(2), None),
        OfSockets::Tasks => (None, Some(1)),
    };
    if cores.or(tasks).is_some() {
        let options = request.rare.node_options.get_or_insert_default();
        (options.cores_per_socket, options.tasks_per_socket) = (cores, tasks);
    }
    if gpus.is_empty() {
        return;
    }
    let list = GresList::of_gpus(gpus);
    let rare = &mut *request.rare;
    match of {
        Of::Node => {
            request.gpus_per_node = list.gpus();
            rare.asked.per_node = list;
        }
        Of::Job => {
            request.gpus = list.gpus();
            rare.asked.per_job = list;
        }
        Of::Task => {
            rare.gpus_per_task = list.gpus();
            rare.asked.per_task = list;
        }
        Of::Socket => {
            let options = rare.node_options.get_or_insert_default();
            options.sockets_per_node = Some(2);
            rare.asked.per_socket = list;
        }
    }
}

fn shared_with(who: Sharing) -> NodeOptions {
    NodeOptions {
        sharing: Some(who),
        ..NodeOptions::default()
    }
}

pub(super) fn without_array(mut request: Request) -> Request {
    request.rare.array = None;
    request
}

pub(super) fn without_component(request: &Request) -> Request {
    let mut request = request.clone();
    request.rare.component = None;
    request
}

/// What a request that waits may become. A QOS with a limit on submissions is never asked for.
pub(super) fn any_change(scene: Scene) -> impl Strategy<Value = JobChange> {
    let limit = |minutes| LimitChange::To(TimeLimitRequest::Limit(Seconds(minutes * 60)));
    let reservation = prop::option::of(Just("one".to_owned()));
    prop_oneof![
        (1_u64..20).prop_map(move |minutes| JobChange::TimeLimit(limit(minutes))),
        prop_oneof![
            2 => Just("gpu"),
            2 => Just("whole,gpu"),
            2 => Just("all"),
            2 => Just("all,whole"),
            u32::from(scene == Scene::Rich) => Just("all,shared"),
        ]
        .prop_map(|names| JobChange::Partition(names.to_owned())),
        prop_oneof![Just("low"), Just("middle"), Just("high")]
            .prop_map(|name| JobChange::Qos(name.to_owned())),
        (1_u32..4, any::<bool>())
            .prop_map(|(nodes, most)| JobChange::Nodes(nodes, most.then_some(nodes))),
        (1_u32..5).prop_map(JobChange::Tasks),
        (0_u64..5000).prop_map(|mib| JobChange::Memory(MemoryRequest::PerNode(mib))),
        (-3_i64..4).prop_map(JobChange::Nice),
        (1_u32..200).prop_map(JobChange::Priority),
        prop::option::of(Just("x".to_owned())).prop_map(JobChange::Licenses),
        (0_i64..900).prop_map(|seconds| JobChange::Begin(Timestamp(1_000_000 + seconds * 1000))),
        reservation.prop_map(JobChange::Reservation),
    ]
}

/// Of one of three names, in the next hour, for the user of the jobs or another.
pub(super) fn any_reservation() -> impl Strategy<Value = ReservationRequest> {
    use ReservationFlag::{AnyNodes, Flex, Hourly, IgnoreJobs, Maint, NoHoldJobsAfterEnd, Overlap};
    let flags = [
        Maint,
        Flex,
        Overlap,
        IgnoreJobs,
        Hourly,
        AnyNodes,
        NoHoldJobsAfterEnd,
    ];
    let flags = prop::sample::subsequence(flags.to_vec(), 0..3);
    let times = (-100_i64..3000, 1_u64..3000);
    let who = (0_usize..3, any::<bool>());
    let nodes = (any::<bool>(), 1_u32..4);
    (flags, times, who, nodes).prop_map(|(flags, (start, length), (name, is_own), (all, count))| {
        ReservationRequest {
            name: Some(["one", "two", "three"][name].to_owned()),
            // As `World` has its clock at the beginning.
            start: Some(Timestamp(1_000_000 + start * 1000)),
            length: Some(LengthChange::To(Seconds(length))),
            nodes: all.then_some(ReservedNodes::All),
            node_counts: (!all).then(|| vec![count]),
            users: Some(NamesChange::parse(if is_own { "u" } else { "bob" }, None)),
            flags: flags.into_iter().map(|flag| (flag, true)).collect(),
            ..ReservationRequest::default()
        }
    })
}

/// The same of cores, or of another kind, as its length has it.
pub(super) fn of_any_kind(mut asked: ReservationRequest) -> ReservationRequest {
    use ReservationFlag::{Magnetic, PurgeComp, Replace, Static, TimeFloat};
    let Some(LengthChange::To(Seconds(length))) = asked.length else {
        return asked;
    };
    let kinds = [Magnetic, PurgeComp, Replace, Static, TimeFloat];
    let kind = kinds.get(usize::try_from(length % 8).unwrap());
    asked.flags.extend(kind.map(|kind| (*kind, true)));
    asked.purge_after = Some(Seconds(length / 10));
    let cores = u32::try_from(length % 23).unwrap();
    asked.core_counts = (1..8).contains(&cores).then(|| vec![cores]);
    asked
}
