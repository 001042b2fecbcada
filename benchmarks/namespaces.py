# SPDX-License-Identifier: Apache-2.0
"""Workers in network namespaces of this machine, on a network whose links have a rate and a delay.
Needs root, `ip` and /dev/net/tun."""
import contextlib
import os
import subprocess

from contenders import Contender, Job, need, worker_settings

PORT = 4700
MTU = 9000


def run_ip(*arguments):
    subprocess.run(["ip", *arguments], check=True)


class Namespaces:
    """A context manager of `size` namespaces, one per worker."""

    def __init__(self, build, size):
        self.programs = os.path.join(build, "bin")
        self.size = size
        self.names = [f"cornu-bench-{i}" for i in range(size)]

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            program = os.path.join(self.programs, "bench_network")
            self.network = Contender("network", [program, str(self.size)])
            stack.callback(self.network.close)
            need(self.network.ready() or None, f"{program} (as root)")
            for i, name in enumerate(self.names):
                run_ip("netns", "add", name)
                stack.callback(run_ip, "netns", "delete", name)
                device = f"cornu{i}"
                run_ip("link", "set", device, "netns", name)
                run_ip("-n", name, "address", "add", f"10.77.0.{i + 1}/24", "dev", device)
                run_ip("-n", name, "link", "set", device, "mtu", str(MTU), "txqueuelen", "4000",
                       "up")
                run_ip("-n", name, "link", "set", "lo", "up")
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *error):
        self.stack.close()

    def set(self, rate, delay):
        """Sets the bytes per second of each worker's link, and the seconds to any other worker; 0:
        no limit."""
        self.network.ask(f"{rate} {delay * 1e6}")

    @contextlib.contextmanager
    def job(self, workers):
        self.set(0, 0)
        program = os.path.join(self.programs, "bench_distribute")
        addresses = [f"10.77.0.{i + 1}:{PORT}" for i in range(workers)]
        members = []
        for i in range(workers):
            settings = {**worker_settings(addresses, i, addresses[0]), "no_proxy": "*"}
            command = ["ip", "netns", "exec", self.names[i], program, "tcp"]
            members.append(Contender("Cornu", command, settings))
        job = Job("Cornu", members)
        need(job.ready() or None, program)
        yield job
        self.set(0, 0)
        job.close()
