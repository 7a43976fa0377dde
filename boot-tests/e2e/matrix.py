"""Machines of other sizes: the same programs under other numbers of processors and users, and in namespaces of their own. Each program is a
user's, writes numbered events of 200 bytes and counts what it attempted, wrote and lost; then a default session is stopped and compared: with
the programs' counts, with the events in its file by two decoders, each event with the process that wrote it, and with the file's header.

Usage: matrix.py --all | [--processors N] [--users M] [--mode sequence|together] [--events N] [--profile NAME] [--set VALUE=TEXT]...
                 [--namespace pid|user|mount] [--max-lost N] [--as-shipped] [--json]
--all: each cell of CELLS, one after another; what fails is named, and no cell is left out.
--processors: 1 and up; more than there are, or fewer, are emulated: the C library says that number (boot-tests/cpu_count.c). Without it: this
machine's. --mode sequence: one program after another (1,000 events each); together: all at once (100 events each). --profile: the first session
of config/profiles/NAME.ini instead of a session with defaults. --namespace: each program in one of its own; mount: with a /proc that hides
others' processes. --as-shipped: the daemon may do what the shipped unit lets it do (shipped.py). --max-lost: events that may be lost, if they are counted (default 0). Exit codes: 0 fine, 1 a comparison failed, 77 skipped.
"""
import argparse
import collections
import configparser
import json
import os
import shutil
import struct
import subprocess
import sys
import time

import harness
from harness import BUILD, SKIP, SOURCE, Machine, skip, verify

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
FIRST_USER = 5000
EVENTS = {"sequence": 1000, "together": 100}
SESSION = "matrix"
# The program's id as the daemon sees it: /proc is still the daemon's, so "self" is not the namespace's. With a /proc of its own it is `ns`.
NOTE_PID = 'read pid rest </proc/self/stat; echo "$pid" >"$0"; exec "$@"'
HIDDEN = "mount -t proc -o hidepid=2 proc /proc && "

# Five numbers of processors, three of users, both orders; users with values of their own; each namespace; the shipped unit's rights.
CELLS = [f"--processors {n} --users {users} --mode {mode}" for n in (1, 2, 8, 16, 64) for users in (1, 5, 50) for mode in ("sequence", "together")]
CELLS += [f"--processors {n} --users 5 --profile {profile}" for n in (2, 16) for profile in ("boot", "service")]
CELLS += [f"--processors {n} --users 600 --events 50 --mode sequence" for n in (2, 64)]  # more users than there are places at a time
CELLS += [f"--users 3 --mode {mode} --namespace {namespace}" for mode in ("sequence", "together") for namespace in ("pid", "user", "mount")]
CELLS += [f"--users 5 --mode {mode} --as-shipped" for mode in ("sequence", "together")]

Tally = collections.namedtuple("Tally", "attempted succeeded refused")
Program = collections.namedtuple("Program", "process tally pid_file user")


def emulate(processors):
    """From here on this process and its children have that many processors."""
    if not processors:
        return
    library = os.path.join(BUILD, "tests", "libcpu_count.so")
    if not os.path.exists(library):
        skip(f"{library} is not built")
    have = sorted(os.sched_getaffinity(0))
    if processors < len(have):
        os.sched_setaffinity(0, have[:processors])
    os.environ["LD_PRELOAD"] = library
    os.environ["AL_CPU_COUNT"] = str(processors)


def profile_values(name):
    """The values of a profile's first session of programs."""
    ini = configparser.ConfigParser(inline_comment_prefixes=(";",))
    ini.optionxform = str
    with open(os.path.join(SOURCE, "config", "profiles", name + ".ini"), encoding="utf-8") as f:
        ini.read_file(f)
    section = next(s for s in ini.sections() if s.startswith("Autologger/") and s.count("/") == 1)
    return [f"{k}={v}" for k, v in ini[section].items() if k not in ("FileName", "Start")]


def wrapped(command, pid_file, user, namespace):
    """The command that runs `command` as this user in a namespace of its own; and whether it has to be started as the user itself."""
    noted = ["sh", "-c", NOTE_PID, pid_file, *command]
    drop = ["setpriv", "--reuid", str(user), "--regid", str(user), "--clear-groups"]
    if namespace == "pid":
        return ["unshare", "--pid", "--fork", *drop, *noted], False
    if namespace == "mount":
        return ["unshare", "--mount", "sh", "-c", HIDDEN + 'exec "$@"', "sh", *drop, *noted], False
    if namespace == "user":
        return ["unshare", "--user", "--map-root-user", *noted], True
    return noted, True


def launch(m, number, events, namespace):
    user = FIRST_USER + number
    tally, pid_file = (os.path.join(m.dir, f"{what}-{number}") for what in ("tally", "pid"))
    for path in (tally, pid_file):
        with open(path, "w", encoding="ascii"):
            os.chown(path, user, user)
    writer = [os.path.join(BUILD, "tests", "event_writer"), tally, str(number), str(events)]
    command, as_user = wrapped(writer, pid_file, user, namespace)
    env = dict(m.env, EVENT_WRITER_ENABLED="1", EVENT_WRITER_FIXED="1")
    who = {"user": user, "group": user, "extra_groups": []} if as_user else {}
    process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **who)
    m.processes.append(process)
    return Program(process, tally, pid_file, user)


def wait(program):
    said, _ = program.process.communicate(timeout=120)
    return said.strip() if program.process.returncode else ""


def run_programs(m, mode, users, events, namespace):
    """Runs all programs to their end; returns them, and the output of those that failed."""
    programs, failed = [], []
    for number in range(users):
        programs.append(launch(m, number, events, namespace))
        if mode == "sequence":
            failed.append(wait(programs[-1]))
    if mode == "together":
        failed = [wait(p) for p in programs]
    return programs, [f"program {i} failed: {said}" for i, said in enumerate(failed) if said or programs[i].process.returncode]


def tally_of(program):
    with open(program.tally, "rb") as f:
        head = f.read(24)
    return Tally(*struct.unpack("<QQQ", head)) if len(head) == 24 else Tally(0, 0, 0)


def events_by_process(m, path):
    """The second decoder: numbered events by the process id of their header."""
    counts = collections.Counter()
    for line in m.tool("dump", "--json", path).stdout.splitlines():
        event = json.loads(line)
        if event["provider"].get("guid", "").strip("{}").lower() == PROVIDER.strip("{}"):
            counts[event["pid"]] += 1
    return counts


def compare(m, programs, events, max_lost, live, info):
    """The result, and the differences."""
    path, wrong = os.path.join(m.logs, SESSION + ".etl"), []

    def same(what, got, expected):
        if got != expected:
            wrong.append(f"{what}: {got}, expected {expected}")

    tallies = [tally_of(p) for p in programs]
    written, lost = sum(t.succeeded for t in tallies), sum(t.refused for t in tallies)
    for p, t in zip(programs, tallies):
        same(f"user {p.user}: calls", t.attempted, events)
        same(f"user {p.user}: calls that were answered", t.succeeded + t.refused, t.attempted)
    silent = [p.user for p, t in zip(programs, tallies) if t.succeeded == 0]
    if silent:
        wrong.append(f"{len(silent)} of {len(programs)} users have no event in the file: {silent[:5]}...")
    if lost > max_lost:
        by_user = {p.user: t.refused for p, t in zip(programs, tallies) if t.refused}
        wrong.append(f"{lost} of {sum(t.attempted for t in tallies)} events were lost, {max_lost} may be; of {len(by_user)} users: "
                     f"{dict(list(by_user.items())[:8])}")
    same("EventsWritten of stop", info["events_written"], written)
    same("EventsLost of stop", info["events_lost"], lost)
    same("EventsLost of query before stop", live["events_lost"], lost)
    got = verify(path, [p.tally for p in programs], expect=None)
    same("events in the file", got["events"], written)
    same("EventsLost of the file's header", got["events_lost"], lost)
    for fault in ("torn", "doubled", "missing", "invented", "unproved", "inversions", "damage"):
        same(fault, got[fault], 0)
    seen = events_by_process(m, path)
    for p, t in zip(programs, tallies):
        with open(p.pid_file, encoding="ascii") as f:
            pid = int(f.read() or 0)
        same(f"user {p.user}: events of process {pid}", seen.pop(pid, 0), t.succeeded)
    same("events of other processes", dict(seen), {})
    return {"written": written, "lost": lost, "file": got["events"], "users_without_events": len(silent), "wrong": wrong}


def run(users, mode, events=0, profile=None, values=(), namespace=None, max_lost=0, machine=None):
    """One cell of the matrix. The caller has called emulate(). `machine`: of its own kind (a Machine that is not started)."""
    events = events or EVENTS[mode]
    values = [*(profile_values(profile) if profile else ()), *values]
    begin = time.monotonic()
    with machine or Machine() as m:
        os.chmod(m.dir, 0o755)
        m.start()
        sets = [word for v in values for word in ("--set", v)]
        m.tool("start", SESSION, "-o", SESSION + ".etl", "--provider", PROVIDER, *sets)
        programs, failed = run_programs(m, mode, users, events, namespace)
        live = json.loads(m.tool("query", SESSION, "--json").stdout)
        info = json.loads(m.tool("stop", SESSION, "--json").stdout)
        live, info = live.get("session", live), info.get("session", info)
        result = compare(m, programs, events, max_lost, live, info)
        m.shutdown()
    result["wrong"] = failed + result["wrong"]
    result["seconds"] = round(time.monotonic() - begin, 2)
    return result


def able(namespace):
    """Skips where the kernel or the container does not allow the cell's namespace."""
    if os.getuid() != 0:
        skip("needs root, to be other users")
    for program in ("unshare", "setpriv") if namespace else ():
        if not shutil.which(program):
            skip(f"{program} is missing")
    if namespace:
        command, as_user = wrapped(["true"], "/dev/null", FIRST_USER, namespace)
        who = {"user": FIRST_USER, "group": FIRST_USER, "extra_groups": []} if as_user else {}
        r = subprocess.run(command, capture_output=True, text=True, check=False, **who)
        if r.returncode:
            skip(f"no {namespace} namespace can be made here: {r.stderr.strip()}")


def every_cell():
    """Each cell in a process of its own: the emulation takes effect at a program's start. Returns the number of failures."""
    failed = 0
    for cell in CELLS:
        r = subprocess.run([sys.executable, __file__, *cell.split(), "--json"], capture_output=True, text=True, timeout=300, check=False)
        last = r.stdout.strip().splitlines()[-1] if r.stdout.strip() else ""
        if r.returncode == SKIP:
            print(f"{cell}: {last}")
            continue
        failed += r.returncode != 0
        result = json.loads(last) if last.startswith("{") else {"wrong": [r.stdout[-500:] + r.stderr[-500:]]}
        told = ", ".join(f"{k} {result[k]}" for k in ("written", "lost", "users_without_events", "seconds") if k in result)
        print(f"{'ok    ' if not result['wrong'] else 'FAILED'} {cell}: {told}")
        for line in result["wrong"][:4]:
            print(f"         {line[:300]}")
    print(f"{len(CELLS)} cells, {failed} failed")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processors", type=int, default=0)
    parser.add_argument("--users", type=int, default=5)
    parser.add_argument("--mode", choices=sorted(EVENTS), default="sequence")
    parser.add_argument("--events", type=int, default=0)
    parser.add_argument("--profile")
    parser.add_argument("--set", action="append", default=[], dest="values", metavar="VALUE=TEXT")
    parser.add_argument("--namespace", choices=["pid", "user", "mount"])
    parser.add_argument("--max-lost", type=int, default=0)
    parser.add_argument("--as-shipped", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--all", action="store_true")
    a = parser.parse_args()
    if a.all:
        sys.exit(1 if every_cell() else 0)
    harness.AS_SHIPPED |= a.as_shipped
    able(a.namespace)
    emulate(a.processors)
    result = run(a.users, a.mode, a.events, a.profile, a.values, a.namespace, a.max_lost)
    cell = f"{a.processors or os.cpu_count()} processors, {a.users} users, {a.mode}" + "".join(f", {x}" for x in (a.profile, a.namespace) if x)
    if a.json:
        print(json.dumps(dict(result, cell=cell)))
    else:
        print(f"{cell}: {result['written']} written + {result['lost']} lost, {result['file']} in the file, "
              f"{result['users_without_events']} users without events, {result['seconds']} s")
        print("\n".join(f"FAILED: {w}" for w in result["wrong"]), end="\n" if result["wrong"] else "")
    sys.exit(1 if result["wrong"] else 0)


if __name__ == "__main__":
    main()
