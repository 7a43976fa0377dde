"""A /proc that hides others' processes (hidepid=2, in a mount namespace): an unprivileged user gets the same answers from every command as with an
open /proc, and all of a program's events are in the file, under its own process id, also where a filter names the program. D-54."""
import json
import os
import re
import shutil
import struct
import subprocess

from harness import BUILD, SKIP, Machine, check, skip

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
USER, GROUP, COUNT, RATE = 4203, 4200, 3000, 10000
DECLARED = "".join(f"[Autologger/{name}]\nFileName = {name}.etl\n[Autologger/{name}/numbered]\nGuid = {PROVIDER}\n"
                   f"[Autologger/{name}/numbered/Filters]\nExeFilter = {program}\n" for name, program in (("named", "event_writer"), ("others", "sh")))
HIDE = "mount -t proc -o hidepid=2 proc /proc && exec \"$@\""
WAYS = {"open": [], "hidden": ["unshare", "--mount", "sh", "-c", HIDE, "sh"]}
AS_USER = ["setpriv", "--reuid", str(USER), "--regid", str(USER), "--groups", str(GROUP)]
# {s}: the way, a part of each name. The commands, each with its exit code.
COMMANDS = [
    (0, "start {s} -o users/{s}.etl --provider {g} --set BufferSize=64KB"),
    (0, "start live-{s} -o users/live-{s}.etl --set LogFileMode=REAL_TIME --provider autologger-mark --set BufferSize=64KB"),
    (111, "start kernel-{s} --flags PROC_THREAD -o users/kernel-{s}.etl"),
    (0, "sessions"), (0, "sessions --json"), (0, "query {s}"), (0, "query {s} --json"), (0, "enable {s} autologger-mark"),
    (0, "mark hello {s}"), (1, "write Nobody-Listens Started port=80"), (0, "update {s} --flush-timer 1"), (0, "flush {s}"),
    (0, "snapshot {s} -o users/part-{s}.etl"), (0, "watch live-{s} --count 1 --json"),
    (0, "providers --registered"), (0, "providers --registered --json"), (0, "providers"), (0, "profiles"), (111, "access"),
    (111, "access roots --allow 1=all"), (0, "check {d}/declared.ini"), (0, "manifest --help"), (0, "--help"), (None, ""), 
    (None, "rehearse {d}/declared.ini --out {d}/logs/users/rehearsed-{s} --run true"), (0, "disable {s} autologger-mark"),
]
AFTER = [(0, "stop {s} --json"), (0, "stop live-{s}"), (0, "summary {d}/logs/users/{s}.etl --json"), (0, "dump {d}/logs/users/{s}.etl"),
         (0, "analyse stats {d}/logs/users/{s}.etl"), (0, "relog {d}/logs/users/{s}.etl -o {d}/logs/users/relogged-{s}.etl"),
         (None, "report {d}/logs/users/{s}.etl --text")]

if os.geteuid():
    skip("needs root, to be another user")
for program in ("unshare", "setpriv"):
    if not shutil.which(program):
        skip(f"{program} is missing")


def run(m, way, program, **env):
    return subprocess.run([*WAYS[way], *AS_USER, *program], env=dict(m.env, HOME=m.dir, **env), capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL, check=False)


def can_hide():
    r = subprocess.run([*WAYS["hidden"], *AS_USER, "ls", "/proc/1"], capture_output=True, text=True, check=False)
    if r.returncode == 0 or "mount" in r.stderr:
        skip(f"/proc cannot hide processes here: {r.stderr.strip()}")


def plain(text, way):
    """Removes expected differences: varying numbers and GUIDs, and the way's own name."""
    text = re.sub(r"\b" + way + r"\b|(?<=-)" + way + r"\b", "WAY", text)
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "GUID", text)
    text = re.sub(r'"users": \[[^]]*\]', '"users": []', text)  # the set of users so far is not compared
    text = re.sub(r"0x[0-9a-fA-F]+|[0-9][0-9.,:TZ-]*", "N", text)
    text = re.sub(r"[ ]+|-{2,}", " ", text)
    return re.sub(r"^( ?N(?: N)+\n)\1+", r"\1", text, flags=re.M)  # "analyse stats" has a row for each second and each processor that there was


def commands(m, way, wanted):
    said = {}
    for code, line in wanted:
        words = line.format(s=way, d=m.dir, g=PROVIDER).split()
        r = run(m, way, [os.path.join(BUILD, "autologger"), *words])
        check(code is None or r.returncode == code, way, words, "-> exit", r.returncode, "expected", code, "\n", r.stdout, r.stderr)
        said[line] = (r.returncode, plain(r.stdout, way), plain(r.stderr, way))
    return said


def same(said, which):
    for line, got in said["hidden"].items():
        want = said["open"][line]
        check(got == want, "autologger", line, "with a /proc that hides:", got, "\nwith an open one:", want)
        which.append(line)


def program(m, way, number):
    """A program that writes; its events are compared later. Its process id comes in a file."""
    tally, pid = (os.path.join(m.dir, f"{what}-{number}") for what in ("tally", "pid"))
    for path in (tally, pid):
        with open(path, "w", encoding="ascii"):
            os.chown(path, USER, USER)
    noted = ["sh", "-c", 'echo $$ >"$0"; exec "$@"', pid, os.path.join(BUILD, "tests", "event_writer"), tally, str(number), str(COUNT), str(RATE)]
    r = run(m, way, noted, EVENT_WRITER_ENABLED="1")
    check(r.returncode == 0, way, "the program:", r.returncode, r.stdout, r.stderr)
    with open(tally, "rb") as f:
        attempted, succeeded, refused = struct.unpack("<QQQ", f.read(24))
    check((attempted, succeeded, refused) == (COUNT, COUNT, 0), way, attempted, succeeded, refused)
    with open(pid, encoding="ascii") as f:
        return tally, int(f.read())


def events_agree(m, name, expected):
    """expected: process: how many of the numbered events are its own."""
    seen = {}
    for line in m.tool("dump", "--json", os.path.join(m.logs, name)).stdout.splitlines():
        e = json.loads(line)
        if e["provider"].get("guid") == PROVIDER:
            seen[e["pid"]] = seen.get(e["pid"], 0) + 1
    check(seen == expected, name, "has", seen, "and not", expected)


can_hide()
with Machine(DECLARED) as m:
    os.chmod(m.dir, 0o755)
    os.chmod(m.logs, 0o755)
    users = os.path.join(m.logs, "users")
    os.mkdir(users)
    os.chown(users, 0, GROUP)
    os.chmod(users, 0o775)
    m.start()
    m.tool("access", "default", "--allow", f"group:{GROUP}=query,realtime,ondisk,enable,consume")
    m.tool("start", "roots", "-o", "roots.etl")
    said, compared, both = {}, [], {}
    for way in WAYS:
        said[way] = commands(m, way, COMMANDS)
        tally, pid = program(m, way, 0)
        said[way].update(commands(m, way, AFTER))
        got = m.verify(os.path.join(users, way + ".etl"), [tally])
        check(got["events"] == COUNT and got["missing"] == got["events_lost"] == 0, way, got)
        events_agree(m, os.path.join("users", way + ".etl"), {pid: COUNT})
        both[pid] = COUNT
    same(said, compared)
    m.shutdown()
    events_agree(m, "named.etl", both)
    events_agree(m, "others.etl", {})
print(len(compared), "commands say the same;", COUNT, "events of a program each way")
