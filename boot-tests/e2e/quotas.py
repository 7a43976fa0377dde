"""Four unprivileged users take all that they can get, in every way at the same time: two of them provider places, registrations, waits for callbacks
and starts, the other two connections, hellos and answers that they do not read. Meanwhile an honest user and root register, enable, start and list,
and root's commands are answered within 2 s. Each limit that was met is counted and names the user, also after a kill of the daemon. Once the four
have gone, the daemon has the descriptors, the providers and the registrations of before, and its memory. The service manager is not told of each
client that comes, asks and goes."""
import json
import os
import signal
import socket
import subprocess
import threading
import time
import uuid

import floods
from harness import BUILD, Machine, check, skip

FILLERS, CALLERS, HONEST = (6001, 6002), (6004, 6005), 6003
HOSTILE = FILLERS + CALLERS
SECONDS, FILL_SECONDS = 4, 200
# who floods, how, and the limits that are met before the next floods begin and use up the user's requests; all floods go on to the end
STEPS = (((FILLERS, ("places", "registrations"), ("provider places", "registrations")),), ((CALLERS, ("deaf",), ("bytes of unread answers",)),),
         ((CALLERS, ("connections",), ("connections",)),), ((CALLERS, ("hellos",), ("requests",)), (FILLERS, (), ("waits for answers",))))
MET = {(user, limit) for step in STEPS for users, _, limits in step for user in users for limit in limits}
SOON = 2.0
if os.getuid() != 0:
    skip("programs of other users need root")


def of_daemon(m):
    """The daemon's own descriptors and memory (KB), and its counts of providers and registrations."""
    pid = m.daemon_pid()
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        status = dict(line.split(":", 1) for line in f.read().splitlines())
    registered = json.loads(m.tool("providers", "--registered", "--json").stdout)["registered"]
    return {"fds": len(os.listdir(f"/proc/{pid}/fd")), "kb": int(status["RssAnon"].split()[0]), "providers": len(registered),
            "registrations": sum(r["registration_count"] for r in registered)}


slowest = {}


def ask(m, *args, user=None):
    begin = time.time()
    r = subprocess.run([os.path.join(BUILD, "autologger"), *args], env=m.env, capture_output=True, text=True, timeout=60, user=user, group=user,
                       extra_groups=None if user is None else [])
    took = time.time() - begin
    check(r.returncode == 0, "uid", user or 0, *args, "-> exit", r.returncode, r.stdout, r.stderr)
    slowest[args[0]] = max(slowest.get(args[0], 0), took)
    check(user is not None or took < SOON, "autologger", *args, "took root", round(took, 2), "s")
    return r.stdout


def root_works(m, number):
    """A new session with a new provider, a program that registers the provider, another provider enabled, all listed, the events in the file."""
    provider, name = f"Honest-{number}", f"root{number}"
    ask(m, "start", name, "--provider", provider, "-o", name + ".etl")
    ask(m, "enable", name, f"More-{number}")
    ask(m, "write", provider, "Event")
    check(name in ask(m, "sessions"), "the session is listed")
    ask(m, "providers", "--registered")
    said = json.loads(ask(m, "stop", name, "--json"))
    check(said["events_written"] == 1 and said["events_lost"] == 0, said)


def honest_program(snapshot, provider):
    c = floods.Connection()
    ok = [c.hello() == 0, c.register(uuid.uuid4(), 0) == 0]
    status, why = c.start(snapshot)
    ok += [status == 0, status == 0 and c.enable("mine", provider) == 0]
    if not all(ok):
        print("the honest user: hello, register, start, enable:", ok, status, why, flush=True)
    return 0 if all(ok) else 1


def user_works(m, number, snapshot, provider):
    """An honest program without rights: its provider, a session of its own, an enablement that waits, a list."""
    child = floods.as_user(HONEST, honest_program, snapshot, provider)
    check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "the honest user could not work in round", number)
    ask(m, "sessions", user=HONEST)


def limits(m):
    said = json.loads(m.tool("sessions", "--json").stdout)["limits"]
    return {(row.get("uid"), row["limit"]): row["refused"] for row in said}


def named(m):
    """Each user and limit is named, in each command's output and in the conditions of a session."""
    found = limits(m)
    for user, limit in MET:
        check(found.get((user, limit), 0) > 0, "uid", user, "met no limit of", limit, found)
    check(not any(user in (0, HONEST) for user, _ in found), "who is honest met a limit:", found)
    for verb in (["sessions"], ["query", "taken"], ["providers", "--registered"]):
        text = m.tool(*verb).stdout
        for user in HOSTILE:
            check(f"limit: uid {user} " in text and "provider places" in text and "    do:  " in text, verb, "does not name", user, text[-2000:])
    told = [c["item"] for c in json.loads(m.tool("query", "--json", "taken").stdout)["conditions"]]
    for user, limit in MET:
        check(f"{limit} of uid {user}" in told, "the session does not say that", user, "is at its limit of", limit, told)
    return found


def manager_is_told_little():
    """The service manager keeps the connection of a program that has registered a provider, and no other's."""
    with Machine() as m:
        os.chmod(m.dir, 0o755)
        told, path = [], os.path.join(m.dir, "notify")
        os.environ.update(AUTOLOGGER_RUNTIME_DIR=m.runtime, NOTIFY_SOCKET=path)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            threading.Thread(target=lambda: [told.append(manager.recv(4096).decode()) for _ in iter(int, 1)], daemon=True).start()
            m.start()
            del os.environ["NOTIFY_SOCKET"]

            def stored():
                time.sleep(0.5)
                return [t for t in told if t.startswith("FDSTORE=1") and ("FDNAME=conn." in t or "FDNAME=asks." in t)]

            check(any("READY=1" in t for t in told), "the service manager is told nothing at all", told)
            child = floods.as_user(HONEST, comes_and_goes)
            check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "300 hellos")
            for _ in range(20):
                m.tool("sessions")
            check(not stored(), "connections of who has registered nothing are kept:", stored())
            child = floods.as_user(HONEST, comes_and_goes, 5)
            check(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, "5 registrations")
            check(len(stored()) == 5, "connections of who has registered something:", stored())
            m.shutdown()


def comes_and_goes(registrations=0):
    fine = 0
    for _ in range(registrations or 300):
        c = floods.Connection()
        fine += c.hello() == 0 and (not registrations or c.register(uuid.uuid4(), 0) == 0)
        c.close()
    return 0 if fine == (registrations or 300) else 1


manager_is_told_little()
with Machine() as m:
    os.chmod(m.dir, 0o755)
    os.environ["AUTOLOGGER_RUNTIME_DIR"] = m.runtime  # for the honest program below
    mine = uuid.uuid4()
    many = "".join(f"[Autologger/taken/{{{uuid.uuid4()}}}]\nEnableLevel = Verbose\n" for _ in range(100))
    taken = floods.sealed(m, "taken", "[Autologger/taken]\nFileName = taken.etl\n" + many)
    honest = floods.private(m, "mine", mine)
    stuck = {user: (uuid.uuid4(), f"stuck{user}") for user in FILLERS}
    own = {user: floods.private(m, stuck[user][1], stuck[user][0]) for user in FILLERS}
    m.start()
    m.tool("start", "taken", "-o", "taken.etl", "--provider", "Contoso-Taken")
    root_works(m, 0)
    user_works(m, 0, honest, mine)
    time.sleep(1)
    before = of_daemon(m)

    def work(rounds):
        root_works(m, rounds + 1)
        user_works(m, rounds + 1, honest, mine)
        return rounds + 1

    waiting = [floods.Flood(user, *words) for user in FILLERS for words in (("waits", own[user], *stuck[user]), ("starts", taken))]
    time.sleep(1)
    rounds, all_floods, began = 0, list(waiting), time.time()
    for step in STEPS:
        all_floods += [floods.Flood(user, kind) for users, kinds, _ in step for kind in kinds for user in users]
        for flood in waiting if step is STEPS[-1] else ():
            flood.go()
        wanted = {(user, limit) for users, _, filled in step for user in users for limit in filled}
        while time.time() < began + FILL_SECONDS and not all(limits(m).get(one) for one in wanted):
            rounds = work(rounds)
        print([kinds for _, kinds, _ in step], "after", round(time.time() - began, 1), "s")
    end = time.time() + SECONDS
    while time.time() < end:
        rounds = work(rounds)
    during = of_daemon(m)
    found = named(m)
    pid = m.daemon_pid()
    for flood in all_floods:
        check(flood.lasts(), "the flood", flood.kind, "of", flood.user, "did not last")
    asked = {f"{flood.kind} of {flood.user}": flood.end() for flood in all_floods}
    check(all(asked.values()), "a flood failed", asked)
    print(rounds, "rounds; root's slowest:", {k: round(v, 2) for k, v in slowest.items()})
    print("asked:", asked)
    print("limits:", found)
    check(m.daemon_pid() == pid, "the daemon was replaced")

    end = time.time() + 20
    while True:
        after = of_daemon(m)
        back = after["fds"] <= before["fds"] + 2 and after["providers"] == before["providers"] and after["registrations"] == before["registrations"]
        if (back and after["kb"] < before["kb"] + 8192) or time.time() > end:
            break
        time.sleep(0.2)
    print("before", before, "\nduring", during, "\nafter ", after)
    check(back and after["kb"] < before["kb"] + 8192, "not all is back", before, after)
    check(during["kb"] < before["kb"] + 65536, "the floods had too much of the daemon's memory", before, during)

    os.kill(m.daemon_pid(), signal.SIGKILL)  # its successor keeps the counts
    m.wait_ready()
    now = limits(m)
    for key, count in found.items():
        check(now.get(key, 0) >= count, "a successor forgot", key, count, now)
    root_works(m, rounds + 1)
    m.shutdown()
print("fine")
