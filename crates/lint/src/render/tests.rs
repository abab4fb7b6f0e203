use super::*;
use crate::testing::{Setup, lint};
use crate::{Lines, apply, choose};
use expect_test::expect;
use model::WIDEST;

const SCRIPT: &str = "#!/bin/bash\n#SBATCH --constraint=v100\n#SBATCH --cpus-per-gpus=6 --gpus=2\n\
    #SBATCH --constraint=cpu_intel_platinum_8260\n#SBATCH --output=../missing/%x/slurm-%j.out\n\
    srun python train.py\n";

#[test]
fn for_people() {
    let findings = lint(
        Setup {
            version: Some("22.05"),
            ..Setup::PLAIN
        },
        SCRIPT,
    );
    let lines = Lines::new(SCRIPT);
    let shown: String = findings
        .iter()
        .map(|f| text(f, &lines, "job.sh", WIDEST))
        .collect();
    let mut counts = Counts::default();
    counts.add(&findings);
    let shown = shown + &summary(counts, Some("Y012"));
    expect![[r#"
        error[Y012]: the first --constraint is dropped
          --> job.sh:2:9
           2 │ #SBATCH --constraint=v100
             │         ^^^^^^^^^^^^^^^^^ replaced by line 4
           4 │ #SBATCH --constraint=cpu_intel_platinum_8260
             │         ------------------------------------ this one counts
             │ Slurm keeps the last of two: nodes need not have the first
          help: write both in one: --constraint=v100&cpu_intel_platinum_8260

        error[Y001]: sbatch has no option --cpus-per-gpus
          --> job.sh:3:9
           3 │ #SBATCH --cpus-per-gpus=6 --gpus=2
             │         ^^^^^^^^^^^^^^^ did you mean --cpus-per-gpu?
          help: --fix puts it right

        warning[Y031]: output folder ../missing/job.sh does not exist
          --> job.sh:5:9
           5 │ #SBATCH --output=../missing/%x/slurm-%j.out
             │         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ on Slurm 22.05 the job fails without a log
          help: mkdir -p ../missing/job.sh, before it is submitted

        note[Y063]: 2 GPUs and 1 process: plain code uses one GPU a process
          --> job.sh:6:1
           3 │ #SBATCH --cpus-per-gpus=6 --gpus=2
             │                           --------
           6 │ srun python train.py
             │ ^^^^ starts 1 process
          help: a task for each GPU, or fewer GPUs; a program that spreads its work over GPUs is fine

        2 errors, 1 warning, 1 note · --fix puts 1 right · yard lint --explain Y012
    "#]].assert_eq(&shown);
}

#[test]
fn long_lines_are_cut_round_the_place() {
    let script = format!("#!/bin/sh\n#SBATCH -J {} --nosuch\n", "ä".repeat(200));
    let findings = lint(Setup::PLAIN, &script);
    let shown = text(&findings[0], &Lines::new(&script), "-", WIDEST);
    expect![[r#"
        error[Y001]: Slurm's own sbatch has no option --nosuch
          --> -:2:213
           2 │ äääääääääääääää --nosuch
             │                 ^^^^^^^^
          help: a plugin of the site may bring it: only there it is taken

    "#]]
    .assert_eq(&shown);
}

#[test]
fn for_programs() {
    let findings = lint(Setup::PLAIN, SCRIPT);
    let lines = Lines::new(SCRIPT);
    let document = json_head()
        + &json_file(&findings, &lines, &|at| at, "a.sh", true)
        + &json_file(&[], &lines, &|at| at, "b.sh", false)
        + &json_tail();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["files"][0]["refused"], true);
    assert_eq!(document["files"][1]["findings"], serde_json::json!([]));
    let finding = &document["files"][0]["findings"][0];
    assert_eq!(finding["code"], "Y012");
    assert_eq!(finding["labels"][0]["line"], 2);
    assert_eq!(finding["labels"][0]["column"], 9);
}

#[test]
fn sarif_has_what_the_standard_requires() {
    let findings = lint(Setup::PLAIN, SCRIPT);
    let lines = Lines::new(SCRIPT);
    let document = sarif_head("1.2.3")
        + &sarif_results(&findings, &lines, b"dir/a b.sh", true)
        + &sarif_results(&findings, &lines, b"-", false)
        + &sarif_tail();
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert_eq!(document["version"], "2.1.0");
    let run = &document["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "yard lint");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2 * findings.len());
    for result in results {
        assert!(result["message"]["text"].is_string());
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(["note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
        let place = &result["locations"][0]["physicalLocation"];
        assert!(
            ["dir/a%20b.sh", "stdin"].contains(&place["artifactLocation"]["uri"].as_str().unwrap())
        );
        assert!(place["region"]["startLine"].as_u64().unwrap() >= 1);
        for fix in result["fixes"].as_array().into_iter().flatten() {
            for change in fix["artifactChanges"].as_array().unwrap() {
                assert!(change["artifactLocation"]["uri"].is_string());
                for replacement in change["replacements"].as_array().unwrap() {
                    assert!(replacement["deletedRegion"]["startLine"].is_u64());
                }
            }
        }
    }
}

#[test]
fn for_github() {
    let findings = lint(Setup::PLAIN, SCRIPT);
    let shown = github(&findings[0], &Lines::new(SCRIPT), "a,b.sh");
    expect![[r#"
        ::error file=a%2Cb.sh,line=2,col=9,endLine=2,endColumn=26,title=yard lint Y012::the first --constraint is dropped%0ASlurm keeps the last of two: nodes need not have the first%0Awrite both in one: --constraint=v100&cpu_intel_platinum_8260
    "#]].assert_eq(&shown);
}

#[test]
fn what_would_change() {
    let findings = lint(Setup::PLAIN, SCRIPT);
    let fixed = apply(SCRIPT, &choose(&findings).0);
    expect![[r#"
        --- job.sh
        +++ job.sh
        @@ -1,6 +1,6 @@
         #!/bin/bash
         #SBATCH --constraint=v100
        -#SBATCH --cpus-per-gpus=6 --gpus=2
        +#SBATCH --cpus-per-gpu=6 --gpus=2
         #SBATCH --constraint=cpu_intel_platinum_8260
         #SBATCH --output=../missing/%x/slurm-%j.out
         srun python train.py
    "#]]
    .assert_eq(&diff(SCRIPT, &fixed, "job.sh"));
    assert_eq!(diff(SCRIPT, SCRIPT, "job.sh"), "");
    expect![[r#"
        --- x
        +++ x
        @@ -1,1 +1,2 @@
        -a
        \ No newline at end of file
        +a
        +b
    "#]]
    .assert_eq(&diff("a", "a\nb\n", "x"));
}

#[test]
fn no_line_is_longer_than_a_hundred_columns() {
    let long = "x".repeat(1 << 21);
    let folder = format!("missing/{}/%x/%j.out", "deep/".repeat(30));
    for script in [
        "#SBATCH --gpus-per-task=1\n".to_owned(),
        "#SBATCH --gpus=4 --nodes=2-3 --gpus-per-node=4\n".to_owned(),
        format!("#SBATCH --output={folder}\n"),
        format!("#SBATCH -J {}\u{2019}\n", "name".repeat(40)),
        format!("#SBATCH -n {long}\n"),
        format!("#SBATCH -n 1 --{long}\n"),
        format!("#SBATCH --constraint={long} --constraint=a\n"),
        format!("#SBATCH -n 1 --output=${long}\n"),
    ] {
        let script = format!("#!/bin/sh\n{script}");
        let findings = lint(Setup::PLAIN, &script);
        assert!(!findings.is_empty(), "{script:.80}");
        let lines = Lines::new(&script);
        for finding in &findings {
            for row in text(finding, &lines, "job.sh", WIDEST).lines() {
                assert!(row.chars().count() <= 100, "{row:.300}");
            }
            assert!(json_file(&findings, &lines, &|at| at, "job.sh", true).len() < 20_000);
        }
    }
}

/// A fix of many edits is one edit in a document, which makes the same text.
#[test]
fn a_fix_of_many_edits_is_one_in_documents() {
    let text = format!("#!/bin/sh\r\n{}", "true\r\n".repeat(5000));
    let findings = lint(Setup::PLAIN, &text);
    let lines = Lines::new(&text);
    let fix = findings.iter().find_map(|one| one.fix.as_deref()).unwrap();
    assert!(fix.len() > 5000);
    let few = super::few(fix, &lines);
    assert_eq!(few.len(), 1);
    assert_eq!(crate::apply(&text, &few), crate::apply(&text, fix));
}
