"""A program with known numbers of file and memory operations, and a daemon that is killed while its files are open: from the file alone,
every operation by name, size and status, the same open file before and after, and nothing twice. Proves: issue 4, truth of FILE_IO,
FILE_IO_INIT, FILENAME and VIRT_ALLOC through the daemon and `dump`, and that a successor knows what is open; LEG-08."""
import json
import os
import signal
import subprocess
import sys
import time

from harness import Machine, check, skip

FILES, BYTES, MAPS, LENGTH = 200, 10, 100, 7 * 4096
WORKER = f"""
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
os.chdir(sys.argv[1])
files = []
def maps():
    for i in range({MAPS}):
        libc.munmap(libc.mmap(None, {LENGTH}, 3, 0x22, -1, 0), {LENGTH})
for line in sys.stdin:
    if line == "open\\n":
        for i in range({FILES}):
            files.append(os.open(os.path.join(sys.argv[1], "old-%d" % i), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            os.write(files[i], bytes({BYTES} + i))
    else:
        for i in range({FILES}):
            os.write(files[i], bytes({BYTES} + i))
            os.close(files[i])
            os.rename("old-%d" % i, "new-%d" % i)
            os.unlink("new-%d" % i)
            try:
                os.open("none-%d" % i, os.O_RDONLY)
            except FileNotFoundError:
                pass
    maps()
    print("done", flush=True)
"""

if os.getuid() != 0:
    skip("kernel events need root")
if not os.path.exists("/sys/kernel/btf/vmlinux"):
    skip("this kernel does not describe its types")

DECLARED = """
[GlobalLogger]
EnableKernelFlags = PROC_THREAD+FILE_IO+FILE_IO_INIT+VIRT_ALLOC
StackWalkingFilter = FileDelete
BufferSize = 256 KB
MinimumBuffers = 64
MaximumBuffers = 512
FileName = kernel.etl
MaxFileSize = 0
"""


def number(value):
    return int(value, 0) if isinstance(value, str) else int(value)


with Machine(DECLARED) as m:
    folder = os.path.join(m.dir, "files")
    os.mkdir(folder)
    m.start()
    worker = subprocess.Popen([sys.executable, "-c", WORKER, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    m.processes.append(worker)

    def step(word):
        worker.stdin.write(word + "\n")
        worker.stdin.flush()
        check(worker.stdout.readline() == "done\n", "the worker's answer to", word)

    step("open")
    time.sleep(0.6)
    os.kill(m.daemon_pid(), signal.SIGKILL)
    m.wait_ready()
    step("close")
    worker.stdin.close()
    check(worker.wait(20) == 0, "the worker ended with", worker.returncode)
    time.sleep(0.3)
    m.shutdown()
    row = m.status()["sessions"][0]
    print({k: row[k] for k in ("attempted", "converted", "written", "lost", "result", "reason")})
    check(row["attempted"] == row["converted"] + row["lost"]["total"], "attempted = written + lost", row)
    events = [json.loads(x) for x in m.tool("dump", "--format", "json", os.path.join(m.logs, "kernel.etl")).stdout.splitlines()]
    conditions = [c for c in row.get("conditions", []) if not c.get("note")]
    print("conditions", conditions)
    if any(c["item"] == "FILE_IO" for c in conditions):
        skip(conditions)
    if row["lost"]["total"]:
        skip("this machine is too busy now: events were lost, and counted")

    ours = [e for e in events if number(e["fields"].get("TTID", 0)) == worker.pid]
    ends = {}
    for e in events:
        if e["event"] == "OperationEnd":
            check(e["fields"]["IrpPtr"] not in ends, "one end for", e["fields"])
            ends[e["fields"]["IrpPtr"]] = e["fields"]

    def end_of(e):
        return ends[e["fields"]["IrpPtr"]]

    def path(e):
        return e["fields"].get("OpenPath", e["fields"].get("FileName", "")).replace("\\", "/")

    inside = "/" + os.path.basename(folder) + "/"
    # LEG-08: all of them under one task; the worker's start has read files, too
    operations = ("Create", "Read", "Write", "Cleanup", "Close", "Rename", "RenamePath", "Delete", "DeletePath", "OperationEnd")
    kinds = {(e["event"], e["provider"].get("name")) for e in ours + [e for e in events if e["event"] == "OperationEnd"] if e["event"] in operations}
    check(kinds == {(name, "FileIo") for name in operations}, "tasks of file operations", kinds)
    creates = [e for e in ours if e["event"] == "Create" and inside in path(e)]
    made = {e["fields"]["FileObject"]: e for e in creates if "/old-" in path(e)}
    failed = [e for e in creates if "/none-" in path(e)]
    check(len(made) == FILES and len(failed) == FILES, "files made and missed", len(made), len(failed))
    check(all(number(end_of(e)["NtStatus"]) == 0 for e in made.values()), "they were made")
    check(all(number(end_of(e)["NtStatus"]) == 0xC0000034 for e in failed), "the others have the status of a missing name")
    for name, each in (("Write", 2), ("Cleanup", 1), ("Close", 1)):
        found = [e for e in ours if e["event"] == name and e["fields"]["FileObject"] in made]
        check(len(found) == each * FILES, name, len(found), "of", each * FILES, "on the objects of their opens, over the kill")
    for e in ours:
        if e["event"] == "Write" and e["fields"]["FileObject"] in made:
            i = int(path(made[e["fields"]["FileObject"]]).rsplit("-", 1)[1])
            check(number(e["fields"]["IoSize"]) == BYTES + i == number(end_of(e)["ExtraInfo"]) and number(e["fields"]["Offset"]) in (0, BYTES + i), e)
    for name, word in (("RenamePath", "/new-"), ("DeletePath", "/new-")):
        found = [e for e in ours if e["event"] == name and inside in path(e) and word in path(e)]
        check(len(found) == FILES and len({path(e) for e in found}) == FILES, name, len(found), "of", FILES)
    deletes = [e for e in ours if e["event"] == "Delete"]
    keys = {e["fields"]["FileKey"] for e in ours if e["event"] == "Write" and e["fields"]["FileObject"] in made}
    check(sum(e["fields"]["FileKey"] in keys for e in deletes) == FILES, "each file deleted by its key, though it was renamed")
    stacks = {number(e["fields"]["EventTimeStamp"]) for e in events if e["event"] == "Stack"}
    check(len(stacks) >= FILES, "stacks of deletes", len(stacks))
    names = {e["event"] for e in events}
    check({"FileCreate", "FileDelete", "FileRundown"} <= names, names)

    allocated = [e["fields"] for e in events if e["event"] == "VirtualAlloc" and number(e["fields"]["ProcessId"]) == worker.pid]
    freed = [e["fields"] for e in events if e["event"] == "VirtualFree" and number(e["fields"]["ProcessId"]) == worker.pid]
    for found in (allocated, freed):
        check(sum(number(f["RegionSize"]) == LENGTH for f in found) == 2 * MAPS, "areas", len(found))
print("file operations: all counts agree")
