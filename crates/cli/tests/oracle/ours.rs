//! What ours answers: the command's own checks, the cluster file's, and the record of the job.

use crate::held_job::{ControllerDefaults, HeldJob};
use crate::lines;
use cluster_file::ClusterFile;
use jiff::tz::TimeZone;
use model::option_table::Command;
use model::{
    GresTypes, Request, Seconds, Severity, Show, SlurmVersion, Surroundings, TimeLimitRequest,
    Timestamp, first_error, moment_text, sbatch,
};
use resources::{Cluster, Compiled, Demand, Fate, Finding, Free, Pick, Share, Trust, place};
use std::path::Path;

/// The nodes and partitions of the real Slurm.
///
/// They are of the kind that is switched on when a job needs it: with no `slurmd` at all they count
/// as there, so that `--test-only` has an answer.
pub const CLUSTER: &str = "\
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=300
TreeWidth=65533
GresTypes=gpu
MaxArraySize=10001
FirstJobId=31337
NodeName=node[1-3] NodeAddr=127.0.0.1 Port=9 CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=16000 Gres=gpu:v100:4 Feature=v100,cuda State=CLOUD
NodeName=node4 NodeAddr=127.0.0.1 Port=10 CPUs=8 Boards=1 SocketsPerBoard=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=16000 Gres=gpu:a100:4 Feature=a100,cuda State=CLOUD
PartitionName=gpu Nodes=node[1-4] Default=YES MaxTime=7-00:00:00 DefaultTime=01:00:00 State=UP
PartitionName=cpu Nodes=node[1-2] MaxTime=2-00:00:00 DefaultTime=00:30:00 State=UP
PartitionName=test Nodes=node[3-4] MaxTime=00:30:00 DefaultTime=00:05:00 State=UP
";

/// The same as a cluster file.
const FILE: &str = r#"
about = "a controller without nodes, for answers"
slurm = "22.05"

[nodes.v100]
names = "node[1-3]"
cpus = 8
sockets = 1
cores_per_socket = 8
threads_per_core = 1
memory = "16000M"
tmp_disk = "0M"
features = ["v100", "cuda"]
gpu = { type = "v100", model = "v100", count = 4 }

[nodes.a100]
names = "node4"
cpus = 8
sockets = 1
cores_per_socket = 8
threads_per_core = 1
memory = "16000M"
tmp_disk = "0M"
features = ["a100", "cuda"]
gpu = { type = "a100", model = "a100", count = 4 }

[limits]
max_array_size = 10001

[partition.gpu]
default = true
nodes = "node[1-4]"
max_time = "7-00:00:00"
default_time = "01:00:00"

[partition.cpu]
nodes = "node[1-2]"
max_time = "2-00:00:00"
default_time = "00:30:00"

[partition.test]
nodes = "node[3-4]"
max_time = "00:30:00"
default_time = "00:05:00"
"#;

/// The fields of a job that are compared.
pub const FIELDS: &[&str] = &[
    "JobName",
    "Nice",
    "Dependency",
    "Requeue",
    "TimeLimit",
    "TimeMin",
    "EligibleTime",
    "Deadline",
    "Partition",
    "ReqNodeList",
    "ExcNodeList",
    "NumNodes",
    "NumCPUs",
    "NumTasks",
    "CPUs/Task",
    "ReqB:S:C:T",
    "TRES",
    "Socks/Node",
    "NtasksPerN:B:S:C",
    "CoreSpec",
    "MinCPUsNode",
    "MinMemoryCPU",
    "MinMemoryNode",
    "MinTmpDiskNode",
    "Features",
    "OverSubscribe",
    "Contiguous",
    "Licenses",
    "Network",
    "WorkDir",
    "Comment",
    "StdErr",
    "StdIn",
    "StdOut",
    "CpusPerTres",
    "MemPerTres",
    "TresBind",
    "TresFreq",
    "TresPerJob",
    "TresPerNode",
    "TresPerSocket",
    "TresPerTask",
    "NtasksPerTRES",
    "ArrayTaskId",
    "ArrayTaskThrottle",
    "MailUser",
    "MailType",
    "Switches",
];

/// Our answer in the form of the real one's.
pub fn answer(line: &str) -> String {
    let asked = lines::read(line);
    let mut args = vec!["-H".to_owned(), "--parsable".to_owned()];
    args.extend(asked.words);
    match &asked.script {
        None => args.extend(["--wrap".to_owned(), "true".to_owned()]),
        Some(_) => args.push("job.sh".to_owned()),
    }
    let zone = TimeZone::UTC;
    // Before every moment that a line names.
    let now = Timestamp(1_790_000_000_000);
    let around = Surroundings {
        gres_types: GresTypes::Only(&["gpu"]),
        ..Surroundings::slurm(SlurmVersion::V22_05, now, &zone, Path::new("/tmp"))
    };
    let lookup = |name: &str| {
        let mut known = asked.variables.iter().filter(|(known, _)| known == name);
        known.next().map(|(_, value)| value.clone())
    };
    let (mut job, remarks) = sbatch::resolve(&args, &lookup, asked.script.as_deref(), &around);
    // A question is of a job that would start.
    job.request.hold &= !job.test_only;
    if job.show == Some(Show::Gres) {
        return "rc=0 Valid gres options are:\\ngpu[[:type]:count]\\n".to_owned();
    }
    if let Some(error) = first_error(&remarks) {
        let said = remarks
            .iter()
            .take_while(|remark| *remark != error)
            .chain([error]);
        let said: String = said.map(|remark| remark.printed(Command::Sbatch)).collect();
        return format!("rc={} {}", error.exit, said.replace('\n', "\\n"));
    }
    // What only ours says of directives, the real one does not.
    let before: String = remarks
        .iter()
        .filter(|remark| remark.severity > Severity::Note)
        .map(|remark| remark.printed(Command::Sbatch))
        .collect();
    let before = before.replace('\n', "\\n");
    let file = ClusterFile::parse("oracle", FILE).expect("the cluster file is one");
    let prefix = if job.test_only {
        "allocation failure"
    } else {
        "sbatch: error: Batch job submission failed"
    };
    let failed = |detail: &str, words: &str| format!("rc=1 {before}{detail}{prefix}: {words}\\n");
    // What a held job asks of nodes is not looked at; a question is answered.
    let asked = Request {
        hold: job.request.hold && !job.test_only,
        ..job.request.clone()
    };
    let refused = resources::admit(&file, &asked, None).err();
    if let Some(refusal) = refused
        .as_ref()
        .filter(|refusal| refusal.fate == Fate::Refused)
    {
        let detail = refusal.detail.iter();
        let detail: String = detail.map(|it| format!("sbatch: error: {it}\\n")).collect();
        return failed(&detail, refusal.denial.words());
    }
    // A question is asked of each partition in turn.
    let partitions = job.request.partition.as_deref().unwrap_or("gpu");
    let fits = |partition: &&str| {
        let partition = Some((*partition).to_owned());
        let request = Request {
            partition,
            ..asked.clone()
        };
        resources::admit(&file, &request, None).is_ok()
    };
    let fitting = partitions.split(',').find(fits).filter(|_| job.test_only);
    let waits = |refusal: &Finding| match &refusal.fate {
        Fate::Waits(reason) => reason != "PartitionTimeLimit",
        Fate::Refused | Fate::WaitsOnceReleased(_) | Fate::Cut => false,
    };
    if job.test_only && fitting.is_none() && refused.as_deref().is_some_and(waits) {
        return failed("", "Requested node configuration is not available");
    }
    let record = HeldJob::new(
        &job,
        ControllerDefaults {
            partition: "gpu",
            time: |partition| {
                let minutes = match partition {
                    "cpu" => 30,
                    "test" => 5,
                    _ => 60,
                };
                TimeLimitRequest::Limit(Seconds(minutes * 60))
            },
            memory_per_cpu: 100,
            cpus_per_node: 8,
            memory_per_node: 16_000,
            // Without a database no generic resource is counted.
            counted: &[],
            account: "(null)",
            qos: "(null)",
            user: "root",
        },
    );
    if let Some(words) = record.refused_time() {
        return failed("", words);
    }
    if job.description.licenses.is_some() {
        // The cluster has none.
        return failed("", "Invalid license specification");
    }
    if job.test_only {
        let begin = job.request.rare.begin;
        let moment = begin.map_or("<NOW>".to_owned(), |begin| moment_text(begin, &zone));
        let partition = fitting.unwrap_or(partitions);
        return format!(
            "rc=0 {before}sbatch: Job <JOB> to start at {moment} using {} processors on nodes <NODES> in partition {partition}\\n",
            match job.description.min_nodes {
                Some(0) => 0,
                _ => cpus_of_place(&file, &job.request, partition),
            },
        );
    }
    let fields = FIELDS.iter().filter_map(|name| {
        let value = record.field(name, &zone)?;
        Some(format!("{name}={value}"))
    });
    fields.collect::<Vec<_>>().join(" ")
}

/// CPUs that a job would have on the cluster without others.
fn cpus_of_place(file: &ClusterFile, request: &Request, partition: &str) -> u32 {
    let cluster = Cluster::build(file, Trust::All);
    let partition = cluster.find_partition(partition);
    let demand = Demand::of(request, cluster.defaults(partition));
    let compiled = Compiled::new(&cluster, partition, demand);
    let shares = place(&cluster, &compiled, &Free::idle(&cluster), Pick::default());
    shares.unwrap_or_default().iter().map(Share::cpus).sum()
}
