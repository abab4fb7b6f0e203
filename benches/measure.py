"""What the benchmarks share: taking time, and rows of the table that they print."""

import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def talk(text):
    print(text, file=sys.stderr, flush=True)


def seconds_of(command, **options):
    """Wall seconds of a command that must succeed, and its output."""
    began = time.perf_counter()
    ended = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, **options)
    taken = time.perf_counter() - began
    if ended.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: status {ended.returncode}: {ended.stderr.strip()}")
    return taken, ended.stdout


def ms_of_start(command, want, times=50, **options):
    """Median milliseconds of a command that ends with the status `want`."""
    samples = []
    for _ in range(times):
        began = time.perf_counter()
        ended = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, **options)
        samples.append((time.perf_counter() - began) * 1000)
        if ended.returncode not in want:
            raise RuntimeError(f"{' '.join(map(str, command))}: status {ended.returncode}: {ended.stderr.strip()}")
    return statistics.median(samples)


def build():
    """The program as it is shipped; its path."""
    talk("building yard")
    subprocess.run(["cargo", "build", "--profile", "dist", "--locked"], cwd=ROOT, check=True, stdout=sys.stderr)
    metadata = subprocess.run(["cargo", "metadata", "--format-version", "1", "--no-deps"],
                              cwd=ROOT, check=True, capture_output=True, text=True)
    return Path(json.loads(metadata.stdout)["target_directory"]) / "dist" / "yard"


def machine():
    """The first line of a table: where it was measured."""
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    print(f"{len(os.sched_getaffinity(0))} CPUs ({model[1] if model else 'of an unknown model'}), "
          f"load {os.getloadavg()[0]:.1f} at the start; medians\n")


def environment(name, packages):
    """A Python environment with packages of PyPI under the build folder, made once; its folder."""
    venv = ROOT / "target" / "benches" / name
    if not (venv / "made").exists():
        talk(f"installing {' '.join(packages)}")
        subprocess.run([sys.executable, "-m", "venv", venv], check=True, stdout=sys.stderr)
        subprocess.run([venv / "bin" / "python", "-m", "pip", "install", "-q", *packages],
                       check=True, stdout=sys.stderr)
        (venv / "made").touch()
    return venv


def row(what, figure, bound="", beside=""):
    print(f"{what:<46} {figure:>12}   {bound:<12} {beside}".rstrip(), flush=True)


def attempt(what, measure):
    """Runs one measurement; one that fails is a row of the table and not the end of it."""
    try:
        measure()
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        row(what, "failed", beside=str(error)[:200])
        attempt.failed = True


attempt.failed = False
