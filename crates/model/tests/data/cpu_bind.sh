#!/bin/bash
# To which CPUs task/affinity of a real Slurm 22.05.8 binds the tasks of a step: `cpu_bind-22.05.8.tsv`.
# As root, with a cluster whose nodes pretend two sockets of four cores with two threads, which come from hwloc, and
# whose slurmd logs what it works out; tasks may fail, as the machine need not have the CPUs:
#     export LAB=/tmp/lab-bind
#     FRESH=1 CPUS=16 SOCKETS=2 THREADS=2 SELECT=CR_Core_Memory TASKS=task/affinity TRACE=debug3 \
#         HWLOC_SYNTHETIC="pack:2 core:4 pu:2" crates/cli/tests/oracle/manage/cluster.sh up
#     crates/model/tests/data/cpu_bind.sh > crates/model/tests/data/cpu_bind-22.05.8.tsv
# A row: tasks, CPUs of each, the CPUs that the step has, --distribution, --cpu-bind, the masks of its tasks, which
# are all of its CPUs where tasks are not bound.
export SLURM_CONF=${LAB:?}/etc/slurm.conf
if [ "${1:-}" != inside ]; then
  printf '// tasks\tcpus\thas\tdistribution\tbind\tmasks\n'
  exec salloc -Q -N1 -w node1 -t30 --exclusive -n16 "$(realpath "$0")" inside </dev/null
fi
cd /tmp || exit 1
log=$LAB/run/log/slurmd-node1.log
while read -r tasks each how; do
  for over in "" block:block block:fcyclic plane=2; do
    for bind in quiet threads cores sockets threads,one_thread; do
      : >"$log"
      srun -Q -n"$tasks" $how ${over:+-m $over} --cpu-bind=$bind true </dev/null 2>/dev/null
      has=$(grep -a -o 'CPU final mask for local node: .*' "$log" | head -1)
      has=${has##* }
      masks=$(grep -a -o 'generate_cpu_bind jobid .*: mask_cpu.*' "$log" | head -1)
      masks=${masks##* }
      printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$tasks" "$each" "$has" "$over" "$bind" "${masks:-$has}"
    done
  done
done <<E2
1 1
2 1
3 1
4 1
8 1
16 1
1 1 --exact
2 1 --exact
3 1 --exact
6 1 --exact
9 1 --exact
2 2 -c2
3 2 -c2
5 2 -c2
8 2 -c2
2 3 -c3
3 3 -c3
4 3 -c3
2 4 -c4
3 4 -c4
4 4 -c4
1 6 -c6
2 6 -c6
1 8 -c8
2 8 -c8
E2
