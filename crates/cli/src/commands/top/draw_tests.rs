//! Frames as texts.

use super::super::state::{Action, Command, Input, Key};
use super::*;
use expect_test::{Expect, expect};
use folder::{Attempt, Event, EventLine, IndexEntry, RunFolder};
use model::Timestamp;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use runs::{Listed, ListedKind, Run, RunLook, RunState, Start};
use std::path::Path;
use std::sync::Arc;
use watch::{Measure, Recent, Sample, Subject};

fn frame(state: &State, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, state)).unwrap();
    let buffer = terminal.backend().buffer();
    let mut text = String::new();
    for y in 0..height {
        let line: String = (0..width).map(|x| buffer[(x, y)].symbol()).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn listed(id: &str, cluster: &str, state: RunState) -> Listed {
    let folder = RunFolder::at(Path::new("/none").join(id).as_path());
    let started = EventLine {
        at: Timestamp(0),
        event: Event::Started {
            job: 17,
            restart: 0,
            nodes: vec!["n1".to_owned()],
        },
    };
    let run = Run {
        entry: IndexEntry {
            id: id.to_owned(),
            name: id.to_owned(),
            cluster: cluster.to_owned(),
            folder: folder.path().to_owned(),
            created: Timestamp(0),
            repeats: None,
            of: None,
        },
        folder,
        links: Vec::new(),
        asked_again: false,
        cancelled: false,
        on_engine: false,
        starts: vec![Start {
            attempt: Attempt {
                job: 17,
                restart: 0,
            },
            events: vec![started],
        }],
        element: None,
        environment_jobs: Vec::new(),
    };
    Listed {
        what: ListedKind::Run {
            run: Arc::new(run),
            view: None,
        },
        cluster: cluster.to_owned(),
        state,
    }
}

const NOW: Timestamp = Timestamp(600_000);

fn running() -> RunState {
    RunState::Running {
        since: Some(Timestamp(0)),
    }
}

/// Of so many ranks and GPUs, all alike.
fn look(ranks: u32, gpus: u32) -> RunLook {
    let mut recent = Recent::default();
    let mut add = |subject, values: &[(Measure, f32)]| {
        let mut sample = Sample::new(NOW, 17, 0, subject);
        for (measure, value) in values {
            sample.set(*measure, *value);
        }
        recent.add("n1", sample);
    };
    add(
        Subject::Node,
        &[
            (Measure::Cpu, 12.3),
            (Measure::Memory, 40_000.0),
            (Measure::MemoryTotal, 131_072.0),
        ],
    );
    for gpu in 0..gpus {
        add(
            Subject::Gpu(gpu),
            &[
                (Measure::Busy, 93.0),
                (Measure::GpuMemory, 31_846.0),
                (Measure::GpuMemoryTotal, 32_768.0),
                (Measure::Temperature, 62.0),
                (Measure::Rank, gpu as f32),
            ],
        );
    }
    for rank in 0..ranks {
        add(
            Subject::Rank(rank),
            &[(Measure::Cpu, 3.2), (Measure::Memory, 4200.0)],
        );
    }
    let measured = recent.of(17, 0);
    RunLook {
        measured: measured
            .map(|(node, subject, latest)| (node.to_owned(), subject, latest.clone()))
            .collect(),
        printed: [(0, Timestamp(400_000)), (1, NOW)].into(),
        rank: 0,
        lines: (0..50)
            .map(|step| format!("step {step}  loss 0.{step}"))
            .collect(),
    }
}

/// With the first of the runs chosen.
fn state(runs: &[Listed], look: &RunLook) -> State {
    let mut state = State::new(false);
    let news = |key: Option<String>| News {
        rows: runs.iter().map(|run| Row::of(run, look, NOW)).collect(),
        detail: key.map(|_| Detail::of(&runs[0], look, NOW)),
        problems: Vec::new(),
    };
    state.update(Input::News(news(None)));
    let key = state.wanted().key;
    state.update(Input::News(news(key)));
    state
}

#[track_caller]
fn check(state: &State, width: u16, height: u16, want: Expect) {
    want.assert_eq(&frame(state, width, height));
}

#[test]
fn a_small_terminal() {
    let waits = RunState::Waiting {
        reason: "QOSMaxJobsPerUserLimit".to_owned(),
    };
    let runs = [
        listed("resnet50-k3f9", "ibex", running()),
        listed("bert-x81c", "wilson", waits),
    ];
    check(
        &state(&runs, &look(2, 2)),
        80,
        24,
        expect![[r#"
            yard top · 1 running · 1 waiting
            RUN            JOB  CLUSTER  STATE    SINCE   PROGRESS  USED      NOTE
            resnet50-k3f9  –    ibex     running  10 min  –         2 × 93 %
            bert-x81c      –    wilson   waiting  10 min  –         2 × 93 %  you run as ma…
             resnet50-k3f9 · ibex · running ────────────────────────────────────────────────
            n1  12.3 CPUs busy  memory 39.1 of 128 GiB
            n1:0   93 % █  31.1 of 32.0 GiB  62 °C  rank 0
            n1:1   93 % █  31.1 of 32.0 GiB  62 °C  rank 1
              0 n1 3.2 CPU quiet 3 min    1 n1 3.2 CPU 4.1 GiB
            [0] step 36  loss 0.36
            [0] step 37  loss 0.37
            [0] step 38  loss 0.38
            [0] step 39  loss 0.39
            [0] step 40  loss 0.40
            [0] step 41  loss 0.41
            [0] step 42  loss 0.42
            [0] step 43  loss 0.43
            [0] step 44  loss 0.44
            [0] step 45  loss 0.45
            [0] step 46  loss 0.46
            [0] step 47  loss 0.47
            [0] step 48  loss 0.48
            [0] step 49  loss 0.49
            ↑↓ choose  l log  ←→ rank  c cancel  r requeue  a all  ? keys  q quit
        "#]],
    );
}

#[test]
fn a_wide_one_with_many_ranks() {
    let runs = [listed("resnet50-k3f9", "ibex", running())];
    check(
        &state(&runs, &look(64, 8)),
        160,
        20,
        expect![[r#"
            yard top · 1 running
            RUN            JOB  CLUSTER  STATE    SINCE   PROGRESS  USED      NOTE                   resnet50-k3f9 · ibex · running ────────────────────────────────────────
            resnet50-k3f9  –    ibex     running  10 min  –         8 × 93 %                        n1  12.3 CPUs busy  memory 39.1 of 128 GiB
                                                                                                    n1:0   93 % █  31.1 of 32.0 GiB  62 °C  rank 0
                                                                                                    n1:1   93 % █  31.1 of 32.0 GiB  62 °C  rank 1
                                                                                                    n1:2   93 % █  31.1 of 32.0 GiB  62 °C  rank 2
                                                                                                    n1:3   93 % █  31.1 of 32.0 GiB  62 °C  rank 3
                                                                                                    n1:4   93 % █  31.1 of 32.0 GiB  62 °C  rank 4
                                                                                                      and 3 more GPUs
                                                                                                      0 n1 3.2 CPU quiet 3 min    1 n1 3.2 CPU 4.1 GiB
                                                                                                      2 n1 3.2 CPU 4.1 GiB        3 n1 3.2 CPU 4.1 GiB
                                                                                                      4 n1 3.2 CPU 4.1 GiB        5 n1 3.2 CPU 4.1 GiB
                                                                                                      6 n1 3.2 CPU 4.1 GiB        7 n1 3.2 CPU 4.1 GiB
                                                                                                      and 28 more lines of ranks
                                                                                                    [0] step 45  loss 0.45
                                                                                                    [0] step 46  loss 0.46
                                                                                                    [0] step 47  loss 0.47
                                                                                                    [0] step 48  loss 0.48
                                                                                                    [0] step 49  loss 0.49
            ↑↓ choose  l log  ←→ rank  c cancel  r requeue  a all  ? keys  q quit
        "#]],
    );
}

#[test]
fn odd_names_move_no_cursor() {
    let runs = [listed("<b>x\x1b[2J\u{202e}y", "a\nb", running())];
    check(
        &state(&runs, &RunLook::default()),
        60,
        6,
        expect![[r#"
        yard top · 1 running
        RUN     JOB  CLUSTER  STATE    SINCE   PROGRESS  USED
        <b>x�y  –    a b      running  10 min  –         –
         <b>x�y · a b · running ────────────────────────────────────

        ↑↓ choose  l log  ←→ rank  c cancel  r requeue  a all  ? key
    "#]],
    );
}

#[test]
fn any_size_is_drawn() {
    let runs = [listed("resnet50-k3f9", "ibex", running())];
    let mut state = state(&runs, &look(64, 8));
    for screen in ['l', 'l', '?'] {
        for (width, height) in [(1, 1), (2, 3), (10, 4), (39, 7), (300, 100)] {
            frame(&state, width, height);
        }
        state.update(Input::Key(Key::Letter(screen)));
    }
}

#[test]
fn what_ends_a_run_is_asked_first() {
    let runs = [
        listed("resnet50-k3f9", "ibex", running()),
        listed("bert-x81c", "wilson", running()),
    ];
    let mut state = state(&runs, &look(2, 0));
    let mut press = |key| state.update(Input::Key(key));
    press(Key::Letter('c'));
    assert_eq!(press(Key::Letter('x')), None);
    press(Key::Down);
    press(Key::Letter('c'));
    let cancel = Command::Do(Action::Cancel, "bert-x81c".to_owned());
    assert_eq!(press(Key::Letter('y')), Some(cancel));
    press(Key::Letter('r'));
    let requeue = Command::Do(Action::Requeue, "bert-x81c".to_owned());
    assert_eq!(press(Key::Letter('y')), Some(requeue));
    assert_eq!(press(Key::Letter('q')), Some(Command::Quit));
}

/// Of twelve runs, the first of which has four ranks that printed 50 lines: after these keys, which is
/// chosen, which rank, what fills the screen, and how far back its log is.
#[track_caller]
fn check_keys(keys: &[Key], want: (&str, u32, Screen, usize)) {
    let runs: Vec<Listed> = (0..12)
        .map(|number| listed(&format!("run-{number}"), "ibex", running()))
        .collect();
    let mut state = state(&runs, &look(4, 0));
    for key in keys {
        assert_eq!(state.update(Input::Key(*key)), None, "{keys:?}");
    }
    let wanted = state.wanted();
    let key = wanted.key.as_deref().unwrap_or("none");
    let got = (key, wanted.rank, state.screen(), state.back());
    assert_eq!(got, want, "{keys:?}");
}

#[test]
fn each_key_does_what_the_page_of_keys_says() {
    use Key::{Down, End, Enter, Escape, Home, Left, Letter, PageDown, PageUp, Right, Up};
    use Screen::{Help, List, Log};
    for (keys, chosen) in [
        (&[][..], "run-0"),
        (&[Down, Down, Up], "run-1"),
        (&[Letter('j'), Letter('j'), Letter('k')], "run-1"),
        (&[Up], "run-0"),
        (&[PageDown], "run-10"),
        (&[PageDown, PageDown], "run-11"),
        (&[PageDown, PageUp], "run-0"),
        (&[End], "run-11"),
        (&[End, Home], "run-0"),
    ] {
        check_keys(keys, (chosen, 0, List, 0));
    }
    check_keys(&[Right, Right, Left], ("run-0", 1, List, 0));
    check_keys(&[Letter(']'), Letter('[')], ("run-0", 0, List, 0));
    check_keys(&[Right; 9], ("run-0", 3, List, 0));
    // Another run's ranks are others.
    check_keys(&[Right, Down], ("run-1", 0, List, 0));
    for key in [Letter('l'), Enter] {
        check_keys(&[key], ("run-0", 0, Log, 0));
        check_keys(&[key, key], ("run-0", 0, List, 0));
        check_keys(&[key, Up, Letter('k'), Down], ("run-0", 0, Log, 1));
        check_keys(&[key, PageUp, PageUp, PageDown], ("run-0", 0, Log, 10));
        check_keys(&[key, Home], ("run-0", 0, Log, 49));
        check_keys(&[key, Home, End], ("run-0", 0, Log, 0));
        check_keys(&[key, Home, Right], ("run-0", 1, Log, 0));
        check_keys(&[key, Escape], ("run-0", 0, List, 0));
    }
    check_keys(&[Letter('?')], ("run-0", 0, Help, 0));
    check_keys(&[Letter('?'), Escape], ("run-0", 0, List, 0));
    check_keys(&[Letter('?'), Letter('x')], ("run-0", 0, List, 0));
}

#[test]
fn one_key_shows_what_has_ended_and_hides_it_again() {
    let ended = RunState::Done {
        at: NOW,
        left: None,
    };
    let runs = [listed("old-k3f9", "ibex", ended)];
    let mut state = state(&runs, &look(1, 0));
    for shown in [1, 0] {
        state.update(Input::Key(Key::Letter('a')));
        assert_eq!(state.rows().len(), shown);
    }
}

#[test]
fn a_run_that_is_gone_is_no_longer_chosen() {
    let runs = [
        listed("resnet50-k3f9", "ibex", running()),
        listed("bert-x81c", "wilson", running()),
    ];
    let look = look(2, 0);
    let mut state = state(&runs, &look);
    let news = News {
        rows: vec![Row::of(&runs[1], &look, NOW)],
        ..News::default()
    };
    state.update(Input::News(news));
    assert_eq!(state.wanted().key.as_deref(), Some("bert-x81c"));
    state.update(Input::News(News::default()));
    assert_eq!(state.wanted().key, None);
    assert!(frame(&state, 80, 5).contains("no runs yet"));
}
