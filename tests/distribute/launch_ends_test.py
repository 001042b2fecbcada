# SPDX-License-Identifier: Apache-2.0
"""How jobs of `cornu launch` end, and by which signals: launch_ends_test.py PATH_OF_CORNU [UNITTEST
ARGUMENTS]."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

import launch_test
from launch_test import SECONDS, Launch, command, environment, lines_by_task, opened


class Ends(Launch):
    def test_the_first_failure_ends_the_job(self):
        done = self.launched("-n 3", f"""
if me == "worker 2":
    awaited({self.fifo("ready0")!r})
    awaited({self.fifo("ready1")!r})
    sys.exit(7)
def end(*_):
    say("stopped")
    os._exit(9)
signal.signal(signal.SIGTERM, end)
opened({self.folder.name!r} + f"/ready{{task['index']}}")
signal.pause()
""", code=7)
        self.assertEqual(lines_by_task(done.stdout), {"worker 0": ["stopped"], "worker 1": ["stopped"]})
        self.assertEqual(done.stderr, "cornu: worker 2 ended with code 7\n")

    def test_killed(self):
        done = self.launched("-n 1", "os.kill(os.getpid(), signal.SIGKILL)", code=137)
        self.assertEqual(done.stderr, "cornu: worker 0 ended with code 137 (Killed)\n")

    def test_tasks_that_do_not_end_are_killed(self):
        done = self.launched("-n 2 --grace 0.1", f"""
if me == "worker 1":
    awaited({self.fifo("ready")!r})
    sys.exit(7)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
opened({os.path.join(self.folder.name, "ready")!r})
while True:
    signal.pause()
""", code=7)
        self.assertEqual(done.stderr, """\
cornu: worker 1 ended with code 7
cornu: tasks that didn't end in time are killed
""")

    def test_programs_that_cannot_be_run(self):
        done = subprocess.run([launch_test.CORNU, "launch", "-n", "2", "--", "/no/such/program"], text=True,
                              capture_output=True, timeout=SECONDS)
        self.assertEqual((done.returncode, done.stderr),
                         (127, "cornu: '/no/such/program' can't be run: No such file or directory\n"))
        done = subprocess.run([launch_test.CORNU, "launch", "--", self.folder.name], text=True,
                              capture_output=True, timeout=SECONDS)
        self.assertEqual((done.returncode, done.stderr),
                         (126, f"cornu: '{self.folder.name}' can't be run: Permission denied\n"))

    def test_evaluators_do_not_decide(self):
        done = self.launched("-n 1 --evaluator", f"""
if me == "worker 0":
    awaited({self.fifo("ready")!r})
    sys.exit()
def end(*_):
    say("stopped")
    os._exit(9)
signal.signal(signal.SIGTERM, end)
opened({os.path.join(self.folder.name, "ready")!r})
signal.pause()
""")
        self.assertEqual(done.stdout, "[evaluator 0] stopped\n")
        self.assertEqual(done.stderr, "")

    def test_training_goes_on_without_an_evaluator_that_failed(self):
        path = self.fifo("go")
        job = self.started("-n 1 --evaluator", f"""
if me == "evaluator 0":
    sys.exit(3)
awaited({path!r})
say("done")
""")
        self.wait_for(job.stderr, "evaluator 0 ended with code 3")
        with open(path, "w"):
            pass
        self.wait_for(job.stdout, "[worker 0] done")
        self.assertEqual(job.wait(SECONDS), 0)

    def test_a_chief_with_parameter_servers_decides(self):
        done = self.launched("-n 1 --chief --ps 1 --grace 0.1", f"""
paths = [{self.fifo("worker")!r}, {self.fifo("ps")!r}]
if me == "chief 0":
    for path in paths:
        awaited(path)
    sys.exit()
opened(f"{self.folder.name}/{{task['type']}}")
signal.pause()
""")
        self.assertEqual(done.stderr, "")

    def test_what_serves_a_chief_ends_by_itself(self):
        gone = {name: self.fifo(name) for name in ("worker 0", "ps 0")}
        done = self.launched("-n 1 --chief --ps 1 --evaluator", f"""
gone = {gone}
ready = {self.fifo("ready")!r}
if me == "chief 0":
    awaited(ready)
elif me == "evaluator 0":
    def end(*_):  # the chief is over
        for path in gone.values():
            opened(path)
        os._exit(0)
    signal.signal(signal.SIGTERM, end)
    opened(ready)
    while True:
        signal.pause()
else:
    awaited(gone[me])
    say("done")
""")
        self.assertEqual(lines_by_task(done.stdout), {"worker 0": ["done"], "ps 0": ["done"]})
        self.assertEqual(done.stderr, "")

    def test_a_chief_ends_well_while_a_worker_waits_for_its_restart(self):
        path = self.fifo("go")
        job = self.started("-n 1 --chief --ps 1 --max-restarts 100 --backoff 30 --grace 0.1", f"""
if me == "worker 0":
    os.kill(os.getpid(), signal.SIGKILL)
if me == "chief 0":
    awaited({path!r})
    sys.exit()
signal.pause()
""")
        self.wait_for(job.stderr, "worker 0 ended with code 137 (Killed); it starts again in 30 s (1 of 100)")
        opened(path)
        self.assertEqual(job.wait(SECONDS), 0)


class LeftEarly(Launch):
    """Workers that exit successfully while others compute with them."""
    BEGINS = """
def begin():
    open(os.environ["CORNU_BEGUN_FILE"], "a").write("\\n")
def end():
    open(os.environ["CORNU_ENDED_FILE"], "a").write("\\n")
def wait_for_end():
    while os.path.getsize(os.environ["CORNU_ENDED_FILE"]) == 0:
        time.sleep(0.01)
"""

    def test_after_they_have_begun(self):
        body = self.BEGINS + """
begin()
if me == "worker 1" and life == 0:
    os._exit(0)
if me == "worker 1":
    end()
    sys.exit(0)
wait_for_end()
"""
        done = self.launched("-n 2 --max-restarts 1 --backoff 0", body)
        self.assertEqual(done.stderr, """\
cornu: worker 1 has left the others, which still compute with it
cornu: worker 1 ended with code 75; it starts again in 0 s (1 of 1)
""")
        done = self.launched("-n 2", body, code=75)
        self.assertEqual(done.stderr, """\
cornu: worker 1 has left the others, which still compute with it
cornu: worker 1 ended with code 75
""")

    def test_before_they_have_begun(self):
        body = self.BEGINS + f"""
if me == "worker 1" and life == 0:
    with open({os.path.join(self.folder.name, "pid")!r}, "w") as file:
        file.write(str(os.getpid()))
    sys.exit(0)
if me == "worker 0":
    with open({os.path.join(self.folder.name, "pid")!r}) as file:
        pid = file.read()
    while os.path.exists("/proc/" + pid):  # until the launcher knows
        time.sleep(0.01)
    begin()
    wait_for_end()
    sys.exit(0)
end()
"""
        self.fifo("pid")
        done = self.launched("-n 2 --max-restarts 1 --backoff 0", body)
        self.assertEqual(done.stderr, """\
cornu: worker 1 has left the others, which still compute with it
cornu: worker 1 ended with code 75; it starts again in 0 s (1 of 1)
""")
        done = self.launched("-n 2", body, code=75)
        self.assertEqual(done.stderr, """\
cornu: worker 1 has left the others, which still compute with it
cornu: worker 1 ended with code 75
""")

    def test_what_fails_after_the_end_fails_the_job(self):
        body = self.BEGINS + """
begin()
end()
if life == 0 and me == "worker 1":
    sys.exit(int(sys.argv[1]))
"""
        late = "cornu: worker 1 failed after all had come to their ends; the job ends with its code, 3, unless they start over\n"
        again = "cornu: worker 1 ended with code {}; it starts again in 0 s (1 of 1)\n"
        for code, expected, said in [(3, 3, late + again.format(3)), (75, 0, again.format(75))]:
            with self.subTest(code=code):
                done = self.launched("-n 2 --max-restarts 1 --backoff 0",
                                     body.replace("sys.argv[1]", str(code)), code=expected)
                self.assertEqual(done.stderr, said)

    def test_what_fails_between_two_common_parts_is_made_good(self):
        done = self.launched("-n 2 --max-restarts 2 --backoff 0", self.BEGINS + f"""
if me == "worker 0":
    awaited({self.fifo("back")!r})
    os.truncate(os.environ["CORNU_ENDED_FILE"], 0)  # as by its next strategy
    begin()
    wait_for_end()
elif life == 0:
    begin()
    end()
    sys.exit(3)
elif life == 1:  # which finds the end of the first part
    opened({os.path.join(self.folder.name, "back")!r})
else:
    end()
""")
        self.assertEqual(done.stderr, """\
cornu: worker 1 failed after all had come to their ends; the job ends with its code, 3, unless they start over
cornu: worker 1 ended with code 3; it starts again in 0 s (1 of 2)
cornu: worker 1 has left the others, which still compute with it
cornu: worker 1 ended with code 75; it starts again in 0 s (2 of 2)
""")

    def test_parameter_servers_may(self):
        pid = self.fifo("pid")
        done = self.launched("-n 1 --ps 1", self.BEGINS + f"""
if me == "ps 0":
    awaited({self.fifo("begun")!r})
    with open({pid!r}, "w") as file:
        file.write(str(os.getpid()))
    sys.exit(0)
begin()
opened({os.path.join(self.folder.name, "begun")!r})
with open({pid!r}) as file:
    pid = file.read()
while os.path.exists("/proc/" + pid):
    time.sleep(0.01)
say("trained")
""")
        self.assertEqual((done.stdout, done.stderr), ("[worker 0] trained\n", ""))


class SignalsPassedOn(Launch):
    BODY = """
def end(number, _):
    say("got", signal.Signals(number).name)
    os._exit({code})
signal.signal(signal.SIGTERM, end)
signal.signal(signal.SIGINT, end)
say("ready")
while True:
    signal.pause()
"""

    def signalled(self, options, number, code):
        job = self.started(options, self.BODY.format(code=code))
        for _ in range(2):
            self.wait_for(job.stdout, "ready")
        job.send_signal(number)
        output, _ = job.communicate(timeout=SECONDS)
        self.assertEqual(lines_by_task(output), {name: [f"got {number.name}"]
                                                 for name in ("worker 0", "worker 1")})
        return job.returncode

    def test_all_tasks_get_it(self):
        self.assertEqual(self.signalled("-n 2", signal.SIGINT, 0), 0)
        self.assertEqual(self.signalled("-n 2", signal.SIGTERM, 143), 143)

    def test_a_chief_before_what_serves_it(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=number.name):
                save, saved = self.fifo(f"save{number}"), self.fifo(f"saved{number}")
                job = self.started("-n 1 --chief --ps 1", f"""
def end(*_):
    if me == "chief 0":
        opened({save!r})
        awaited({saved!r})
    say("ended")
    os._exit(0)
signal.signal({number.value}, end)
say("ready")
if me == "ps 0":
    awaited({save!r})
    say("serves")
    opened({saved!r})
while True:
    signal.pause()
""")
                for _ in range(3):
                    self.wait_for(job.stdout, "ready")
                job.send_signal(number)
                output, _ = job.communicate(timeout=SECONDS)
                self.assertEqual(lines_by_task(output), {
                    "chief 0": ["ended"], "ps 0": ["serves", "ended"], "worker 0": ["ended"]})
                self.assertEqual(job.returncode, 0)

    def test_none_starts_again(self):
        self.assertEqual(self.signalled("-n 2 --max-restarts 5", signal.SIGTERM, 143), 143)
        self.assertEqual(self.signalled("-n 2 --max-restarts 5", signal.SIGTERM, 1), 1)

    def test_the_second_kills(self):
        job = self.started("-n 1", """
signal.signal(signal.SIGTERM, lambda *_: say("no"))
say("ready")
while True:
    signal.pause()
""")
        self.wait_for(job.stdout, "ready")
        job.send_signal(signal.SIGTERM)
        self.wait_for(job.stdout, "no")
        job.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(SECONDS), 137)


    def test_while_nobody_reads_the_output(self):
        ours = {"pipe": os.pipe, "socket": lambda: [end.detach() for end in socket.socketpair()]}
        for name, pair in ours.items():
            for signals, code in [(1, 0), (2, 137)]:
                with self.subTest(file=name, signals=signals):
                    self.signalled_unread(pair(), signals, code)

    def signalled_unread(self, ends, signals, code):
        told = self.fifo("told")
        body = f"""
def end(*_):
    with open({told!r}, "w") as file:
        file.write(str(os.getpid()))
    if {signals} == 1:
        os._exit(0)
signal.signal(signal.SIGTERM, end)
while True:
    print("line")
"""
        job = subprocess.Popen(command("-n 1", body), env=environment(), stdout=ends[1],
                               stderr=subprocess.STDOUT)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        while select.select([], [ends[1]], [], 0)[1]:  # until the pipe is full
            time.sleep(0.01)
        job.send_signal(signal.SIGTERM)
        with open(told, encoding="utf-8") as file:
            task = file.read()
        os.unlink(told)
        while signals == 1 and os.path.exists("/proc/" + task):
            time.sleep(0.01)
        job.send_signal(signal.SIGTERM)
        self.assertEqual(job.wait(SECONDS), code)
        for end in ends:
            os.close(end)

    def test_ignored_ones_change_nothing(self):
        ignored = [signal.SIGHUP, signal.SIGINT, signal.SIGCHLD]  # nohup, a script's background job
        job = self.started("-n 1 --max-restarts 1 --backoff 0", f"""
say("ready", life)
if life == 0:
    awaited({self.fifo("go")!r})
    sys.exit(5)
signal.signal(signal.SIGTERM, lambda *_: (say("told"), os._exit(0)))
say("again")
while True:
    signal.pause()
""", preexec_fn=lambda: [signal.signal(number, signal.SIG_IGN) for number in ignored])
        self.wait_for(job.stdout, "ready 0")
        for number in ignored[:2]:
            job.send_signal(number)
        opened(os.path.join(self.folder.name, "go"))
        self.wait_for(job.stdout, "again")
        job.send_signal(signal.SIGTERM)  # the first signal that it gets
        self.wait_for(job.stdout, "told")
        self.assertEqual(job.wait(SECONDS), 0)


class NobodyIsLeft(Launch):
    def test_when_the_launcher_is_killed(self):
        held, given = os.pipe()
        job = self.started("-n 2", """
import subprocess
subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], close_fds=False)
say("ready")
signal.pause()
""", pass_fds=[given])
        os.close(given)
        for _ in range(2):
            self.wait_for(job.stdout, "ready")
        job.kill()
        self.assert_end(held)  # of the tasks and what they have started
        os.close(held)

    def test_when_a_task_leaves_a_process(self):
        for group in ("None", "os.setpgrp"):  # the task's, or another, as by a shell with job control
            with self.subTest(group=group):
                held, given = os.pipe()
                job = self.started("-n 1", f"""
import subprocess
subprocess.Popen([sys.executable, "-c", "import os, signal; os.fork(); signal.pause()"],
                 close_fds=False, preexec_fn={group})
""", pass_fds=[given])
                os.close(given)
                self.assert_end(held)
                self.assertEqual(job.wait(SECONDS), 0)
                os.close(held)

    SAYS_AND_STAYS = """
    for file in range(3):
        os.close(file)
    with open({said!r}, "w") as file:
        file.write(str(os.getpid()))
    signal.pause()
"""

    def assert_stays(self, job, said):
        with open(said, encoding="utf-8") as file:
            process = int(file.read())
        self.assertEqual(job.wait(SECONDS), 0)
        os.kill(process, signal.SIGKILL)  # it is there

    def test_but_what_was_there_before_the_launcher(self):  # helper & exec cornu launch …
        said = self.fifo("said")
        begins = f"""
import os, signal, sys
if os.fork() == 0:{self.SAYS_AND_STAYS.format(said=said)}
os.execv(sys.argv[1], sys.argv[1:])
"""
        self.assert_stays(subprocess.Popen(
            [sys.executable, "-c", begins, *command("-n 1", "pass")], env=environment()), said)

    def test_but_what_has_a_session_of_its_own(self):
        said = self.fifo("said")
        self.assert_stays(self.started("-n 1", f"""
if os.fork() == 0:
    os.setsid(){self.SAYS_AND_STAYS.format(said=said)}
awaited({self.fifo("known")!r})
""".replace("signal.pause()", f"opened({os.path.join(self.folder.name, 'known')!r}); signal.pause()")),
                          said)

    def test_orphans_are_waited_for(self):
        said = self.fifo("said")
        job = self.started("-n 1", f"""
launcher = os.getppid()
if os.fork() == 0:
    middle = os.getpid()
    if os.fork() == 0:
        while os.getppid() == middle:
            time.sleep(0.01)
        with open({said!r}, "w") as file:
            file.write(f"{{os.getppid() == launcher}} {{os.getpid()}}")
    os._exit(0)
os.wait()
awaited({self.fifo("done")!r})
""")
        with open(said, encoding="utf-8") as file:
            adopted, orphan = file.read().split()
        self.assertEqual(adopted, "True")
        while os.path.exists("/proc/" + orphan):
            time.sleep(0.01)
        opened(os.path.join(self.folder.name, "done"))
        self.assertEqual(job.wait(SECONDS), 0)


if __name__ == "__main__":
    launch_test.CORNU = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
