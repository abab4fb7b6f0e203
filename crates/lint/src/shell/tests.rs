use super::*;
use expect_test::{Expect, expect};
use proptest::prelude::*;

fn show(text: &str) -> String {
    let shell = Shell::read(text, 0);
    let mut lines: Vec<String> = shell
        .commands
        .iter()
        .map(|command| {
            let sets: Vec<String> = command
                .sets
                .iter()
                .map(|set| format!("{}={:?}", set.name, set.value.text))
                .collect();
            let words: Vec<&str> = command.words.iter().map(|word| &*word.text).collect();
            let marks = [
                (command.background, " &"),
                (command.substitution, " $()"),
                (command.function, " f"),
                (command.depth > 0, " >"),
                (command.end == End::Pipe, " |"),
            ];
            let marks: String = marks
                .iter()
                .filter(|(on, _)| *on)
                .map(|(_, mark)| *mark)
                .collect();
            let line = format!("{} [{}]{marks}", sets.join(" "), words.join("|"));
            line.trim_start().to_owned()
        })
        .collect();
    if !shell.sound {
        lines.push("unsound".to_owned());
    }
    lines.join("\n")
}

#[track_caller]
fn check(text: &str, want: Expect) {
    want.assert_eq(&show(text));
}

#[test]
fn words_quotes_and_continuations() {
    check(
        "# c\nsrun --mpi=pmix \\\n  python 'a b' \"x $Y\" c\\ d # end\nA=1 B=\"2 3\" cmd\nexport X=$HOME/y Z\n",
        expect![[r#"
            [srun|--mpi=pmix|python|a b|x $Y|c d]
            A="1" B="2 3" [cmd]
            X="$HOME/y" [export|Z]"#]],
    );
}

#[test]
fn how_commands_end() {
    check(
        "a | b &\nc && d\n(e; f) &\nwhile true; do g; done &\n{ h; }\ni &> log\nj 2>&1 >x &\nwait $!\n",
        expect![[r#"
             [a] & |
             [b] &
             [c]
             [d]
             [e] & >
             [f] & >
             [true]
             [g] & >
             [h] >
             [i]
             [j] &
             [wait|$!]"#]],
    );
}

#[test]
fn blocks_functions_and_substitutions() {
    check(
        "f() {\n  local a=$(srun hostname | head -n1)\n}\nfunction g { x; }\nif [ -d y ]; then z; elif [[ $a == b && -n $c ]]; then w; fi\n\
         for i in $(seq 3); do echo $i; done\nfor ((i=0; i<3; i++)); do q; done\ncase $x in\n a|b) r ;;\n *) s;;\nesac\nt=(a 'b c'\n d)\n((i++))\nu=`date`\n",
        expect![[r#"
            [srun|hostname] $() f |
            [head|-n1] $() f
            a="$(srun hostname | head -n1)" [local] f >
            [x] f >
            [[|-d|y|]] >
            [z] >
            [w] >
            [seq|3] $()
            [echo|$i] >
            [q] >
            [r] >
            [s] >
            t="" []
            [date] $()
            u="`date`" []"#]],
    );
}

#[test]
fn here_documents_are_no_commands() {
    check(
        "cat > job.sh <<EOF\n#SBATCH -n 4\nsrun x\nEOF\ncat <<-'E' | sbatch\n\tsrun y\n\tE\nz <<< 'w v'\nx=$(cat <<E\na\nE\n)\nlast\n",
        expect![[r#"
            [cat]
            [cat] |
            [sbatch]
            [z]
            [cat] $()
            x="$(cat <<E\na\nE\n)" []
            [last]"#]],
    );
}

#[test]
fn what_is_not_closed() {
    check(
        "a 'b\nc\n",
        expect![[r#"
        [a|b
        c
        ]
        unsound"#]],
    );
    check(
        "a <<E\nb\n",
        expect![[r#"
        [a]
        unsound"#]],
    );
    check(
        "a $(b\n",
        expect![[r#"
        [b] $()
        [a|$(b
        ]
        unsound"#]],
    );
    check(
        "a ${b\nc\n",
        expect![[r#"
        [a|${b]
        [c]
        unsound"#]],
    );
}

#[test]
fn programs_behind_wrappers() {
    let name = |text: &str| Shell::read(text, 0).commands[0].name().to_owned();
    assert_eq!(name("time srun a"), "srun");
    assert_eq!(name("exec /usr/bin/env A=b python x"), "python");
    assert_eq!(name("timeout -k 5 10m mpirun x"), "mpirun");
    assert_eq!(name("A=b nice -n 5 ./run.sh"), "run.sh");
    assert_eq!(name("env"), "");
}

proptest! {
    #[test]
    fn any_text_is_read_to_its_end(text in "(?s)[ -~\n\t\u{e4}]{0,80}|([$(){}`\"'\\\\;&|<>\n #=a-c]){0,60}") {
        let shell = Shell::read(&text, 0);
        for command in &shell.commands {
            for word in &command.words {
                prop_assert!(text.get(word.range.clone()).is_some());
            }
        }
    }
}

/// The work that `&` makes grows with the script, not with its square.
#[test]
fn what_runs_beside_is_told_once() {
    const MANY: usize = 10_000;
    for text in [
        format!("{}a{}", "( ".repeat(MANY), ") &".repeat(MANY)),
        format!(
            "{}{}a{}",
            "b;".repeat(MANY),
            "{ ".repeat(MANY),
            "; } &".repeat(MANY)
        ),
        format!("{}a {}", "a | ".repeat(MANY), "& ".repeat(MANY)),
        format!("for i in {}\n{}", "$(a) ".repeat(MANY), "& ".repeat(MANY)),
        "a $(b) & ".repeat(MANY),
    ] {
        super::blocks::STEPS.set(0);
        let shell = Shell::read(&text, 0);
        assert_eq!(shell.full_at, None);
        let (steps, commands) = (super::blocks::STEPS.get(), shell.commands.len());
        assert!(
            steps <= commands + 2 * MANY,
            "{steps} for {commands}: {}",
            &text[..30]
        );
    }
}

#[test]
fn groups_in_groups_run_beside() {
    check(
        "a; { b; ( c ) & d; } & e",
        expect![[r#"
            [a]
            [b] & >
            [c] & >
            [d] & >
            [e]"#]],
    );
}
