use super::*;

const FILE: &str = "
    [qos.normal]\npriority = 100\nmax_wall = \"1-00:00:00\"\npreempt = [\"opp\"]
    [qos.opp]\nmax_tres_per_user = \"gres/gpu=2,mem=4G\"\npreempt_mode = \"requeue\"
    [account.lab]\nqos = [\"normal\"]\nmax_jobs = 3
    [account.child]\nparent = \"lab\"
    [user.ann]\naccounts = [\"lab\", \"child\"]\ndefault_account = \"child\"
    [user.ann.account.lab]\nmax_submit = 2\nqos = [\"opp\"]
";

#[test]
fn what_a_file_says_stays_when_it_was_kept() {
    let file = ClusterFile::parse("lab", FILE).unwrap_or_default();
    let kept = file.accounting("lab", "root");
    assert_eq!(kept.qos.len(), 2);
    assert_eq!(kept.associations.len(), 6, "{kept:#?}");
    let again = file.with_accounting(&kept);
    assert_eq!(again.accounting("lab", "root").qos, kept.qos);
    let ann = again.user("ann").expect("a user of that name");
    let own = named(&ann.associations, "lab").expect("an association");
    assert_eq!(own.max_submit.as_ref().map(|own| own.value), Some(2));
    assert_eq!(list(&own.qos), Some(vec!["opp".to_owned()]));
    let child = named(&again.accounts, "child").expect("an account");
    assert_eq!(child.parent.as_ref().map(|own| &own.value[..]), Some("lab"));
    let normal = again.qos("normal").expect("a QOS");
    assert_eq!(normal.settings(), kept.qos[0].settings);
}

#[test]
fn several_associations_in_an_account_stay_when_they_were_kept() {
    let text = "[qos.a]\n[account.lab]\n[partition.gpu]\nnodes = \"ALL\"
        [[user.ann.account.lab]]\npartition = \"gpu\"\nmax_jobs = 1
        [[user.ann.account.lab]]\nmax_jobs = 2";
    let file = ClusterFile::parse("lab", text).unwrap_or_default();
    let again = file.with_accounting(&file.accounting("lab", "root"));
    let ann = again.user("ann").expect("a user of that name");
    let limits = ann.associations.iter().map(|own| {
        let partition = own.partition.as_ref().map(|it| it.value.as_str());
        (partition, own.max_jobs.as_ref().map(|it| it.value))
    });
    assert_eq!(
        limits.collect::<Vec<_>>(),
        [(Some("gpu"), Some(1)), (None, Some(2))]
    );
}

#[test]
fn a_user_who_is_in_no_account_any_more_is_no_user_of_the_cluster() {
    let file = ClusterFile::parse("lab", FILE).unwrap_or_default();
    let mut kept = file.accounting("lab", "root");
    kept.associations
        .retain(|own| own.user.as_deref() != Some("ann"));
    assert!(file.with_accounting(&kept).user("ann").is_none());
}

#[test]
fn root_that_the_file_names_has_one_association() {
    let text = "[account.root]\n[user.root]\naccounts = [\"root\"]\ndefault_qos = \"a\"\n[qos.a]\n";
    let file = ClusterFile::parse("lab", text).unwrap_or_default();
    let kept = file.accounting("lab", "root");
    let of_root = kept.associations.iter().filter(|it| it.user.is_some());
    let defaults: Vec<_> = of_root.map(|it| it.settings.get("defaultqos")).collect();
    assert_eq!(defaults, [Some(&"a".to_owned())]);
}

#[test]
fn the_owner_has_what_everyone_has() {
    let text = "[qos.a]\npriority = 1\n[user.\"*\"]\naccounts = [\"all\"]\n";
    let file = ClusterFile::parse("lab", text).unwrap_or_default();
    let kept = file.accounting("lab", "me");
    assert_eq!(kept.users.len(), 1);
    assert_eq!(kept.users[0].default_account, "all");
    assert_eq!(kept.users[0].admin, "Administrator");
}
