# SPDX-License-Identifier: Apache-2.0
"""Machines for the workers of a job: network and process namespaces, joined by a bridge.

Packets between two of them can be dropped silently, one way or both: their address is mapped to a
hardware address that doesn't exist. No process is notified, as when a cable is pulled.
"""
import itertools
import os
import secrets
import subprocess

NOBODY = "02:00:00:00:ff:fe"
PORT = 2222

_numbers = itertools.count()


def ip(*words):
    result = subprocess.run(["ip", *words], capture_output=True, text=True)
    if result.returncode:
        raise OSError(f"ip {' '.join(words)}: {result.stderr.strip()}")


def why_not():
    """Why this machine can't create namespaces; "" if it can."""
    try:
        Machines(2).close()
        subprocess.run(["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "true"],
                       check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        return str(error)
    return ""


class Machines:
    """A place for each worker. With `one_process_space` its workers could share memory."""

    def __init__(self, workers, one_process_space=False):
        self.prefix = f"cornu-faults-{os.getpid()}-{next(_numbers)}"
        self.hub = self.prefix + "-hub"
        self.one_process_space = one_process_space
        self.token = secrets.token_hex(32)
        self.addresses = [f"{self.address(rank)}:{PORT}" for rank in range(workers)]
        self.made = []
        try:
            self.make(self.hub)
            ip("-n", self.hub, "link", "add", "bridge", "type", "bridge")
            ip("-n", self.hub, "link", "set", "bridge", "up")
            for rank in range(workers):
                self.boot(rank)
            for sender, receiver in itertools.permutations(range(workers), 2):
                self.pass_packets(sender, receiver)
        except OSError:
            self.close()
            raise

    def make(self, name):
        ip("netns", "add", name)
        self.made.append(name)
        ip("-n", name, "link", "set", "lo", "up")

    def name(self, rank):
        return f"{self.prefix}-{rank}"

    @staticmethod
    def address(rank):
        return f"10.213.0.{rank + 1}"

    @staticmethod
    def hardware_address(rank):
        return f"02:00:00:00:00:{rank + 1:02x}"

    def boot(self, rank):
        """Boots a machine from scratch."""
        name = self.name(rank)
        self.make(name)
        ip("-n", self.hub, "link", "add", f"to{rank}", "type", "veth", "peer", "name", "eth0",
           "netns", name)
        ip("-n", self.hub, "link", "set", f"to{rank}", "master", "bridge", "up")
        ip("-n", name, "link", "set", "eth0", "address", self.hardware_address(rank), "up")
        ip("-n", name, "addr", "add", f"{self.address(rank)}/24", "dev", "eth0")

    def crash(self, rank):
        """The machine is suddenly gone, with everything that ran there."""
        ip("netns", "del", self.name(rank))
        self.made.remove(self.name(rank))
        # The other end of its cable disappears with its last process.
        subprocess.run(["ip", "-n", self.hub, "link", "del", f"to{rank}"], capture_output=True)

    def pass_packets(self, sender, receiver, pass_them=True):
        to = self.hardware_address(receiver) if pass_them else NOBODY
        ip("-n", self.name(sender), "neigh", "replace", self.address(receiver), "lladdr", to, "dev",
           "eth0", "nud", "permanent")

    def start(self, rank, line, environment):
        enter = ["ip", "netns", "exec", self.name(rank)]
        if not self.one_process_space:
            enter += ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
        return subprocess.Popen(enter + line, env=dict(environment, CORNU_JOB_TOKEN=self.token),
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def close(self):
        for name in self.made:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)
        self.made = []
