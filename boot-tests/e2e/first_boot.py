"""The shipped example on this machine's real events: kernel and user events in one file, in time order over all CPUs, nothing
created in the early phase, attempted = written + lost by counts that are not the file's.
Proves: COR-02, REG-26, MRG-09, MRG-02, MRG-07, KRN-03, KRN-04, KRN-07, KRN-09, KRN-21, LEG-09, LEG-10, CON-02, SPC-11 (autologger-demo is the provider)."""
import json
import os
import time

from harness import BUILD, SOURCE, Machine, check, skip, tool

if os.getuid() != 0:
    skip("kernel events need root")

with Machine() as m:
    out = os.path.join(m.dir, "out")
    begin = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    r = tool("rehearse", os.path.join(SOURCE, "config", "examples", "first-boot.ini"), "--out", out, "--json", expect=None)
    rehearsal = json.loads(r.stdout)
    check(rehearsal["files_created_early"] == 0, "files were created before the file system was ready")
    trace = rehearsal["merged"]
    summary = json.loads(tool("summary", "--json", trace).stdout)
    check(summary["inversions"] == 0, "time goes back", summary["inversions"], "times")
    # the provenance: both sessions with their own counters, this machine, and the declarations
    came = summary["provenance"]
    check({s["session"]: s["eventsLost"] for s in came["sessions"]} == {row["session"]: row["lost"] for row in rehearsal["balance"]} and
          all(s["finished"] and s["damage"] == 0 and s["events"] > 0 for s in came["sessions"]), came, rehearsal["balance"])
    check(came["host"]["name"] == os.uname().nodename and came["host"]["release"] == os.uname().release and came["host"]["processors"] == os.cpu_count(), came["host"])
    check(len(came["configuration"]["hash"]) == 40 and len(came["configuration"]["bootId"]) == 36, came["configuration"])
    check(sum(s["events"] for s in came["sessions"]) < summary["events"], "events of the sessions", came, summary["events"])
    counts = {str(c["provider"]) + "/" + str(c["event"]): c["count"] for c in summary["counts"]}
    # after the stop the header has the final numbers; processes have the class that Windows gives them
    header = summary["header"]
    check(header["buffersWritten"] == header["buffersFound"] > 0 and header["end"] > header["start"], "counters of the header", header)
    check(header["eventsLost"] == sum(row["lost"] for row in rehearsal["balance"]), "EventsLost of the header", header, rehearsal["balance"])
    classes = {c["guid"] for c in summary["counts"] if c["provider"] == "Process"}
    check(classes == {"{3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c}"}, "the class of processes", classes)
    for wanted in ("Process/Start", "Image/Load", "Thread/CSwitch", "Thread/ReadyThread", "PerfInfo/SampledProfile", "StackWalk/Stack",
                   "DiskIo/WriteInit", "Contoso-Demo/Computed", "Process/DCStart", "Process/DCEnd", "Thread/DCStart", "Image/DCStart"):
        check(counts.get(wanted, 0) > 0, "no", wanted, "in the trace:", counts)
    for row in rehearsal["balance"]:
        taken = row["converted"] - row["lost_file"] if row["session"] == "NT Kernel Logger" else row["written"]
        check(row["attempted"] == taken + row["lost"], "attempted = written + lost:", row)
        # D-76: the file has the number of events that the row claims
        check(row["written"] == next(s["events"] for s in came["sessions"] if s["session"] == row["session"]), row, came["sessions"])
    check({row["session"] for row in rehearsal["balance"]} == {"NT Kernel Logger", "first-boot"}, rehearsal["balance"])
    for s in rehearsal["sessions"]:
        check(s["status"] == 0 and s["late_events"] == 0, s)
    # the first events' time since the kernel began: within this run, the kernel's rundown first
    now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    for first in ("first_kernel_ns", "first_user_ns"):
        check(begin <= rehearsal[first] <= now, first, rehearsal[first], "is not between", begin, "and", now)
    check(rehearsal["first_kernel_ns"] < rehearsal["first_user_ns"], "a program's event comes before the kernel's")
    # a dump has one line an event, and decodes the programs' events without any manifest
    lines = tool("dump", "--format", "json", trace).stdout.splitlines()
    check(len(lines) == summary["events"], "dump has", len(lines), "lines,", "the file", summary["events"], "events")
    demo = [json.loads(x) for x in lines if '"Contoso-Demo"' in x]
    check(demo and any(e["fields"] for e in demo), "the demo program's events have no fields", demo[:1])
    check(os.path.exists(os.path.join(BUILD, "autologger-demo")), "the demo program is built")
    # LEG-09: an exec's process has all eight fields, with this machine's values; its end has the same key, and the exit status
    starts = [json.loads(x)["fields"] for x in lines if '"Process"' in x and '"Start"' in x]
    starts = [f for f in starts if f["ImageFileName"] == "autologger-demo" or "autologger-demo" in f["CommandLine"]]
    check(starts and demo, "no start of the demo program")
    for f in starts:
        check({"UniqueProcessKey", "ProcessId", "ParentId", "SessionId", "ExitStatus", "UserSID", "ImageFileName", "CommandLine"} <= set(f), f)
        check(int(f["UniqueProcessKey"], 16) != 0 and f["ParentId"] > 0 and f["UserSID"] == "S-1-5-18" and f["ExitStatus"] == 259, f)
    check({e["pid"] for e in demo} <= {f["ProcessId"] for f in starts}, "the demo program's processes", starts)
    ends = {json.loads(x)["fields"]["UniqueProcessKey"]: json.loads(x)["fields"] for x in lines if '"Process"' in x and '"End"' in x}
    # The kernel's session sees the demo programs of other builds' tests too.
    ran = [f for f in starts if f["ImageFileName"] == "autologger-demo" and f["CommandLine"].startswith(BUILD + "/")]
    check(ran, "no program of that name", starts)
    for f in ran:
        check(os.path.basename(f["CommandLine"].split()[0]) == "autologger-demo" and f["SessionId"] == os.getsid(0), "its words and its session", f)
        end = ends.get(f["UniqueProcessKey"])
        if not end and header["eventsLost"]:
            continue  # a busy machine: counted
        check(end and end["ExitStatus"] == 0 and all(end[k] == f[k] for k in ("ProcessId", "ParentId", "SessionId", "UserSID", "ImageFileName")), f, end)
print(counts)
