//! What `scontrol --help` prints.

/// What `--help` says above the options.
const ABOUT: &str = "\
Usage: scontrol [OPTIONS] COMMAND
Shows and changes jobs of Trainyard's embedded engine as Slurm's scontrol does those of a cluster.

  show job [ID]              a job, or all
  show node [LIST]           nodes
  show partition [NAME]      partitions
  show reservation [NAME]    reservations
  show step [ID]             steps that run
  show config                some of what programs read of a configuration
  show hostnames [LIST]      a node list, a name a line; without a list the job's
  show hostlist NAMES        names as a list; hostlistsorted sorts first
  hold ID ...                keeps jobs that wait from starting; Name=NAME too
  release ID ...             lets them start again
  requeue [Incomplete] [State=SpecialExit] ID ...
                             ends jobs and lets them start again from the top. Incomplete: only those
                             that run; State=SpecialExit: held as SPECIAL_EXIT
  requeuehold ...            the same, and holds them
  notify ID TEXT             writes a line into a job's output, or to the srun that waits for it
  suspend ID ...             stops jobs that run: others get their CPUs, not their memory or GPUs
  resume ID ...              lets them go on
  update JobId=LIST KEY=VALUE ...
                             changes jobs: TimeLimit (also +N, -N), Partition, QOS, Account, NumNodes,
                             NumTasks, NumCPUs, CPUsPerTask, MinMemoryNode, MinMemoryCPU, Features,
                             Prefer, ReqNodeList, ExcNodeList, ReqSockets, ReqCores, ReqThreads, TasksPerNode,
                             Dependency, StartTime, JobName, Comment, AdminComment, WCKey, Priority, Nice,
                             Requeue, Gres, TresBind, TresFreq, MailType, MailUser, StdOut, Switches, DelayBoot,
                             Licenses, ResetAccrueTime, wait-for-switch; of one that runs TimeLimit, EndTime,
                             NumNodes and NodeList (fewer nodes), JobName, Comment, AdminComment, Requeue,
                             Nice, MailType and MailUser. CoreSpec, ThreadSpec, Reboot=yes, BurstBuffer and
                             ClusterFeatures are refused
  top ID ...                 lets jobs go before the other waiting ones of their user
  write batch_script ID [FILE|-]
                             a job's script, into slurm-ID.sh or a file, or printed
  listpids [ID[.STEP] [NODE]]
                             the processes of running steps
  update NodeName=LIST State=STATE Reason=TEXT
                             DRAIN, FAIL, DOWN (what runs there is killed), RESUME, UNDRAIN or IDLE;
                             also Weight, AvailableFeatures, ActiveFeatures, Gres, CpuBind, NodeAddr,
                             NodeHostName, Comment, Extra
  create PartitionName=NAME KEY=VALUE ...
                             makes a partition until the cluster's file is read again
  update PartitionName=NAME KEY=VALUE ...
                             changes one: State (UP, DOWN, DRAIN, INACTIVE), Nodes, Default, MaxTime,
                             DefaultTime, MinNodes, MaxNodes, MaxCPUsPerNode, DefMemPerCPU, DefMemPerNode,
                             MaxMemPerCPU, MaxMemPerNode, AllowAccounts, DenyAccounts, AllowQos, DenyQos,
                             AllowGroups, QOS, PriorityTier, PriorityJobFactor, PreemptMode, GraceTime,
                             OverSubscribe, ExclusiveUser, Hidden, RootOnly, DisableRootJobs, AllocNodes,
                             Alternate, OverTimeLimit, CpuBind, ReqResv, JobDefaults, TRESBillingWeights
  delete PartitionName=NAME  removes one without jobs
  delete NodeName=LIST       removes nodes without jobs until the cluster's file is read again
  create reservation StartTime=TIME Duration=TIME Users=LIST|Groups=LIST|Accounts=LIST Nodes=LIST|NodeCnt=N ...
                             keeps nodes for some users, or with CoreCnt some of their cores: ReservationName,
                             EndTime, PartitionName, Features, TRES=node=N,cpu=N, Flags (MAINT, FLEX,
                             OVERLAP, IGNORE_JOBS, HOURLY, DAILY, WEEKDAY, WEEKEND, WEEKLY, ANY_NODES,
                             STATIC_ALLOC, PART_NODES, FIRST_CORES, TIME_FLOAT, REPLACE, REPLACE_DOWN,
                             PURGE_COMP=TIME, NO_HOLD_JOBS_AFTER_END, MAGNETIC)
  update ReservationName=NAME KEY=VALUE ...
                             changes one; Users, Groups, Accounts, Duration and Flags also with += and -=;
                             Skip goes on to the next time of a repeated one
  delete reservation=NAME    removes one that no job names
  getent [NODE]              the users of the steps on a node
  completing                 jobs that are ending, with the nodes on which they do
  pidinfo PID                the job of a process, and how long it has
  wait_job ID                waits until a job has its nodes
  errnumstr NUMBER           the words of an error of Slurm's
  reconfigure                reads the cluster's file again
  ping                       whether the engine answers
  version                    what this is
";

/// `scontrol --help`
pub fn help() -> String {
    super::command_help("scontrol", ABOUT, "")
}
