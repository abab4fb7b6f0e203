//! An image made ready for a runtime.

use super::digest::{named_by, of_tag};
use super::image_error::ImageError;
use super::maker::Maker;
use super::source::Source;
use super::{ready, same_content};
use crate::local_files;
use crate::made_once::{Entry, Waiter};
use folder::{MakingPlace, ReadyImage};
use model::{ContainerRuntime, Internet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use train::{ContainerPlan, Image};

/// Where a cache has the images.
pub fn folder_in(cache: &Path) -> PathBuf {
    cache.join("images")
}

/// Fetches or builds it, where the cache has it not. `copy` may have what it is built of.
pub fn make(
    plan: &ContainerPlan,
    modules: &[String],
    place: &MakingPlace,
    copy: Option<&Path>,
    waiter: &mut dyn Waiter,
) -> Result<(ReadyImage, bool), ImageError> {
    let (image, runtime) = (&plan.image.value, plan.runtime.value);
    let copied = match copy {
        Some(copy) => Source::copied_in(image, copy)?,
        None => None,
    };
    let is_copy = copied.is_some();
    let source = match copied {
        Some(copied) => Some(copied),
        None => Source::of(image)?,
    };
    let key = key(image, source.as_ref(), runtime);
    // Makers read the files themselves, which may have been edited since the key was taken; a copy is nobody's to edit.
    let check_unchanged = || {
        if is_copy || self::key(image, Source::of(image)?.as_ref(), runtime) == key {
            return Ok(());
        }
        Err(ImageError::ChangedMeanwhile {
            image: image.to_string(),
        })
    };
    let entry = entry_in(place, &key);
    let path = entry.place().join(file_name(runtime));
    let done = |made| {
        (
            ready(Some(&path), recorded_digest(image, &entry.place())),
            made,
        )
    };
    if entry.is_made() {
        return Ok(done(false));
    }
    let Some(making) = entry.begin(waiter)? else {
        return Ok(done(false));
    };
    let is_here = matches!(image, Image::Squashfs(_));
    if place.internet == Internet::None && !is_here {
        return Err(ImageError::NoInternet {
            image: image.to_string(),
        });
    }
    let cache = &place.cache;
    let place = &making.place;
    fs::create_dir(place).map_err(|source| crate::made_once::CacheError {
        path: place.clone(),
        source,
    })?;
    let own = place.join(SOURCE);
    let mut is_own_copy = false;
    let source = match source {
        Some(source) if source.leaves_out() => {
            let cannot = |source| crate::made_once::CacheError {
                path: own.clone(),
                source,
            };
            if source.copy_to(&own, u64::MAX).map_err(cannot)? {
                check_unchanged()?;
                is_own_copy = true;
                Source::copied_in(image, &own)?
            } else {
                Some(source)
            }
        }
        source => source,
    };
    let maker = Maker {
        image,
        modules,
        fetched_to: plan.fetched_to.as_ref().map(|cache| &cache.value),
        making: &making,
        beside: source.as_ref().map(|source| source.beside.as_path()),
    };
    let before = content(image);
    let same = before.as_ref().is_some_and(|digest| {
        let there = same_content::find(&folder_in(cache), file_name(runtime), digest);
        there.is_some_and(|there| there.link_to(&path).is_ok())
    });
    if !same {
        for (program, words) in steps(image, source.as_ref(), runtime, &key, &path) {
            maker.run(program, &words, waiter)?;
        }
    }
    if !is_own_copy {
        check_unchanged()?;
    }
    // What ch-image unpacked, of which the image is a copy.
    let _ = fs::remove_dir_all(place.join(STORAGE));
    let _ = fs::remove_dir_all(&own);
    // A tag that was moved while the image came leaves open which one it is.
    let after = before.filter(|before| same || content(image).as_ref() == Some(before));
    if let Some(digest) = after {
        same_content::write_down(place, &digest)?;
    }
    making.done(&image.to_string())?;
    Ok(done(true))
}

/// The image as it is, or as a job of its own has to make it.
pub fn find(plan: &ContainerPlan, place: &MakingPlace) -> Result<ReadyImage, ImageError> {
    let (image, runtime) = (&plan.image.value, plan.runtime.value);
    let key = key(image, Source::of(image)?.as_ref(), runtime);
    let entry = entry_in(place, &key);
    let path = entry.place().join(file_name(runtime));
    Ok(ReadyImage {
        to_make: !entry.is_made(),
        ..ready(Some(&path), recorded_digest(image, &entry.place()))
    })
}

/// Where an image of a key lies, or is made.
fn entry_in(place: &MakingPlace, key: &str) -> Entry {
    let entry = |cache: &Path| Entry::new(folder_in(cache), key.to_owned());
    entry(place.cache_with(|cache| entry(cache).is_made()))
}

/// Where `ch-image` works, in the image's own place: two of one storage wait for one another.
pub(super) const STORAGE: &str = "storage";
/// Where what it is built of lies meanwhile, without what is ignored.
const SOURCE: &str = "source";

/// What a runtime starts from: a file of its format, or a folder.
fn file_name(runtime: ContainerRuntime) -> &'static str {
    match runtime {
        ContainerRuntime::Apptainer | ContainerRuntime::Singularity => "image.sif",
        ContainerRuntime::Pyxis | ContainerRuntime::Enroot => "image.sqsh",
        ContainerRuntime::Podman | ContainerRuntime::Charliecloud => "image",
    }
}

/// What the image is by its content: as its address says, or as was found when it was fetched.
fn recorded_digest(image: &Image, place: &Path) -> Option<String> {
    let Image::Registry(address) = image else {
        return None;
    };
    let named = named_by(address).map(str::to_owned);
    named.or_else(|| same_content::digest(place))
}

/// The digest of what an address names now, by itself or by its tag.
fn content(image: &Image) -> Option<String> {
    let Image::Registry(address) = image else {
        return None;
    };
    named_by(address)
        .map(str::to_owned)
        .or_else(|| of_tag(address))
}

/// The digest of what the tag of an address names now.
pub(super) fn tag_names(image: &Image) -> Option<String> {
    match image {
        Image::Registry(address) => of_tag(address),
        _ => None,
    }
}

/// What makes two images the same: the address, the file that is unpacked, or what the recipe and the files that it
/// copies hold; what they are made into; and the machine's architecture.
fn key(image: &Image, source: Option<&Source>, runtime: ContainerRuntime) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(file_name(runtime).as_bytes());
    hasher.update(sys::machine().as_bytes());
    if let Image::Registry(address) = image {
        hasher.update(address.as_bytes());
    }
    if let Image::Squashfs(path) = image {
        hasher.update(path.as_os_str().as_encoded_bytes());
        local_files::add(&mut hasher, path, &|_, _| false);
    }
    if let Some(source) = source {
        source.add(&mut hasher);
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

/// The programs that make it, one after the other, each with its words.
fn steps(
    image: &Image,
    source: Option<&Source>,
    runtime: ContainerRuntime,
    key: &str,
    made: &Path,
) -> Vec<(&'static str, Vec<OsString>)> {
    let words = |words: &[&str]| -> Vec<OsString> { words.iter().map(OsString::from).collect() };
    let and = |mut first: Vec<OsString>, more: &[&Path]| {
        first.extend(more.iter().map(|path| path.as_os_str().to_owned()));
        first
    };
    let root = Path::new("/");
    let (recipe, beside) = source.map_or((root, root), |source| {
        (source.recipe.as_path(), source.beside.as_path())
    });
    let address = match image {
        Image::Registry(address) => address.as_str(),
        _ => "",
    };
    let from_registry = matches!(image, Image::Registry(_));
    if let Image::Squashfs(file) = image {
        // Devices that only root could make, of which a runtime shows its own, are no failure: those end with 2.
        const UNPACK: &str = "unsquashfs -no-progress -no-xattrs -d \"$1\" \"$2\" || [ $? = 2 ]";
        let unpack = words(&["-c", UNPACK, "bash"]);
        return vec![("bash", and(unpack, &[made, file]))];
    }
    match runtime {
        ContainerRuntime::Apptainer | ContainerRuntime::Singularity => {
            let mut build = and(words(&["build"]), &[made]);
            build.push(if from_registry {
                format!("docker://{address}").into()
            } else {
                recipe.into()
            });
            vec![(runtime.word(), build)]
        }
        ContainerRuntime::Pyxis | ContainerRuntime::Enroot => {
            let mut import = and(words(&["import", "--output"]), &[made]);
            let address = train::enroot_address(address);
            import.push(format!("docker://{address}").into());
            vec![("enroot", import)]
        }
        ContainerRuntime::Charliecloud => {
            const NAME: &str = "made";
            // Its own cache of builds would need git, and a name for it to commit with.
            let first = if from_registry {
                words(&["pull", "--no-cache", address])
            } else {
                let build = words(&["build", "--no-cache", "--tag", NAME, "--file"]);
                and(build, &[recipe, beside])
            };
            let name = if from_registry { address } else { NAME };
            let convert = words(&["-i", "ch-image", "-o", "dir", name]);
            let convert = and(convert, &[made]);
            vec![("ch-image", first), ("ch-convert", convert)]
        }
        ContainerRuntime::Podman => {
            // Only podman itself reads its storage: the image is copied out of it into a folder. What was built for
            // that alone, under a name that no other build has, leaves it. A folder has no configuration: the image's
            // variables go where `ch-convert` leaves them. What the image has there itself makes way: a link of
            // its own would lead out of the folder.
            const EXPORT: &str = "set -e -o pipefail\nmkdir \"$2\"\nid=$(podman create \"$1\" true)\n\
                trap 'podman rm \"$id\"' EXIT\npodman export \"$id\" | tar -x -C \"$2\"\n\
                set=$(podman image inspect --format '{{range .Config.Env}}{{println .}}{{end}}' \"$1\" |\n  \
                sed -n '/^[A-Za-z_][A-Za-z0-9_]*=/p')\n\
                [ -z \"$set\" ] || {\n  \
                [ -d \"$2/ch\" ] && [ ! -L \"$2/ch\" ] || rm -f \"$2/ch\"\n  \
                mkdir -p \"$2/ch\"\n  rm -rf \"$2/ch/environment\"\n  \
                printf '%s\\n' \"$set\" >\"$2/ch/environment\"\n}";
            const LEAVE: &str = "trap 'podman rmi \"$1\"' EXIT\n(\n";
            let export =
                |script: &str, name: &str| and(words(&["-c", script, "bash", name]), &[made]);
            if from_registry {
                let pull = words(&["pull", address]);
                return vec![("podman", pull), ("bash", export(EXPORT, address))];
            }
            let name = format!("localhost/trainyard-{key}");
            let build = and(
                words(&["build", "--tag", &name, "--file"]),
                &[recipe, beside],
            );
            let script = format!("{LEAVE}{EXPORT}\n)");
            vec![("podman", build), ("bash", export(&script, &name))]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    #[track_caller]
    fn check(image: Image, runtime: ContainerRuntime, want: Expect) {
        let place = Path::new("/cache/images/9f");
        let source = Source::at(&image);
        let made = place.join(file_name(runtime));
        let steps = steps(&image, source.as_ref(), runtime, "9f", &made);
        let shown = steps.iter().map(|(program, words)| {
            let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
            format!("{program} {}\n", words.join(" "))
        });
        want.assert_eq(&shown.collect::<String>());
    }

    #[test]
    fn the_makers() {
        let registry = || Image::Registry("nvcr.io/nvidia/pytorch:24.01".to_owned());
        let recipe = || Image::Dockerfile("/home/me/Dockerfile".into());
        check(
            registry(),
            ContainerRuntime::Apptainer,
            expect![[r#"
            apptainer build /cache/images/9f/image.sif docker://nvcr.io/nvidia/pytorch:24.01
        "#]],
        );
        let definition = Image::Definition("/home/me/a.def".into());
        check(
            definition,
            ContainerRuntime::Singularity,
            expect![[r#"
            singularity build /cache/images/9f/image.sif /home/me/a.def
        "#]],
        );
        check(
            Image::Squashfs("/home/me/a.sqsh".into()),
            ContainerRuntime::Charliecloud,
            expect![[r#"
            bash -c unsquashfs -no-progress -no-xattrs -d "$1" "$2" || [ $? = 2 ] bash /cache/images/9f/image /home/me/a.sqsh
        "#]],
        );
        check(
            registry(),
            ContainerRuntime::Enroot,
            expect![[r#"
            enroot import --output /cache/images/9f/image.sqsh docker://nvcr.io#nvidia/pytorch:24.01
        "#]],
        );
        check(
            registry(),
            ContainerRuntime::Charliecloud,
            expect![[r#"
            ch-image pull --no-cache nvcr.io/nvidia/pytorch:24.01
            ch-convert -i ch-image -o dir nvcr.io/nvidia/pytorch:24.01 /cache/images/9f/image
        "#]],
        );
        check(
            recipe(),
            ContainerRuntime::Podman,
            expect![[r#"
                podman build --tag localhost/trainyard-9f --file /home/me/Dockerfile /home/me
                bash -c trap 'podman rmi "$1"' EXIT
                (
                set -e -o pipefail
                mkdir "$2"
                id=$(podman create "$1" true)
                trap 'podman rm "$id"' EXIT
                podman export "$id" | tar -x -C "$2"
                set=$(podman image inspect --format '{{range .Config.Env}}{{println .}}{{end}}' "$1" |
                  sed -n '/^[A-Za-z_][A-Za-z0-9_]*=/p')
                [ -z "$set" ] || {
                  [ -d "$2/ch" ] && [ ! -L "$2/ch" ] || rm -f "$2/ch"
                  mkdir -p "$2/ch"
                  rm -rf "$2/ch/environment"
                  printf '%s\n' "$set" >"$2/ch/environment"
                }
                ) bash localhost/trainyard-9f /cache/images/9f/image
            "#]],
        );
        check(
            recipe(),
            ContainerRuntime::Charliecloud,
            expect![[r#"
            ch-image build --no-cache --tag made --file /home/me/Dockerfile /home/me
            ch-convert -i ch-image -o dir made /cache/images/9f/image
        "#]],
        );
        check(
            registry(),
            ContainerRuntime::Podman,
            expect![[r#"
                podman pull nvcr.io/nvidia/pytorch:24.01
                bash -c set -e -o pipefail
                mkdir "$2"
                id=$(podman create "$1" true)
                trap 'podman rm "$id"' EXIT
                podman export "$id" | tar -x -C "$2"
                set=$(podman image inspect --format '{{range .Config.Env}}{{println .}}{{end}}' "$1" |
                  sed -n '/^[A-Za-z_][A-Za-z0-9_]*=/p')
                [ -z "$set" ] || {
                  [ -d "$2/ch" ] && [ ! -L "$2/ch" ] || rm -f "$2/ch"
                  mkdir -p "$2/ch"
                  rm -rf "$2/ch/environment"
                  printf '%s\n' "$set" >"$2/ch/environment"
                } bash nvcr.io/nvidia/pytorch:24.01 /cache/images/9f/image
            "#]],
        );
    }

    /// An image may have links where its variables go: nothing outside of its folder is written.
    #[test]
    fn the_variables_of_an_image_stay_in_its_folder() {
        const PODMAN: &str = "#!/bin/bash\nset -e\ncase \"$1\" in\n  create) echo id ;;\n  rm) ;;\n  \
            export) tar -c -C \"${0%/*}/image\" . ;;\n  image) echo WORD=of-the-image ;;\nesac\n";
        let root = std::env::temp_dir().join(format!("yard-export-{}", std::process::id()));
        let _not_there = fs::remove_dir_all(&root);
        let (image, host) = (root.join("image"), root.join("host"));
        fs::create_dir_all(&host).unwrap();
        fs::write(root.join("podman"), PODMAN).unwrap();
        fs::set_permissions(root.join("podman"), Permissions::from_mode(0o755)).unwrap();
        let path = format!(
            "{}:{}",
            root.display(),
            std::env::var("PATH").unwrap_or_default()
        );
        let registry = Image::Registry("r/a:1".to_owned());
        let check = |case: &str, lay: &dyn Fn()| {
            fs::create_dir_all(&image).unwrap();
            fs::write(host.join("environment"), "the host's").unwrap();
            lay();
            let made = root.join("made");
            let all = steps(&registry, None, ContainerRuntime::Podman, "9f", &made);
            let (program, words) = all.last().unwrap();
            let ended = Command::new(program)
                .args(words)
                .env("PATH", &path)
                .status();
            assert!(ended.unwrap().success(), "{case}");
            let read = |place: PathBuf| fs::read_to_string(place).unwrap();
            assert_eq!(
                read(made.join("ch/environment")),
                "WORD=of-the-image\n",
                "{case}"
            );
            assert_eq!(read(host.join("environment")), "the host's", "{case}");
            fs::remove_dir_all(&made).unwrap();
            fs::remove_dir_all(&image).unwrap();
        };
        let ch = image.join("ch");
        check("nothing there", &|| ());
        check("a link to a folder", &|| symlink(&host, &ch).unwrap());
        check("a link to nothing", &|| {
            symlink(root.join("none"), &ch).unwrap();
        });
        check("a file", &|| fs::write(&ch, "").unwrap());
        check("a link in a folder", &|| {
            fs::create_dir(&ch).unwrap();
            symlink(host.join("environment"), ch.join("environment")).unwrap();
        });
        check("a folder in a folder", &|| {
            fs::create_dir_all(ch.join("environment")).unwrap();
        });
        fs::remove_dir_all(&root).unwrap();
    }
}
