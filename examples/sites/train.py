"""Fits a line to points on any number of ranks, with Python's own library alone.

It stands in for a training on GPUs: it takes the same options, finds its ranks as the launcher tells
them, averages gradients over the network, writes checkpoints and TensorBoard's event files.

    python train.py --steps 20
"""

import argparse
import http.client
import json
import os
import socket
import struct
import time
from pathlib import Path


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", type=Path, metavar="DIR", help="a folder with points.csv")
    parser.add_argument("--read-checkpoints-from", type=Path, metavar="DIR")
    parser.add_argument("--write-checkpoints-to", type=Path, metavar="DIR")
    parser.add_argument("--tensorboard-logging-dir", type=Path, metavar="DIR")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--checkpoint-every", type=int, default=10, metavar="STEPS")
    parser.add_argument("--learning-rate", "--learning_rate", type=float, default=0.5)
    parser.add_argument("--stop-at", type=int, metavar="STEP", help="wait there for the end of the job")
    return parser.parse_args()


# ---- ranks -------------------------------------------------------------------------------------

class Alone:
    rank, local_rank, size = 0, 0, 1

    def sum(self, values):
        return values


class Sockets:
    """Ranks that meet at MASTER_ADDR, as torch.distributed's do."""

    def __init__(self):
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.local_rank = int(os.environ["LOCAL_RANK"])
        # The agents of torchrun meet at the port themselves.
        port = int(os.environ["MASTER_PORT"]) + ("TORCHELASTIC_RUN_ID" in os.environ)
        at = (os.environ["MASTER_ADDR"], port)
        if self.rank == 0:
            with socket.create_server(("", at[1])) as server:
                self.others = [server.accept()[0].makefile("rw") for _ in range(self.size - 1)]
        else:
            self.others = [connect(at).makefile("rw")]

    def sum(self, values):
        if self.rank == 0:
            parts = [values] + [json.loads(other.readline()) for other in self.others]
            values = [sum(column) for column in zip(*parts)]
        for other in self.others:
            print(json.dumps(values), file=other, flush=True)
        return values if self.rank == 0 else json.loads(self.others[0].readline())


def connect(at):
    until = time.monotonic() + 60
    while True:
        try:
            return socket.create_connection(at)
        except ConnectionRefusedError:
            if time.monotonic() > until:
                raise
            time.sleep(0.01)


class Store:
    """Ranks that meet by a key-value store over HTTP, as Horovod's with Gloo do."""

    def __init__(self):
        number = lambda name: int(os.environ[f"HOROVOD_{name}"])
        self.rank, self.size = number("RANK"), number("SIZE")
        self.local_rank, self.round = number("LOCAL_RANK"), 0
        self.host = os.environ["HOROVOD_GLOO_RENDEZVOUS_ADDR"], number("GLOO_RENDEZVOUS_PORT")

    def ask(self, method, key, body=None):
        connection = http.client.HTTPConnection(*self.host, timeout=60)
        connection.request(method, f"/line/{key}", body)
        answer = connection.getresponse()
        return answer.read() if answer.status == 200 else None

    def wait_for(self, key):
        until = time.monotonic() + 60
        while (found := self.ask("GET", f"{self.round}-{key}")) is None:
            if time.monotonic() > until:
                raise TimeoutError(f"nobody wrote {key}")
            time.sleep(0.005)
        return json.loads(found)

    def sum(self, values):
        self.round += 1
        if self.rank == 0:
            parts = [values] + [self.wait_for(rank) for rank in range(1, self.size)]
            values = [sum(column) for column in zip(*parts)]
        key = "sum" if self.rank == 0 else self.rank
        self.ask("PUT", f"{self.round}-{key}", json.dumps(values))
        return values if self.rank == 0 else self.wait_for("sum")


def ranks():
    if "HOROVOD_RANK" in os.environ:
        return Store()
    return Sockets() if int(os.environ.get("WORLD_SIZE", 1)) > 1 else Alone()


# ---- data, checkpoints, event files ---------------------------------------------------------------

def points(folder):
    if folder is None:
        return [(x / 50, 3 * x / 50 + 2) for x in range(100)]
    rows = (folder / "points.csv").read_text().split()
    return [tuple(map(float, row.split(","))) for row in rows]


def newest_in(folder):
    found = sorted(folder.glob("step-*.json")) if folder and folder.is_dir() else []
    return json.loads(found[-1].read_text()) if found else {"step": 0, "slope": 0.0, "base": 0.0}


def save(folder, state):
    """Under another name first, so that a file with the final name is always whole."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"step-{state['step']:06d}.json"
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(json.dumps(state))
    partial.rename(path)


class Events:
    """TensorBoard's event file: records of a length, its checksum, bytes and their checksum."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        name = f"events.out.tfevents.{int(time.time())}.{os.uname().nodename}.{os.getpid()}"
        self.file = open(folder / name, "wb")
        self.record(b"\x1a\x0dbrain.Event:2")

    def record(self, fields):
        event = b"\x09" + struct.pack("<d", time.time()) + fields
        length = struct.pack("<Q", len(event))
        self.file.write(length + checksum(length) + event + checksum(event))
        self.file.flush()

    def scalar(self, tag, step, value):
        tag = tag.encode()
        point = b"\x0a" + bytes([len(tag)]) + tag + b"\x15" + struct.pack("<f", value)
        summary = b"\x0a" + bytes([len(point)]) + point
        self.record(b"\x10" + varint(step) + b"\x2a" + bytes([len(summary)]) + summary)


def varint(number):
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def checksum(data):
    """CRC-32C, masked as TensorFlow masks it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


# ---- training --------------------------------------------------------------------------------------

def main():
    options = arguments()
    group = ranks()
    mine = points(options.data_dir)[group.rank::group.size]
    state = newest_in(options.read_checkpoints_from)
    is_first = group.rank == 0
    gpus = os.environ.get("CUDA_VISIBLE_DEVICES", "none")
    node = os.environ.get("SLURMD_NODENAME", os.uname().nodename)
    print(f"rank {group.rank} of {group.size}, local rank {group.local_rank} on {node}, GPUs {gpus}, "
          f"from step {state['step']}", flush=True)
    events = None
    if is_first and options.tensorboard_logging_dir:
        events = Events(options.tensorboard_logging_dir)
    loss = None
    while state["step"] < options.steps:
        error = [(x, state["slope"] * x + state["base"] - y) for x, y in mine]
        total = group.sum([len(mine), sum(e * x for x, e in error), sum(e for _, e in error),
                           sum(e * e for _, e in error)])
        count, slope, base, loss = total[0], *(part / total[0] for part in total[1:])
        state = {"step": state["step"] + 1,
                 "slope": state["slope"] - options.learning_rate * slope,
                 "base": state["base"] - options.learning_rate * base}
        if is_first:
            if events:
                events.scalar("loss", state["step"], loss)
            if state["step"] % options.checkpoint_every == 0:
                print(f"step {state['step']} loss {loss:.4f}", flush=True)
                if options.write_checkpoints_to:
                    save(options.write_checkpoints_to, state)
        if options.stop_at == state["step"]:
            time.sleep(3600)
    if is_first and loss is None:
        print(f"nothing is left to train: step {state['step']} of {options.steps} is reached", flush=True)
    elif is_first:
        print(f"trained on {count} points: y = {state['slope']:.2f} x + {state['base']:.2f}, loss {loss:.4f}",
              flush=True)


main()
