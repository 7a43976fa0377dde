"""Several sessions of kernel events at once: each has its own flags, stacks and file, complete and counted to the last event, also over a
SIGKILL of the daemon; the NT Kernel Logger by its name; the seventh beside it is refused (one more place is the Circular Kernel Context Logger's:
session/tests/test_session.c); one is changed while the others run.
Proves: SES-23, SPC-06; issue 4, several system loggers."""
import ctypes
import json
import os
import signal
import subprocess

from harness import Machine, check, skip

if os.getuid() != 0:
    skip("kernel events need root")

SIZES = "BufferSize = 256 KB\nMinimumBuffers = 16\nMaximumBuffers = 128\nMaxFileSize = 0\n"
DECLARED = f"""
[Autologger/NT Kernel Logger]
EnableKernelFlags = PROC_THREAD+LOADER+CSWITCH
StackWalkingFilter = CSwitch
FileName = k.etl
{SIZES}
[Autologger/calls]
LogFileMode = SYSTEM_LOGGER
EnableKernelFlags = PROC_THREAD+SYSCALL
FileName = calls.etl
{SIZES}
""" + "".join(f"[Autologger/few-{i}]\nLogFileMode = SYSTEM_LOGGER\nEnableKernelFlags = PROC_THREAD\nFileName = few-{i}.etl\n{SIZES}\n"
              for i in range(6))
CALLS, CHILDREN, GETPPID = 300, 25, 110 if os.uname().machine == "x86_64" else 173
libc = ctypes.CDLL(None)
with open("/proc/kallsyms", encoding="ascii") as symbols:
    ADDRESS = next((int(line.split()[0], 16) for line in symbols if line.split()[2] in ("__x64_sys_getppid", "__arm64_sys_getppid")), 0)
if not ADDRESS:
    skip("this kernel hides the addresses of its functions")


def work(mark):
    for _ in range(CHILDREN):
        subprocess.run(["/bin/true", mark], check=True)
    for _ in range(CALLS):
        libc.syscall(GETPPID)


def lines(m, name, *which):
    text = m.tool("dump", "--format", "json", *which, os.path.join(m.logs, name)).stdout
    return [json.loads(x) for x in text.splitlines()]


def event(e, provider, name):
    return e["event"] == name and e["provider"]["name"] == provider


with Machine(DECLARED) as m:
    m.start()
    m.wait_ready()
    sessions = json.loads(m.tool("sessions", "--json").stdout)["sessions"]
    names = sorted(s["name"] for s in sessions if s["kernel"])
    check(len(names) == 7 and "NT Kernel Logger" in names, names)  # its own place, and six others
    nt = json.loads(m.tool("query", "NT Kernel Logger", "--json").stdout)
    check(nt["guid"] == "{9e814aad-3204-11d2-9a82-006008a86939}" and nt["kernel"], "it carries SystemTraceControlGuid", nt)
    work("first")
    os.kill(m.daemon_pid(), signal.SIGKILL)
    m.wait_ready()
    work("second")
    m.tool("update", "few-0", "--flags", "PROC_THREAD+SYSCALL")  # the other sessions are not affected
    work("third")
    m.shutdown()
    rows = {r["name"]: r for r in m.status()["sessions"]}
    refused = [r for r in rows.values() if r["status"]]
    check(len(refused) == 1 and refused[0]["status"] == 1450 and "places" in refused[0]["reason"], refused)
    for r in rows.values():
        if not r["status"]:
            print(r["name"], {k: r[k] for k in ("attempted", "converted", "written", "lost")})
            check(r["attempted"] == r["converted"] + r["lost"]["total"], "attempted = written + lost", r)
    for name in ["k.etl", "calls.etl", "few-0.etl", "few-4.etl"]:
        own = [e["fields"] for e in lines(m, name, "--provider", "Process") if event(e, "Process", "Start") and e["fields"]["ParentId"] == os.getpid()]
        starts = [f for f in own if f["ImageFileName"] == "true"]
        # every call of the whole machine is recorded: a busy one makes more than there is room for, and the loss is counted
        lost = next(r["lost"]["total"] for r in rows.values() if r["log_path"].endswith("/" + name))
        check(len(starts) == 3 * CHILDREN or (lost and len(starts) < 3 * CHILDREN), name, len(starts), "programs of", 3 * CHILDREN, "lost", lost)
        named = {mark: sum(f["CommandLine"] == f"/bin/true {mark}" for f in starts) for mark in ["first", "second", "third"]}
        check(lost or all(n >= CHILDREN - 1 for n in named.values()), name, "their command lines", named,
              [r for r in rows.values() if r["log_path"].endswith("/" + name)], starts[:2])
        summary = json.loads(m.tool("summary", "--json", os.path.join(m.logs, name)).stdout)
        check(summary["inversions"] == 0 and not summary["damage"], name, summary["damage"])
        switches, stacks = any(c["event"] == "CSwitch" for c in summary["counts"]), summary["stacks"]["events"] > 0
        check((switches, stacks) == ((True, True) if name == "k.etl" else (False, False)), name, switches, stacks)
        calls = [e for e in lines(m, name, "--provider", "PerfInfo", "--process", str(os.getpid())) if event(e, "PerfInfo", "SysClEnter")]
        same = sum(int(e["fields"]["SysCallAddress"], 16) == ADDRESS for e in calls)
        expected = {"calls.etl": 3, "few-0.etl": 1}.get(name, 0) * CALLS
        check(same == expected or (lost and same < expected), name, same, "calls of getppid, not", expected, "lost", lost)
        print(name, len(starts), "programs,", same, "calls of getppid")
