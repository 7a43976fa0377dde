"""SIGKILL the daemon while a kernel session runs: the keeper holds the rings, the successor goes on with the raw records;
time never goes back, nothing is doubled, attempted = written + lost still balances exactly. Proves: LGT-05."""
import json
import os
import signal
import subprocess
import time

from harness import FULL, Machine, check, skip

if os.getuid() != 0:
    skip("kernel events need root")

DECLARED = """
[GlobalLogger]
EnableKernelFlags = PROC_THREAD+LOADER+CSWITCH+DISPATCHER+PROFILE
StackWalkingFilter = CSwitch+Profile
BufferSize = 256 KB
MinimumBuffers = 64
MaximumBuffers = 512
FileName = kernel.etl
MaxFileSize = 0
"""

with Machine(DECLARED) as m:
    m.start()
    children = 0
    for _ in range(20 if FULL else 4):
        for _ in range(15):
            subprocess.run(["/bin/sh", "-c", "ls /usr/bin | sort > /dev/null"], check=True)
            children += 1
        os.kill(m.daemon_pid(), signal.SIGKILL)
        m.wait_ready()
    time.sleep(0.3)
    m.shutdown()
    status = m.status()
    row = status["sessions"][0]
    print({k: row[k] for k in ("attempted", "converted", "written", "lost", "result", "reason")})
    check(row["status"] == 0, row)
    check(row["attempted"] == row["converted"] + row["lost"]["total"], "attempted = written + lost", row)
    path = os.path.join(m.logs, "kernel.etl")
    summary = json.loads(m.tool("summary", "--json", path).stdout)
    check(summary["inversions"] == 0 and not summary["damage"], summary["inversions"], summary["damage"])
    check(summary["events"] == row["written"] + 1, "the file has", summary["events"], "events, Status says", row["written"])
    lines = [json.loads(x) for x in m.tool("dump", "--format", "json", path).stdout.splitlines()]
    starts = [e for e in lines if e["event"] == "Start" and e["provider"]["name"] == "Process"]
    keys = [e["fields"]["UniqueProcessKey"] for e in starts]
    check(len(keys) == len(set(keys)), "a process start was written twice")
    shells = [e for e in starts if str(e["fields"].get("CommandLine", "")).startswith(("/bin/sh -c ls", "sh -c ls"))]
    print("children", children, "process starts", len(starts), "shells with their command line", len(shells))
    check(len(starts) >= 3 * children * 9 // 10, "process starts are missing:", len(starts), "of about", 3 * children)
