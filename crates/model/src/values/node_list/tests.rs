#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use super::*;
use proptest::prelude::*;

#[track_caller]
fn check(list: &str, names: &str) {
    let got = expand(list).map(|names| {
        let names: Vec<String> = names.iter().map(ToString::to_string).collect();
        names.join(" ")
    });
    assert_eq!(got.unwrap_or_else(|error| error.to_string()), names);
}

#[track_caller]
fn check_fold(names: &str, kept: &str, sorted: &str) {
    let mut names = expand(names).unwrap();
    assert_eq!(fold(&names), kept);
    sort(&mut names);
    assert_eq!(fold(&names), sorted);
}

/// Wider than what the formatter can do.
#[test]
fn numbers_of_any_width() {
    let zeros = "0".repeat(70_000);
    check(&format!("n[{zeros}1]"), &format!("n{zeros}1"));
    check(&format!("n[{zeros}1]m[1]"), &format!("n{zeros}1m1"));
}

#[test]
fn brackets_expand() {
    check("a[9-11]", "a9 a10 a11");
    check(
        "a[1-2]b[3-4]c[5-6]",
        "a1b3c5 a1b3c6 a2b3c5 a2b3c6 a1b4c5 a1b4c6 a2b4c5 a2b4c6",
    );
    check("n[1-]", "n1");
    check("n9[8-12]", "n98 n99 n910 n911 n912");
    check("n[098-101]", "n098 n099 n100 n101");
    check("n[99-100]", "n99 n100");
    check("n[1", "n]");
    check("n[+1-3]", "n01 n02 n03");
    check("a,,b\tc\nd", "a b c d");
    check("a]b[1-2]", "a]b1 a]b2");
    check("", "");
}

#[test]
fn what_slurm_refuses_is_refused() {
    for list in [
        "c[1-2]-ib",
        "n[1-2]]",
        "n[[1-2]]",
        "n[]",
        "n[1,,2]",
        "n[-3]",
        "n[0-70000]",
    ] {
        check(list, &format!("Invalid hostlist: {list}"));
    }
    let detail = expand("n[0-70000]").unwrap_err().detail();
    assert_eq!(
        detail.as_deref(),
        Some("_parse_single_range: Too many hosts in range `0-70000'")
    );
}

/// As a real 22.05.8 folds them (`scontrol show hostlist`): a prefix stays what a bracket had.
#[test]
fn lists_are_folded_by_the_prefixes_that_they_have() {
    let folded = |list: &str, sorted| fold_list(list, sorted).unwrap();
    assert_eq!(folded("a[1-2][3-4]", false), "a1[3-4],a2[3-4]");
    assert_eq!(folded("a13,a14,a23,a24", false), "a[13-14,23-24]");
    assert_eq!(folded("n[1-2],n3,n[4-5]", false), "n[1-5]");
    assert_eq!(folded("n[4-5],n[1-3]", true), "n[1-5]");
    assert_eq!(folded("n[1-3],n2", true), "n[1-2,2-3]");
    assert!(fold_list("n[", false).is_ok());
}

#[test]
fn brackets_without_an_end() {
    let many = "[".repeat(1 << 20);
    assert_eq!(expand(&many).unwrap().len(), 1);
    assert_eq!(expand(&format!("a]{many},b")).unwrap().len(), 2);
}

#[test]
fn a_list_that_would_fill_the_memory_is_refused() {
    let long = format!("{}[1-60000]b[1-2]", "a".repeat(4000));
    let deep = format!("a{}[1-2]", "[1]".repeat(1 << 20));
    for list in ["a[0-60000]b[0-60000]", "a[1-2]".repeat(64).as_str(), &long] {
        assert_eq!(expand(list).unwrap_err(), NodeListError::TooMany, "{list}");
    }
    assert_eq!(expand(&deep).unwrap().len(), 2);
}

#[test]
fn folding_keeps_the_order_or_sorts() {
    check_fold(
        "n01,n02,n03,n05,m1,n10,n4",
        "n[01-03,05],m1,n[10,4]",
        "m1,n[4,01-03,05,10]",
    );
    check_fold("a3,b,n[01-02,05]", "a3,b,n[01-02,05]", "a3,b,n[01-02,05]");
    check_fold("x,x,1,2,x", "x,x,[1-2],x", "[1-2],x,x,x");
    check_fold("a10b,a9b,a10,a9", "a10b,a9b,a[10,9]", "a[9-10],a9b,a10b");
    check_fold("rack10n1,rack9n1", "rack10n1,rack9n1", "rack9n1,rack10n1");
}

#[test]
fn of_repeated_names_the_first_stays() {
    let mut names = expand("b,a,b,a1,a[1-2],a").unwrap();
    drop_repeated(&mut names);
    assert_eq!(fold(&names), "b,a,a[1-2]");
}

proptest! {
    #[test]
    fn a_list_has_the_names_that_it_expands_to(
        list in prop::collection::vec("(n|m)?(\\[0{0,2}[0-9](-[0-9]{2})?(,1[0-9])?\\])?x?(\\[0?[0-9]{1,2}\\])?", 0..3),
        names in prop::collection::vec("(n|m)?0{0,2}[0-9]{0,2}x?0?[0-9]{0,2}", 0..3),
    ) {
        let list = list.join(",");
        let names: Vec<NodeName> = names.into_iter().map(NodeName::from).collect();
        let all = expand(&list);
        let want = all.map(|all| all.iter().any(|own| names.contains(own)));
        prop_assert_eq!(has_any(&list, &names), want);
        if let Some(own) = expand(&list).ok().and_then(|mut all| all.pop()) {
            prop_assert_eq!(has_any(&list, &[own]), Ok(true));
        }
    }

    #[test]
    fn of_each_name_one_is_left(names in prop::collection::vec("[a-c][0-9]{0,2}", 0..40)) {
        let mut names: Vec<NodeName> = names.into_iter().map(NodeName::from).collect();
        let mut want: Vec<NodeName> = Vec::new();
        for name in &names {
            if !want.contains(name) {
                want.push(name.clone());
            }
        }
        drop_repeated(&mut names);
        prop_assert_eq!(names, want);
    }

    #[test]
    fn fold_then_expand_is_the_same(names in prop::collection::vec("[a-c]{1,2}[0-9]{0,4}(x[0-9]{1,2})?", 0..40)) {
        let names: Vec<NodeName> = names.into_iter().map(NodeName::from).collect();
        prop_assert_eq!(expand(&fold(&names)).unwrap(), names);
    }

    #[test]
    fn no_text_panics(list in "[a-c\\[\\],0-9 x-]{0,24}") {
        let _ = expand(&list);
    }
}
