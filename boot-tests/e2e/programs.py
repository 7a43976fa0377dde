"""Many programs (D-07): 1,100 of root, and 1,000 of 50 users, are all registered and recorded, and every command answers within a second meanwhile;
where places are few, the programs without one are counted by user and reported, root's commands still get in, and waiting programs get the places
that become free."""
import json
import os
import re
import subprocess
import time

from harness import BUILD, Machine, check, skip

GUID = "{1a5ec0de-7e57-0007-8000-000000000001}"
SOON = 1.0  # s: for an answer
BUSY = 4.0  # s: for an answer on a machine that is busy otherwise: printed, no failure
if os.getuid() != 0:
    skip("programs of other users need root")


class Programs:
    def __init__(self, m, count, uid=0, users=1):
        os.chmod(m.dir, 0o755)
        self.p = subprocess.Popen([os.path.join(BUILD, "tests", "many_programs"), str(count), str(uid), str(users)], env=m.env,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        m.processes.append(self.p)
        self.ready = self.p.stdout.readline().strip()

    def end(self):
        m.processes.remove(self.p)
        self.p.stdin.close()
        self.p.wait(60)


def ask(m, *args):
    """A command's answer, which must come soon."""
    begin = time.time()
    r = m.tool(*args)
    took = time.time() - begin
    if took > SOON:
        print("autologger", *args, "took", round(took, 2), "s, the load is", os.getloadavg()[0])
    check(took < (SOON if os.getloadavg()[0] < 2 * os.cpu_count() else BUSY), "autologger", *args, "took", took, "s")
    return r.stdout


def registered(m):
    rows = [p for p in json.loads(ask(m, "providers", "--registered", "--json"))["registered"] if p["guid"] == GUID]
    return rows[0]["registration_count"] if rows else 0


def wait_registered(m, count, seconds=30):
    end = time.time() + seconds
    while (now := registered(m)) != count and time.time() < end:
        time.sleep(0.2)
    check(now == count, now, "of", count, "programs are registered")


def refused(m):
    return {r.get("uid"): r["programs"] for r in json.loads(ask(m, "sessions", "--json"))["refused"]}


def wait_refused(m, want, seconds=30, commands=0):
    """commands: as many of root's own may have come while a place was being given, and have tried again. Returns the present counts."""
    end = time.time() + seconds
    fits = lambda now: now.keys() == want.keys() and all(want[u] <= n <= want[u] + (commands if u == 0 else 0) for u, n in now.items())
    while not fits(now := refused(m)) and time.time() < end:
        time.sleep(0.2)
    check(fits(now), "refused:", now, "and not", want)
    return now


def recorded(m, name, count):
    """All programs have written into a session that enables their provider."""
    ask(m, "start", name, "-p", GUID, "-o", name + ".etl", "--set", "BufferSize=64KB", "--set", "MinimumBuffers=256", "--set", "MaximumBuffers=512")
    time.sleep(1)
    ask(m, "query", name)
    said = json.loads(m.tool("stop", "--json", name).stdout)
    check(said["events_written"] + said["events_lost"] >= count, name, "has", said["events_written"], "written and", said["events_lost"], "lost of", count)
    return said


def buffers_agree(sessions, said):
    """Default buffers on 64 processors: each session has its least, all together stay within the sessions' limit, and a session with less than usual
    is told."""
    processors = 64 if os.path.exists(library) else os.cpu_count()
    ceiling = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 10
    usual = 2 * processors + max(22, 8 * processors)
    most = [s["maximum_buffers"] for s in sessions]
    check(sum(most) * 64 * 1024 <= ceiling, "64 sessions may have", sum(most), "buffers of 64 KB, more than", ceiling, "bytes")
    for s in sessions:
        check(s["status"] == 0 and s["buffer_kb"] == 64 and s["minimum_buffers"] == 2 * processors, s["name"], "has", s)
        told = f"{s['maximum_buffers']} are given, not {usual} as usual" in said[s["name"]]
        check(told == (s["maximum_buffers"] < usual), s["name"], "has", s["maximum_buffers"], "of", usual, "buffers, and start said", said[s["name"]])
    print("64 sessions on", processors, "processors have", max(most), "down to", min(most), "buffers,", sum(most) * 64 // 1024, "MB of", ceiling >> 20)


library = os.path.join(BUILD, "tests", "libcpu_count.so")
with Machine() as m:
    m.start()
    begin = time.time()
    roots = Programs(m, 1100)
    print("root's 1,100:", roots.ready, "in", round(time.time() - begin, 1), "s")
    wait_registered(m, 1100)
    check(not refused(m), "refused:", refused(m))
    recorded(m, "roots", 1100)
    roots.end()
    wait_registered(m, 0)

    begin = time.time()
    users = Programs(m, 1000, 60000, 50)
    print("50 users' 1,000:", users.ready, "in", round(time.time() - begin, 1), "s")
    wait_registered(m, 1000)
    check(not refused(m), "refused:", refused(m))
    users.end()
    m.shutdown()

# ---- 64 sessions with default buffers, 1,000 programs of 50 users, 64 (emulated) processors
with Machine() as m:
    if os.path.exists(library):  # not built beside a sanitizer
        os.environ.update(LD_PRELOAD=library, AL_CPU_COUNT="64")
    m.start()
    for name in ("LD_PRELOAD", "AL_CPU_COUNT"):
        os.environ.pop(name, None)
    users = Programs(m, 1000, 60000, 50)
    wait_registered(m, 1000)
    said = {}
    for i in range(64):  # a provider has places in eight sessions
        guid = GUID if i % 8 == 0 else GUID[:-3] + f"{i + 128:02x}}}"
        said[f"s{i}"] = ask(m, "start", f"s{i}", "-p", guid, "-o", f"s{i}.etl")
    sessions = json.loads(ask(m, "sessions", "--json"))["sessions"]
    check(len(sessions) == 64, "64 sessions")
    buffers_agree(sessions, said)
    ask(m, "query", "s0")
    ask(m, "providers", "--registered")
    time.sleep(1)
    for i in range(64):
        said = json.loads(ask(m, "stop", "--json", f"s{i}"))
        both = said["events_written"] + said["events_lost"]  # each program writes one event whenever a session enables its provider
        check(both >= 1000 if i % 8 == 0 else both == 0, "session", i, "has", said["events_written"], "written and", said["events_lost"], "lost")
    check(not refused(m), "refused:", refused(m))
    users.end()
    m.shutdown()

# ---- few places: 256, of which 32 are for root's controllers, and a user may have half
with Machine() as m:
    m.keeper = subprocess.Popen(["prlimit", "--nofile=768:768", os.path.join(BUILD, "autologgerd"), "--keep", "--store", m.store, "--log-dir", m.logs,
                                 "--runtime-dir", m.runtime])
    m.wait_ready()
    m.tool("start", "listening", "-p", GUID, "-o", "listening.etl")
    users = Programs(m, 300, 60000)
    wait_registered(m, 128)
    wait_refused(m, {60000: 172})
    roots = Programs(m, 300)
    wait_registered(m, 224)
    wait_refused(m, {60000: 172, 0: 204}, commands=20)
    for verb in (["sessions"], ["query", "listening"]):
        said = ask(m, *verb)
        roots_said = re.search(r"not recorded: (\d+) programs of uid 0\b", said)
        check("not recorded: 172 programs of uid 60000" in said and roots_said and 204 <= int(roots_said.group(1)) <= 224 and "LimitNOFILE" in said, *verb, "said", said)
    users.end()
    wait_registered(m, 224)  # root's waiting programs
    roots.end()
    wait_registered(m, 0)
    said = m.tool("stop", "listening", "--json").stdout
    m.shutdown()
print("fine")
