//! What few jobs ask for, in a box of its own, so that a queue of plain jobs is small.

use super::{AskedTres, ComponentPlace, NodeOptions};
use crate::values::{
    ArraySpec, Distribution, GpuCount, MailEvent, NodeName, OpenMode, SignalSpec, TimeLimitRequest,
    Timestamp,
};
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, IntoDeserializer, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock};

/// The options that few jobs use. `None` and empty: not asked for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RareOptions {
    /// `--gpus-per-task`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpus_per_task: Option<GpuCount>,
    /// `--cpus-per-gpu`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpus_per_gpu: Option<u32>,
    /// GPUs in the words in which they were asked for.
    #[serde(skip_serializing_if = "AskedTres::is_empty")]
    pub asked: AskedTres,
    /// `--begin`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begin: Option<Timestamp>,
    /// `--deadline`: it ends before this moment, or is not started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// `--time-min`, whole minutes: it may be started with a limit as short as this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_min: Option<TimeLimitRequest>,
    /// `--priority`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// `--dependency` in Slurm's own syntax, validated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dependency: Option<String>,
    /// `--array`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array: Option<ArraySpec>,
    /// `--signal`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signal: Option<SignalSpec>,
    /// `--requeue` or `--no-requeue`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requeue: Option<bool>,
    /// `--error` as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// `--input` as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// `--open-mode`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_mode: Option<OpenMode>,
    /// `--distribution`, which the job's steps take over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<Distribution>,
    /// `--no-shell`: the allocation stays when the client that asked for it is gone.
    #[serde(skip_serializing_if = "is_false")]
    pub no_shell: bool,
    /// `--no-kill`: it goes on without a node that is lost.
    #[serde(skip_serializing_if = "is_false")]
    pub no_kill: bool,
    /// `SiteFactor`, which an operator sets: part of the priority.
    #[serde(skip_serializing_if = "is_zero")]
    pub site_factor: i64,
    /// `--comment`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// `--constraint` as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub constraint: Option<String>,
    /// `--nodelist`, expanded; shared, as it may be of a million names.
    #[serde(skip_serializing_if = "is_empty_list")]
    pub nodelist: Arc<Vec<NodeName>>,
    /// The node of each task under `--distribution=arbitrary`, in the order of ranks; for the job's steps.
    #[serde(skip_serializing_if = "is_empty_list")]
    pub task_nodes: Arc<Vec<NodeName>>,
    /// `--exclude`, expanded.
    #[serde(skip_serializing_if = "is_empty_list")]
    pub exclude: Arc<Vec<NodeName>>,
    /// `--reservation`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reservation: Option<String>,
    /// `--licenses` as written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub licenses: Option<String>,
    /// `--mail-type`
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mail_types: Vec<MailEvent>,
    /// `--mail-user`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mail_user: Option<String>,
    /// What starts its script inside a container, in JSON that `sbatch` writes and its job reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// `--kill-on-invalid-dep`: whether it ends once its dependency can't be met any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kill_on_invalid_dep: Option<bool>,
    /// So many elements of its array at a time, where that was changed after its submission; 0 does not
    /// bound them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub array_throttle: Option<u32>,
    /// Its place in a heterogeneous job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub component: Option<ComponentPlace>,
    /// What else it asks of its nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_options: Option<Box<NodeOptions>>,
}

/// Serde asks by reference.
#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde calls"
)]
fn is_zero(value: &i64) -> bool {
    *value == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_empty_list(list: &Arc<Vec<NodeName>>) -> bool {
    list.is_empty()
}

/// A box of [`RareOptions`] that is allocated by the first write: a request without any reads the
/// same defaults as all others.
#[derive(Clone, Default)]
pub struct RareOptionsBox(Option<Box<RareOptions>>);

static NONE: LazyLock<RareOptions> = LazyLock::new(RareOptions::default);

impl Deref for RareOptionsBox {
    type Target = RareOptions;

    fn deref(&self) -> &RareOptions {
        self.0.as_deref().unwrap_or_else(|| &NONE)
    }
}

impl DerefMut for RareOptionsBox {
    fn deref_mut(&mut self) -> &mut RareOptions {
        self.0.get_or_insert_default()
    }
}

impl RareOptionsBox {
    /// Takes the array out, and allocates nothing where there is none.
    pub fn take_array(&mut self) -> Option<ArraySpec> {
        let options = self.0.as_deref_mut()?;
        let array = options.array.take();
        if array.is_some() && *options == *NONE {
            self.0 = None;
        }
        array
    }
}

impl From<RareOptions> for RareOptionsBox {
    fn from(options: RareOptions) -> RareOptionsBox {
        RareOptionsBox((options != *NONE).then(|| Box::new(options)))
    }
}

impl PartialEq for RareOptionsBox {
    fn eq(&self, other: &RareOptionsBox) -> bool {
        **self == **other
    }
}

impl fmt::Debug for RareOptionsBox {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(formatter)
    }
}

impl Serialize for RareOptionsBox {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            Some(options) => options.serialize(serializer),
            None => serializer.serialize_map(Some(0))?.end(),
        }
    }
}

impl<'de> Deserialize<'de> for RareOptionsBox {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RareOptionsBox, D::Error> {
        deserializer.deserialize_map(RareOptionsVisitor)
    }
}

/// Makes no options where there is none: of most jobs of a long queue.
struct RareOptionsVisitor;

impl<'de> Visitor<'de> for RareOptionsVisitor {
    type Value = RareOptionsBox;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("options of a job")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut rest: A) -> Result<RareOptionsBox, A::Error> {
        let Some(first) = rest.next_key::<String>()? else {
            return Ok(RareOptionsBox::default());
        };
        let first = Some(first);
        RareOptions::deserialize(MapAccessDeserializer::new(WithFirst { first, rest }))
            .map(RareOptionsBox::from)
    }
}

/// A map whose first key was read already.
struct WithFirst<A> {
    first: Option<String>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for WithFirst<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(first) => seed.deserialize(first.into_deserializer()).map(Some),
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.rest.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use crate::requests::Request;
    use crate::values::{ArraySpec, Seconds, TimeLimitRequest, Timestamp};

    /// A hundred thousand jobs wait in memory.
    #[test]
    fn a_request_is_small() {
        assert!(
            size_of::<Request>() <= 320,
            "{} bytes",
            size_of::<Request>()
        );
    }

    #[test]
    fn only_what_was_asked_for_is_allocated_and_written() {
        let mut request = Request::default();
        assert!(request.rare.0.is_none() && request.rare.comment.is_none());
        let plain = serde_json::to_string(&request).unwrap();
        assert_eq!(
            plain,
            r#"{"name":"","exclusive":false,"hold":false,"nice":0,"chdir":""}"#
        );
        request.rare.comment = Some("mine".to_owned());
        let text = serde_json::to_string(&request).unwrap();
        assert!(text.contains(r#""comment":"mine""#), "{text}");
        assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), request);
        let mut read: Request = serde_json::from_str(&plain).unwrap();
        assert!(read.rare.take_array().is_none() && read.rare.0.is_none());
        read.rare.array = ArraySpec::parse("1-3");
        assert!(read.rare.take_array().is_some() && read.rare.0.is_none());
        // Written and taken back is as never asked.
        request.rare.comment = None;
        assert_eq!(request, read);
    }

    /// A hundred thousand jobs that wait have a command line each.
    #[test]
    fn a_command_line_is_no_rare_option() {
        let plain = r#"{"name":"a","shown":{"submit_line":"sbatch a","session":7}}"#;
        let read: Request = serde_json::from_str(plain).unwrap();
        assert!(read.shown.is_some() && read.rare.0.is_none());
        let text = serde_json::to_string(&read).unwrap();
        assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), read);
    }

    #[test]
    fn a_deadline_is_read_where_an_earlier_version_wrote_it() {
        let former =
            r#"{"name":"a","shown":{"deadline":9000,"time_min":{"limit":60},"session":7}}"#;
        let read: Request = serde_json::from_str(former).unwrap();
        assert_eq!(read.rare.deadline, Some(Timestamp(9000)));
        let least = TimeLimitRequest::Limit(Seconds(60));
        assert_eq!(read.rare.time_min, Some(least));
        assert_eq!(read.shown.as_ref().unwrap().session, 7);
        let text = serde_json::to_string(&read).unwrap();
        assert!(text.contains(r#""shown":{"session":7}"#), "{text}");
        assert_eq!(serde_json::from_str::<Request>(&text).unwrap(), read);
    }
}
