# SPDX-License-Identifier: Apache-2.0
"""torch.distributed's all_reduce on gloo; same protocol as distribute/main.cc, all_reduce only."""
import os
import sys
import time

import torch
import torch.distributed

os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
torch.set_num_threads(1)
torch.distributed.init_process_group("gloo")
print("ready", flush=True)
for line in sys.stdin:
    size, calls = (int(word) for word in line.split()[1:])
    values = torch.ones(size // 4)
    torch.distributed.all_reduce(values)
    if values[-1] != torch.distributed.get_world_size():
        sys.exit(f"the sum of ones is {values[-1]}")
    values.zero_()
    torch.distributed.barrier()
    start = time.perf_counter()
    for _ in range(calls):
        torch.distributed.all_reduce(values)
    torch.distributed.barrier()
    print((time.perf_counter() - start) / calls * 1e6, flush=True)
