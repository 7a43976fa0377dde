"""Filters and EnableProperty with a real daemon: filters declared in INI hold from the early program on, through the hand-over and the daemon's
deaths; by EnableTraceEx2 with every error; exactly the events that pass are recorded, with the requested properties.
Proves: ENB-03, ENB-04, ENB-05, ENB-06, ENB-07, ENB-10."""
import json
import os
import signal
import subprocess
import time

from early_machine import EARLY, EarlyMachine
from harness import BUILD, check

PROVIDER = "{5eba5e02-1111-2222-0102-030405060708}"
DESCRIBED = "{5eba5e03-1111-2222-0102-030405060708}"
DECLARED = f"""
[Autologger/some]
FileName = some.etl
[Autologger/some/ours]
Guid = {PROVIDER}
EnableProperty = SID + STACK_TRACE
[Autologger/some/ours/Filters]
EventIds = not 1, 3-8
StackWalkIds = 9
ExeFilter = nobody, filter_controller
[Autologger/others]
FileName = others.etl
[Autologger/others/ours]
Guid = {PROVIDER}
[Autologger/others/ours/Filters]
ExeFilter = nobody
[Autologger/named]
FileName = named.etl
[Autologger/named/Contoso-Web]
[Autologger/named/Contoso-Web/Filters]
Payload = Request: status >= 500 and url not contains '/a b'
[Autologger/all]
FileName = all.etl
[Autologger/all/ours]
Guid = {PROVIDER}
"""
PASS = [2, 9, 10]


def program(m, *args):
    r = subprocess.run([os.path.join(BUILD, "tests", "filter_controller"), *args], env=m.env, capture_output=True, text=True, timeout=60)
    check(r.returncode == 0, args, r.stdout, r.stderr)
    return r.stdout.split()


def events(m, name, provider=PROVIDER):
    r = m.tool("dump", os.path.join(m.logs, name), "--json")
    return [e for e in map(json.loads, r.stdout.splitlines()) if e.get("provider", {}).get("guid", "").lower() == provider]


def kill_daemon(m):
    os.kill(m.daemon_pid(), signal.SIGKILL)
    m.wait_ready()


def sid(uid):
    return f"S-1-22-1-{uid}" if uid else "S-1-5-18"


def early_ready(m):
    end = time.time() + 20
    while time.time() < end:
        r = subprocess.run([EARLY, "--runtime-dir", m.runtime, "status"], capture_output=True, text=True)
        if r.returncode == 0 and "some: Status 0" in r.stdout and "held in memory" in r.stdout:
            return
        time.sleep(0.02)
    check(False, "the early program was not ready:", r.stdout, r.stderr)


def declared(m):
    written = 0
    m.early()
    early_ready(m)
    program(m, "write")  # the early program holds it
    written += 1
    m.start()
    m.gone()
    for _ in range(2):
        program(m, "write")
        written += 1
        kill_daemon(m)
    program(m, "write")
    written += 1
    m.tool("flush", "some")
    info = json.loads(m.tool("query", "some", "--json").stdout)
    check(info["filtered"] == 7 * written, info)
    rows = json.loads(m.tool("providers", "--registered", "--json").stdout)
    row = [r for r in rows["registered"] if r["guid"].lower() == PROVIDER][0]
    told = {s["name"]: s for s in row["sessions"]}
    check(told["some"]["filters"] == "programs nobody;filter_controller; event ids not 1, 3, 4, 5, 6, 7, 8; stacks of ids 9", told)
    check(told["some"]["property"] == 5 and told["all"]["filters"] == "", told)
    named(m)
    return written


def named(m):
    """Declared predicates: the early program takes them from the snapshot, its successors from the early program."""
    for status, url, passes in ((500, "/x", True), (499, "/x", False), (503, "/a b/c", False), (700, "/a", True)):
        r = m.tool("write", "Contoso-Web", "Request", f"status={status}", f"url={url}", expect=None)
        check(r.returncode == (0 if passes else 1), status, url, r.stdout, r.stderr)
    m.tool("flush", "named")
    info = json.loads(m.tool("query", "named", "--json").stdout)
    check(info["filtered"] == 2 and info["events_written"] == 2, info)


def by_controller(m):
    """A session that a controller started; its filters outlive the daemon, too."""
    m.tool("start", "api", "--output", "api.etl")
    program(m, "errors", "api")
    program(m, "enable", "api")
    ran = []
    for _ in range(2):
        ran.append([int(n) for n in program(m, "write")])
        kill_daemon(m)
    ran.append([int(n) for n in program(m, "write")])
    m.tool("stop", "api")
    got = events(m, "api.etl")
    check([e["id"] for e in got] == [7, 9] * 3, got)
    check([e["pid"] for e in got] == [r[0] for r in ran for _ in range(2)], got, ran)
    check(len({e["eventKey"] for e in got}) == 6 and len({e["processStartKey"] for e in got}) == 3, got)
    for e, (pid, session) in zip(got, [r for r in ran for _ in range(2)]):
        check(e["userSid"] == sid(os.geteuid()) and e["terminalSession"] == session, e)
        check((e["id"] == 9) == ("stack" in e), e)
    return len(ran)


MANIFEST = f"""<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
<provider name="Payload" guid="{DESCRIBED}" symbol="P" resourceFileName="x" messageFileName="x"><templates><template tid="T">
<data name="Path" inType="win:UnicodeString"/><data name="Size" inType="win:UInt32"/><data name="Id" inType="win:GUID"/></template></templates>
<events><event value="17" symbol="SEVENTEEN" template="T"/></events></provider></events></instrumentation></instrumentationManifest>"""


def by_payload(m):
    """Predicates over a manifest's fields, by the API; they outlive the daemon, and each attempted event is either written or filtered."""
    tried = 400
    manifest = os.path.join(m.runtime, "payload.man")
    with open(manifest, "w") as f:
        f.write(MANIFEST)
    m.tool("start", "payload", "--output", "payload.etl")
    program(m, "payload", "payload", manifest)
    let_in = int(program(m, "write-payload", str(tried))[0])
    kill_daemon(m)
    let_in += int(program(m, "write-payload", str(tried))[0])
    m.tool("flush", "payload")
    info = json.loads(m.tool("query", "payload", "--json").stdout)
    check(info["filtered"] == 2 * tried - let_in, info, let_in)
    m.tool("stop", "payload")
    got = events(m, "payload.etl", DESCRIBED)
    check(len(got) == let_in and 0 < let_in < 2 * tried, len(got), let_in)
    check(sum(e["id"] == 18 for e in got) == 2 * tried // 10, "events that no predicate names pass")
    return 2 * tried


def by_package(m):
    """Control groups stand for packages: of four programs, in three groups and in none, each session has those of its own groups."""
    with open("/proc/self/mounts", encoding="ascii") as f:
        root = next((line.split()[1] for line in f if line.split()[2] == "cgroup2"), "")
    mine = f"autologger-{os.getpid()}.slice"
    groups = [os.path.join(root, mine, *below) for below in ((), ("web.service",), ("db.service",))]
    if not root or not os.access(root, os.W_OK):
        print("no control groups can be made here: packages are not looked at")
        return 0
    wanted = {"slice": ("PackageIdFilter=" + mine, (0, 1, 2)), "path": (f"PackageIdFilter=/{mine}/web.service", (1,)),
              "unit": ("PackageRelativeAppIdFilter=db", (2,)), "other": ("PackageIdFilter=no-such.slice", ())}
    try:
        for group in groups:
            os.mkdir(group)
        for name, (words, _) in wanted.items():
            m.tool("start", name, "--output", name + ".etl")
            m.tool("enable", name, PROVIDER, "--filter", words)
        ran = []
        for group in [*groups, None]:
            enter = f"echo $$ > {group}/cgroup.procs && " if group else ""
            r = subprocess.run(["sh", "-c", f"{enter}exec {os.path.join(BUILD, 'tests', 'filter_controller')} write"], env=m.env, capture_output=True,
                               text=True, timeout=60)
            check(r.returncode == 0, group, r.stdout, r.stderr)
            ran.append(int(r.stdout.split()[0]))
        for name, (words, which) in wanted.items():
            m.tool("stop", name)
            got = [(e["pid"], e["id"]) for e in events(m, name + ".etl")]
            check(got == [(ran[i], id) for i in which for id in range(1, 11)], name, words, got, ran)
    finally:
        for group in reversed(groups):
            if os.path.isdir(group):
                os.rmdir(group)
    print("by package: four programs in three groups and in none")
    return len(ran)


with EarlyMachine(DECLARED) as m:
    written = declared(m)
    written += by_controller(m)
    with_payload = by_payload(m)
    written += by_package(m)
    m.shutdown()
    got = events(m, "some.etl")
    check([e["id"] for e in got] == PASS * written, [e["id"] for e in got])
    check(all(e["userSid"] == sid(os.geteuid()) and ("stack" in e) == (e["id"] == 9) for e in got), got)
    check(events(m, "others.etl") == [], "a program that is not meant wrote")
    check([e["id"] for e in events(m, "all.etl")] == list(range(1, 11)) * written, "the session without filters")
    row = [s for s in m.status()["sessions"] if s["name"] == "some"][0]
    check(row["written"] == 3 * written and row["filtered"] == 7 * written and row["lost"]["total"] == 0, row)
    print(f"by payload: {with_payload} events tried")
    print(f"{10 * written} events tried: {3 * written} written, {7 * written} filtered, over 4 daemons")
