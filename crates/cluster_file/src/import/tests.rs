//! Imports, and that nothing is dropped in silence.

use super::*;
use crate::Section;
use expect_test::{Expect, expect};
use proptest::prelude::*;

#[track_caller]
fn check(
    slurm_conf: &str,
    gres_conf: Option<&str>,
    dump: Option<&str>,
    want: Expect,
) -> ClusterFile {
    let include =
        |path: &str| (path == "nodes.conf").then(|| "NodeName=i[1-2] CPUs=2\n".to_owned());
    let imported = import(&ImportInput {
        name: None,
        slurm_conf: ConfText::new("slurm.conf", slurm_conf),
        include: &include,
        gres_conf: gres_conf.map(|text| ConfText::new("gres.conf", text)),
        topology_conf: None,
        dump: dump.map(|text| ConfText::new("dump", text)),
    });
    let text = imported.toml();
    want.assert_eq(&text);
    let again = ClusterFile::parse(&imported.file.name, &text).unwrap();
    assert_eq!(again, imported.file);
    again
}

#[test]
fn nodes_and_partitions() {
    check(
        "ClusterName=lab # a remark\nSlurmctldPort=6817\nKillWait=5\nSelectTypeParameters=CR_CPU_Memory DefMemPerCPU=100\n\
         NodeName=DEFAULT RealMemory=16000 State=UNKNOWN\n\
         NodeName=node[1-3] Boards=2 SocketsPerBoard=2 CoresPerSocket=4 \\\n  ThreadsPerCore=2 Gres=gpu:v100:4(S:0-1),nvme:1 Feature=v100,ib\n\
         NodeName=big Procs=64 RealMemory=500000 Weight=9\nInclude nodes.conf\ninclude other.conf\n\
         NodeSet=fast Feature=ib\nPartitionName=DEFAULT State=UP MaxTime=INFINITE\n\
         PartitionName=gpu Nodes=fast Default=YES DefaultTime=01:00:00 OverSubscribe=EXCLUSIVE DisableRootJobs=YES\n\
         PartitionName=all Nodes=ALL AllowGroups=ALL MaxNodes=UNLIMITED AllowAccounts=a,b\nFrontendName=f1\nDownNodes=big State=DOWN\nLicenses=x:2\n",
        None,
        None,
        expect![[r#"
            cluster_name = { value = "lab", from = "slurm.conf:1" }

            [nodes.v100]
            from = "slurm.conf:6"
            names = "node[1-3]"
            cpus = 32
            sockets = 4
            cores_per_socket = 4
            threads_per_core = 2
            memory = "16000M"
            tmp_disk = "0M"
            features = ["v100", "ib"]
            gres = ["nvme:1"]

            [[nodes.v100.gpu]]
            from = "slurm.conf:6"
            type = "v100"
            model = { value = "v100", assumed = "its GRES type says so" }
            count = 4

            [nodes.big]
            from = "slurm.conf:8"
            names = "big"
            cpus = 64
            memory = "500000M"
            tmp_disk = "0M"
            weight = 9

            [nodes.i]
            from = "nodes.conf:1"
            names = "i[1-2]"
            cpus = 2
            memory = "16000M"
            tmp_disk = "0M"

            [partition.gpu]
            from = "slurm.conf:13"
            default = true
            nodes = "node[1-3]"
            max_time = "UNLIMITED"
            default_time = "01:00:00"
            exclusive = true
            no_root_jobs = true
            state = "up"

            [partition.all]
            from = "slurm.conf:14"
            nodes = "ALL"
            max_time = "UNLIMITED"
            allow_accounts = ["a", "b"]
            state = "up"

            [license.x]
            count = { value = 2, from = "slurm.conf:17" }

            [limits]
            default_memory_per_cpu = { value = "100M", from = "slurm.conf:4" }

            [scheduling]
            kill_wait = { value = "00:00:05", from = "slurm.conf:3" }
            select = { value = "CR_CPU_Memory", from = "slurm.conf:4" }

            # Not carried over:
            #   slurm.conf:10 Include other.conf: that file can't be read
            #   slurm.conf:15 FrontendName=f1: a front end stands for nodes: the nodes are taken as they are described
            #   slurm.conf:16 DownNodes=big: nodes that are down now: a cluster file says what there is

            # Left out, since it says how daemons run, not what jobs can have:
            #   SlurmctldPort (slurm.conf:2) State (slurm.conf:6) State (slurm.conf:8) State (nodes.conf:1)
        "#]],
    );
}

/// `read_config.c` and `parse_config.c` of 22.05: such a file no controller starts with.
#[test]
fn what_slurm_refuses_is_said_with_its_line() {
    check(
        "ClusterName=lab junk\nKillWait=soon\nNodeName=a[1-2] CPUs=x Sockets=2\nNodeName=b[1- CPUs=2\n\
         words without a meaning\nPartitionName=p Nodes=a1 MaxTime=-5 DefaultTime=-1 MaxNodes=-2 DisableRootJobs=YES\n\
         PartitionName=q Nodes=a1 State=\"UP\nNodeName=c Gres=gpu:x:y\n",
        Some("Name=gpu Type=t Count=many\nrest\n"),
        None,
        expect![[r#"
            cluster_name = { value = "lab", from = "slurm.conf:1" }

            [nodes.a]
            from = "slurm.conf:3"
            names = "a[1-2]"
            sockets = 2
            tmp_disk = "0M"

            [nodes."b]"]
            from = "slurm.conf:4"
            names = "b[1-"
            cpus = 2
            tmp_disk = "0M"

            [nodes.c]
            from = "slurm.conf:8"
            names = "c"
            cpus = 1
            tmp_disk = "0M"

            [partition.p]
            from = "slurm.conf:6"
            nodes = "a1"
            default_time = "UNLIMITED"
            no_root_jobs = true

            [partition.q]
            from = "slurm.conf:7"
            nodes = "a1"
            state = "up"

            [scheduling]
            assumed = "Slurm's default"
            return_to_service = 0
            requeue_delay = "00:02:01"

            # Not carried over:
            #   slurm.conf:1 this line: something in it is no option with a value
            #   slurm.conf:2 KillWait=soon: Slurm takes no such value
            #   slurm.conf:3 CPUs=x: Slurm takes no such value
            #   slurm.conf:5 this line: something in it is no option with a value
            #   slurm.conf:6 MaxTime=-5: Slurm takes no such value
            #   slurm.conf:6 MaxNodes=-2: Slurm takes no such value
            #   slurm.conf:7 this line: something in it is no option with a value
            #   slurm.conf:8 Gres=gpu:x:y: its count can't be read
            #   gres.conf:1 Count=many: Slurm takes no such value
            #   gres.conf:2 this line: something in it is no option with a value
        "#]],
    );
}

/// Each kind of line has its own defaults, for the lines behind them; a later one adds to them.
/// Every option of `read_config.c` is known, and no other: Slurm refuses a file with it.
#[test]
fn options_that_no_slurm_has_are_refused() {
    let imported = import(&ImportInput {
        name: None,
        slurm_conf: ConfText::new(
            "slurm.conf",
            "ClusterNmae=lab\nLicenses=x:2\nNodeName=a[1-2] CPU=4 TRESWeights=x\nNodeSet=s Feture=ib\n\
             PartitionName=p Nodes=a1 MaxTme=5 DisableRootJobs=YES\nDownNodes=a1 Stat=DOWN\nZzz=1\n",
        ),
        include: &|_| None,
        gres_conf: Some(ConfText::new(
            "gres.conf",
            "Name=gpu Type=v Cuont=2 File=/dev/x\n",
        )),
        topology_conf: None,
        dump: None,
    });
    let notes: Vec<String> = imported
        .notes
        .iter()
        .map(|note| format!("{} {note}", if note.refused { "error" } else { "note" }))
        .collect();
    expect![[r#"
        error slurm.conf:1 ClusterNmae: Slurm has no such option there, and refuses the file; did you mean ClusterName?
        error slurm.conf:3 CPU: Slurm has no such option there, and refuses the file; did you mean CPUs?
        note slurm.conf:3 TRESWeights=x: a cluster file has no key for it
        error slurm.conf:4 Feture: Slurm has no such option there, and refuses the file; did you mean Feature?
        error slurm.conf:5 MaxTme: Slurm has no such option there, and refuses the file; did you mean MaxTime?
        error slurm.conf:6 Stat: Slurm has no such option there, and refuses the file; did you mean State?
        note slurm.conf:6 DownNodes=a1: nodes that are down now: a cluster file says what there is
        error slurm.conf:7 Zzz: Slurm has no such option there, and refuses the file
        error gres.conf:1 Cuont: Slurm has no such option there, and refuses the file; did you mean Count?"#]].assert_eq(&notes.join("\n"));
}

/// Nothing of a dump is left out in silence.
#[test]
fn values_of_a_dump_that_cannot_be_read_have_their_lines() {
    let imported = import(&ImportInput {
        name: None,
        slurm_conf: ConfText::new("slurm.conf", "NodeName=a\n"),
        include: &|_| None,
        gres_conf: None,
        topology_conf: None,
        dump: Some(ConfText::new(
            "dump",
            "Cluster - 'c':MaxJobs=many\nParent - 'root'\nAccount - 'a':MaxWall=0:MaxTRES='node=x':GrpJobs=-1:odd\n\
             Parent - 'a'\nUser - 'u':AdminLevel='Boss':DefaultWCKey='w':GrpWall=1-0\nno line\n",
        )),
    });
    let notes: Vec<String> = imported
        .notes
        .iter()
        .map(|note| format!("{} {note}", if note.refused { "error" } else { "note" }))
        .collect();
    expect![[r#"
        error dump:1 MaxJobs=many: it can't be read
        error dump:3 this line: something in it is no option with a value
        note dump:3 MaxWall=0: a cluster file holds no limit of none
        error dump:3 MaxTRES=node=x: it can't be read
        error dump:5 AdminLevel=Boss: it can't be read
        note dump:5 DefaultWCKey: a cluster file has no key for it
        error dump:6 this line: it can't be read"#]]
    .assert_eq(&notes.join("\n"));
}

#[test]
fn defaults_are_for_what_stands_behind_them() {
    check(
        "NodeName=a CPUs=2\nNodeName=DEFAULT RealMemory=1000 CPUs=4\nPartitionName=p Nodes=a,b\nNodeName=b\n\
         NodeName=DEFAULT CPUs=8\nPartitionName=DEFAULT MaxTime=60\nNodeName=c\nPartitionName=q Nodes=c\n",
        None,
        None,
        expect![[r#"
            [nodes.a]
            from = "slurm.conf:1"
            names = "a"
            cpus = 2
            tmp_disk = "0M"

            [nodes.b]
            from = "slurm.conf:4"
            names = "b"
            cpus = 4
            memory = "1000M"
            tmp_disk = "0M"

            [nodes.c]
            from = "slurm.conf:7"
            names = "c"
            cpus = 8
            memory = "1000M"
            tmp_disk = "0M"

            [partition.p]
            nodes = { value = "a,b", from = "slurm.conf:3" }

            [partition.q]
            from = "slurm.conf:8"
            nodes = "c"
            max_time = "01:00:00"

            [scheduling]
            assumed = "Slurm's default"
            return_to_service = 0
            requeue_delay = "00:02:01"
        "#]],
    );
}

#[test]
fn files_that_include_each_other_come_to_an_end() {
    let imported = import(&ImportInput {
        name: None,
        slurm_conf: ConfText::new("lab.conf", "Include a.conf\nNodeName=n CPUs=2\n"),
        include: &|_| Some("Include a.conf\n".to_owned()),
        gres_conf: None,
        topology_conf: None,
        dump: None,
    });
    let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        ["a.conf:1 Include a.conf: files include each other in a circle"]
    );
    assert!(imported.toml().contains("from = \"lab.conf:2\""));
}

#[test]
fn types_come_from_gres_conf() {
    check(
        "NodeName=a[1-2] CPUs=8 Gres=gpu:4\nNodeName=b CPUs=8 Gres=gpu:2\n",
        Some(
            "AutoDetect=nvml\nNodeName=a[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-1] Cores=0-3\nNodeName=a[1-2] Name=gpu Type=tesla_v100-sxm2 Count=2\nNodeName=c Name=gpu Type=x\nName=nic File=/dev/n\n",
        ),
        None,
        expect![[r#"
            [nodes.a]
            from = "slurm.conf:1"
            names = "a[1-2]"
            cpus = 8
            tmp_disk = "0M"

            [[nodes.a.gpu]]
            type = { value = "tesla_v100-sxm2", from = "gres.conf:3" }
            model = { value = "v100", assumed = "its GRES type says so" }
            count = { value = 2, from = "gres.conf:2" }

            [[nodes.a.gpu]]
            from = "gres.conf:2"
            type = "a100"
            model = { value = "a100", assumed = "its GRES type says so" }
            count = 2

            [nodes.b]
            from = "slurm.conf:2"
            names = "b"
            cpus = 8
            tmp_disk = "0M"

            [[nodes.b.gpu]]
            count = { value = 2, from = "slurm.conf:2" }

            [scheduling]
            assumed = "Slurm's default"
            return_to_service = 0
            requeue_delay = "00:02:01"

            # Not carried over:
            #   gres.conf:1 AutoDetect=nvml: types and counts that nodes find themselves are only known to them: yard cluster check shows what is missing
            #   gres.conf:4 NodeName=c: no such node in slurm.conf
            #   gres.conf:5 Name=nic: what nodes have of it stands in slurm.conf

            # Left out, since it says how daemons run, not what jobs can have:
            #   Cores (gres.conf:2)
        "#]],
    );
}

/// The file keeps those of slurm.conf.
#[test]
fn types_that_differ_from_those_of_gres_conf_are_noted() {
    check(
        "NodeName=a CPUs=8 Gres=gpu:v100:2\n",
        Some("NodeName=a Name=gpu Type=a100 File=/dev/nvidia[0-1]\n"),
        None,
        expect![[r#"
            [nodes.v100]
            from = "slurm.conf:1"
            names = "a"
            cpus = 8
            tmp_disk = "0M"

            [[nodes.v100.gpu]]
            from = "slurm.conf:1"
            type = "v100"
            model = { value = "v100", assumed = "its GRES type says so" }
            count = 2

            [scheduling]
            assumed = "Slurm's default"
            return_to_service = 0
            requeue_delay = "00:02:01"

            # Not carried over:
            #   gres.conf:1 Type=a100: slurm.conf has other types there, which are taken: v100
        "#]],
    );
}

#[test]
fn accounts_come_from_a_dump() {
    let file = check(
        "ClusterName=lab\n",
        None,
        Some(
            "# To edit this file\nCluster - 'lab':Fairshare=1:QOS='normal'\nParent - 'root'\nUser - 'root':DefaultAccount='root':AdminLevel='Administrator':Fairshare=1\n\
             Account - 'proj1':Description='a: b':Organization='lab':Fairshare=5:GrpTRES=cpu=40,gres/gpu=8\nParent - 'proj1'\n\
             Account - 'sub':Fairshare=1\nUser - 'ann':DefaultAccount='proj1':Fairshare=1:MaxSubmitJobs=4:MaxWall=60:QOS='normal,+test':DefaultQOS='test'\n\
             Parent - 'sub'\nUser - 'ann':Fairshare=1:Priority=3\nodd\nAccount - ''\n",
        ),
        expect![[r#"
            cluster_name = { value = "lab", from = "slurm.conf:1" }

            [lists]
            qos = { value = "some", from = "dump:2 names those that associations have" }

            [qos.normal]

            [qos.test]

            [account.root]
            from = "dump:2"
            shares = "1"
            qos = ["normal"]

            [account.proj1]
            from = "dump:5"
            description = "a: b"
            organization = "lab"
            shares = "5"
            group_tres = "cpu=40,gres/gpu=8"

            [account.sub]
            from = "dump:7"
            parent = "proj1"
            shares = "1"

            [user.root]
            from = "dump:4"
            accounts = ["root"]
            default_account = "root"
            admin = "admin"

            [user.ann]
            from = "dump:8"
            accounts = ["proj1", "sub"]
            default_account = "proj1"

            [user.ann.account.proj1]
            from = "dump:8"
            shares = "1"
            qos = ["normal", "test"]
            default_qos = "test"
            max_submit = 4
            max_wall = "01:00:00"

            # Not carried over:
            #   dump:2 QOS: a dump names QOS without their limits: fill the [qos.…] tables with what sacctmgr -P show qos says
            #   dump:10 Priority: a cluster file has no key for it
            #   dump:11 this line: it can't be read
            #   dump:12 this line: it can't be read
        "#]],
    );
    assert_eq!(file.check(), []);
    assert_eq!(
        file.default_qos("ann", "proj1", None).unwrap().value,
        "test"
    );
}

/// One of each partition beside the one of all, of which nothing need be said.
#[test]
fn several_associations_of_a_user_in_an_account() {
    let dump = "Cluster - 'lab'\nParent - 'root'\nAccount - 'a'\nParent - 'a'\n\
        User - 'ann':DefaultAccount='a'\nUser - 'ann':Partition='gpu':MaxJobs=1\n\
        User - 'ann':Partition='gpu':MaxJobs=2\nUser - 'bob':Partition='gpu'\n";
    let found = imported("ClusterName=lab\n", &|_| None, Some(dump));
    let own = |user: &str| {
        let user = found.file.user(user).expect("a user");
        assert_eq!(user.accounts.as_ref().expect("some").value, ["a"]);
        let all = user.associations.iter().map(|own| {
            let partition = own.partition.as_ref().map(|name| name.value.as_str());
            (partition, own.max_jobs.as_ref().map(|jobs| jobs.value))
        });
        all.collect::<Vec<_>>()
    };
    assert_eq!(own("ann"), [(None, None), (Some("gpu"), Some(1))]);
    assert_eq!(own("bob"), [(Some("gpu"), None)]);
    let notes: Vec<String> = found.notes.iter().map(ToString::to_string).collect();
    let twice = "a second association in a for the same partition";
    assert!(notes.iter().any(|note| note.contains(twice)), "{notes:?}");
}

/// Every option of a text is either in the file or noted.
/// `+name` and `-name` change the parent's list; where that isn't there nothing is known.
#[test]
fn qos_that_are_added_and_taken() {
    let dump = |cluster: &str| {
        format!(
            "Cluster - 'lab':Fairshare=1{cluster}\nParent - 'root'\nAccount - 'a':QOS='+long'\n\
             Parent - 'a'\nUser - 'ann':DefaultAccount='a':QOS='-normal'\n\
             User - 'bob':DefaultAccount='a':QOS='+big,-long'\n"
        )
    };
    let read = |cluster: &str| {
        let (text, conf) = (
            dump(cluster),
            ConfText::new("slurm.conf", "ClusterName=lab\n"),
        );
        import(&ImportInput {
            name: None,
            slurm_conf: conf,
            include: &|_| None,
            gres_conf: None,
            topology_conf: None,
            dump: Some(ConfText::new("dump", &text)),
        })
    };
    let qos = |file: &ClusterFile, user: &str| {
        let own = file.user(user).unwrap().associations.first();
        own.and_then(|own| Some(own.qos.as_ref()?.value.join(",")))
    };
    let known = read(":QOS='normal'");
    assert_eq!(
        known.file.accounts[1].qos.as_ref().unwrap().value,
        ["normal", "long"]
    );
    assert_eq!(qos(&known.file, "ann").as_deref(), Some("long"));
    assert_eq!(qos(&known.file, "bob").as_deref(), Some("normal,big"));
    let unknown = read("");
    assert_eq!(qos(&unknown.file, "ann"), None);
    let notes = unknown.notes.iter();
    let told = notes.filter(|note| note.to_string().contains("its parent's list"));
    assert_eq!(told.count(), 3);
}

/// A `slurm.conf` names QOS in its partitions and defines none.
#[test]
fn qos_of_partitions_are_not_all() {
    let file = check(
        "NodeName=n1 CPUs=2\nPartitionName=a Nodes=n1 AllowQos=normal,high QOS=part\n",
        None,
        None,
        expect![[r#"
            [lists]
            qos = { value = "some", from = "slurm.conf:2 names QOS, which no slurm.conf defines" }

            [nodes.n]
            from = "slurm.conf:1"
            names = "n1"
            cpus = 2
            tmp_disk = "0M"

            [partition.a]
            from = "slurm.conf:2"
            nodes = "n1"
            allow_qos = ["normal", "high"]
            qos = "part"

            [scheduling]
            assumed = "Slurm's default"
            return_to_service = 0
            requeue_delay = "00:02:01"
        "#]],
    );
    assert!(!file.knows_all(crate::List::Qos));
    let mut found = file.check();
    found.retain(|found| found.code == "unknown-qos");
    assert_eq!(found.len(), 3, "{found:?}");
    for found in found {
        assert_eq!(found.severity, model::Severity::Note, "{found:?}");
    }
}

#[test]
fn nothing_is_dropped_in_silence() {
    let text = "ClusterName=x\nMaxArraySize=5\nSlurmdDebug=3\nNosuch=1\nNodeName=n CPUs=2 Nosuch=2 Port=1\nPartitionName=p Nodes=n Nosuch=3 GraceTime=5\n";
    let imported = import(&ImportInput {
        name: None,
        slurm_conf: ConfText::new("slurm.conf", text),
        include: &|_| None,
        gres_conf: None,
        topology_conf: None,
        dump: None,
    });
    let mut values = 0;
    imported
        .file
        .visit("", &mut |_, _, entries| values += entries.len());
    // ClusterName, MaxArraySize, names, CPUs, Nodes, GraceTime, and what TmpDisk, ReturnToService and the delay of a requeue are by default.
    assert_eq!(values, 9);
    let noted: Vec<&str> = imported
        .notes
        .iter()
        .map(|note| note.option.as_str())
        .collect();
    assert_eq!(noted, ["SlurmdDebug", "Nosuch", "Nosuch", "Port", "Nosuch"]);
}

#[track_caller]
fn imported(conf: &str, included: &dyn Fn(&str) -> Option<String>, dump: Option<&str>) -> Imported {
    import(&ImportInput {
        name: Some("x"),
        slurm_conf: ConfText::new("slurm.conf", conf),
        include: included,
        gres_conf: None,
        topology_conf: None,
        dump: dump.map(|text| ConfText::new("dump", text)),
    })
}

#[track_caller]
fn check_notes(conf: &str, dump: Option<&str>, want: Expect) -> Imported {
    let imported = imported(conf, &|_| None, dump);
    let notes = imported.notes.iter();
    let notes: Vec<String> = notes
        .map(|note| format!("{} {note}", if note.refused { "error" } else { "note" }))
        .collect();
    want.assert_eq(&notes.join("\n"));
    imported
}

/// `count` lines of one form, such as `NodeName=n{} CPUs=1`.
fn many(count: usize, form: &str) -> String {
    let line = |number: usize| format!("{}\n", form.replace("{}", &number.to_string()));
    (0..count).map(line).collect()
}

#[test]
fn node_sets_of_node_sets_grow_no_faster_than_their_lines() {
    let sets: String = (0..100_000)
        .map(|i| format!("NodeSet=s{i} Nodes=s{0},s{0}\n", i + 1))
        .collect();
    let conf = format!(
        "NodeName=a[1-4] CPUs=4\nNodeSet=s100000 Nodes=a[1,3]\n{sets}PartitionName=z Nodes=s0,s7,a2\n"
    );
    let imported = check_notes(&conf, None, expect![""]);
    let nodes = imported.file.partitions[0].nodes.as_ref().unwrap();
    assert_eq!(
        nodes.value,
        crate::PartitionNodes::List("a[1,3],a2".to_owned())
    );
}

#[test]
fn node_sets_in_a_circle_and_names_of_no_node_are_said() {
    check_notes(
        "NodeName=a[1-4]\nNodeSet=s Nodes=s\nNodeSet=v Nodes=w\nNodeSet=w Nodes=v\n\
         PartitionName=y Nodes=s,t,u\nPartitionName=z Nodes=v\nPartitionName=q Nodes=a[1-9],t\n",
        None,
        expect![[r#"
            error slurm.conf:5 Nodes=s,t,u: node sets name each other in a circle
            error slurm.conf:6 Nodes=v: node sets name each other in a circle
            error slurm.conf:7 Nodes=a[1-9],t: no line has NodeName=a[5-9],t"#]],
    );
}

/// What is included may be of anything: a key file, a list of passwords.
#[test]
fn nothing_of_what_is_not_understood_is_shown() {
    let secrets = "hunter2 and more\nroot:$6$hunter2==:1\nhunter2=\nhunter2==\npassword hunter2 = hunter2\n\
        AccountingStoragePass=hunter2\nJobCompPass=hunter2\nStoragePass=hunter2\nDbdPass=\"hunter2\n\
        NodeName=a Pass=hunter2\nPartitionName=p hunter2 Nodes=a secret=hunter2\nNodeSet=s Nodes=a Pass=hunter2\n";
    let dump = "Account - 'a':hunter2:Pass=hunter2:hunter2=1\nhunter2 - 'b'\nhunter2\n";
    let imported = imported(
        "Include secrets\n",
        &|_| Some(secrets.to_owned()),
        Some(dump),
    );
    let text = imported.toml();
    assert!(!text.contains("hunter2"), "{text}");
    for said in [
        "secrets:6",
        "secrets:7",
        "secrets:8 StoragePass",
        "secrets:1 this line",
        "secrets:9 DbdPass",
    ] {
        assert!(text.contains(said), "{said} {text}");
    }
    let notes: String = imported
        .notes
        .iter()
        .map(|note| format!("{note}\n"))
        .collect();
    assert!(!notes.contains("hunter2"), "{notes}");
}

#[test]
fn a_file_that_is_included_without_end_is_read_a_thousand_times() {
    let read = std::cell::Cell::new(0);
    let include = |_: &str| {
        read.set(read.get() + 1);
        Some("KillWait=3\n".to_owned())
    };
    let imported = imported(&"Include x.conf\n".repeat(100_000), &include, None);
    assert_eq!(read.get(), 1000);
    assert_eq!(imported.notes.len(), 1);
}

/// What `yard cluster check` would refuse is said when the file is made.
#[test]
fn accounts_in_circles_and_without_lines_are_said() {
    let imported = check_notes(
        "NodeName=n\n",
        Some(
            "Parent - 'a'\nAccount - 'a'\nAccount - 'a'\nParent - 'b'\nAccount - 'c'\nParent - 'c'\nAccount - 'b'\n\
             Parent - 'gone'\nAccount - 'd'\nParent - 'root'\nUser - 'u'\nParent - 'lost'\nUser - 'v':DefaultAccount='d'\n",
        ),
        expect![[r#"
            error dump:2 Account a: it is above itself
            error dump:7 Account b: it is above itself
            error dump:9 Account d: no line has the account gone
            error dump:13 User v: no line has the account lost
            note dump:13 User v: the default account is none of this user's"#]],
    );
    let text = imported.toml();
    let file = ClusterFile::parse("x", &text).unwrap();
    let codes: Vec<&str> = file.check().iter().map(|found| found.code).collect();
    assert_eq!(codes, ["default-account"], "{text}");
}

mod slow {
    use super::*;

    #[test]
    fn many_accounts_and_users_are_looked_up_by_name() {
        let dump = "Parent - 'root'\n".to_owned()
            + &many(50_000, "Account - 'a{}':Fairshare=2")
            + "Parent - 'a1'\n"
            + &many(50_000, "User - 'u{}':Fairshare=2")
            + &many(50_000, "Account - 'a{}'")
            + &many(50_000, "User - 'u{}':Fairshare=2")
            + &many(50_000, "Parent - 'a{}'\nUser - 'all':Fairshare=2");
        let found = imported("NodeName=n\n", &|_| None, Some(&dump));
        assert_eq!(
            (found.file.accounts.len(), found.file.users.len()),
            (50_000, 50_001)
        );
        assert_eq!(found.file.users[50_000].associations.len(), 50_000);
        // Of each association that a user has again, and of `a1`, which is put below itself.
        assert_eq!(found.notes.len(), 50_001);
    }

    /// Each takes minutes where a line looks through all lines before it.
    #[test]
    fn many_lines_are_looked_up_by_name() {
        let nodes = many(40_000, "NodeName=n{} CPUs=1 Feature=f{}")
            + &many(40_000, "NodeSet=s{} Feature=f{}");
        let partitions = many(40_000, "PartitionName=p{} Nodes=s{}");
        let twice = many(40_000, "NodeName=n{}") + &many(40_000, "PartitionName=p{}");
        let found = imported(&(nodes + &partitions + &twice), &|_| None, None);
        assert_eq!(
            (found.file.nodes.len(), found.file.partitions.len()),
            (40_000, 40_000)
        );
        assert_eq!(found.notes.len(), 80_000);

        let wide = "NodeName=a[1-60000]\nNodeName=a[2-60000]\n".to_owned()
            + &many(2_000, "NodeName=a[1-60000] CPUs={}");
        let found = imported(&wide, &|_| None, None);
        assert_eq!((found.file.nodes.len(), found.notes.len()), (1, 2001));

        let partitions = "NodeName=a[1-60000]\n".to_owned()
            + &many(40_000, "PartitionName=p{} Nodes=a[1-60000]");
        assert_eq!(imported(&partitions, &|_| None, None).notes, []);

        let options = many(150_000, "Nosuchoption{}=1")
            + "NodeName=a "
            + &many(150_000, "x{}=1").replace('\n', " ");
        assert_eq!(imported(&options, &|_| None, None).notes.len(), 300_000);
        let defaults = "NodeName=DEFAULT ".to_owned()
            + &many(150_000, "x{}=1").replace('\n', " ")
            + "\n"
            + &many(10_000, "NodeName=n{}");
        assert_eq!(imported(&defaults, &|_| None, None).notes.len(), 150_000);
    }

    #[test]
    fn many_lines_of_a_gres_conf_expand_each_list_once() {
        let found = import(&ImportInput {
            name: Some("x"),
            slurm_conf: ConfText::new("slurm.conf", "NodeName=a[1-60000] Gres=gpu:4\n"),
            include: &|_| None,
            gres_conf: Some(ConfText::new(
                "gres.conf",
                &many(
                    20_000,
                    "NodeName=a[1-60000] Name=gpu Type=t{} File=/dev/g[1-60000]",
                ),
            )),
            topology_conf: None,
            dump: None,
        });
        assert_eq!(found.notes, []);
        assert_eq!(found.file.nodes[0].gpus.len(), 1);
    }
}

proptest! {
    #[test]
    fn no_text_panics(
        conf in "((NodeName|PartitionName|Include|Gres|Nodes|CPUs|MaxTime|KillWait|NodeSet|Feature)=?[ =a-z0-9\\[\\],:\"#\\\\-]{0,9}[ \n]){0,12}",
        gres in "((Name|Type|NodeName|File|Count|AutoDetect)=[a-z0-9\\[\\],/-]{0,6}[ \n]){0,8}",
        dump in "((User|Parent|Account|Cluster) - '[a-c]'(:(QOS|MaxWall|GrpTRES|Fairshare)='?[a-z0-9=,+-]{0,6}'?){0,3}\n){0,6}",
    ) {
        let imported = import(&ImportInput {
            name: Some("x"),
            slurm_conf: ConfText::new("slurm.conf", &conf),
            include: &|_| Some(conf.clone()),
            gres_conf: Some(ConfText::new("gres.conf", &gres)),
            topology_conf: None,
            dump: Some(ConfText::new("dump", &dump)),
        });
        let text = imported.toml();
        prop_assert_eq!(ClusterFile::parse("x", &text), Ok(imported.file), "{}", text);
    }
}

#[test]
fn a_tree_of_switches() {
    let conf = "NodeName=n[1-4] CPUs=4\nTopologyPlugin=topology/tree\n";
    let topology = "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n[3-4] LinkSpeed=10\n\
        SwitchName=top Switches=s[1-2]\nBlockName=b1 Nodes=n1\n";
    let imported = import(&ImportInput {
        name: Some("lab"),
        slurm_conf: ConfText::new("slurm.conf", conf),
        include: &|_| None,
        gres_conf: None,
        topology_conf: Some(ConfText::new("topology.conf", topology)),
        dump: None,
    });
    let text = imported.toml();
    let at = text.find("[switch").unwrap();
    expect![[r#"
        [switch.s1]
        nodes = { value = "n[1-2]", from = "topology.conf:1" }

        [switch.s2]
        from = "topology.conf:2"
        nodes = "n[3-4]"
        link_speed = 10

        [switch.top]
        switches = { value = "s[1-2]", from = "topology.conf:3" }

        [scheduling]
        assumed = "Slurm's default"
        return_to_service = 0
        requeue_delay = "00:02:01"

        # Not carried over:
        #   topology.conf:4 BlockName=b1: not of topology/tree, which has SwitchName lines alone

        # Left out, since it says how daemons run, not what jobs can have:
        #   TopologyPlugin (slurm.conf:2)
    "#]]
    .assert_eq(&text[at..]);
}
