//! `--gpu-bind`: which of a step's GPUs on a node each of its tasks knows.

use crate::values::GpuIndex;
use serde::{Deserialize, Serialize};

/// How tasks are bound to GPUs. A task that is alone on its node is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuBind {
    /// As it is sent, such as `gpu:single:2`: messages have it so.
    pub text: String,
    /// Each task says what came of it.
    pub verbose: bool,
    /// To what.
    pub to: GpuBindTo,
}

/// To what a task is bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GpuBindTo {
    /// `none`: no variable names a GPU. A count that is no number comes to the same, such as that of
    /// `--gpus-per-task=v100:1`, which 22.05 looks for before the type.
    Nothing,
    /// `closest`: all, since no GPU here is closer to some CPUs than to others.
    All,
    /// `single:`, `--ntasks-per-gpu`: one, which so many tasks share; `None` where that was no number.
    Single(Option<u32>),
    /// `per_task:`, `--gpus-per-task`: so many of its own.
    PerTask(u32),
    /// `map_gpu:`: a GPU for each task in turn.
    Map(Vec<i64>),
    /// `mask_gpu:`: the GPUs of each task in turn, as bits.
    Mask(Vec<i64>),
}

/// The GPUs of a node, as a step has them.
#[derive(Clone, Copy, Debug)]
pub struct StepGpus<'a> {
    /// Those of the step, by the node's numbers, in order.
    pub own: &'a [GpuIndex],
    /// How many the node has.
    pub of_node: u32,
    /// Others are closed to the step: its own are counted from 0.
    pub are_counted_anew: bool,
}

/// What comes of a binding for one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundGpus {
    /// The GPUs that it knows, by the node's numbers; `None` knows of none, and is kept from none.
    pub gpus: Option<Vec<GpuIndex>>,
    /// What is wrong with what was asked, for the user.
    pub errors: Vec<String>,
}

/// More repetitions of one item than any node has tasks.
const MOST: u32 = 4096;

impl GpuBind {
    /// Reads a text that the options take, such as `gpu:verbose,single:2` or `gres/gpu:none`.
    #[must_use]
    pub fn read(text: &str) -> GpuBind {
        let how = text.split_once("gpu:").map_or(text, |(_, how)| how);
        let lower = how.to_ascii_lowercase();
        let (verbose, how) = match lower.strip_prefix("verbose,") {
            Some(how) => (true, how),
            None => (false, lower.as_str()),
        };
        let (word, value) = how.split_once(':').unwrap_or((how, ""));
        let to = match word {
            "single" => GpuBindTo::Single(leading(value).filter(|count| *count > 0)),
            "per_task" => match leading(value) {
                Some(count) if count > 0 => GpuBindTo::PerTask(count),
                Some(_) | None => GpuBindTo::Nothing,
            },
            "map_gpu" | "map" => GpuBindTo::Map(list(value)),
            "mask_gpu" | "mask" => GpuBindTo::Mask(list(value)),
            word if word.starts_with("closest") => GpuBindTo::All,
            _ => GpuBindTo::Nothing,
        };
        GpuBind {
            text: text.to_owned(),
            verbose,
            to,
        }
    }

    /// The GPUs of the node's task number `local`, as 22.05 finds them: where the list or the count names
    /// none of the step's, its first one.
    #[must_use]
    pub fn gpus_of(&self, local: u32, gpus: StepGpus<'_>) -> BoundGpus {
        let own = gpus.own;
        let mut errors = Vec::new();
        let chosen = match &self.to {
            GpuBindTo::Nothing => return BoundGpus { gpus: None, errors },
            GpuBindTo::All => own.to_vec(),
            GpuBindTo::Single(tasks) => {
                if tasks.is_none() {
                    let value = self
                        .text
                        .rsplit_once("single:")
                        .map_or("", |(_, value)| value);
                    errors.push(format!(
                        "_parse_tres_bind: single:{value} does not specify a valid number. Defaulting to 1."
                    ));
                }
                let count = u32::try_from(own.len()).unwrap_or(u32::MAX);
                let place = (local / tasks.unwrap_or(1).max(1)).checked_rem(count);
                let gpu = place.and_then(|place| own.get(place as usize));
                gpu.copied().into_iter().collect()
            }
            GpuBindTo::PerTask(count) => {
                let (from, count) = (local as usize * *count as usize, *count as usize);
                let chosen: Vec<GpuIndex> = own.iter().copied().skip(from).take(count).collect();
                if chosen.len() < count {
                    errors.push("Not enough gpus to bind for gpus per task".to_owned());
                }
                chosen
            }
            GpuBindTo::Map(list) => {
                let value = of_list(list, local);
                named(value, gpus, &mut errors, |value, gpu| {
                    value == i64::from(gpu)
                })
            }
            GpuBindTo::Mask(list) => {
                let value = of_list(list, local);
                named(value, gpus, &mut errors, |value, gpu| {
                    value.checked_shr(gpu).unwrap_or(0) & 1 == 1
                })
            }
        };
        let chosen = match (chosen.first(), own.first()) {
            (None, Some(first)) => {
                errors.push(format!(
                    "Bind request {} does not specify any devices within the allocation for task {local}. \
                     Binding to the first device in the allocation instead.",
                    self.text
                ));
                vec![*first]
            }
            _ => chosen,
        };
        BoundGpus {
            gpus: Some(chosen),
            errors,
        }
    }

    /// What a task says of it with `verbose`; `seen` are the numbers that it has.
    #[must_use]
    pub fn report(chosen: &[GpuIndex], own: &[GpuIndex], seen: &[GpuIndex]) -> String {
        let joined = |gpus: &[GpuIndex]| {
            let gpus: Vec<String> = gpus.iter().map(GpuIndex::to_string).collect();
            gpus.join(",")
        };
        format!(
            "gpu-bind: usable_gres={}; bit_alloc={}; local_inx=0; global_list={}; local_list={}",
            mask(chosen),
            mask(own),
            joined(chosen),
            joined(seen)
        )
    }
}

/// Those of the step's GPUs that a value of a list names.
fn named(
    value: Option<i64>,
    gpus: StepGpus<'_>,
    errors: &mut Vec<String>,
    names: impl Fn(i64, u32) -> bool,
) -> Vec<GpuIndex> {
    let own = (0..).zip(gpus.own.iter().copied());
    let counted = |(place, gpu): (u32, GpuIndex)| {
        let number = if gpus.are_counted_anew { place } else { gpu };
        (number, gpu)
    };
    let Some(value) = value else {
        return Vec::new();
    };
    let any = (0..gpus.of_node).any(|number| names(value, number));
    let beyond = (gpus.of_node..i64::BITS).any(|number| names(value, number));
    if !any || beyond || value < 0 {
        errors.push("Invalid --gpu-bind= value specified.".to_owned());
        return Vec::new();
    }
    let own = own.map(counted).filter(|(number, _)| names(value, *number));
    own.map(|(_, gpu)| gpu).collect()
}

/// A list shorter than the tasks begins anew.
fn of_list(list: &[i64], local: u32) -> Option<i64> {
    list.get((local as usize).checked_rem(list.len())?).copied()
}

/// `NUMBER[*COUNT],…`: a count of 0 is one.
fn list(text: &str) -> Vec<i64> {
    let items = text.split(',').filter(|item| !item.is_empty());
    items
        .flat_map(|item| {
            let (number, count) = item.split_once('*').unwrap_or((item, "1"));
            let count = count.parse().unwrap_or(0).clamp(1, MOST);
            let number = match number.strip_prefix("0x") {
                Some(digits) => i64::from_str_radix(digits, 16).unwrap_or(-1),
                // As the C function that 22.05 reads them with: letters end a number.
                None => leading(number).map_or(0, i64::from),
            };
            std::iter::repeat_n(number, count as usize)
        })
        .collect()
}

/// The digits that a text begins with.
fn leading(text: &str) -> Option<u32> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text[..end].parse().ok()
}

/// The GPUs as bits: `0xF`.
fn mask(gpus: &[GpuIndex]) -> String {
    let bits = gpus.iter().fold(0_u128, |bits, gpu| {
        bits | 1_u128.checked_shl(*gpu).unwrap_or(0)
    });
    format!("0x{bits:X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four tasks on a node of four GPUs, as 22.05.8 told them; see `environment/gpu_bind` of the recorded
    /// answers. A number is a GPU, `-` is none.
    #[track_caller]
    fn check(text: &str, own: &[GpuIndex], want: &str, errors: usize) {
        check_counted(text, own, false, want, errors);
    }

    #[track_caller]
    fn check_counted(text: &str, own: &[GpuIndex], anew: bool, want: &str, errors: usize) {
        let bind = GpuBind::read(text);
        let gpus = StepGpus {
            own,
            of_node: 4,
            are_counted_anew: anew,
        };
        let bound: Vec<BoundGpus> = (0..4).map(|local| bind.gpus_of(local, gpus)).collect();
        let shown: Vec<String> = bound
            .iter()
            .map(|bound| match &bound.gpus {
                None => "-".to_owned(),
                Some(gpus) => gpus.iter().map(GpuIndex::to_string).collect(),
            })
            .collect();
        assert_eq!(shown.join(" "), want, "{text}");
        let said = bound.iter().map(|bound| bound.errors.len()).sum::<usize>();
        assert_eq!(said, errors, "{text}: {bound:?}");
    }

    #[test]
    fn as_a_real_one_binds() {
        let four = &[0, 1, 2, 3];
        check("gpu:none", four, "- - - -", 0);
        check("gpu:verbose,none", four, "- - - -", 0);
        check("gpu:closest", four, "0123 0123 0123 0123", 0);
        check("gpu:single:1", four, "0 1 2 3", 0);
        check("gpu:single:2", four, "0 0 1 1", 0);
        check("gpu:single:3", four, "0 0 0 1", 0);
        check("gpu:single:0", &[0, 1], "0 1 0 1", 4);
        check("gpu:per_task:1", four, "0 1 2 3", 0);
        check("gpu:per_task:2", four, "01 23 0 0", 4);
        check("gpu:per_task:1", &[0, 1], "0 1 0 0", 4);
        check("gpu:per_task:v100:1", four, "- - - -", 0);
        check("gpu:map_gpu:0,1,2,3", four, "0 1 2 3", 0);
        check("gpu:map_gpu:3,2", four, "3 2 3 2", 0);
        check("gpu:map_gpu:0*2,3*2", four, "0 0 3 3", 0);
        check("gpu:map_gpu:0,1,2,3", &[0, 1], "0 1 0 0", 2);
        check("gpu:map_gpu:9", &[0, 1], "0 0 0 0", 8);
        check("gpu:mask_gpu:0x1,0x3,0x8,0xf", four, "0 01 3 0123", 0);
        // `c` is no number without its `0x`.
        check("gpu:mask_gpu:3,c", four, "01 0 01 0", 4);
        check("gres/gpu:single:1", four, "0 1 2 3", 0);
    }

    #[test]
    fn where_others_are_closed_lists_count_the_steps_own() {
        check_counted("gpu:map_gpu:0,1", &[2, 3], true, "2 3 2 3", 0);
        check_counted("gpu:mask_gpu:0x2", &[2, 3], true, "3 3 3 3", 0);
        check("gpu:map_gpu:2,3", &[2, 3], "2 3 2 3", 0);
    }

    #[test]
    fn the_report() {
        assert_eq!(
            GpuBind::report(&[1], &[0, 1, 2, 3], &[1]),
            "gpu-bind: usable_gres=0x2; bit_alloc=0xF; local_inx=0; global_list=1; local_list=1"
        );
    }
}
