use super::*;

struct Run {
    _root: tempfile::TempDir,
    run: RunFolder,
}

impl Run {
    fn new() -> Run {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::at(&root.path().join("digits-k3f9"));
        run.make_checkpoint_folders().unwrap();
        Run { _root: root, run }
    }

    /// A part with these files; an empty name is a single file.
    fn part(&self, incoming: &str, files: &[(&str, &str)]) -> Part {
        let place = IncomingPart::new(&self.run, incoming);
        let mut list = Vec::new();
        for (path, text) in files {
            let file = FileHash {
                path: path.into(),
                bytes: text.len() as u64,
                blake3: blake3::hash(text.as_bytes()).to_string(),
            };
            let to = file.below(&place.data());
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::write(&to, text).unwrap();
            list.push(file);
        }
        place.write_list(&list.into()).unwrap();
        Part {
            incoming: incoming.to_owned(),
            bytes: 1,
            took_ms: 1,
            proven: true,
            node: incoming.to_owned(),
            start: None,
            written: None,
        }
    }

    fn publish(&self, name: &str, parts: &[Part], merge: bool) -> Result<Out, NotOut> {
        self.publish_of(name, parts, merge, 0)
    }

    /// `least`: so many nodes have a part of it.
    fn publish_of(
        &self,
        name: &str,
        parts: &[Part],
        merge: bool,
        least: usize,
    ) -> Result<Out, NotOut> {
        let asked = PartsAsked {
            least,
            of: 2,
            unconfirmed: false,
        };
        publish(
            &self.run,
            name,
            parts,
            merge,
            asked,
            Timestamp(5),
            Keep::Newest(1),
        )
    }

    fn names(&self) -> Vec<String> {
        let whole = self.run.look_at_checkpoints().unwrap().whole;
        whole.into_iter().map(|manifest| manifest.name).collect()
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.run.checkpoint(path)).unwrap()
    }

    fn incoming(&self) -> usize {
        fs::read_dir(self.run.incoming()).unwrap().count()
    }
}

#[test]
fn newest_first_by_step_and_nothing_left_behind() {
    let run = Run::new();
    for name in ["ckpt-9.npz", "last.npz", "ckpt-10.npz"] {
        let part = run.part(name, &[("", name)]);
        run.publish(name, &[part], false).unwrap();
    }
    assert_eq!(run.names(), ["ckpt-10.npz", "ckpt-9.npz", "last.npz"]);
    assert_eq!(run.read("ckpt-9.npz"), "ckpt-9.npz");
    assert_eq!(run.incoming(), 0);
}

#[test]
fn parts_of_two_nodes_are_one_and_a_late_one_joins() {
    let run = Run::new();
    let parts = [
        run.part("a", &[("0.pt", "zero"), ("meta", "same")]),
        run.part("b", &[("1.pt", "one"), ("meta", "same")]),
    ];
    run.publish("step-5", &parts, false).unwrap();
    let late = run.part("c", &[("2.pt", "two")]);
    run.publish("step-5", &[late], true).unwrap();
    assert_eq!(
        run.run.look_at_checkpoints().unwrap().whole[0]
            .contents
            .files
            .len(),
        4
    );
    assert_eq!(
        run.read("step-5/0.pt") + &run.read("step-5/1.pt") + &run.read("step-5/2.pt"),
        "zeroonetwo"
    );
    let other = [
        run.part("d", &[("meta", "x")]),
        run.part("e", &[("meta", "y")]),
    ];
    let error = run.publish("step-6", &other, false).unwrap_err();
    assert!(!error.disk);
    let error = error.why;
    assert!(
        error.contains("two nodes wrote different step-6/meta"),
        "{error}"
    );
}

#[test]
fn a_new_version_replaces_a_folder_as_a_whole() {
    let run = Run::new();
    run.publish(
        "last",
        &[run.part("a", &[("old.pt", "1"), ("both.pt", "1")])],
        false,
    )
    .unwrap();
    run.publish("last", &[run.part("b", &[("both.pt", "22")])], false)
        .unwrap();
    assert_eq!(run.read("last/both.pt"), "22");
    assert!(!run.run.checkpoint("last/old.pt").exists());
    assert_eq!(run.names(), ["last"]);
}

#[test]
fn one_that_was_cut_in_half_is_passed_over() {
    let run = Run::new();
    for step in ["ckpt-1", "ckpt-2"] {
        run.publish(step, &[run.part(step, &[("w.pt", "weights")])], false)
            .unwrap();
    }
    fs::write(run.run.checkpoint("ckpt-2/w.pt"), "wei").unwrap();
    fs::write(run.run.manifest("ckpt-3"), "{\"name\":").unwrap();
    assert_eq!(run.names(), ["ckpt-1"]);
    assert_eq!(run.run.look_at_checkpoints().unwrap().unusable.len(), 2);
}

#[test]
fn a_conductor_that_died_while_publishing_lost_nothing() {
    // Its three steps: nothing done; manifest beside the bytes; bytes in place.
    for done in 0..3 {
        let run = Run::new();
        run.publish("last", &[run.part("a", &[("", "old")])], false)
            .unwrap();
        let place = IncomingPart::new(&run.run, &run.part("b", &[("", "newer")]).incoming);
        let files = place.read_list().unwrap();
        let manifest = Manifest::new("last", Timestamp(9), true, files);
        if done >= 1 {
            place.write_manifest(&manifest).unwrap();
        }
        if done >= 2 {
            move_into_place(&place, &run.run.checkpoint("last")).unwrap();
            assert_eq!(run.names(), Vec::<String>::new());
        }
        recover(&run.run).unwrap();
        assert_eq!(run.names(), ["last"], "after step {done}");
        assert_eq!(run.read("last"), if done == 0 { "old" } else { "newer" });
        assert_eq!(run.incoming(), 0);
    }
}

#[test]
fn only_what_the_run_file_gives_up_is_removed() {
    let run = Run::new();
    for step in 1..=4 {
        let name = format!("ckpt-{step}");
        let mut part = run.part(&name, &[("w.pt", "weights")]);
        part.proven = step == 1;
        run.publish(&name, &[part], false).unwrap();
    }
    assert_eq!(retain(&run.run, Keep::All).unwrap(), Vec::<String>::new());
    assert_eq!(retain(&run.run, Keep::Newest(2)).unwrap(), ["ckpt-2"]);
    assert_eq!(
        run.names(),
        ["ckpt-4", "ckpt-3", "ckpt-1"],
        "the only proven one stays"
    );
    assert_eq!(retain(&run.run, Keep::Newest(0)).unwrap(), ["ckpt-3"]);
}

/// Its parts were replaced by the late one alone.
#[test]
fn a_late_part_joins_nothing_that_can_not_be_read() {
    let run = Run::new();
    let first = run.part("a", &[("0.pt", "zero")]);
    run.publish_of("step-5", &[first], false, 2).unwrap();
    let manifest = run.run.manifest("step-5");
    let text = fs::read(&manifest).unwrap();
    fs::remove_file(&manifest).unwrap();
    fs::create_dir(&manifest).unwrap();
    let late = || run.part("b", &[("1.pt", "one")]);
    run.publish_of("step-5", &[late()], true, 2).unwrap_err();
    assert_eq!(run.incoming(), 0);
    fs::remove_dir(&manifest).unwrap();
    fs::write(&manifest, text).unwrap();
    let out = run.publish_of("step-5", &[late()], true, 2).unwrap();
    assert_eq!(out.known.parts.nodes, ["a", "b"]);
    assert_eq!(
        run.read("step-5/0.pt") + &run.read("step-5/1.pt"),
        "zeroone"
    );
}

/// Where a start resumed from an older one, a part of the next was put beside its other part of the one before.
#[test]
fn a_part_of_another_start_joins_nothing() {
    let run = Run::new();
    let of = |job, part: Part| Part {
        start: Some(folder::Attempt { job, restart: 0 }),
        ..part
    };
    let first = of(1, run.part("a", &[("0.pt", "zero")]));
    run.publish_of("step-5", &[first], false, 2).unwrap();
    let late = of(2, run.part("b", &[("1.pt", "one")]));
    let out = run.publish_of("step-5", &[late], true, 2).unwrap();
    assert_eq!(
        (out.known.parts.nodes, out.known.parts.lacks),
        (vec!["b".into()], 1)
    );
    assert!(!run.run.checkpoint("step-5/0.pt").exists());
    let other = of(2, run.part("a", &[("0.pt", "new")]));
    let out = run.publish_of("step-5", &[other], true, 2).unwrap();
    assert_eq!(out.known.parts.lacks, 0);
    assert_eq!(run.read("step-5/0.pt") + &run.read("step-5/1.pt"), "newone");
}

/// The disk had kept other bytes than were written: with `keep = 1` nothing was left to resume from.
#[test]
fn what_can_not_be_read_back_takes_the_place_of_nothing() {
    let run = Run::new();
    let good = |name: &str, text: &str| {
        let part = run.part("a", &[("", text)]);
        run.publish(name, &[part], false).unwrap();
    };
    let damaged = |name: &str| {
        let part = run.part("b", &[("", "later")]);
        let place = IncomingPart::new(&run.run, "b");
        fs::write(place.data(), "lat??").unwrap();
        run.publish(name, &[part], false).unwrap_err().why
    };
    good("step-5", "five");
    let why = damaged("step-9");
    assert!(why.contains("has other bytes in the run folder"), "{why}");
    good("last", "one");
    damaged("last");
    assert_eq!(run.names(), ["step-5", "last"]);
    assert_eq!(run.read("last") + &run.read("step-5"), "onefive");
    assert_eq!(run.incoming(), 0);
}

#[test]
fn a_damaged_one_counts_no_more_and_is_replaced_by_the_next_of_its_name() {
    let run = Run::new();
    for name in ["step-5", "step-9"] {
        let part = run.part("a", &[("", name)]);
        run.publish(name, &[part], false).unwrap();
    }
    run.run.set_aside("step-9").unwrap();
    assert_eq!(run.names(), ["step-5"]);
    assert_eq!(run.read("step-9"), "step-9", "its bytes stay");
    let part = run.part("a", &[("", "again")]);
    run.publish("step-9", &[part], false).unwrap();
    assert_eq!(run.names(), ["step-9", "step-5"]);
    assert_eq!(run.read("step-9"), "again");
}
