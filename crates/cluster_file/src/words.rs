//! Values that are one of a few words.

use super::value::{Value, Wrong};
use model::{ContainerRuntime, Internet, nearest};
use toml::de::DeValue;

/// Declares an enum with the word of each of its values; or the words of one that is declared
/// elsewhere.
macro_rules! words {
    (
        $(#[doc = $about:literal])*
        enum $name:ident takes $takes:literal {
            $( $(#[doc = $doc:literal])* $variant:ident = $word:literal, )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $( $(#[doc = $doc])* $variant, )*
        }

        words!($name takes $takes { $( $variant = $word, )* });

        impl $name {
            /// The word in a cluster file.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $( $name::$variant => $word, )* }
            }
        }
    };
    ($name:ident takes $takes:literal { $( $variant:ident = $word:literal, )* }) => {
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
    };
}

words!(Internet takes "\"login\", \"compute\" or \"none\"" {
    Login = "login",
    Compute = "compute",
    None = "none",
});

words!(
    ContainerRuntime takes
    "\"apptainer\", \"singularity\", \"pyxis\", \"enroot\", \"podman\" or \"charliecloud\""
    {
        Apptainer = "apptainer",
        Singularity = "singularity",
        Pyxis = "pyxis",
        Enroot = "enroot",
        Podman = "podman",
        Charliecloud = "charliecloud",
    }
);

words! {
    /// How much of a list a cluster file has.
    enum Extent takes "\"whole\" or \"some\"" {
        /// All that the cluster has: another name is wrong.
        Whole = "whole",
        /// Those that are known: another name may be right.
        Some = "some",
    }
}

words! {
    /// By which option a site's own documents ask for GPUs.
    enum GpuOption takes "\"gres\", \"gpus\" or \"gpus-per-node\"" {
        /// `--gres=gpu:N`, of each node.
        Gres = "gres",
        /// `--gpus=N`, in all.
        Gpus = "gpus",
        /// `--gpus-per-node=N`
        GpusPerNode = "gpus-per-node",
    }
}

words! {
    /// What nodes are other than machines that are there.
    enum NodesState takes "\"future\" or \"cloud\"" {
        /// Not there yet: no job starts on them, and Slurm's commands show them only where that is asked.
        Future = "future",
        /// Of a cloud: powered up when a job starts on them.
        Cloud = "cloud",
    }
}

words! {
    /// Whether a partition takes and starts jobs.
    enum PartitionState takes "\"up\", \"down\", \"drain\" or \"inactive\"" {
        /// Takes and starts.
        Up = "up",
        /// Takes, but starts none.
        Down = "down",
        /// Starts what waits, but takes no more.
        Drain = "drain",
        /// Neither.
        Inactive = "inactive",
    }
}

words! {
    /// What decides who may take another job's place.
    enum PreemptType takes "\"none\", \"partition\" or \"qos\"" {
        /// Nothing.
        None = "none",
        /// The partitions' `priority_tier`.
        Partition = "partition",
        /// The QOS's `preempt` lists.
        Qos = "qos",
    }
}

words! {
    /// What happens to a job whose place is taken.
    enum PreemptMode takes "\"off\", \"cancel\", \"requeue\" or \"suspend\"" {
        /// Nothing: it keeps its place.
        Off = "off",
        /// It ends.
        Cancel = "cancel",
        /// It goes back to the queue, or ends where it can't.
        Requeue = "requeue",
        /// It stops until the other is done.
        Suspend = "suspend",
    }
}

words! {
    /// When all usage begins anew at 0 (`PriorityUsageResetPeriod`).
    enum UsageReset takes "\"none\", \"now\", \"daily\", \"weekly\", \"monthly\", \"quarterly\" or \"yearly\"" {
        /// Never.
        None = "none",
        /// At each start.
        Now = "now",
        /// At midnight.
        Daily = "daily",
        /// At midnight before Sunday.
        Weekly = "weekly",
        /// On the first of a month.
        Monthly = "monthly",
        /// On the first of January, April, July and October.
        Quarterly = "quarterly",
        /// On the first of January.
        Yearly = "yearly",
    }
}

words! {
    /// Whether a job outside of its partition's limits is refused at once (`EnforcePartLimits`).
    enum EnforcePartLimits takes "\"no\", \"any\" or \"all\"" {
        /// It waits, with a reason.
        No = "no",
        /// Refused where it fits none of its partitions.
        Any = "any",
        /// Refused where it doesn't fit all of its partitions.
        All = "all",
    }
}
