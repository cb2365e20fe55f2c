"""The tests of `make test`, run until the first one fails. See tools/mutate.

The tests that run first are those that caught earlier faults in the same file, and quick tests. A test hangs
if it takes a minute and twenty times as long as without a fault.
"""
import json
import os
import signal
import subprocess
import threading
import time

PATIENCE = 60  # the shortest timeout of a test, in seconds
UNKNOWN = 600  # the timeout of a test whose usual time is not known yet


def be_killed_first():
    """A fault may allocate all memory. Makes the kernel's out-of-memory killer choose this process."""
    with open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")


class Test:
    def __init__(self, name, level, command, folder, environment):
        self.name = f"{name} at {level}" if level else name
        self.command, self.folder, self.environment = command, folder, environment
        self.seconds = 0
        self.caught = {}  # file → how often

    def run(self, patience, stop):
        """How the test failed, or None. stop: another test failed, so this one can end."""
        process = subprocess.Popen(self.command, cwd=self.folder, env=self.environment, preexec_fn=be_killed_first,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + patience
        while process.poll() is None and time.monotonic() < end and not stop.is_set():
            time.sleep(0.005)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None if stop.is_set() else f"{self.name}, which hangs"
        return self.name if process.returncode else None


class Tests:
    def __init__(self, tree):
        self.tree, self.folder = tree, tree / "build"
        self.list = None

    def build(self):
        return subprocess.run(["tools/build", "build", "tests"], cwd=self.tree,
                              capture_output=True).returncode == 0

    def read(self):
        told = json.loads(subprocess.run(["ctest", "--test-dir", self.folder, "--show-only=json-v1"], check=True,
                                         capture_output=True, text=True).stdout)
        levels = subprocess.run([self.folder / "tests/levels"], check=True, capture_output=True,
                                text=True).stdout.split()
        plain = {k: v for k, v in os.environ.items() if k not in ("HECATE_ISA", "HECATE_THREADS")}
        if os.access("/dev/shm", os.W_OK):
            plain.setdefault("TMPDIR", "/dev/shm")
        tests = []
        for test in told["tests"]:
            properties = {p["name"]: p["value"] for p in test["properties"]}
            folder = properties.get("WORKING_DIRECTORY", str(self.folder))
            at_levels = "level" in properties.get("LABELS", [])
            for level in reversed(levels) if at_levels else [None]:
                environment = dict(plain, HECATE_ISA=level) if level else plain
                tests.append(Test(test["name"], level, test["command"], folder, environment))
        return tests

    def first_failure(self, path):
        """The test that notices the fault in this file, or None. Without a file: measures how long each test takes."""
        self.list = self.list or self.read()
        queue = sorted(self.list, key=lambda t: (-t.caught.get(path, 0), t.seconds))
        lock, stop, failures = threading.Lock(), threading.Event(), []

        def work():
            while not stop.is_set():
                with lock:
                    if not queue:
                        return
                    test = queue.pop(0)
                since = time.monotonic()
                failure = test.run(max(PATIENCE, 20 * test.seconds) if path else UNKNOWN, stop)
                if path is None:
                    test.seconds = time.monotonic() - since
                if failure:
                    failures.append(failure)
                    test.caught[path] = test.caught.get(path, 0) + 1
                    stop.set()

        workers = [threading.Thread(target=work) for _ in range(os.cpu_count() or 1)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return failures[0] if failures else None
