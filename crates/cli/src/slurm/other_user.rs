//! `sbatch --uid` and `--gid`: the user whom root submits a job for.

use api::{AsUser, EngineFolder};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use sys::process::User;

/// A user other than the caller, or the caller with another group.
pub struct OtherUser {
    /// Who that is for the engine.
    pub as_user: AsUser,
    name: String,
}

impl OtherUser {
    /// Looks a user and a group up, by name or number; none where neither is named. The group is the user's own
    /// unless another is named: a real 22.05 leaves root's, and with it what that group may do. The error is in
    /// Slurm's words.
    pub fn find(uid: Option<&str>, gid: Option<&str>) -> Result<Option<OtherUser>, &'static str> {
        if uid.is_none() && gid.is_none() {
            return Ok(None);
        }
        let caller = sys::process::user().to_string();
        let user = sys::users::user(uid.unwrap_or(&caller)).ok().flatten();
        let user = user.ok_or("Invalid --uid specification")?;
        let group = match gid {
            Some(name) => sys::users::group(name).ok().flatten(),
            None => Some(user.group),
        };
        let as_user = AsUser {
            uid: user.id,
            gid: group.ok_or("Invalid --gid specification")?,
        };
        Ok(Some(OtherUser {
            as_user,
            name: user.name,
        }))
    }

    /// What is to be said where the job would run in a container, whose image the caller would make ready and own;
    /// none where that is the caller's own job.
    pub fn no_image_of_theirs(&self) -> Option<[String; 4]> {
        let name = &self.name;
        (self.as_user.uid != sys::process::user()).then(|| {
            [
                "pyxis: an image is made ready by the user whose job it is".to_owned(),
                format!("  asked   a container for a job of user {name}"),
                "  there   --uid submits it, and its image and the cache would be yours".to_owned(),
                format!("  do      submit it as {name}: runuser -u {name} -- sbatch …"),
            ]
        })
    }

    /// What is to be said where the user can't reach the engine's folder, in which a job's script is; none where
    /// that is open.
    pub fn kept_out_of(&self, engine: &EngineFolder) -> Option<[String; 4]> {
        let (socket, engine) = (engine.socket(), engine.root());
        let AsUser { uid, gid } = self.as_user;
        let user = User::look_up(&self.name, uid, gid);
        let is_out_of_reach = || fs::metadata(engine.join(".")).is_err();
        if !sys::process::as_user(Some(&user), is_out_of_reach).ok()? {
            return None;
        }
        let is_closed = |folder: &&Path| {
            fs::metadata(folder).is_ok_and(|facts| facts.permissions().mode() & 0o001 == 0)
        };
        let closed: Vec<&Path> = engine.ancestors().filter(is_closed).collect();
        let shown = closed
            .iter()
            .rev()
            .map(|folder| folder.display().to_string());
        let (name, closed) = (&self.name, shown.collect::<Vec<_>>().join(" "));
        Some([
            "error: Batch job submission failed: Access/permission denied".to_owned(),
            format!("  asked   a job of user {name}"),
            format!(
                "  there   {name} can't reach {}, where the job's script is",
                engine.display()
            ),
            format!(
                "  do      chmod o+x {closed} lets users in, and chmod o+rw {} lets their jobs call srun",
                socket.display()
            ),
        ])
    }
}
