//! Values that are one of a few words.

use super::value::{Value, Wrong};
use crate::{Internet, nearest};
use toml::de::DeValue;

/// Declares the words of an enum.
macro_rules! words {
    ($name:ident, $takes:literal, { $( $variant:ident = $word:literal, )* }) => {
        impl Value for $name {
            const TAKES: &'static str = $takes;

            fn read(value: &DeValue<'_>) -> Result<$name, Wrong> {
                let text = value.as_str().ok_or_else(Wrong::default)?;
                $( if text.eq_ignore_ascii_case($word) { return Ok($name::$variant); } )*
                let shown: String = text.chars().take(40).collect();
                let mut why = format!("{shown:?} is none of its words");
                if let Some(near) = nearest(text, [$($word),*]) {
                    why.push_str(&format!("; did you mean {near}?"));
                }
                Err(Wrong { why: Some(why), ..Wrong::default() })
            }

            fn toml(&self) -> String {
                format!("\"{}\"", self.plain())
            }

            fn plain(&self) -> String {
                match self { $( $name::$variant => $word, )* }.to_owned()
            }
        }

        impl $name {
            /// The word in a cluster file.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $( $name::$variant => $word, )* }
            }
        }
    };
}

words!(Internet, "\"login\", \"compute\" or \"none\"", {
    Login = "login",
    Compute = "compute",
    None = "none",
});

/// What runs containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerRuntime {
    /// `apptainer exec IMAGE …`
    Apptainer,
    /// `singularity exec IMAGE …`
    Singularity,
    /// `srun --container-image=IMAGE …`
    Pyxis,
    /// `enroot start NAME …`
    Enroot,
}

words!(ContainerRuntime, "\"apptainer\", \"singularity\", \"pyxis\" or \"enroot\"", {
    Apptainer = "apptainer",
    Singularity = "singularity",
    Pyxis = "pyxis",
    Enroot = "enroot",
});

/// How much of a list a cluster file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All that the cluster has: another name is wrong.
    Whole,
    /// Those that are known: another name may be right.
    Some,
}

words!(Extent, "\"whole\" or \"some\"", {
    Whole = "whole",
    Some = "some",
});

/// By which option a site's own documents ask for GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuOption {
    /// `--gres=gpu:N`, of each node.
    Gres,
    /// `--gpus=N`, in all.
    Gpus,
    /// `--gpus-per-node=N`
    GpusPerNode,
}

words!(GpuOption, "\"gres\", \"gpus\" or \"gpus-per-node\"", {
    Gres = "gres",
    Gpus = "gpus",
    GpusPerNode = "gpus-per-node",
});

/// Whether a partition takes and starts jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionState {
    /// Takes and starts.
    Up,
    /// Takes, but starts none.
    Down,
    /// Starts what waits, but takes no more.
    Drain,
    /// Neither.
    Inactive,
}

words!(PartitionState, "\"up\", \"down\", \"drain\" or \"inactive\"", {
    Up = "up",
    Down = "down",
    Drain = "drain",
    Inactive = "inactive",
});

/// What decides who may take another job's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreemptType {
    /// Nothing.
    None,
    /// The partitions' `priority_tier`.
    Partition,
    /// The QOS's `preempt` lists.
    Qos,
}

words!(PreemptType, "\"none\", \"partition\" or \"qos\"", {
    None = "none",
    Partition = "partition",
    Qos = "qos",
});

/// What happens to a job whose place is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PreemptMode {
    /// Nothing: it keeps its place.
    Off,
    /// It ends.
    Cancel,
    /// It goes back to the queue, or ends where it can't.
    Requeue,
    /// It stops until the other is done.
    Suspend,
}

words!(PreemptMode, "\"off\", \"cancel\", \"requeue\" or \"suspend\"", {
    Off = "off",
    Cancel = "cancel",
    Requeue = "requeue",
    Suspend = "suspend",
});

/// Whether a job outside of its partition's limits is refused at once (`EnforcePartLimits`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EnforcePartLimits {
    /// It waits, with a reason.
    No,
    /// Refused where it fits none of its partitions.
    Any,
    /// Refused where it doesn't fit all of its partitions.
    All,
}

words!(EnforcePartLimits, "\"no\", \"any\" or \"all\"", {
    No = "no",
    Any = "any",
    All = "all",
});
