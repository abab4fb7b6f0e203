//! GPUs are asked by a thread of their own: a driver that hangs must not hold up other samples.

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::time::{Duration, Instant};
use sys::{AmdSampler, GpuSample, GpuSampler};

/// So long a driver may take for an answer.
const PATIENCE: Duration = Duration::from_secs(1);
/// One that has not answered for so long is worth a note.
const HANGS: Duration = Duration::from_secs(60);

/// The GPUs of the job on this node.
pub(super) struct Gpus {
    asker: Option<Asker>,
    complaint: Option<String>,
    node: String,
}

struct Asker {
    ask: SyncSender<()>,
    answer: Receiver<Result<Vec<GpuSample>, String>>,
    /// Since when a question is open.
    asked: Option<Instant>,
    is_noted: bool,
}

impl Gpus {
    /// Those of a job without any.
    pub fn none() -> Gpus {
        Gpus {
            asker: None,
            complaint: None,
            node: String::new(),
        }
    }

    /// Those that this process may see.
    pub fn start(node: String) -> Gpus {
        Gpus {
            asker: Some(Asker::start(|| {
                let variable = |name: &str| std::env::var(name).ok();
                let sampler = GpuSampler::open(variable("CUDA_VISIBLE_DEVICES").as_deref());
                let sampler = sampler.map_err(|error| error.to_string());
                let visible = variable("ROCR_VISIBLE_DEVICES");
                let amd = AmdSampler::open(Path::new(sys::DRM), visible.as_deref());
                move || match &sampler {
                    Ok(Some(sampler)) => Ok(sampler.sample()),
                    Ok(None) => Ok(amd.sample()),
                    Err(error) => Err(error.clone()),
                }
            })),
            complaint: None,
            node,
        }
    }

    /// What they do now; nothing where the driver does not answer.
    pub fn sample(&mut self) -> Vec<GpuSample> {
        let Some(asker) = &mut self.asker else {
            return Vec::new();
        };
        match asker.ask() {
            Ok(samples) => samples,
            Err(why) => {
                self.complaint = Some(format!("GPUs of {} are not sampled: {why}", self.node));
                self.asker = None;
                Vec::new()
            }
        }
    }

    /// What a person should know of the driver, once.
    pub fn complaint(&mut self) -> Option<String> {
        let hangs = self.asker.as_mut().and_then(Asker::hangs);
        let of_node = |length| {
            let node = &self.node;
            format!("the NVIDIA driver of {node} has not answered for {length}")
        };
        hangs.map(of_node).or_else(|| self.complaint.take())
    }
}

impl Asker {
    /// `open` is called in the thread that asks.
    fn start<F>(open: impl FnOnce() -> F + Send + 'static) -> Asker
    where
        F: FnMut() -> Result<Vec<GpuSample>, String>,
    {
        let (ask, asked) = sync_channel::<()>(1);
        let (answers, answer) = sync_channel(1);
        std::thread::spawn(move || {
            let mut sample = open();
            while asked.recv().is_ok() {
                if answers.send(sample()).is_err() {
                    return;
                }
            }
        });
        Asker {
            ask,
            answer,
            asked: None,
            is_noted: false,
        }
    }

    fn ask(&mut self) -> Result<Vec<GpuSample>, String> {
        if self.asked.is_some() {
            // An answer to an old question is no sample of now.
            match self.answer.try_recv() {
                Ok(_) => self.asked = None,
                Err(TryRecvError::Empty) => return Ok(Vec::new()),
                Err(TryRecvError::Disconnected) => return Err("its library crashed".to_owned()),
            }
        }
        // The thread is there and has no question: it can be sent.
        let _ = self.ask.send(());
        self.asked = Some(Instant::now());
        match self.answer.recv_timeout(PATIENCE) {
            Ok(answer) => {
                self.asked = None;
                answer
            }
            Err(_) => Ok(Vec::new()),
        }
    }

    fn hangs(&mut self) -> Option<String> {
        let since = self.asked?.elapsed();
        let is_new = since >= HANGS && !self.is_noted;
        self.is_noted |= is_new;
        let ms = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
        is_new.then(|| model::say_length(ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_driver_that_hangs_holds_up_no_one() {
        let (release, held) = channel::<()>();
        let mut asker = Asker::start(move || {
            move || {
                let _ = held.recv();
                Ok(vec![GpuSample::default()])
            }
        });
        assert_eq!(asker.ask(), Ok(Vec::new()));
        let since = asker.asked;
        assert_eq!(asker.ask(), Ok(Vec::new()));
        assert_eq!(asker.asked, since, "there was no second question");
        assert_eq!(asker.hangs(), None);
        // It answers again: first what was asked long ago.
        for _ in 0..1000 {
            release.send(()).unwrap();
        }
        testkit::wait_until("samples come again", || asker.ask().unwrap().len() == 1);
    }
}
