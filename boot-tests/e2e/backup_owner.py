"""Waiting real-time events of a session that outlive their daemon belong to a session of their owner. A user with the right to sessions, but not to
kernel events, gets none of root's, whether the user's session takes the name or the Guid of root's. Root's file stays. A file sealed with another
machine's key stays, too, and the session's conditions say so.
Root's own session gets the events, once.
Proves: SEC-09."""
import glob
import json
import os
import subprocess

from harness import AS_SHIPPED, BUILD, Machine, check, skip

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
USER, COUNT = 6201, 200
if os.getuid() != 0:
    skip("needs root, to be several users")


def written(m, number, count=COUNT):
    p, _ = m.writer(number, count, wait_ms=300)
    check(p.wait(60) == 0, "the writer")


def watch(m, name, user=None, stop=3):
    """The events that a consumer gets within some seconds."""
    who = {"user": user, "group": user, "extra_groups": []} if user else {}
    try:
        r = subprocess.run(["timeout", "-s", "INT", str(stop), os.path.join(BUILD, "autologger"), "watch", name, "--json"], env=m.env, capture_output=True,
                           text=True, timeout=30, check=False, **who)
    except subprocess.TimeoutExpired:
        check(False, "watch did not end")
    return r.stdout.count(PROVIDER.strip("{}"))


def as_user(m, *words):
    return subprocess.run([os.path.join(BUILD, "autologger"), *words], env=m.env, capture_output=True, text=True, timeout=60, check=False, user=USER,
                          group=USER, extra_groups=[])


def guid_of(m, name):
    return json.loads(m.tool("query", name, "--json").stdout)["guid"]


with Machine() as machine:
    m = machine
    os.chmod(m.dir, 0o755)
    m.start()
    m.tool("access", "default", "--allow", f"{USER}=query,realtime,ondisk,enable,consume,register")
    m.tool("start", "audit", "--real-time", "--provider", PROVIDER)
    guid = guid_of(m, "audit")
    written(m, 0)
    m.tool("flush", "audit")
    m.shutdown()
    waiting = glob.glob(os.path.join(m.logs, "RtBackup", "*.etl"))
    check([os.path.basename(f) for f in waiting] == [f"EtwRT{guid.strip('{}')}.etl"], waiting)

    # ---- the user's sessions: one of the same name, with another Guid; one with the same Guid
    for name, own in (("audit", "{deadbeef-0000-4000-8000-000000000001}"), ("mine", guid)):
        m.start()
        r = as_user(m, "start", name, "--real-time", "--provider", PROVIDER, "--set", f"Guid={own}")
        check(r.returncode == 0, name, r.stdout, r.stderr)
        n = watch(m, name, USER)
        print("the user's session", name, own, "got", n)
        check(n == 0, "the user got", n, "events of root's")
        m.tool("stop", name)
        m.shutdown()
        kept = glob.glob(os.path.join(m.logs, "RtBackup", "*kept*"))
        check(len(kept) == (own == guid), "kept:", kept)
    events = m.tool("dump", "--json", kept[0]).stdout.count(PROVIDER.strip("{}"))
    check(events == COUNT, "what was kept has", events, "of", COUNT)
    check(os.stat(kept[0]).st_mode & 0o077 == 0o040 and os.stat(kept[0]).st_uid == 0, oct(os.stat(kept[0]).st_mode))

    # ---- root's own session, after another end of the daemon
    os.rename(kept[0], waiting[0])
    m.start()
    m.tool("start", "audit", "--real-time", "--provider", PROVIDER)
    n = watch(m, "audit")
    check(n == COUNT, "root's session got", n, "of", COUNT)
    check(watch(m, "audit") == 0, "the same events twice")
    check(os.stat(os.path.join(os.path.dirname(m.store), "key")).st_mode & 0o7777 == 0o600, "the machine's key")
    m.shutdown()

# ---- another machine's disk: the conditions of a declared session name what it did not take over
with Machine(f"[Autologger/declared]\nLogFileMode = REAL_TIME\n[Autologger/declared/p]\nGuid = {PROVIDER}\n") as m:
    m.start()
    written(m, 0)
    m.tool("flush", "declared")
    m.shutdown()
    os.remove(os.path.join(os.path.dirname(m.store), "key"))
    m.start()
    check(watch(m, "declared") == 0, "events of another machine were delivered")
    m.shutdown()
    row = {s["name"]: s for s in m.status()["sessions"]}["declared"]
    said = [c for c in row["conditions"] if c["item"] == "RtBackup"]
    check(len(said) == 1 and said[0]["number"] == 5 and "kept-1.etl" in said[0]["reason"], row["conditions"])
    check(glob.glob(os.path.join(m.logs, "RtBackup", "*.kept-1.etl")), "the file is gone")
print("fine", "as shipped" if AS_SHIPPED else "")
