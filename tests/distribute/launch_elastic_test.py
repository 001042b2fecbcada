# SPDX-License-Identifier: Apache-2.0
"""Jobs of `cornu launch` that continue with fewer workers: launch_elastic_test.py PATH_OF_CORNU
[UNITTEST ARGUMENTS]."""

import os
import signal
import sys
import time
import unittest
from pathlib import Path

import launch_test


class Elastic(launch_test.Launch):
    def test_a_worker_that_has_failed_for_good_is_left_out(self):
        done = self.launched("-n 3 --elastic 2 --max-restarts 1 --backoff 0 --grace 30", f"""
workers = len(cluster["worker"])
say(workers, life)
def end(*_):
    say("stopped")
    os._exit(143)
signal.signal(signal.SIGTERM, end)
if workers == 3 and task["index"] == 1:
    if life == 1:
        awaited({self.fifo("ready0")!r})
        awaited({self.fifo("ready2")!r})
    sys.exit(4)
if workers == 3:
    opened({self.folder.name!r} + f"/ready{{task['index']}}")
    signal.pause()
if task["index"] == 1 and life == 0:
    sys.exit(5)  # with fewer, each has all its restarts
""")
        self.assertEqual(launch_test.lines_by_task(done.stdout),
                         {"worker 0": ["3 0", "stopped", "2 0"],
                          "worker 1": ["3 0", "3 1", "2 0", "2 1"],
                          "worker 2": ["3 0", "stopped"]})
        self.assertEqual(done.stderr, """\
cornu: worker 1 ended with code 4; it starts again in 0 s (1 of 1)
cornu: worker 1 ended with code 4; the others end, and continue with 2 workers
cornu: worker 1 ended with code 5; it starts again in 0 s (1 of 1)
""")

    def test_as_few_as_told_and_no_fewer(self):
        done = self.launched("-n 2 --elastic 1", 'say(len(cluster["worker"])); sys.exit(6)', code=6)
        said = launch_test.lines_by_task(done.stdout)  # of the first two, one may end before
        self.assertEqual({line for lines in said.values() for line in lines}, {"1", "2"})
        self.assertEqual(said["worker 0"][-1], "1")
        self.assertRegex(done.stderr, "cornu: worker [01] ended with code 6; the others end, and "
                                      "continue with 1 worker\ncornu: worker 0 ended with code 6\n")

    def test_an_evaluator_stays(self):
        done = self.launched("-n 2 --elastic 1 --evaluator", f"""
if me == "evaluator 0":
    signal.signal(signal.SIGTERM, lambda *_: (say("stopped"), os._exit(0)))
    opened({self.fifo("evaluator")!r})
    while True:
        signal.pause()
if len(cluster["worker"]) == 2:
    if me == "worker 0":
        awaited({os.path.join(self.folder.name, "evaluator")!r})
        sys.exit(6)
    signal.pause()
say("alone")
""")
        self.assertEqual(launch_test.lines_by_task(done.stdout),
                         {"worker 0": ["alone"], "evaluator 0": ["stopped"]})

    def test_a_chief_and_parameter_servers_begin_anew_with_fewer_workers(self):
        for name in ("chief", "worker", "ps"):
            self.fifo(name)
        done = self.launched("-n 2 --chief --ps 1 --elastic 1", f"""
def end(*_):
    say("stopped")
    os._exit(143)
signal.signal(signal.SIGTERM, end)
sizes = [len(cluster[kind]) for kind in ("chief", "worker", "ps")]
say(*sizes, life)
if me == "worker 1":
    for name in ("chief", "worker", "ps"):
        awaited({self.folder.name!r} + "/" + name)
    sys.exit(4)
if sizes[1] == 2:
    opened({self.folder.name!r} + "/" + task["type"])
    signal.pause()
if me == "chief 0":  # it decides
    for name in ("worker", "ps"):
        awaited({self.folder.name!r} + "/" + name)
    sys.exit(0)
opened({self.folder.name!r} + "/" + task["type"])
signal.pause()
""")
        self.assertEqual(launch_test.lines_by_task(done.stdout),
                         {"chief 0": ["1 2 1 0", "stopped", "1 1 1 0"],
                          "worker 0": ["1 2 1 0", "stopped", "1 1 1 0", "stopped"],
                          "worker 1": ["1 2 1 0"],
                          "ps 0": ["1 2 1 0", "stopped", "1 1 1 0", "stopped"]})
        self.assertEqual(done.stderr, "cornu: worker 1 ended with code 4; the others end, and continue "
                                      "with 1 worker\n")

    def test_a_chief_or_a_parameter_server_that_fails_ends_the_job(self):
        for kind, options in [("chief", "--chief"), ("ps", "--ps 1"), ("chief", "--chief --ps 1")]:
            with self.subTest(kind=kind, options=options):
                name = f"ready {options}"
                done = self.launched(f"-n 2 --elastic 1 --max-restarts 1 --backoff 0 {options}", f"""
say(life)
if task["type"] == {kind!r}:
    if life == 1:
        awaited({self.fifo(name)!r})
    sys.exit(4 + life)
signal.signal(signal.SIGTERM, lambda *_: os._exit(9))
if me == "worker 0":
    opened({os.path.join(self.folder.name, name)!r})
while True:
    signal.pause()
""", code=5)
                self.assertEqual(launch_test.lines_by_task(done.stdout)[f"{kind} 0"], ["0", "1"])
                self.assertEqual(done.stderr, f"""\
cornu: {kind} 0 ended with code 4; it starts again in 0 s (1 of 1)
cornu: {kind} 0 ended with code 5; --elastic continues without workers only
""")

    def test_an_evaluator_that_fails_is_done_without(self):
        go = self.fifo("go")
        job = self.started("-n 2 --elastic 1 --evaluator", f"""
if me == "evaluator 0":
    sys.exit(3)
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))
if len(cluster["worker"]) == 1:
    say("alone")
    sys.exit()
if me == "worker 1":
    awaited({go!r})
    sys.exit(6)
signal.pause()
""")
        self.wait_for(job.stderr, "cornu: evaluator 0 ended with code 3\n")
        with open(go, "w"):
            pass
        self.wait_for(job.stderr, "cornu: worker 1 ended with code 6; the others end, and continue with "
                                  "1 worker\n")
        self.wait_for(job.stdout, "[worker 0] alone")
        self.assertEqual(job.wait(launch_test.SECONDS), 0)

    def test_an_evaluator_that_fails_as_the_last_worker_ends(self):
        pids = os.path.join(self.folder.name, "pids")
        told = self.fifo("told")
        job = self.started("-n 2 --elastic 1 --evaluator", f"""
alone = len(cluster["worker"]) == 1
def end(*_):  # the launcher is to find both ends at once
    os.kill(os.getppid(), signal.SIGSTOP)
    os.kill(int(open({pids!r}).read()), signal.SIGKILL)
    with open({told!r}, "w") as file:
        file.write(str(os.getpid()))
    os._exit(143)
if me == "evaluator 0":
    with open({pids!r} + ".new", "w") as file:
        file.write(str(os.getpid()))
    os.rename({pids!r} + ".new", {pids!r})
    opened({self.fifo("evaluator")!r})
    while True:
        signal.pause()
if me == "worker 1":
    awaited({self.fifo("worker")!r})
    sys.exit(6)
if not alone:
    signal.signal(signal.SIGTERM, end)
    awaited({os.path.join(self.folder.name, "evaluator")!r})
    opened({os.path.join(self.folder.name, "worker")!r})
    signal.pause()
say("alone")
""")
        with open(told) as file:
            ended = [int(file.read())]
        with open(pids) as file:
            ended.append(int(file.read()))
        for pid in ended:
            while Path(f"/proc/{pid}/stat").read_text().rsplit(")")[-1].split()[0] != "Z":
                time.sleep(0.01)
        job.send_signal(signal.SIGCONT)
        self.wait_for(job.stdout, "[worker 0] alone")
        self.assertEqual(job.wait(launch_test.SECONDS), 0)

    def test_a_signal_while_the_others_end(self):
        job = self.started("-n 2 --elastic 1", f"""
if me == "worker 0":
    awaited({self.fifo("ready")!r})
    sys.exit(6)
signal.signal(signal.SIGTERM, lambda *_: say("told"))
opened({os.path.join(self.folder.name, "ready")!r})
signal.pause()
say("again")
signal.pause()
sys.exit(143)
""")
        self.wait_for(job.stdout, "again")
        job.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(launch_test.SECONDS), 6)


if __name__ == "__main__":
    launch_test.CORNU = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
