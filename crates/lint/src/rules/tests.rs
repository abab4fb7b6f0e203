use super::*;
use crate::testing::{Setup, lint};
use std::collections::HashSet;

#[test]
fn codes_and_names_are_given_once_and_stand_in_order() {
    assert!(RULES.is_sorted_by_key(|rule| rule.code));
    let mut seen = HashSet::new();
    for rule in RULES {
        assert!(seen.insert(rule.code), "{} twice", rule.code);
        assert!(seen.insert(rule.name), "{} twice", rule.name);
        let digits = rule.code.strip_prefix('Y').unwrap();
        assert!(digits.len() == 3 && digits.bytes().all(|byte| byte.is_ascii_digit()));
        assert!(
            !rule.summary.ends_with('.') && !rule.summary.is_empty(),
            "{}",
            rule.code
        );
        assert!(rule.summary.len() <= 100, "{} is long", rule.code);
        for line in rule.page.lines() {
            assert!(line.chars().count() <= 100, "{}: {line}", rule.code);
        }
    }
}

#[test]
fn every_page_has_an_example_of_which_the_rule_speaks() {
    // Run files are read by the parser of another crate.
    for rule in RULES.iter().filter(|rule| rule.code != "Y800") {
        let example = rule
            .example()
            .unwrap_or_else(|| panic!("{} has no example", rule.code));
        // What can't be seen in a page is put in its place here.
        let example = example.replace("\\r\n", "\r\n");
        let example = example.replace('…', &"-n 1 ".repeat(5_000));
        let setup = Setup {
            cluster: rule.needs_cluster,
            cwd: if rule.name == "no-jobs-here" {
                "/nashome/ada"
            } else {
                "/work"
            },
            ..Setup::PLAIN
        };
        let findings = lint(setup, &example);
        assert!(
            findings.iter().any(|finding| finding.code == rule.code),
            "{} is silent on its own example:\n{example}\n{findings:#?}",
            rule.code
        );
        let page = rule.explanation();
        assert!(page.contains(rule.code) && page.contains(rule.summary));
    }
}

#[test]
fn what_is_harmless_is_left_in_peace() {
    let script = "#!/bin/bash -l\n\
        ##SBATCH --nosuch\n\
        #SBATCH --job-name=train      # the name\n\
        #SBATCH\t--nodes=1\t\t# one\n\
        #SBATCH -n 1\n\
        #SBATCH --mem=16G --time=2:00:00\n\
        #SBATCH -o logs/%x-%j.out\n\
        # a comment, with 'one quote\n\n\
        module purge\n\
        cat > next.sh <<EOF\n#!/bin/bash\n#SBATCH --nosuch\n#SBATCH -n $N\nEOF\n\
        echo \"#SBATCH --nosuch\"\n\
        ##SBATCH --late\n\
        srun ./a.out \"$@\"\n";
    let findings = lint(Setup::PLAIN, script);
    assert_eq!(findings, []);
}

/// What another version would not do is no claim where the cluster file only assumes the version.
#[test]
fn what_rests_on_an_assumed_version_is_a_note() {
    for (code, script) in [
        ("Y031", "#SBATCH -n 1 -o missing/x.out\nsrun python x.py\n"),
        ("Y054", "#SBATCH -c 4\nsrun python x.py\n"),
        ("Y003", "#SBATCH -N 1,2,4\nsrun python x.py\n"),
        ("Y001", "#SBATCH --tres-per-task=cpu:1\nsrun python x.py\n"),
    ] {
        let found = crate::testing::lint_on("wilson", &format!("#!/bin/bash\n{script}"));
        let found = found.iter().find(|finding| finding.code == code).unwrap();
        assert_eq!(found.severity, crate::Severity::Note, "{code}");
        assert!(!found.refused, "{code}");
        let why = found.really.as_deref().unwrap();
        assert!(why.contains("assumes Slurm 22.05"), "{code}: {why}");
    }
}
