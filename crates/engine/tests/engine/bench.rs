//! `cargo test --release -p yard-engine --test engine bench`: how quick an engine is. `bench array`
//! runs the array alone.

use crate::house::{House, all, ended, is_there, until};
use model::ArraySpec;
use std::time::Instant;

/// Prints figures; no assertion rests on them.
pub fn run(array_alone: bool) {
    let house = House::new();
    let mut client = house.client();
    let mut submission = house.script("true");
    submission.script = Some("#!/bin/bash\ntrue\n".to_owned());
    submission.request.output = Some("/dev/null".to_owned());
    submission.request.rare.array = Some(ArraySpec {
        indices: (0..1000).collect(),
        step: 1,
        throttle: None,
    });
    let begun = Instant::now();
    let pid = client.engine().unwrap().pid;
    let cpu = cpu_ms(pid);
    client.submit(submission).unwrap();
    let mut after = 0;
    let mut ends = 0;
    while ends < 1000 {
        let watched = client
            .watch(
                api::JobFilter::default(),
                after,
                std::time::Duration::from_secs(5),
            )
            .unwrap();
        after = watched.version;
        ends += watched
            .jobs
            .iter()
            .filter(|row| !row.state.is_live())
            .count();
    }
    let took = begun.elapsed();
    let engine = cpu_ms(pid) - cpu;
    eprintln!("array of 1000 × true: {took:?}; the engine used {engine} ms of CPU");
    assert_eq!(all(&mut client).len(), 1000);
    if array_alone {
        return;
    }

    for round in 0..5 {
        let mark = format!("mark{round}");
        let begun = Instant::now();
        let job = house.submit(&mut client, &format!(": > {mark}"));
        let answered = begun.elapsed();
        until("the first line ran", || is_there(&house.work(), &mark));
        let ran = begun.elapsed();
        ended(&mut client, job);
        let over = begun.elapsed();
        eprintln!("submit: answered {answered:?}, first line {ran:?}, end seen {over:?}");
    }

    let begun = Instant::now();
    for _ in 0..200 {
        let mut submission = house.script("true");
        submission.request.hold = true;
        client.submit(submission).unwrap();
    }
    eprintln!("200 submissions one after another: {:?}", begun.elapsed());
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let rss = status.lines().find(|line| line.starts_with("VmRSS"));
    eprintln!("{}", rss.unwrap());
}

fn cpu_ms(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let after = stat.rsplit(')').next().unwrap();
    let words: Vec<u64> = after
        .split_whitespace()
        .skip(11)
        .take(2)
        .map(|word| word.parse().unwrap())
        .collect();
    (words[0] + words[1]) * 10
}
