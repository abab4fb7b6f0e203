//! Tasks are bound to CPUs as `task/affinity` of a real Slurm 22.05.8 binds them, on a node of two sockets with
//! four cores of two threads: recorded by `data/cpu_bind.sh`.

use yard_model::{CpuBind, CpuLayout, Dealing, Distribution, NodeTasks, Sockets, mask_text};

const RECORDED: &str = include_str!("data/cpu_bind-22.05.8.tsv");

/// The CPUs of a mask.
fn cpus_of(mask: &str) -> Vec<u32> {
    let digits = mask.strip_prefix("0x").expect("a mask");
    let bits = u64::from_str_radix(digits, 16).expect("a mask");
    (0..64).filter(|cpu| bits >> cpu & 1 == 1).collect()
}

#[test]
fn tasks_are_bound_as_recorded() {
    let layout = CpuLayout::pretended(
        Some(Sockets {
            sockets: 2,
            cores: 4,
            threads: 2,
        }),
        16,
    );
    let rows = RECORDED.lines().filter(|row| !row.starts_with("//"));
    let (mut count, mut wrong) = (0, String::new());
    for row in rows {
        let [tasks, each, has, over, bind, want] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("six columns: {row}");
        };
        let tasks: u32 = tasks.parse().expect("a number");
        let over = Distribution::parse(over).ok();
        let over = over.and_then(|distribution| distribution.over_sockets());
        let got = CpuBind::read(bind).cpus_of_tasks(&NodeTasks {
            tasks,
            cpus_per_task: each.parse().expect("a number"),
            cpus: &cpus_of(has),
            layout: &layout,
            over_sockets: over.unwrap_or(Dealing::Cyclic),
        });
        // Where tasks are not bound, one mask stands for all of them.
        let masks = want.split(',').cycle().take(tasks as usize);
        let want: Vec<_> = masks.map(|mask| mask_text(&cpus_of(mask))).collect();
        let got: Vec<_> = got.iter().map(|cpus| mask_text(cpus)).collect();
        count += 1;
        if want != got {
            wrong.push_str(&format!("{row}\n  ours {}\n", got.join(",")));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 400, "only {count} rows");
}
