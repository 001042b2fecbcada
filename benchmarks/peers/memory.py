# SPDX-License-Identifier: Apache-2.0
"""The memory that training steps take in a process."""


def _status(name):
    for line in open("/proc/self/status"):
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")


def growth(step, steps=2):
    """Bytes by which the resident set's peak within `steps` steps exceeds its previous size."""
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")  # resets the peak
    before = _status("VmRSS")
    for _ in range(steps):
        step()
    return _status("VmHWM") - before
