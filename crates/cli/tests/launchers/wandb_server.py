"""What W&B's server answers to agents of a sweep, as `wandb` 0.31 asks it: a run for each, of the sweep's
program with another learning rate. Prints its port."""

import http.server
import json
import sys
import threading

SWEEP = {
    "id": "s1", "name": "a1b2c3", "state": "RUNNING", "createdAt": "2026-01-01T00:00:00",
    "config": "command: [python, '${program}', '${args}']\nmethod: random\nprogram: train.py\n",
    "heartbeatAt": None, "updatedAt": None, "controller": None, "scheduler": None,
    "earlyStopJobRunning": False, "runs": {"edges": []},
}
VIEWER = {
    "id": "u1", "entity": "user", "username": "user", "email": "me@example.org", "flags": "{}",
    "teams": {"edges": []},
}
lock = threading.Lock()
given = 0


def answer(name, variables):
    global given
    if name == "Viewer":
        return {"viewer": VIEWER}
    if name == "CreateAgent":
        assert (variables["entityName"], variables["projectName"]) == ("user", "line"), variables
        return {"createAgent": {"agent": {"id": "a1"}}}
    if name == "Heartbeat":
        with lock:
            given += 1
            arguments = {"learning_rate": {"value": given / 10}}
        run = {"type": "run", "run_id": f"r{given}", "args": arguments, "program": "train.py"}
        return {"agentHeartbeat": {"agent": {"id": "a1"}, "commands": json.dumps([run])}}
    return {"project": {"sweep": SWEEP}}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = self.rfile.read(int(self.headers["Content-Length"] or 0))
        text = b"{}"
        if self.path == "/graphql":
            asked = json.loads(asked)
            words = asked["query"].replace("(", " ").replace("{", " ").split()
            text = json.dumps({"data": answer(words[1], asked.get("variables") or {})}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
# Ends with the test, whose pipe this is.
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
