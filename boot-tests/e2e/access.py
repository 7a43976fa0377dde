"""Rights with a daemon and programs of several users: a secure session takes only events of listed users, with exact balances; rights outlive
the daemon's death and its restart; a user with the right starts sessions, with files of that user's own; another user may do nothing.
Proves: SEC-01, SEC-04, SEC-05, SEC-07, SEC-08, SEC-09, SEC-11, SEC-12, SPC-07, LEG-05, SEC-02. D-14, D-15."""
import json
import os
import signal
import struct
import subprocess

from harness import BUILD, Machine, check, skip

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
CLASSIC = "{5eba5e04-1111-2222-0102-030405060708}"
LISTED, OTHER, MEMBER = 4001, 4002, 4003
GROUP = 4100
COUNT = 5000

if os.geteuid():
    skip("needs root, to be other users")


def tally(path):
    with open(path, "rb") as f:
        return struct.unpack("<QQQ", f.read(24))


def tool_as(m, user, *args, groups=(), expect=0):
    r = subprocess.run([os.path.join(BUILD, "autologger"), *args], env=m.env, user=user, group=user, extra_groups=list(groups), capture_output=True,
                       text=True, timeout=60)
    check(r.returncode == expect, user, args, "-> exit", r.returncode, "expected", expect, "\n", r.stdout, r.stderr)
    return r


def writers(m, *numbers_and_users):
    """A writer's number is the index of its tally for event_verify."""
    started = [m.writer(number, COUNT, user=user) for number, user in numbers_and_users]
    for p, _ in started:
        check(p.wait(60) == 0, "a writer failed: whoever may not log must not notice")
    return [t for _, t in started]


def secure(m):
    """Listed and unlisted users at once, before and after the daemon's death: the file has all events of the listed user, and no others."""
    m.tool("start", "vault", "--set", "LogFileMode=SECURE", "-o", "vault.etl", "--provider", PROVIDER, "--set", "BufferSize=64KB",
           "--set", "MaximumBuffers=256")
    m.tool("access", "vault", "--allow", f"{LISTED}=log")
    m.tool("access", "vault", "--allow", f"group:{GROUP}=log")
    good, bad = [], []
    for n in range(2):
        t = writers(m, (2 * n, LISTED), (20 + n, OTHER), (2 * n + 1, LISTED), (30 + n, OTHER))
        good += [t[0], t[2]]
        bad += [t[1], t[3]]
        os.kill(m.daemon_pid(), signal.SIGKILL)
        m.wait_ready()
    info = json.loads(m.tool("stop", "vault", "--json").stdout)
    attempted, refused = sum(tally(t)[0] for t in good), sum(tally(t)[2] for t in good)
    print("listed", attempted, "not listed", sum(tally(t)[0] for t in bad), "written", info["events_written"], "lost", info["events_lost"])
    check(attempted == 4 * COUNT and info["events_written"] + info["events_lost"] == attempted and info["events_lost"] == refused, info)
    check(sum(tally(t)[2] for t in bad) == 0, "who may not log is told nothing")
    got = m.verify(os.path.join(m.logs, "vault.etl"), good)
    check(got["events"] == info["events_written"], got)


def classic(m, user):
    r = subprocess.run([os.path.join(BUILD, "tests", "filter_controller"), "classic"], env=m.env, user=user, group=user, extra_groups=[],
                       capture_output=True, text=True, timeout=60)
    check(r.returncode == 0, user, r.stdout, r.stderr)
    return r.stdout.strip()


def secure_classic(m):
    """LEG-05, D-15: a SECURE session has no events of the older API, whoever writes them: the provider is not enabled there, and TraceEvent fails.
    Another session has them."""
    m.tool("start", "old", "--set", "LogFileMode=SECURE", "-o", "old.etl", "--provider", CLASSIC, "--set", "BufferSize=64KB")
    m.tool("access", "old", "--allow", f"{LISTED}=log")
    said = [classic(m, user) for user in (OTHER, LISTED)]
    info = json.loads(m.tool("stop", "old", "--json").stdout)
    check(said == ["0 6", "0 6"] and info["events_written"] == info["events_lost"] == 0, said, info)
    m.tool("start", "open", "-o", "open.etl", "--provider", CLASSIC, "--set", "BufferSize=64KB")
    said = classic(m, LISTED)
    info = json.loads(m.tool("stop", "open", "--json").stdout)
    check(said == "1 0" and info["events_written"] == 1 and info["events_lost"] == 0, said, info)


def open_by_default(m):
    m.tool("start", "hall", "-o", "hall.etl", "--provider", PROVIDER, "--set", "BufferSize=64KB", "--set", "MaximumBuffers=256")
    t = writers(m, (40, OTHER), (41, LISTED))
    info = json.loads(m.tool("stop", "hall", "--json").stdout)
    check(info["events_written"] + info["events_lost"] == sum(tally(x)[0] for x in t) == 2 * COUNT, info)


def denied(m):
    """D-14: EventRegister denies a user without the right, and the reports name the denial instead of blaming the program."""
    p, t = m.writer(51, COUNT, user=OTHER)
    check(p.wait(60) == 105 and tally(t)[0] == 0, "EventRegister of who may not register:", p.returncode)
    told = m.tool("analyse", "empty", "only", expect=1).stdout
    check(f"uid {OTHER} may not register" in told and f"--allow {OTHER}=register" in told and "check its GUID" not in told, told)
    told = m.tool("query", "only").stdout
    check(f"uid {OTHER} may not register" in told, told)


def kept(m):
    """A descriptor outlives a restart; a provider's descriptor keeps programs from registering the provider."""
    m.shutdown()
    m.start()
    rows = json.loads(m.tool("access", "--json").stdout)
    check(len(rows) == 1 and rows[0]["own"] and {"who": str(LISTED), "sid": f"S-1-22-1-{LISTED}", "allow": True, "rights": "log", "mask": 0x200}
          in rows[0]["entries"], rows)
    m.tool("access", PROVIDER, "--only", "--allow", f"{LISTED}=register")
    m.tool("start", "only", "-o", "only.etl", "--provider", PROVIDER, "--set", "BufferSize=64KB", "--set", "MaximumBuffers=256")
    denied(m)
    t = writers(m, (50, LISTED))
    info = json.loads(m.tool("stop", "only", "--json").stdout)
    check(info["events_written"] + info["events_lost"] == tally(t[0])[0] == COUNT, info)
    m.tool("access", PROVIDER, "--reset")


def on_disk(m):
    """SEC-08: only a user with the on-disk right gets a copy of a session, even in that user's own folder."""
    folder = os.path.join(m.logs, "theirs")
    os.mkdir(folder)
    os.chown(folder, OTHER, OTHER)
    r = tool_as(m, OTHER, "snapshot", "ours", "-o", "theirs/copy.etl", expect=111)
    check("needs the right ondisk" in r.stderr and not os.listdir(folder), r.stderr, os.listdir(folder))
    m.tool("access", "ours", "--allow", f"{OTHER}=ondisk")
    tool_as(m, OTHER, "snapshot", "ours", "-o", "theirs/copy.etl")
    check(os.listdir(folder) == ["copy.etl"], os.listdir(folder))
    m.tool("access", "ours", "--reset")


def real_time(m):
    """SEC-07: which users may read a real-time session."""
    tool_as(m, MEMBER, "start", "live", "--real-time", "--provider", PROVIDER, groups=[GROUP])
    r = tool_as(m, OTHER, "watch", "live", expect=111)
    check("needs the right consume" in r.stderr and r.stdout == "", "a consumer without the right", r.stdout, r.stderr)
    p, _ = m.writer(70, 5, user=OTHER, wait_ms=500)
    r = tool_as(m, MEMBER, "watch", "live", "--count", "5", "--json", groups=[GROUP])
    check(p.wait(20) == 0, "the writer")
    check(r.stdout.count('"payload"') == 5, "a consumer with it", r.stdout)
    tool_as(m, MEMBER, "stop", "live", groups=[GROUP])


def who_starts(m):
    for args in (("start", "mine", "-o", "users/mine.etl"), ("stop", "x"), ("access", "default", "--allow", f"{OTHER}=all")):
        tool_as(m, OTHER, *args, expect=111)
    folder = os.path.join(m.logs, "users")
    os.mkdir(folder)
    os.chown(folder, 0, GROUP)
    os.chmod(folder, 0o775)
    os.chmod(m.logs, 0o755)
    m.tool("access", "default", "--allow", f"group:{GROUP}=query,realtime,ondisk,enable,consume")
    tool_as(m, MEMBER, "start", "mine", "-o", "users/mine.etl", expect=111)  # not in the group
    r = tool_as(m, MEMBER, "start", "mine", "-o", "mine.etl", groups=[GROUP], expect=111)
    check("Permission denied" in r.stderr, "a file where that user may make none", r.stderr)
    check(not os.path.exists(os.path.join(m.logs, "mine.etl")), "a file was made with root's rights")
    tool_as(m, MEMBER, "start", "ours", "-o", "users/ours.etl", "--provider", PROVIDER, groups=[GROUP])
    tool_as(m, OTHER, "stop", "ours", expect=111)
    t = writers(m, (60, OTHER))
    tool_as(m, MEMBER, "snapshot", "ours", "-o", "users/so-far.etl", groups=[GROUP])
    tool_as(m, MEMBER, "snapshot", "ours", "-o", "so-far.etl", groups=[GROUP], expect=111)
    on_disk(m)
    os.kill(m.daemon_pid(), signal.SIGKILL)
    m.wait_ready()
    info = json.loads(tool_as(m, MEMBER, "stop", "ours", "--json", groups=[GROUP]).stdout)
    check(info["events_written"] + info["events_lost"] == tally(t[0])[0] == COUNT, info)
    for name in ("ours.etl", "so-far.etl"):
        check(os.stat(os.path.join(folder, name)).st_uid == MEMBER, name, "is not its user's")
    r = tool_as(m, MEMBER, "start", "kernel", "--flags", "PROC_THREAD", "-o", "users/k.etl", groups=[GROUP], expect=111)
    check("root" in r.stderr, r.stderr)
    real_time(m)


def advice(m):
    """A refusal names the right, and the command that it advises is enough."""
    m.tool("start", "desk", "--real-time", "-o", "desk.etl", "--provider", PROVIDER)
    for words in (("flush", "desk"), ("enable", "desk", PROVIDER), ("watch", "desk"), ("disable", "desk", PROVIDER),
                  ("update", "desk", "--flush-timer", "3"), ("snapshot", "desk", "-o", "x.etl"), ("stop", "desk")):
        r = tool_as(m, OTHER, *words, expect=111)
        check(f"uid {OTHER} needs the right" in r.stderr and "Do: as root, autologger access 'desk'" in r.stderr, words, r.stderr)
        lines = r.stderr.split("Do: as root, ")[1].split(". (5")[0]
        done = subprocess.run(["sh", "-ec", lines], env=dict(m.env, PATH=BUILD + ":" + os.environ["PATH"]), capture_output=True, text=True, timeout=60)
        check(done.returncode == 0, words, lines, done.stdout, done.stderr)
        r = subprocess.run(["timeout", "2", os.path.join(BUILD, "autologger"), *words], env=m.env, user=OTHER, group=OTHER, extra_groups=[],
                           capture_output=True, text=True, timeout=60)
        check("ERROR_ACCESS_DENIED" not in r.stderr or words[0] == "snapshot", words, lines, r.stderr)  # a file of theirs has no place in the log folder
        for name in ("desk", PROVIDER):
            m.tool("access", name, "--reset", expect=None)
    m.tool("start", "desk", "-o", "desk2.etl")
    r = m.tool("enable", "desk", "{9e814aad-3204-11d2-9a82-006008a86939}", expect=1)
    check("kernel is no provider" in r.stderr and "update 'desk' --flags" in r.stderr, r.stderr)
    m.tool("start", "o'desk", "-o", "desk3.etl")
    r = tool_as(m, OTHER, "stop", "o'desk", expect=111)
    check("autologger access 'NAME'" in r.stderr, "a name that would end the quotes of a command", r.stderr)
    for name in ("desk", "o'desk"):
        m.tool("stop", name)
    check(m.tool("access", PROVIDER).stdout.startswith(PROVIDER + ":"), "a GUID is shown once")


with Machine() as m:
    os.chmod(m.dir, 0o755)
    m.start()
    advice(m)
    secure(m)
    open_by_default(m)
    kept(m)
    who_starts(m)
    secure_classic(m)
    m.shutdown()
