#!/bin/bash
# Stands in for a container runtime: it takes the options that it is given here alone, checks that folders
# and variables are there, and starts the command with nothing else in its environment.
set -eu
name=${0##*/}
refuse() { echo "$name: $*" >&2; exit 64; }
pass=() workdir=
folder() { [ -e "${1%%:*}" ] || refuse "nothing at ${1%%:*}"; }
case "$name" in
  apptainer|singularity)
    prefix=${name^^}ENV_
    [ "$1" = exec ] || refuse "action $1"
    shift
    [ "$1 $2" = "--cleanenv --contain" ] || refuse "not closed: $1 $2"
    shift 2
    while [ "${1#-}" != "$1" ]; do
      case "$1" in
        --writable-tmpfs) ;;
        --nv) pass+=("STAND_IN_GPUS=1") ;;
        --home=*) folder "${1#*=}"; pass+=("HOME=${1#*=}") ;;
        --bind=*) folder "${1#*=}" ;;
        --pwd=*) workdir=${1#*=} ;;
        *) refuse "option $1" ;;
      esac
      shift
    done
    while IFS= read -r variable; do
      pass+=("${variable#"$prefix"}=${!variable}")
    done < <(compgen -e "$prefix") ;;
  enroot)
    [ "$1" = start ] || refuse "action $1"
    shift
    while [ "${1#-}" != "$1" ]; do
      case "$1" in
        --rw) shift ;;
        --mount) folder "$2"; [[ $2 == *:none:x-create=auto,rbind ]] || refuse "mount $2"; shift 2 ;;
        --env) case "$2" in *=*) pass+=("$2") ;; *) pass+=("$2=${!2}") ;; esac; shift 2 ;;
        *) refuse "option $1" ;;
      esac
    done
    [ "$NVIDIA_VISIBLE_DEVICES" = void ] || refuse "GPUs"
    workdir=/ ;;
  podman)
    [ "$1 $2 $3 $4 $5" = "run --rm --network=host --pid=host --ipc=host" ] || refuse "start $*"
    shift 5
    while [ "$1" != --rootfs ]; do
      case "$1" in
        --read-only|--name=trainyard-*) ;;
        --volume=*) folder "${1#*=}" ;;
        --env=*=*) pass+=("${1#*=}") ;;
        --env=*) variable=${1#*=}; pass+=("$variable=${!variable}") ;;
        --workdir=*) workdir=${1#*=} ;;
        *) refuse "option $1" ;;
      esac
      shift
    done
    shift
    set -- "${1%:O}" "${@:2}" ;;
esac
[ -e "$1" ] || refuse "no image $1"
shift
cd "$workdir"
exec env -i PATH=/usr/bin:/bin "${pass[@]}" "$@"
