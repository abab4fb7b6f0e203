#!/bin/bash
# A real Slurm 22.05 (Debian 12) with four nodes on this one machine, slurmdbd and MariaDB: the one whose answers are recorded.
# Needs root, and apt: slurm-wlm slurmdbd slurm-wlm-mysql-plugin munge mariadb-server. No systemd and no cgroups.
#     LAB=FOLDER ./cluster.sh up      in about 15 s; FRESH=1 forgets what was before
#     LAB=FOLDER ./cluster.sh down    ends exactly what it started
# EXTRA has more lines of slurm.conf; SOCKETS=2 gives nodes two sockets, with two GPUs each; THREADS=2 cores of two threads;
# SELECT and TASKS are SelectTypeParameters and TaskPlugin.
set -euo pipefail
LAB=${LAB:?}; RUN=$LAB/run; ETC=$LAB/etc; CPUS=${CPUS:-8}; SOCKETS=${SOCKETS:-1}; THREADS=${THREADS:-1}; TRACE=${TRACE:-info}
SCHEDPARAMS=${SCHEDPARAMS:-}
PORT0=${PORT0:-27800}; DBPORT=$((PORT0+20)); DBDPORT=$((PORT0+19)); CTLPORT=$((PORT0+17)); NODEPORT0=$((PORT0+100)); CLUSTER=${CLUSTER:-lab}
if [ "${1:-}" = down ]; then
set +e
stop(){ local f=$1 s=${2:-TERM}; [ -s "$f" ] || return 0; local p; p=$(cat "$f"); kill -$s "$p" 2>/dev/null; for _ in $(seq 100); do kill -0 "$p" 2>/dev/null || break; sleep .1; done; kill -0 "$p" 2>/dev/null && { echo "still up: $f $p"; kill -9 "$p"; }; rm -f "$f"; }
for n in 1 2 3 4; do stop "$RUN/pid/slurmd-node$n.pid"; done
for p in $(pgrep -x slurmstepd); do tr '\0' ' ' </proc/$p/environ 2>/dev/null | grep -q "SLURM_CONF=$LAB/etc/" && kill -9 "$p"; done
stop "$RUN/pid/slurmctld.pid"; stop "$RUN/pid/slurmdbd.pid"; stop "$RUN/mysqltmp/my.pid"
[ "${FRESH:-0}" = 1 ] && rm -rf "$RUN"; echo down
exit
fi
HOST=$(hostname -s)
LIBP=/usr/lib/x86_64-linux-gnu/slurm-wlm
say(){ printf '%s %s\n' "$(date +%T)" "$*"; }
waitfor(){ local n=$1; shift; for _ in $(seq $((n*10))); do "$@" >/dev/null 2>&1 && return 0; sleep .1; done; say "TIMEOUT: $*"; return 1; }

# ---- 0 packages -----------------------------------------------------------------------------
if ! command -v slurmctld >/dev/null || ! command -v slurmdbd >/dev/null || ! command -v mariadbd >/dev/null; then
  DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
    slurm-wlm slurm-client slurmd slurmctld slurmdbd slurm-wlm-basic-plugins slurm-wlm-mysql-plugin munge mariadb-server
fi
[ "${FRESH:-0}" = 1 ] && rm -rf "$RUN"
id alice >/dev/null 2>&1 || useradd -m -s /bin/bash alice
id bob   >/dev/null 2>&1 || useradd -m -s /bin/bash bob
mkdir -p "$RUN"/{state,spool/node1,spool/node2,spool/node3,spool/node4,log,pid,dev,mysqltmp} "$ETC"; chmod 755 "$LAB" "$RUN" "$ETC"
chown slurm:slurm "$RUN"/{state,log,pid}

# ---- 1 munge (default paths: client libs look for /run/munge/munge.socket.2) ------------------
if [ ! -s /etc/munge/munge.key ]; then dd if=/dev/urandom bs=1 count=1024 2>/dev/null >/etc/munge/munge.key; chown munge:munge /etc/munge/munge.key; chmod 400 /etc/munge/munge.key; fi
install -d -o munge -g munge -m 755 /run/munge; install -d -o munge -g munge -m 700 /var/log/munge /var/lib/munge
if ! munge -n 2>/dev/null | unmunge >/dev/null 2>&1; then runuser -u munge -- /usr/sbin/munged  --force; fi
waitfor 10 sh -c 'munge -n | unmunge'; say munged ok

# ---- 2 mariadb (private datadir, loopback port) ----------------------------------------------
MYD=$RUN/mysql; chown mysql:mysql "$RUN/mysqltmp"
if [ ! -d "$MYD/mysql" ]; then install -d -o mysql -g mysql "$MYD"
  mariadb-install-db --no-defaults --user=mysql --datadir="$MYD" --skip-test-db --auth-root-authentication-method=socket >"$RUN/log/mariadb-install.log" 2>&1; fi
if ! mariadb-admin --no-defaults -S "$RUN/mysqltmp/my.sock" ping >/dev/null 2>&1; then
  setsid /usr/sbin/mariadbd --no-defaults --user=mysql --datadir="$MYD" --socket="$RUN/mysqltmp/my.sock" --pid-file="$RUN/mysqltmp/my.pid" \
   --bind-address=127.0.0.1 --port=$DBPORT --tmpdir="$RUN/mysqltmp" --innodb-buffer-pool-size=512M --innodb-lock-wait-timeout=900 \
   --innodb-log-file-size=64M --innodb-flush-log-at-trx-commit=2 --skip-name-resolve --max-connections=50 >"$RUN/log/mariadb.log" 2>&1 </dev/null &
fi
waitfor 30 mariadb-admin --no-defaults -S "$RUN/mysqltmp/my.sock" ping
mariadb --no-defaults -S "$RUN/mysqltmp/my.sock" -e "CREATE DATABASE IF NOT EXISTS slurm_acct_db;
 CREATE USER IF NOT EXISTS 'slurm'@'127.0.0.1' IDENTIFIED BY 'slurmpw'; GRANT ALL ON slurm_acct_db.* TO 'slurm'@'127.0.0.1';"; say mariadb ok

# ---- 3 config --------------------------------------------------------------------------------
for n in 1 2 3 4; do for g in 0 1 2 3; do mkdir -p "$RUN/dev/node$n"; [ -e "$RUN/dev/node$n/nvidia$g" ] || { mknod "$RUN/dev/node$n/nvidia$g" c 1 3 2>/dev/null || : >"$RUN/dev/node$n/nvidia$g"; chmod 666 "$RUN/dev/node$n/nvidia$g"; }; done; done
cat >"$ETC/slurmdbd.conf" <<E
AuthType=auth/munge
DbdHost=localhost
DbdPort=$DBDPORT
SlurmUser=slurm
DebugLevel=$TRACE
LogFile=$RUN/log/slurmdbd.log
PidFile=$RUN/pid/slurmdbd.pid
PluginDir=$LIBP
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$DBPORT
StorageUser=slurm
StoragePass=slurmpw
StorageLoc=slurm_acct_db
E
chown slurm:slurm "$ETC/slurmdbd.conf"; chmod 600 "$ETC/slurmdbd.conf"     # slurmdbd refuses anything else
cat >"$ETC/slurm.conf" <<E
ClusterName=$CLUSTER
FirstJobId=${FIRSTJOB:-1}
SlurmctldHost=$HOST(127.0.0.1)
SlurmctldPort=$CTLPORT
SlurmdPort=$NODEPORT0
SlurmUser=slurm
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=cred_expire=10
MpiDefault=none
PluginDir=$LIBP
StateSaveLocation=$RUN/state
SlurmdSpoolDir=$RUN/spool/%n
SlurmctldPidFile=$RUN/pid/slurmctld.pid
SlurmdPidFile=$RUN/pid/slurmd-%n.pid
SlurmctldLogFile=$RUN/log/slurmctld.log
SlurmdLogFile=$RUN/log/slurmd-%n.log
SlurmctldDebug=$TRACE
SlurmdDebug=$TRACE
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=${TASKS:-task/none}
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=5
SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
GresTypes=gpu
SelectType=select/cons_tres
SelectTypeParameters=${SELECT:-CR_CPU_Memory}
DefMemPerCPU=100
SchedulerType=sched/backfill
$( [ -n "$SCHEDPARAMS" ] && echo "SchedulerParameters=$SCHEDPARAMS" )
PriorityType=priority/multifactor
PriorityWeightQOS=1000
PriorityWeightAge=100
PriorityWeightFairshare=100
PriorityWeightPartition=100
PreemptType=preempt/qos
PreemptMode=REQUEUE
PreemptExemptTime=0
JobRequeue=1
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=localhost
AccountingStoragePort=$DBDPORT
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu,gres/gpu:v100,gres/gpu:a100
AccountingStoreFlags=job_comment
MaxJobCount=50000
MaxArraySize=10001
MinJobAge=300
KillWait=5
UnkillableStepTimeout=60
InactiveLimit=0
WaitTime=0
SlurmctldTimeout=30
SlurmdTimeout=60
MessageTimeout=30
BatchStartTimeout=10
CompleteWait=0
OverTimeLimit=0
NodeName=node[1-3] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[$((NODEPORT0+1))-$((NODEPORT0+3))] CPUs=$CPUS Boards=1 SocketsPerBoard=$SOCKETS CoresPerSocket=$((CPUS/SOCKETS/THREADS)) ThreadsPerCore=$THREADS RealMemory=16000 Gres=gpu:v100:4 Feature=v100,cuda State=UNKNOWN
NodeName=node4     NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((NODEPORT0+4)) CPUs=$CPUS Boards=1 SocketsPerBoard=$SOCKETS CoresPerSocket=$((CPUS/SOCKETS/THREADS)) ThreadsPerCore=$THREADS RealMemory=16000 Gres=gpu:a100:4 Feature=a100,cuda State=UNKNOWN
PartitionName=gpu  Nodes=node[1-4] Default=YES MaxTime=7-00:00:00 DefaultTime=01:00:00 State=UP PriorityTier=1
PartitionName=cpu  Nodes=node[1-2] MaxTime=2-00:00:00 DefaultTime=00:30:00 State=UP PriorityTier=1
PartitionName=test Nodes=node[3-4] MaxTime=00:30:00 DefaultTime=00:05:00 State=UP PriorityTier=1 PriorityJobFactor=10
${EXTRA:-}
E
gpus(){ # With two sockets each has two of a node's GPUs.
  if [ "$SOCKETS" = 2 ]; then
    echo "NodeName=$1 Name=gpu Type=$2 File=$RUN/dev/$1/nvidia[0-1] Cores=0-$((CPUS/2-1))"
    echo "NodeName=$1 Name=gpu Type=$2 File=$RUN/dev/$1/nvidia[2-3] Cores=$((CPUS/2))-$((CPUS-1))"
  else echo "NodeName=$1 Name=gpu Type=$2 File=$RUN/dev/$1/nvidia[0-3]"; fi; }
{ for n in 1 2 3; do gpus node$n v100; done; gpus node4 a100; } >"$ETC/gres.conf"
sed 's/^/ /;s/^ //' /etc/hosts | grep -v slurmlab >"$ETC/hosts"; echo "127.0.0.1 node1 node2 node3 node4 # slurmlab" >>"$ETC/hosts"
unset SLURM_CONF || true
export SLURM_CONF=$ETC/slurm.conf     # daemons read gres.conf/slurmdbd.conf from the SAME directory as SLURM_CONF

# ---- 4 slurmdbd + accounting -------------------------------------------------------------------
pgrep -F "$RUN/pid/slurmdbd.pid" >/dev/null 2>&1 || { rm -f "$RUN/pid/slurmdbd.pid"; runuser -u slurm -- env SLURM_CONF=$SLURM_CONF /usr/sbin/slurmdbd; }
waitfor 60 sacctmgr -n show cluster; say slurmdbd ok
sacctmgr -iQ add cluster $CLUSTER >/dev/null 2>&1 || true      # must exist before slurmctld starts (enforce=associations)

# ---- 5 slurmctld, slurmd x4 ---------------------------------------------------------------------
pgrep -F "$RUN/pid/slurmctld.pid" >/dev/null 2>&1 || runuser -u slurm -- env SLURM_CONF=$SLURM_CONF /usr/sbin/slurmctld
waitfor 30 sh -c "scontrol ping | grep -q UP"; say slurmctld ok
# QOS/accounts only now: gres/gpu TRES exist in the DB only after slurmctld registered AccountingStorageTRES
am(){ sacctmgr -iQ "$@" >>"$RUN/log/sacctmgr.log" 2>&1 || true; }     # rc 1 when 'Nothing new added'
am modify qos normal set Priority=100 MaxWall=1-00:00:00 MaxJobsPerUser=5000 MaxSubmitJobsPerUser=20000
am add qos test  Priority=1000 MaxWall=00:30:00 MaxJobsPerUser=1 MaxSubmitJobsPerUser=4 Flags=DenyOnLimit
am add qos opp   Priority=1 MaxWall=7-00:00:00 MaxJobsPerUser=5000 MaxSubmitJobsPerUser=20000 PreemptMode=Requeue
am add qos gpu2  Priority=50 MaxTRESPerUser=gres/gpu=2
am modify qos normal set Preempt=opp
am modify qos test   set Preempt=opp
am add account proj1 Description=proj1 Organization=lab
am add account proj2 Description=proj2 Organization=lab
am modify account root set QOS=normal,test,opp,gpu2
for u in carol dave; do id $u >/dev/null 2>&1 || useradd -m -s /bin/bash $u; done
for u in alice bob carol dave root; do am add user $u Account=proj1 DefaultAccount=proj1 AdminLevel=None; am add user $u Account=proj2; am modify user $u set QOS=normal,test,opp,gpu2 DefaultQOS=normal; done
for n in node1 node2 node3 node4; do
  pgrep -F "$RUN/pid/slurmd-$n.pid" >/dev/null 2>&1 && continue
  # own UTS + mount ns so `hostname` in a job prints the node's name and /etc/hosts resolves it
  unshare --uts --mount --propagation slave sh -c "hostname $n; mount --bind $ETC/hosts /etc/hosts; exec /usr/sbin/slurmd -N $n" </dev/null
done
waitfor 30 sh -c '[ "$(sinfo -hN -p gpu -t idle,mix,alloc | wc -l)" = 4 ]'; say slurmds ok
sinfo
