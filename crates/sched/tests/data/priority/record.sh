#!/bin/bash
# Records what a real Slurm makes of usage, shares and priorities: `sshare`, `sprio`, and the jobs.
#
#   record.sh FOLDER > recorded.txt        (root; slurm-wlm, slurmdbd, mariadb-server, a munged)
#
# It starts slurmctld, slurmdbd, four slurmds and a MariaDB of its own in FOLDER, takes users that
# every machine has, lets jobs run for a minute, and asks. Nothing of the machine is changed.
set -euo pipefail
LAB=${1:?a folder}; PORT=${PORT:-31800}
mkdir -p "$LAB"/{state,spool,log,db,dbtmp}; chmod 755 "$LAB"; chown slurm "$LAB"/{state,log}; chown mysql "$LAB"/{db,dbtmp}
export SLURM_CONF=$LAB/slurm.conf
say() { echo "$*" >&2; }
wait_for() { for _ in $(seq 600); do "$@" >/dev/null 2>&1 && return; sleep .2; done; say "timeout: $*"; exit 1; }
stop() { set +e; for p in "${started[@]}"; do kill "$p"; done 2>/dev/null; for f in "$LAB"/*.pid; do kill "$(cat "$f")"; done 2>/dev/null; true; }
started=(); trap stop EXIT

sql() { mariadb --no-defaults -S "$LAB/dbtmp/s" -e "$1"; }
mariadb-install-db --no-defaults --user=mysql --datadir="$LAB/db" --skip-test-db --auth-root-authentication-method=socket >"$LAB/log/install" 2>&1
mariadbd --no-defaults --user=mysql --datadir="$LAB/db" --socket="$LAB/dbtmp/s" --pid-file="$LAB/dbtmp/pid" \
  --bind-address=127.0.0.1 --port=$((PORT + 1)) --tmpdir="$LAB/dbtmp" --skip-name-resolve >"$LAB/log/mariadb" 2>&1 & started+=($!)
wait_for sql "select 1"
sql "create database if not exists acct; create user if not exists 's'@'127.0.0.1' identified by 'p'; grant all on acct.* to 's'@'127.0.0.1'"
cat >"$LAB/slurmdbd.conf" <<E
AuthType=auth/munge
DbdHost=localhost
DbdPort=$((PORT + 2))
SlurmUser=slurm
LogFile=$LAB/log/slurmdbd
PidFile=$LAB/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$((PORT + 1))
StorageUser=s
StoragePass=p
StorageLoc=acct
E
chown slurm "$LAB/slurmdbd.conf"; chmod 600 "$LAB/slurmdbd.conf"; touch "$LAB/slurmdbd.pid"; chown slurm "$LAB/slurmdbd.pid"

conf() { # FLAGS and weights of one recording
cat >"$LAB/slurm.conf" <<E
ClusterName=rec
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$PORT
SlurmUser=slurm
AuthType=auth/munge
CredType=cred/munge
MpiDefault=none
StateSaveLocation=$LAB/state
SlurmdSpoolDir=$LAB/spool/%n
SlurmctldPidFile=$LAB/state/slurmctld.pid
SlurmdPidFile=$LAB/slurmd-%n.pid
SlurmctldLogFile=$LAB/log/slurmctld
SlurmdLogFile=$LAB/log/slurmd-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=100
SchedulerType=sched/builtin
PriorityType=priority/multifactor
PriorityCalcPeriod=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=$((PORT + 2))
AccountingStorageEnforce=associations,limits,qos
KillWait=2
UnkillableStepTimeout=60
$1
NodeName=n[1-4] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[$((PORT + 3))-$((PORT + 6))] CPUs=8 RealMemory=16000 State=UNKNOWN
PartitionName=main Nodes=n[1-4] Default=YES MaxTime=1-0 DefaultTime=60 PriorityJobFactor=10 TRESBillingWeights=CPU=100,Mem=10G
PartitionName=small Nodes=n[1-2] MaxTime=60 PriorityJobFactor=40 TRESBillingWeights=CPU=100,Mem=10G
E
}
base="PriorityWeightAge=1000
PriorityWeightFairshare=10000
PriorityWeightJobSize=2000
PriorityWeightPartition=3000
PriorityWeightQOS=4000
PriorityWeightAssoc=500
PriorityWeightTRES=CPU=700,Mem=300
PriorityMaxAge=1000
PriorityDecayHalfLife=30"
conf "$base"
slurmdbd >&2; wait_for sacctmgr -n list cluster
slurmctld >&2; wait_for scontrol ping
s() { sacctmgr -i "$@" >&2 || say "sacctmgr $*"; }
s add cluster rec
s modify qos normal set Priority=10
s add qos high Priority=40
s add qos none Priority=0
s add account physics Fairshare=40
s add account optics parent=physics Fairshare=10
s add account solid parent=physics Fairshare=30
s add account biology Fairshare=60
s add account cells parent=biology Fairshare=parent
s add account twin1 Fairshare=20
s add account twin2 Fairshare=20
s add account idle Fairshare=5
s modify account root set QOS=normal,high,none
u() { s add user "$1" account="$2" Fairshare="$3" DefaultQOS=normal; }
u bin optics 1; u sys optics 2; u games solid 1; u man solid 1; u lp biology 3
u mail cells 2; u news cells 5; u uucp twin1 1; u proxy twin2 1; u backup idle 1; u list idle 0
s modify user man set Priority=7 || true
u root idle 1
for n in 1 2 3 4; do mkdir -p "$LAB/spool/n$n"; slurmd -N "n$n" >&2; done
wait_for sh -c '[ "$(sinfo -hN -p main -t idle,mix,alloc | wc -l)" = 4 ]'
job() { user=$1; shift; sbatch --uid="$user" -D /tmp -o /dev/null --parsable "$@" >&2 || say "no job of $user: $*"; }
job bin -c4 -t 10 --wrap 'sleep 20'; job sys -c2 -t 10 --wrap 'sleep 30'; job games -c8 -t 10 --wrap 'sleep 10'
job lp -c3 -t 10 --wrap 'sleep 25'; job mail -c1 -t 10 --wrap 'sleep 22'; job news -c2 -t 10 --wrap 'sleep 15'
job uucp -c2 -t 10 --wrap 'sleep 12'; job proxy -c2 -t 10 --wrap 'sleep 12'
wait_for sh -c '[ -z "$(squeue -h)" ]'
job root -N4 --exclusive --mem=0 -t 600 --wrap 'sleep 1200'
wait_for sh -c '[ -n "$(squeue -h -t R)" ]'
job bin -c4 -t 10 --wrap true
job sys -n16 -N2 -t 30 --wrap true
job games -c1 -t 120 --qos=high --wrap true
job man -c8 -t 60 --nice=100 --wrap true
job lp -c2 -t 60 -p small --wrap true
job mail -N4 -n4 --mem=8000 -t 600 --wrap true
sleep 7
job news -n32 -N4 -t 1 --wrap true
job uucp -c1 -t 5 --qos=none --wrap true
job proxy -c1 -t 5 -p main,small --wrap true
job backup -c2 -t 20 --nice=-500 --wrap true
job list -c2 -t 20 --begin=now+1hour --wrap true
job list -H -c2 -t 20 --wrap true

record() { # NAME
  # A period has just passed, so that all three answers are of one calculation.
  before=$(sprio -hn -o '%i %a' | sort | head -1)
  wait_for sh -c "[ \"\$(sprio -hn -o '%i %a' | sort | head -1)\" != '$before' ]"
  sleep .5
  echo "== $1"; echo "$2" | sed 's/^/conf /'; echo "time $(date +%s)"
  sshare -alPn -o Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare,LevelFS | sed 's/^/share |/'
  sprio -h -n -o '%i|%r|%u|%a|%b|%f|%j|%p|%q' | sed 's/^/norm |/'
  sprio -h -o '%i|%r|%u|%Y|%S|%A|%B|%F|%J|%P|%Q|%N|%T' | sed 's/^/weighted |/'
  scontrol -o show job | awk '/JobState=PENDING/ { line = "job"; for (i = 1; i <= NF; i++)
    if ($i ~ /^(JobId|UserId|Account|QOS|Partition|NumNodes|NumCPUs|TRES|TimeLimit|AccrueTime|SubmitTime|Nice)=/)
      line = line " " $i; print line }'
}
again() { conf "$1"; scontrol reconfigure; sleep 1; }
echo "# Slurm $(slurmctld -V); made by record.sh"
record "fair tree" "$base"
sleep 61
record "fair tree, a minute later" "$base"
c="$base
PriorityFavorSmall=YES
PriorityFlags=SMALL_RELATIVE_TO_TIME"; again "$c"; record "small, relative to time" "$c"
c="$base
PriorityFlags=SMALL_RELATIVE_TO_TIME"; again "$c"; record "relative to time" "$c"
c="$base
PriorityFavorSmall=YES
PriorityFlags=ACCRUE_ALWAYS,MAX_TRES"; again "$c"; record "small; age from submission" "$c"
c="$base
PriorityFlags=NO_NORMAL_ALL"; again "$c"; record "not normalised" "$c"
scancel -u root >&2
