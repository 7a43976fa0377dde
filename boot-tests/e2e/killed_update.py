"""SIGKILL the daemon while flags, stacks and MaximumBuffers of its session change, at random moments: the successor undoes the change or finishes it, the command
asks again and is answered, time never goes back, and attempted = written + lost balances exactly. Proves: issue 4, UPDATE of a running session."""
import json
import os
import random
import signal
import subprocess
import time

from harness import FULL, Machine, check, skip

if os.getuid() != 0:
    skip("kernel events need root")

DECLARED = """
[GlobalLogger]
EnableKernelFlags = PROC_THREAD+LOADER
BufferSize = 256 KB
MinimumBuffers = 64
MaximumBuffers = 512
FileName = kernel.etl
MaxFileSize = 0
"""
FLAGS = ["PROC_THREAD+LOADER+CSWITCH+DISPATCHER+PROFILE", "PROC_THREAD+FILE_IO+SYSCALL", "PROC_THREAD+LOADER+DISK_IO+VAMAP", "PROC_THREAD"]
BUFFERS = [1024, 640, 2048, 512]

with Machine(DECLARED) as m:
    m.start()
    m.wait_ready()
    seed = random.randrange(1 << 30)
    print("seed", seed)
    moments = random.Random(seed)
    done = 0
    for i in range(24 if FULL else 5):
        update = subprocess.Popen([os.path.join(os.environ["AL_BINARY_DIR"], "autologger"), "update", "NT Kernel Logger", "--flags", FLAGS[i % 4],
                                   "--stacks", "CSwitch+Profile" if i % 2 else "none", "--maximum-buffers", str(BUFFERS[i % 4])], env=m.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(moments.uniform(0, 0.2))
        os.kill(m.daemon_pid(), signal.SIGKILL)
        m.wait_ready()
        done += update.wait() == 0
        update.communicate()
        subprocess.run(["/bin/sh", "-c", "ls /usr/bin | sort > /dev/null"], check=True)
        time.sleep(0.2)  # a keeper gives up after 20 deaths in 5 s
    m.tool("update", "NT Kernel Logger", "--flags", "PROC_THREAD+LOADER", "--stacks", "none", "--maximum-buffers", "1000")
    query = json.loads(m.tool("query", "NT Kernel Logger", "--json").stdout)
    check(query["kernel_flags"] == "PROC_THREAD+LOADER" and query["stacks"] == "" and query["maximum_buffers"] == 1000, query)
    time.sleep(0.3)
    m.shutdown()
    row = m.status()["sessions"][0]
    print(done, "updates answered;", {k: row[k] for k in ("attempted", "converted", "written", "lost")})
    check(row["status"] == 0, row)
    check(row["attempted"] == row["converted"] + row["lost"]["total"], "attempted = written + lost", row)
    # without a daemon only the kernel's rings take events: on a busy machine they can fill up before the successor runs
    check(row["lost"]["total"] == row["lost"]["withheld"] + row["lost"]["ring"], "lost", row["lost"])
    summary = json.loads(m.tool("summary", "--json", os.path.join(m.logs, "kernel.etl")).stdout)
    check(summary["inversions"] == 0 and not summary["damage"], summary["inversions"], summary["damage"])
