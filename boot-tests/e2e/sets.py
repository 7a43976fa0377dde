"""Data collector sets: saved once, collected as often as wanted: kernel and user sessions and counters in one file, the configuration, a report.
Counters are compared with /proc; a run ends by its time, its size, a stop; a killed run and a second start are told.
Proves: CTL-21, CTL-23, SPC-04, SPC-08."""
import json
import os
import pathlib
import signal
import subprocess
import time

from harness import BUILD, Machine, check, tool

SET = """[CollectorSet/web]
Folder          = C:\\perf\\web
Counters        = Processor, Memory, Disk, Network, Process
CounterInterval = 1 s
Configuration   = Sysctl, File:{file}, File:/nowhere, Registry:HKLM\\SYSTEM\\CurrentControlSet\\Control\\WMI\\CollectorSet
KeepResults     = 3

[CollectorSet/web/kernel]
LogFileMode       = SYSTEM_LOGGER
EnableKernelFlags = PROC_THREAD+LOADER
BufferSize        = 64 KB

[CollectorSet/web/requests]
[CollectorSet/web/requests/Contoso-Web]
EnableLevel     = Informational
MatchAnyKeyword = 0x3

[CollectorSet/small]
Counters        = Memory
CounterInterval = 1 s
Duration        = 2 s

[CollectorSet/what]
Configuration = Sysctl
"""
WRITER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
WRONG = (("[CollectorSet/web]\nCounters = Procesor\n", "\"Procesor\" is not known"), ("[CollectorSet/web]\nConfiguration = Frob\n", "\"Frob\" is not known"),
         ("[CollectorSet/web]\nDuratoin = 5 s\n", "Duratoin"), ("[CollectorSet/we b]\nCounters = Disk\n", "letters, digits"),
         ("[CollectorSet/web]\nCounters = Disk\nCounterInterval = 0\n", "CounterInterval is 1 to 3600"),
         ("[CollectorSet/web]\n[CollectorSet/web/a]\nFileMax = 3\n", "one file of each session"),
         ("[CollectorSet/web]\nCounters = Disk\n[Autologger/x]\nFileName = C:\\x.etl\n", "sessions of a boot"),
         ("[Autologger/web]\nFileName = C:\\x.etl\n", "has no set"), ("[CollectorSet/web]\nFolder = C:\\..\\x\nCounters=Disk\n", "")
         )


def events(path):
    return [json.loads(line) for line in tool("dump", str(path), "--json").stdout.splitlines()]


def a_set(m, *words, **kw):
    return m.tool("set", *words, *(() if words[0] == "stop" else ("--store", m.store)), **kw)


def saved(m, folder):
    for number, (text, wanted) in enumerate(WRONG):
        path = folder / f"wrong-{number}.ini"
        path.write_text(text, encoding="utf-8")
        if wanted:
            r = a_set(m, "save", str(path), expect=1)
            check(wanted in r.stderr and not a_set(m, "list", "--json").stdout.strip("[]\n "), text, r.stderr)
    path = folder / "sets.ini"
    path.write_text(SET.format(file=folder / "told.conf"), encoding="utf-8")
    (folder / "told.conf").write_text("port = 80\n", encoding="utf-8")
    a_set(m, "save", str(path))
    got = {s["name"]: s for s in json.loads(a_set(m, "list", "--json").stdout)}
    check(sorted(got) == ["small", "web", "what"] and got["web"]["sessions"] == ["kernel", "requests"], got)
    text = a_set(m, "export", "web").stdout
    again = folder / "again.ini"
    again.write_text(text, encoding="utf-8")
    a_set(m, "save", str(again))
    check(a_set(m, "export", "web").stdout == text and "MatchAnyKeyword" in text and "CounterInterval" in text, text)
    # another way into the store, and out of it: a .reg
    m.tool("export", "--store", m.store, "--key", "HKLM\\SYSTEM\\CurrentControlSet\\Control\\WMI\\CollectorSet", "--format", "reg", "-o", str(folder / "sets.reg"))
    other = str(folder / "other.db")
    m.tool("import", "--store", other, str(folder / "sets.reg"))
    check(m.tool("set", "export", "web", "--store", other).stdout == text, "by .reg")
    r = a_set(m, "start", "wbe", expect=1)
    check("did you mean web?" in r.stderr, r.stderr)


def collected(m):
    """A run, with all that belongs to it."""
    result = pathlib.Path(json.loads(a_set(m, "start", "web", "--json").stdout)["result"])
    check(str(result).startswith(f"{m.logs}/c/perf/web/web_"), result)
    r = a_set(m, "start", "web", expect=1)
    check("set \"web\" runs" in r.stderr, r.stderr)
    check({s["name"] for s in json.loads(m.tool("sessions", "--json").stdout)["sessions"]} == {"kernel", "requests"}, "sessions")
    for n in range(4):
        m.tool("write", "Contoso-Web", "Request", f"n={n}", "--keyword", "0x1")
    busy = subprocess.Popen(["sh", "-c", "while :; do :; done"])
    subprocess.run(["/bin/true"], check=True)
    time.sleep(4.2)
    busy.kill()
    busy.wait()
    check(f"result: {result}" in a_set(m, "stop", "web").stdout, "stop")
    check(not json.loads(m.tool("sessions", "--json").stdout)["sessions"], "still sessions")
    got = events(result / "web-merged.etl")
    check([e["fields"]["n"] for e in got if e.get("event") == "Request"] == [0, 1, 2, 3], "requests")
    check(any("/true" in json.dumps(e) for e in got), "no kernel events")
    counted = [e for e in got if e["provider"]["name"] == "Autologger-Counters"]
    kinds = {e["event"] for e in counted}
    check(kinds >= {"Processor", "Memory", "Network", "Process"}, kinds)
    total = int(next(line.split()[1] for line in open("/proc/meminfo") if line.startswith("MemTotal")))
    check({e["fields"]["totalKB"] for e in counted if e["event"] == "Memory"} == {total}, "MemTotal")
    spins = [e["fields"] for e in counted if e["event"] == "Process" and e["fields"]["pid"] == busy.pid]
    check(len(spins) >= 2 and max(s["busy%"] for s in spins) > 30, "the busy process:", spins)
    processors = [e["fields"] for e in counted if e["event"] == "Processor"]
    check({p["cpu"] for p in processors} == {-1, *range(os.cpu_count())} and all(0 <= p["busy%"] <= 100.01 for p in processors), processors[:4])
    configuration = json.loads((result / "configuration.json").read_text(encoding="utf-8"))
    check(configuration["sysctl"]["kernel.ostype"] == "Linux", "sysctl")
    files = {f["path"]: f for f in configuration["files"]}
    check(files[str(pathlib.Path(m.dir, "told.conf"))]["text"] == "port = 80\n" and "missing" in files["/nowhere"], files)
    check("CounterInterval" in configuration["registry"][0]["reg"], configuration["registry"])
    report = (result / "report.txt").read_text(encoding="utf-8")
    check("Processor busy%" in report and "Memory availableMB" in report and "Contoso-Web" in report, report)


def ends(m):
    """By its time; the configuration alone; a run whose process is killed; old results go."""
    start = time.time()
    said = json.loads(a_set(m, "start", "small", "--wait", "--json").stdout)
    check(1.5 < time.time() - start < 30 and said["lost_counters"] == 0, said)
    check(len([e for e in events(said["trace"]) if e.get("event") == "Memory"]) in (2, 3), said)
    said = json.loads(a_set(m, "start", "what", "--wait", "--json").stdout)
    check(sorted(os.listdir(said["result"])) == ["configuration.json", "report.txt"], os.listdir(said["result"]))
    for foreign in ("web_keep-me", "web_2_20200101-000000"):
        os.mkdir(os.path.join(m.logs, "c/perf/web", foreign))
    for _ in range(4):
        a_set(m, "start", "web")
        a_set(m, "stop", "web")
    kept = sorted(os.listdir(os.path.join(m.logs, "c/perf/web")))
    check(len(kept) == 5 and "web_keep-me" in kept and "web_2_20200101-000000" in kept, "KeepResults = 3, and what is no result of this set:", kept)
    for _ in range(12):  # at once, one after the other
        a_set(m, "start", "small")
        a_set(m, "stop", "small")
    a_set(m, "start", "web")
    m.tool("stop", "kernel")
    state = {s["name"]: s for s in json.loads(a_set(m, "list", "--json").stdout)}["web"]
    os.unlink(os.path.join(state["result"], "kernel.etl"))
    r = a_set(m, "stop", "web", expect=1)
    check("the result is not complete" in r.stderr and "kernel" in r.stderr, r.stderr)
    a_set(m, "start", "web")
    for name in ("kernel", "requests"):
        m.tool("stop", name)
    end = time.time() + 30
    while any(s["running"] for s in json.loads(a_set(m, "list", "--json").stdout)) and time.time() < end:
        time.sleep(0.2)
    state = {s["name"]: s for s in json.loads(a_set(m, "list", "--json").stdout)}["web"]
    check(not state["running"] and "stopped by somebody else" in pathlib.Path(state["result"], "report.txt").read_text(), "its sessions are gone:", state)
    a_set(m, "start", "web")
    pid = int(pathlib.Path(m.runtime, "sets/web").read_text().split()[0])
    os.kill(pid, signal.SIGKILL)
    time.sleep(0.3)
    r = a_set(m, "stop", "web", expect=1)
    check("does not run" in r.stderr, r.stderr)
    r = a_set(m, "start", "WEB")  # its sessions still run, and are stopped; names have no case
    check(r.stderr.count("of a run that was killed is stopped") == 2, r.stderr)
    a_set(m, "remove", "web", expect=111)
    a_set(m, "stop", "web")
    a_set(m, "remove", "web")
    check("web" not in {s["name"] for s in json.loads(a_set(m, "list", "--json").stdout)}, "still there")


def wrong_ones_go(m, folder):
    """What an import put there, and no run could take, is named and can be removed."""
    (folder / "odd.reg").write_text("Windows Registry Editor Version 5.00\n\n[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI\\CollectorSet\\my set]\n"
                                    "\"Counters\"=dword:00000001\n", encoding="utf-8")
    m.tool("import", "--store", m.store, str(folder / "odd.reg"))
    r = a_set(m, "list", expect=1)
    check("my set" in r.stderr, r.stderr)
    a_set(m, "remove", "my set")
    a_set(m, "list")


def taken_back(m, folder):
    """A session that cannot start: nothing runs, and no folder is left."""
    (folder / "bad.ini").write_text("[CollectorSet/bad]\nFolder = C:\\bad\nCounters = Memory\n[CollectorSet/bad/one]\n[CollectorSet/bad/one/A]\n"
                                    "[CollectorSet/bad/two]\n[CollectorSet/bad/two/B]\n", encoding="utf-8")
    a_set(m, "save", str(folder / "bad.ini"))
    m.tool("start", "two", "--output", "two.etl")
    r = a_set(m, "start", "bad", expect=1)
    check('session "two"' in r.stderr, r.stderr)
    check([s["name"] for s in json.loads(m.tool("sessions", "--json").stdout)["sessions"]] == ["two"], "sessions are left")
    m.tool("stop", "two")
    check(not os.listdir(os.path.join(m.logs, "c/bad")), "a folder is left")


def of_running(m, folder):
    """The sessions that run now, with what is enabled in them, are a set; the set records the same events; a second save replaces it."""
    m.tool("start", "requests", "--output", "requests.etl", "--provider", WRITER + ":Verbose:0x3", "--set", "BufferSize=64KB")
    m.tool("start", "ring", "--set", "LogFileMode=BUFFERING", "--set", "BufferSize=64KB", "--provider", "Contoso-Web")
    m.tool("start", "--flags", "PROC_THREAD+LOADER", "--output", str(folder / "kernel.etl"))
    r = a_set(m, "save", "--running", "now")
    check("saved now" in r.stdout and 'left out: session "ring": its mode is BUFFERING' in r.stderr, r.stdout, r.stderr)
    text = a_set(m, "export", "now").stdout
    for wanted in ("[CollectorSet/now/requests]", "BufferSize = 64 KB", "[CollectorSet/now/kernel]",
                   f"[CollectorSet/now/requests/{WRITER}]", "EnableLevel = Verbose",
                   "MatchAnyKeyword = 0x3", "LogFileMode = SYSTEM_LOGGER", "PROC_THREAD+LOADER"):
        check(wanted in text, wanted, text)
    check("FileName" not in text and "ring" not in text, text)
    for name in ("requests", "ring"):
        m.tool("stop", name)
    m.tool("stop", "NT Kernel Logger")
    a_set(m, "save", "--running", "now", expect=1)
    check(a_set(m, "export", "now").stdout == text, "a failure changes nothing")
    a_set(m, "start", "now")
    p, _ = m.writer(77, 200, enabled=True)
    p.wait(30)
    result = pathlib.Path(json.loads(a_set(m, "stop", "now", "--json").stdout)["result"])
    found = events(next(result.glob("*merged.etl")))
    check(sum(e["provider"].get("guid") == WRITER for e in found) == 200 and any(e["provider"].get("name") == "Process" for e in found), len(found))


with Machine() as machine:
    machine.start()
    work = pathlib.Path(machine.dir)
    saved(machine, work)
    collected(machine)
    ends(machine)
    wrong_ones_go(machine, work)
    taken_back(machine, work)
    of_running(machine, work)
    print("sets: saved, collected, ended")
