//! What `sacctmgr` refuses, and that nothing is changed then.

use yard_model::{Accounting, AccountingUse, SacctmgrArgs, SacctmgrFacts};

struct Bank(Accounting);

impl Bank {
    /// Accounts after these command lines, each of which does something.
    fn after(lines: &[&str]) -> Bank {
        let mut bank = Bank(Accounting::new("c", "me"));
        for line in lines {
            let (status, text) = bank.said(line);
            assert_eq!(status, 0, "{line}: {text}");
        }
        bank
    }

    fn said(&mut self, line: &str) -> (u8, String) {
        self.said_beside(&[], line)
    }

    /// While these jobs wait or run.
    fn said_beside(&mut self, uses: &[AccountingUse], line: &str) -> (u8, String) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let asked = SacctmgrArgs::parse(&words).expect("a command line");
        let facts = SacctmgrFacts {
            uses: uses.to_vec(),
            ..SacctmgrFacts::default()
        };
        let answer = asked.answer(&mut self.0, &facts);
        (answer.status, answer.stdout + &answer.stderr)
    }

    /// Refused with these words somewhere, and all is as it was.
    #[track_caller]
    fn refuses(&mut self, line: &str, words: &str) {
        let before = self.0.clone();
        let (status, text) = self.said(line);
        assert_eq!(status, 1, "{line}: {text}");
        assert!(text.contains(words), "{line}: {text}");
        assert!(self.0 == before, "{line} changed something");
    }

    #[track_caller]
    fn shows(&mut self, line: &str, want: &str) {
        let (status, text) = self.said(line);
        assert_eq!((status, text.trim()), (0, want), "{line}");
    }
}

#[test]
fn limits_that_cannot_be_read_are_refused() {
    let mut bank = Bank::after(&["add qos q1 grptres=cpu=7", "add account a"]);
    for key in [
        "GrpTRES",
        "GrpTRESMins",
        "GrpTRESRunMins",
        "MaxTRES",
        "MaxTRESMins",
        "MaxTRESPerNode",
        "MaxTRESPerUser",
        "MinTRES",
    ] {
        for count in ["abc", "", "-5", "1.5", "99999999999999999999999"] {
            let words = format!("(cpu={count})");
            bank.refuses(&format!("modify qos q1 set {key}=cpu={count}"), &words);
            if !["MaxTRESPerUser", "MinTRES"].contains(&key) {
                bank.refuses(&format!("modify account a set {key}=cpu={count}"), &words);
            }
        }
    }
    bank.refuses("modify qos q1 set GrpTRES=cpu", "(cpu)");
    bank.refuses("modify qos q1 set GrpTRES=mem=4X", "(mem=4X)");
    bank.refuses("add qos q2 GrpTRES=cpu=abc", "(cpu=abc)");
    bank.refuses("modify qos q1 set Preempt=nope", "bad qos 'nope'");
    bank.refuses("modify qos q1 set PreemptMode=nope", "Bad Preempt Mode");
    for value in ["abc", "-2", "inf"] {
        bank.refuses(&format!("modify qos q1 set UsageFactor={value}"), value);
    }
    for key in ["GrpJobs", "Priority"] {
        let line = format!("modify qos q1 set {key}=abc");
        bank.refuses(&line, &format!("Invalid value for {key} (abc)"));
    }
    bank.refuses("modify account a set GrpJobs=parent", "Invalid value");
}

#[test]
fn limits_are_cleared_by_minus_one_and_set_by_nothing() {
    let mut bank = Bank::after(&[
        "add qos q1 grptres=cpu=7,mem=16G grpwall=10",
        "modify qos q1 set grptres=cpu=-1",
    ]);
    let wall = "-nP show qos q1 format=grpwall";
    bank.shows("-nP show qos q1 format=grptres", "mem=16G");
    bank.shows("-i modify qos q1 set grpwall=0", "Modified qos...\n  q1");
    bank.shows(wall, "00:00:00");
    bank.shows("-i modify qos q1 set grpwall=-1", "Modified qos...\n  q1");
    bank.shows(wall, "");
}

#[test]
fn conditions_behind_set_hold_for_resources() {
    let add = "type=license server=s cluster=c count=9";
    let mut bank = Bank::after(&[
        &format!("add resource name=l1 {add}"),
        &format!("add resource name=l2 {add}"),
        "modify resource set count=3 where name=l1",
    ]);
    let counts = "-nP show resource format=name,count";
    bank.shows(counts, "l1|3\nl2|9");
    for line in [
        "delete resource",
        "delete resource where",
        "delete resource where name=",
        "delete resource where server=",
        "delete resource count=3",
    ] {
        bank.refuses(line, " No conditions given to remove, not executing.");
    }
    let over = "would go over 100%";
    bank.refuses("modify resource name=l1 set percentallowed=101", over);
    let line = format!("add resource name=l3 {add} percentallowed=200");
    bank.refuses(&line, over);
}

/// A real 22.05.8 takes each of these, by as many letters as are enough for it.
#[test]
fn settings_go_by_all_their_names() {
    let mut bank = Bank::after(&[
        "add account lab",
        "add user ann account=lab",
        "add qos opp",
        "modify account lab set MaxJ=3 MaxSubmit=4 MaxCPUs=8 MaxNodes=2 GrpCPUs=16 GrpNodes=4 GrpMem=1000 GrpSubmit=9 MaxCPUMins=60",
        "modify qos opp set Flags+=DenyOnLimit GrpSubmit=7 MaxJobs=2 MaxCPUsPerUser=4 MaxNodesPerUser=1",
        "modify qos opp set flags=NoReserve Flags+=NoDecay,OverPartQOS Flags-=nodecay",
        "modify qos normal set Preempt=+opp",
    ]);
    let format = "format=maxjobs,maxsubmit,maxtres,maxtresmins,grptres,grpsubmit";
    bank.shows(
        &format!("-nP show assoc account=lab {format}"),
        "3|4|cpu=8,node=2|cpu=60|cpu=16,mem=1000M,node=4|9\n3|4|cpu=8,node=2|cpu=60||",
    );
    bank.shows(
        "-nP show qos opp format=flags,grpsubmit,maxjobspu,maxtrespu",
        "NoReserve,OverPartQOS|7|2|cpu=4,node=1",
    );
    bank.shows("-nP show qos normal format=preempt", "opp");
    bank.said("modify qos normal set Preempt-=opp");
    bank.said("modify qos opp set Flags=-1");
    bank.shows("-nP show qos normal format=preempt", "");
    bank.shows("-nP show qos opp format=flags", "");
    bank.refuses("modify user ann set adminlevel=bogus", "Nothing modified");
}

#[test]
fn a_default_qos_is_not_taken_from_its_user() {
    let mut bank = Bank::after(&[
        "add qos q1,opp",
        "add account a qos=normal,q1",
        "add user u account=a qos=normal,q1 defaultqos=q1",
        "add user v account=a defaultqos=q1",
    ]);
    // Said, and nothing changed: the exit status is 0, as in Slurm.
    for line in [
        "modify user u set qos-=q1",
        "modify user u set qos=normal",
        "modify account a set qos-=q1",
        "modify account a set defaultqos=opp",
    ] {
        let (status, said) = bank.said(line);
        assert_eq!(status, 0, "{line}");
        let want = " These associations don't have access to their default qos.\n";
        assert!(said.starts_with(want), "{line}: {said}");
    }
    bank.shows(
        "-nP show assoc account=a format=user,qos,defaultqos",
        "|normal,q1|\nu|normal,q1|q1\nv|normal,q1|q1",
    );
    // In any case, and kept by its own name.
    bank.said("add user w account=a partition=one defaultqos=q1");
    let (_, said) = bank.said("modify user w set qos=normal");
    let line = "A = a                    U = w         P = one\n";
    assert!(said.ends_with(line), "{said}");
    let (_, said) = bank.said("delete qos q1");
    assert!(said.contains(line), "{said}");
    let line = "modify user u set DefaultQOS=NORMAL qos-=q1";
    assert_eq!(bank.said(line).0, 0);
    bank.shows("-nP show assoc where user=u format=defaultqos", "normal");
}

#[test]
fn accounts_and_qos_are_named_in_any_case() {
    let mut bank = Bank::after(&[
        "add account Lab,OTHER",
        "add qos Short",
        "add user ann account=LAB",
        "modify account lAb set qos=Normal,SHORT defaultqos=SHort",
        "modify qos SHORT set maxjobs=3",
        "modify user ann where account=LAb set maxjobs=2",
    ]);
    bank.shows(
        "-nP show assoc account=LAB format=account,user,qos,defaultqos,maxjobs",
        "lab||normal,short|short|\nlab|ann|normal,short|short|2",
    );
    bank.shows("-nP show account Lab,other format=account", "lab\nother");
    bank.shows("-nP show qos SHORT format=name", "short");
    bank.said("add coordinator account=LAB names=ann");
    bank.shows("-nP show account lab withcoord format=coord", "ann");
    bank.said("delete coordinator account=Lab names=ann");
    bank.shows("-nP show account lab withcoord format=coord", "");
    bank.said("modify account OTHER set parent=LAB");
    bank.shows("-nP show assoc account=other format=parentname", "lab");
    bank.said("delete user ann where account=LAB");
    bank.said("delete account LAB");
    bank.shows("-nP show assoc account=lab format=account", "");
}

/// A name in two cases is one record.
#[test]
fn a_name_that_is_added_twice_is_added_once() {
    let mut bank = Bank::after(&["add account Lab,rest,lab", "add qos A,b,a"]);
    bank.shows("-nP show account lab,rest format=account", "lab\nrest");
    bank.shows(
        "-nP show assoc account=lab,rest format=account",
        "lab\nrest",
    );
    bank.shows("-nP show qos a,b format=name", "a\nb");
}

#[test]
fn an_association_for_each_partition() {
    let mut bank = Bank::after(&["add account lab", "add user ann account=lab"]);
    let (_, said) = bank.said("add user ann account=lab partition=one,two,one");
    let lines = said.lines().filter(|line| line.contains("P = "));
    let lines: Vec<&str> = lines.filter_map(|line| line.split("P = ").nth(1)).collect();
    assert_eq!(lines, ["two       ", "one       "]);
    bank.shows("-nP show assoc user=ann format=partition", "two\none");
    bank.shows(
        "-nP show assoc account=lab format=user,partition",
        "|\nann|two\nann|one\nann|",
    );
    bank.said("delete user ann where account=lab partition=two");
    bank.shows("-nP show assoc user=ann format=partition", "one");
}

#[test]
fn a_default_account_is_kept_where_others_of_its_user_go() {
    let mut bank = Bank::after(&[
        "add account lab,rest",
        "add user ann account=lab",
        "add user ann account=lab partition=one",
        "add user bob account=rest",
        "add user bob account=lab",
        "add user zoe account=lab",
    ]);
    let said = "You can not remove the default account of a user";
    // Of ann one that is not her default goes too; zoe stands behind her.
    bank.refuses("delete user where account=lab", said);
    bank.refuses("delete account lab", said);
    bank.said("delete user ann where account=lab partition=one");
    bank.said("delete user ann where account=lab");
    bank.shows("-nP show user ann format=user", "");
    // Bob's default is another account.
    bank.refuses("delete account lab", said);
    bank.said("delete user bob where account=lab");
    bank.said("delete account lab");
    bank.shows("-nP show user zoe format=user,defaultaccount", "zoe|");
    // Who has lost it gets the next account that they are added to.
    bank.said("add user zoe account=rest");
    bank.shows("-nP show user zoe format=defaultaccount", "rest");
    // The newest are deleted first.
    bank.said("add user yve account=rest");
    let (_, said) = bank.said("delete user where account=rest user=yve,zoe");
    let users: Vec<&str> = said
        .lines()
        .filter_map(|line| line.split("U = ").nth(1))
        .collect();
    assert_eq!(users, ["yve      ", "zoe      "]);
}

#[test]
fn names_have_no_control_characters() {
    let mut bank = Bank::after(&[]);
    for line in [
        "add account a\x1b[2J",
        "add user u\n account=root",
        "add qos q\u{202e}",
        "add resource name=l\x1b type=license count=1",
    ] {
        bank.refuses(line, "a name has no control characters");
    }
}

#[test]
fn widths_wider_than_the_formatter_takes() {
    let mut bank = Bank::after(&[]);
    for width in ["65536", "-65536", "99999999999", "-99999999999999999999"] {
        let (status, text) = bank.said(&format!("-n show user format=user%{width}"));
        assert_eq!((status, text.len()), (0, 65_538), "{width}");
    }
}

/// Which made a circle once, and the accounts were in no tree and no dump any more.
#[test]
fn accounts_make_no_circle() {
    let mut bank = Bank::after(&[
        "add account a",
        "add account b parent=a",
        "add account c parent=b",
    ]);
    bank.refuses("modify account root set parent=b", "Nothing modified");
    bank.refuses("modify account a set parent=a", "Nothing modified");
    bank.refuses("modify account b set parent=a", "Nothing modified");
    bank.refuses("modify account a set parent=nope", "nope doesn't exist");
    let shown = "-nP show assoc tree format=account,parentname where account=a,b,c";
    bank.said("modify account a set parent=c");
    bank.shows(shown, "c|root\n a|c\n  b|a");
    bank.said("modify account c,a set parent=b");
    bank.shows(shown, "b|root\n a|b\n c|b");
}

/// All users of this cluster were deleted.
#[test]
fn what_is_deleted_on_another_cluster_stays_here() {
    let mut bank = Bank::after(&["add account a", "add user bob account=a"]);
    let before = bank.0.clone();
    for line in [
        "delete user where cluster=elsewhere",
        "delete user bob where cluster=elsewhere",
    ] {
        let (_, text) = bank.said(line);
        assert!(text.contains("Nothing deleted"), "{line}: {text}");
        assert!(bank.0 == before, "{line} changed something");
    }
}

#[test]
fn jobs_keep_the_association_that_they_count_for_alone() {
    let bank = || {
        Bank::after(&[
            "add account a",
            "add user ann account=a",
            "add user ann account=a partition=gpu",
        ])
    };
    let job = |job, partition: &str| AccountingUse {
        job,
        account: "a".to_owned(),
        user: "ann".to_owned(),
        partition: partition.to_owned(),
    };
    let (in_gpu, in_cpu) = ([job(7, "gpu")], [job(8, "cpu")]);
    let narrow = "delete user ann where account=a partition=gpu";
    let refused = bank().said_beside(&in_gpu, narrow);
    assert!(refused.1.contains("JobID = 7"), "{refused:?}");
    let mut other = bank();
    assert_eq!(other.said_beside(&in_cpu, narrow).0, 0);
    let left = |bank: &Bank| {
        let own = bank.0.associations.iter();
        let own = own.filter(|it| it.user.as_deref() == Some("ann"));
        own.map(|it| it.partition.clone()).collect::<Vec<_>>()
    };
    assert_eq!(left(&other), [None]);
    // From then on jobs of that partition count for the one that is left.
    let all = "delete user ann where account=a";
    for jobs in [&in_gpu, &in_cpu] {
        let refused = other.said_beside(jobs, all);
        assert!(refused.1.contains("Job(s) active"), "{refused:?}");
    }
    assert_eq!(other.said_beside(&[], all).0, 0);
}

/// As in Slurm, but for an empty name of `modify user`, which there stands for all users and accounts.
#[test]
fn what_names_nothing_or_something_else_does_not_change_all() {
    let mut bank = Bank::after(&[
        "add account a",
        "add user ann account=a",
        "add user ben account=a",
    ]);
    let nothing = "Nothing modified";
    for what in ["account", "user", "qos", "cluster"] {
        bank.refuses(&format!("modify {what} where name= set maxjobs=4"), nothing);
        bank.refuses(&format!("modify {what}  set maxjobs=4"), nothing);
        let of_others = format!("modify {what} where cluster=zz set maxjobs=4");
        bank.refuses(&of_others, nothing);
    }
    bank.refuses("modify account where account= set maxjobs=4", nothing);
    bank.refuses("modify account where users=no set maxjobs=4", nothing);
    bank.refuses("modify user where user= set maxjobs=4", nothing);
    bank.refuses(
        "modify account where users=ann set description=x",
        "'where'",
    );
    for what in ["qos", "cluster"] {
        for condition in ["users=ann", "account=a", "partition=x", "wckey=x"] {
            let line = format!("modify {what} where {condition} set maxjobs=4");
            bank.refuses(&line, &format!("Unknown condition: {condition}"));
        }
    }
    for key in [
        "description=x",
        "user=ann",
        "account=a",
        "partition=x",
        "wckeys=x",
    ] {
        let line = format!("modify cluster set maxjobs=3 {key}");
        bank.refuses(&line, &format!("Unknown option: {key}"));
    }
    let line = "C = c          A = a                    U = ann";
    bank.shows(
        "-i modify account where users=ann set maxjobs=4",
        &format!("Modified account associations...\n  {line}"),
    );
    bank.shows(
        "-i modify account set description=all",
        "Modified accounts...\n  root\n  a",
    );
}

/// As a real Slurm 22.05.8 answered with slurmdbd (`sacctmgr -i …`, and `sbatch -A` of the jobs): those under an account go
/// with it, and of them the names alone are left; children had been put under root, and their jobs let them go.
#[test]
fn accounts_under_one_go_with_it_while_no_job_counts_there() {
    let tree = || {
        Bank::after(&[
            "add account zp",
            "add account zc parent=zp",
            "add account zd parent=zc",
            "add account o",
            "add user dave account=zp",
            "add user dave account=zd",
            "add user carol account=zc",
            "add user zoe account=o",
            "add user zoe account=zc",
        ])
    };
    let job = |job, account: &str, user: &str| AccountingUse {
        job,
        account: account.to_owned(),
        user: user.to_owned(),
        partition: "all".to_owned(),
    };
    let active = " Error with request: Job(s) active, cancel job(s) before remove\n";
    let line = |job, account, user| {
        format!("  JobID = {job:<10} C = c          A = {account:<10} U = {user:<9}\n")
    };
    let check = |line: &str, jobs: &[AccountingUse], want: (u8, &str), left: &[&str]| {
        let mut bank = tree();
        assert_eq!(
            bank.said_beside(jobs, line),
            (want.0, want.1.to_owned()),
            "{line}"
        );
        let shown = bank.said("show assoc format=account,user,parentname -nP").1;
        let shown: Vec<&str> = shown
            .lines()
            .filter(|it| !it.starts_with("root|"))
            .collect();
        let mut shown = shown;
        let mut left = left.to_vec();
        shown.sort_unstable();
        left.sort_unstable();
        assert_eq!(shown, left, "{line}");
        bank
    };
    let all = [
        "o||root",
        "o|zoe|",
        "zp||root",
        "zp|dave|",
        "zc||zp",
        "zc|zoe|",
        "zc|carol|",
        "zd||zc",
        "zd|dave|",
    ];
    let jobs = [
        job(6, "zp", "dave"),
        job(7, "zc", "carol"),
        job(8, "zd", "dave"),
    ];
    let said = [
        line(6, "zp", "dave"),
        line(7, "zc", "carol"),
        line(8, "zd", "dave"),
    ];
    let refused = format!("{active}{}", said.concat());
    check("delete account zp", &jobs, (1, &refused), &all);
    let refused = format!("{active}{}{}", said[1], said[2]);
    check("delete account zc", &jobs, (1, &refused), &all);
    let done = " Deleting accounts...\n  zp\n";
    let mut bank = check(
        "delete account zp",
        &[job(9, "o", "zoe")],
        (0, done),
        &["o||root", "o|zoe|"],
    );
    let names = |bank: &mut Bank| bank.said("show account format=account -nP").1;
    assert_eq!(names(&mut bank), "o\nroot\nzc\nzd\n");
    let defaults = "show user carol,zoe format=user,defaultaccount -nP";
    bank.shows(defaults, "carol|\nzoe|o");
    let unknown = " Nothing new added.\n This account 'zc' doesn't exist on cluster c\n        Contact your admin to add this account.\n";
    assert_eq!(
        bank.said("add user zoe account=zc"),
        (1, unknown.to_owned())
    );
    assert_eq!(
        bank.said("modify account zc set parent=root"),
        (1, " Nothing modified\n".to_owned())
    );
    let again = " Associations\n  A = zc         C = c         \n Settings\n  Parent        = o\n";
    assert_eq!(bank.said("add account zc parent=o"), (0, again.to_owned()));
    bank.shows(
        "show assoc account=zc format=account,user,parentname -nP",
        "zc||o",
    );
    // A name that is left goes like an account.
    let done = " Deleting accounts...\n  zd\n";
    assert_eq!(bank.said("delete account zd"), (0, done.to_owned()));
    assert_eq!(names(&mut bank), "o\nroot\nzc\n");
}
