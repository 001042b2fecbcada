# SPDX-License-Identifier: Apache-2.0
"""`cornu launch` with small programs as tasks: launch_test.py PATH_OF_CORNU [UNITTEST ARGUMENTS]."""

import json
import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

CORNU = ""
SECONDS = 60  # after which something hangs

# The beginning of each task's program.
PRELUDE = """
import errno, json, os, signal, socket, sys, time
config = json.loads(os.environ["TF_CONFIG"])
task, cluster = config["task"], config["cluster"]
me = f"{task['type']} {task['index']}"
life = int(os.environ["CORNU_RESTARTS"])
def say(*words):
    print(*words, flush=True)
def own_socket():
    return socket.socket(fileno=int(os.environ["CORNU_LISTEN_FD"]))
def address(job, index):
    host, port = cluster[job][index].split(":")
    return host, int(port)
def opened(name):  # tells the test or another task; a fifo
    with open(name, "w"):
        pass
def awaited(name):  # until another one has opened the fifo
    with open(name) as fifo:
        fifo.read()
"""


def environment(**changes):
    """This process's environment, without variables that a launcher or a user may have set."""
    ours = re.compile("TF_CONFIG|CORNU_.*|OMP_NUM_THREADS|GOMP_SPINCOUNT|NO_COLOR")
    result = {name: value for name, value in os.environ.items() if not ours.fullmatch(name)}
    return {**result, **changes}


def program(body):
    return [sys.executable, "-S", "-c", PRELUDE + body]  # -S: starts in half the time


def command(options, body):
    return [CORNU, "launch", *shlex.split(options), "--", *program(body)]


def lines_by_task(text):
    result = {}
    for line in text.splitlines():
        name, words = re.fullmatch(r"\[(\w+ \d+)\] (.*)", line).groups()
        result.setdefault(name, []).append(words)
    return result


def opened(name):
    with open(name, "w"):
        pass


class Launch(unittest.TestCase):
    def setUp(self):
        def hangs(*_):
            raise AssertionError(f"not done within {SECONDS} s")
        signal.signal(signal.SIGALRM, hangs)
        signal.alarm(SECONDS)
        self.addCleanup(signal.alarm, 0)
        self.folder = tempfile.TemporaryDirectory(prefix="cornu-launch-")
        self.addCleanup(self.folder.cleanup)

    def fifo(self, name):
        path = os.path.join(self.folder.name, name)
        os.mkfifo(path)
        return path

    def launched(self, options, body, code=0, **changes):
        """The output of a job that ends by itself."""
        done = subprocess.run(command(options, body), env=environment(**changes), text=True,
                              capture_output=True, timeout=SECONDS)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def started(self, options, body, **arguments):
        """A running job, for the test to act on."""
        job = subprocess.Popen(command(options, body), env=environment(), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, **arguments)
        self.addCleanup(self.ended, job)
        return job

    def ended(self, job):
        if job.poll() is None:
            job.kill()
        job.wait()
        job.stdout.close()
        job.stderr.close()

    def wait_for(self, stream, text):
        """Reads lines until one has `text`."""
        for line in stream:
            if text in line:
                return line
        self.fail(f"the output ended without {text!r}")

    def assert_end(self, file):
        """Checks that no process holds the other end of the pipe any more."""
        while select.select([file], [], [], SECONDS)[0]:
            if not os.read(file, 1000):
                return
        self.fail("a process is left")


class Output(Launch):
    def test_lines_are_prefixed(self):
        done = self.launched("-n 2", """
print("one"); print("two")
print("oops", file=sys.stderr)
print("no end", end="")
""")
        lines = ["one", "two", "no end"]
        self.assertEqual(lines_by_task(done.stdout), {"worker 0": lines, "worker 1": lines})
        self.assertEqual(lines_by_task(done.stderr), {"worker 0": ["oops"], "worker 1": ["oops"]})

    def test_long_lines_and_any_bytes(self):
        done = subprocess.run(
            command("-n 1", r"sys.stdout.buffer.write(b'x' * 100_000 + b'\n\xff\x00\r\n\n')"),
            env=environment(), capture_output=True, timeout=SECONDS)
        prefix = b"[worker 0] "
        self.assertEqual(done.stdout, prefix + b"x" * 65536 + b"\n" + prefix +
                         b"x" * (100_000 - 65536) + b"\n" + prefix + b"\xff\x00\r\n" + prefix + b"\n")

    def test_colors_on_a_terminal(self):
        def on_terminal(**changes):
            ours, theirs = pty.openpty()
            done = subprocess.run(command("-n 2", "print('hi')"), env=environment(**changes),
                                  stdout=theirs, stderr=subprocess.DEVNULL, timeout=SECONDS)
            os.close(theirs)
            text = b""
            try:
                while some := os.read(ours, 1000):
                    text += some
            except OSError:  # its end, on Linux
                pass
            os.close(ours)
            self.assertEqual(done.returncode, 0)
            return sorted(text.decode().split("\r\n"))

        self.assertEqual(on_terminal(), ["", "\x1b[33m[worker 1]\x1b[0m hi",
                                         "\x1b[36m[worker 0]\x1b[0m hi"])
        self.assertEqual(on_terminal(NO_COLOR="1"), ["", "[worker 0] hi", "[worker 1] hi"])

    def test_nobody_reads_it(self):
        job = self.started("-n 2", """
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
while True:
    print("more")
""")
        job.stdout.readline()
        job.stdout.close()
        self.assertEqual(job.wait(SECONDS), 128 + signal.SIGPIPE)

    def test_it_is_read_late(self):
        ours, theirs = os.pipe()
        job = subprocess.Popen(command("-n 2", f"""
for number in range(50_000):
    print(number)
if me == "worker 0":
    awaited({self.fifo("done")!r})
else:
    opened({os.path.join(self.folder.name, "done")!r})
"""), env=environment(), stdout=theirs)
        while select.select([], [theirs], [], 0)[1]:  # until it is full
            time.sleep(0.01)
        os.close(theirs)
        with open(ours, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(job.wait(SECONDS), 0)
        lines = [str(number) for number in range(50_000)]
        self.assertEqual(lines_by_task(text), {"worker 0": lines, "worker 1": lines})

    def test_tasks_read_nothing(self):
        done = subprocess.run(command("-n 1", "say(repr(sys.stdin.read()))"), env=environment(),
                              input="text", text=True, capture_output=True, timeout=SECONDS)
        self.assertEqual(done.stdout, "[worker 0] ''\n")


class Cluster(Launch):
    def test_tf_config(self):
        # All tasks end by themselves here, but the chief decides, and waits for the others.
        paths = [self.fifo(name) for name in ("worker0", "worker1", "ps0", "evaluator0")]
        done = self.launched("-n 2 --chief --ps 1 --evaluator", f"""
say(os.environ["TF_CONFIG"])
if me == "chief 0":
    for path in {paths}:
        awaited(path)
else:
    opened(f"{self.folder.name}/{{task['type']}}{{task['index']}}")
""")
        configs = {task: json.loads(text) for task, [text] in lines_by_task(done.stdout).items()}
        self.assertEqual(sorted(configs), ["chief 0", "evaluator 0", "ps 0", "worker 0", "worker 1"])
        cluster = configs["chief 0"]["cluster"]
        self.assertEqual({job: len(tasks) for job, tasks in cluster.items()},
                         {"chief": 1, "worker": 2, "ps": 1})
        addresses = [address for job in cluster.values() for address in job]
        self.assertEqual(len(set(addresses)), 4)
        for address in addresses:
            self.assertRegex(address, r"^127\.0\.0\.1:\d+$")
        for name, config in configs.items():
            kind, index = name.split()
            self.assertEqual(config["cluster"], cluster)
            self.assertEqual(config["task"], {"type": kind, "index": int(index)})

    def test_each_task_has_the_socket_of_its_address(self):
        path = self.fifo("said")  # it is ended when the workers have
        done = self.launched("-n 2 --evaluator", f"said = {path!r}" + """
if me == "evaluator 0":
    say("CORNU_LISTEN_FD" in os.environ)
    opened(said)
    sys.exit()
if me == "worker 0":
    awaited(said)
other = address("worker", 1 - task["index"])
with socket.socket() as stranger:
    try:
        stranger.bind(other)  # whether it listens or not
    except OSError as error:
        say(errno.errorcode[error.errno])
listener = own_socket()
assert listener.getsockname() == address("worker", task["index"])
listener.listen()
connection = socket.create_connection(listener.getsockname())
listener.accept()[0].sendall(b"hello")
say(connection.recv(5).decode())
""", CORNU_LISTEN_FD="7")
        self.assertEqual(lines_by_task(done.stdout),
                         {"worker 0": ["EADDRINUSE", "hello"], "worker 1": ["EADDRINUSE", "hello"],
                          "evaluator 0": ["False"]})

    def test_token(self):
        body = 'say(os.environ.get("CORNU_JOB_TOKEN"))'
        tokens = [line for lines in lines_by_task(self.launched("-n 2", body).stdout).values()
                  for line in lines]
        self.assertEqual(len(set(tokens)), 1)
        self.assertRegex(tokens[0], "^[0-9a-f]{64}$")
        self.assertNotIn(tokens[0], self.launched("-n 1", body).stdout)
        self.assertEqual(self.launched("-n 1", body, CORNU_JOB_TOKEN="mine").stdout,
                         "[worker 0] mine\n")
        self.assertEqual(self.launched("-n 1", body, CORNU_JOB_TOKEN_FILE="/x").stdout,
                         "[worker 0] None\n")

    def test_cpu_shares(self):
        body = """
say(*sorted(os.sched_getaffinity(0)))
say(os.environ.get("OMP_NUM_THREADS"), os.environ.get("GOMP_SPINCOUNT"))
"""
        all_cpus = os.sched_getaffinity(0)
        [alone] = lines_by_task(self.launched("-n 1", body).stdout).values()
        self.assertEqual({int(cpu) for cpu in alone[0].split()}, all_cpus)
        threads = int(alone[1].split()[0])  # fewer than cores under a quota
        self.assertEqual(alone[1].split()[1], "None")
        if threads >= 2:
            shares = list(lines_by_task(self.launched("-n 2", body).stdout).values())
            cpus = [{int(cpu) for cpu in share[0].split()} for share in shares]
            self.assertEqual(cpus[0] | cpus[1], all_cpus)
            self.assertFalse(cpus[0] & cpus[1])
            self.assertEqual(sum(int(share[1].split()[0]) for share in shares), threads)
        many = lines_by_task(self.launched(f"-n {threads + 1}", body).stdout)
        for share in many.values():
            self.assertEqual({int(cpu) for cpu in share[0].split()}, all_cpus)
            self.assertEqual(share[1], "1 0")
        own = self.launched(f"-n {threads + 1}", body, OMP_NUM_THREADS="3", GOMP_SPINCOUNT="5")
        for share in lines_by_task(own.stdout).values():
            self.assertEqual(share[1], "3 5")


class Restarts(Launch):
    def test_failed_tasks_are_started_again_on_their_port(self):
        done = self.launched("-n 2 --max-restarts 2 --backoff 0.01", """
listener = own_socket()
listener.listen()
say(life, listener.getsockname() == address("worker", task["index"]))
if me == "worker 1" and life < 2:
    sys.exit(3 + life)
""")
        self.assertEqual(lines_by_task(done.stdout),
                         {"worker 0": ["0 True"], "worker 1": ["0 True", "1 True", "2 True"]})
        self.assertEqual(done.stderr, """\
cornu: worker 1 ended with code 3; it starts again in 0.01 s (1 of 2)
cornu: worker 1 ended with code 4; it starts again in 0.02 s (2 of 2)
""")

    def test_too_many_failures(self):
        done = self.launched("-n 1 --max-restarts 1 --backoff 0", "sys.exit(5 + life)", code=6)
        self.assertEqual(done.stderr, """\
cornu: worker 0 ended with code 5; it starts again in 0 s (1 of 1)
cornu: worker 0 ended with code 6
""")

    def test_preempted_programs_are_started_again(self):
        self.launched("-n 1 --max-restarts 1 --backoff 0", "sys.exit(0 if life else 143)")
        self.launched("-n 1 --max-restarts 1 --backoff 0",
                      "life or os.kill(os.getpid(), signal.SIGTERM)")

    def test_a_port_that_a_process_still_has(self):
        job = self.started("-n 1 --max-restarts 1 --backoff 0", f"""
listener = own_socket()
listener.listen()
if life == 0:
    if os.fork() == 0:
        os.setsid()  # so that it isn't killed
        for file in range(3):
            os.close(file)
        opened({self.fifo("there")!r})
        awaited({self.fifo("go")!r})
        os._exit(0)
    awaited({os.path.join(self.folder.name, "there")!r})
    sys.exit(3)
say("again")
""")
        self.wait_for(job.stderr, "cornu: worker 0 waits for a process of its last life, which "
                                  "listens on 127.0.0.1:")
        opened(os.path.join(self.folder.name, "go"))
        self.wait_for(job.stdout, "again")
        self.assertEqual(job.wait(SECONDS), 0)

    def test_peers_of_a_task_that_waits_for_its_restart_are_refused(self):
        job = self.started("-n 2 --max-restarts 1 --backoff 30", f"""
if me == "worker 0":
    listener = own_socket()
    listener.listen()
    opened({self.fifo("listens")!r})
    connection = listener.accept()
    os._exit(3)  # which closes files in the order of their numbers: the listener first
awaited({os.path.join(self.folder.name, "listens")!r})
connection = socket.create_connection(address("worker", 0))
connection.recv(1)  # its end
try:
    socket.create_connection(address("worker", 0))
except ConnectionRefusedError:
    say("refused")
signal.pause()
""")
        self.wait_for(job.stdout, "refused")
        self.wait_for(job.stderr, "worker 0 ended with code 3; it starts again in 30 s")
        job.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(SECONDS), 3)  # the first that failed


class Hosts(Launch):
    def printed(self, options):
        line = "import os, sys; print(os.environ['TF_CONFIG'], sys.argv[1:])"
        done = subprocess.run([CORNU, "launch", *shlex.split(options), "--", sys.executable, "-c", line,
                               "it's", "", "$HOME"], env=environment(), text=True,
                              capture_output=True, timeout=SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_what_to_run_is_a_shell_line(self):
        text = self.printed("--hosts ada,bob --port 7000")
        self.assertIn("openssl rand -hex 32", text)
        self.assertIn("# on ada: worker 0\nTF_CONFIG='{\"cluster\":", text)
        found = []
        for line in text.splitlines():
            if line.startswith("#"):
                continue
            run = subprocess.run(["sh", "-c", line], text=True, capture_output=True,
                                 env=environment(), timeout=SECONDS)
            self.assertEqual(run.returncode, 0, run.stderr)
            config, arguments = run.stdout.split(" [")
            self.assertEqual(arguments, '"it\'s", \'\', \'$HOME\']\n')
            found.append(json.loads(config))
        cluster = {"worker": ["ada:7000", "bob:7000"]}
        self.assertEqual(found, [{"cluster": cluster, "task": {"type": "worker", "index": index}}
                                 for index in range(2)])

    def test_tasks_go_round_the_hosts(self):
        text = self.printed("--hosts ada,bob,[fd00::1] -n 2 --chief --ps 1 --evaluator")
        self.assertEqual(re.findall("# on (.*)", text),
                         ["ada: chief 0", "bob: worker 0", "[fd00::1]: worker 1", "ada: ps 0",
                          "bob: evaluator 0"])
        config = json.loads(re.search("^TF_CONFIG='(.*?)'", text, re.MULTILINE).group(1))
        self.assertEqual(config["cluster"], {"chief": ["ada:8888"],
                                             "worker": ["bob:8888", "[fd00::1]:8888"],
                                             "ps": ["ada:8889"]})

    def test_insecure(self):
        text = self.printed("--hosts ada,bob --insecure")
        self.assertIn("# Without a token: everybody who reaches the tasks' ports is trusted.\n", text)
        self.assertEqual(len(re.findall("^CORNU_INSECURE=1 TF_CONFIG=", text, re.MULTILINE)), 2)
        self.assertNotIn("openssl", text)
        done = self.launched("-n 1 --insecure", """
say(os.environ["CORNU_INSECURE"], "CORNU_JOB_TOKEN" in os.environ)
""")
        self.assertEqual(done.stdout, "[worker 0] 1 False\n")

    def test_bad_hosts(self):
        for host in ("a;b", "ada:80", "a b", "''"):
            done = self.launched(f"--hosts {shlex.quote(host)}", "", code=2)
            self.assertIn("--hosts: ", done.stderr)


class CommandLine(unittest.TestCase):
    def called(self, *arguments):
        done = subprocess.run([CORNU, *arguments], text=True, capture_output=True, timeout=SECONDS)
        return done.returncode, done.stdout + done.stderr

    def test_help(self):
        code, text = self.called("--help")
        self.assertEqual(code, 0)
        self.assertRegex(text, "launch +Runs a program as a cluster")
        code, text = self.called("launch", "--help")
        self.assertEqual(code, 0)
        self.assertIn("usage: cornu launch [OPTIONS] -- PROGRAM [ARGUMENTS]", text)
        self.assertIn("cornu launch -n 4 -- ./program", text)

    def test_wrong_calls(self):
        for arguments, words in [((), "subcommand"), (("dance",), "dance"),
                                 (("launch",), "expected a program behind --"),
                                 (("launch", "--"), "expected a program behind --"),
                                 (("launch", "./program"), "./program"),
                                 (("launch", "-n", "0", "--", "true"), "--workers"),
                                 (("launch", "-n", "x", "--", "true"), "x"),
                                 (("launch", "--grace", "-1", "--", "true"), "grace"),
                                 (("launch", "--elastic", "2", "--", "true"),
                                  "--elastic: expected at most as many workers as there are, 1, got 2"),
                                 (("launch", "--backoff", "nan", "--", "true"),
                                  "--backoff: expected 0 to 30, got nan"),
                                 (("launch", "-n", "0", "--", "true"),
                                  "--workers: expected 1 to 1000, got 0"),
                                 (("launch", "-n", "2", "--hosts", "a,b", "--elastic", "1", "--", "true"),
                                  "--elastic is for workers that are started on this machine"),
                                 (("launch", "--port", "70000", "--", "true"), "port")]:
            with self.subTest(arguments=arguments):
                code, text = self.called(*arguments)
                self.assertEqual(code, 2)
                self.assertIn(words, text)


if __name__ == "__main__":
    CORNU = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
