"""The harness runs a daemon with exactly the rights of the shipped unit: the kernel's report of the keeper and of the daemon below it, which keeps
the rights in server_rights.def, against the unit's lines. A unit with an unknown line is refused by name. Programs of other users reach the daemon,
whatever its umask.
Proves: D-53; that the other tests with AL_AS_SHIPPED=1 mean what they say."""
import json
import os
import signal

os.environ["AL_AS_SHIPPED"] = "1"
import shipped  # noqa: E402
from harness import Machine, check, skip  # noqa: E402

if os.getuid() != 0:
    skip("needs root, to give up capabilities")
with open("/proc/self/status", encoding="ascii", errors="replace") as status:
    mine = next(int(line.split()[1], 16) for line in status if line.startswith("CapBnd"))
rules = shipped.Rules()
wanted = sum(1 << number for number in rules.kept) & mine
print("the unit keeps", ", ".join(shipped.CAPABILITIES[n] for n in sorted(rules.kept)), "umask", oct(rules.umask), rules.words)
check(rules.words == ["--confine"] and rules.no_new_privileges and len(rules.kept) > 5, "the unit was not read")
for name in ("SYS_TIME", "SYS_MODULE", "NET_ADMIN", "SYS_BOOT"):
    check(not wanted >> shipped.CAPABILITIES.index(name) & 1, "the unit has", name)


def look(m):
    keeper, daemon = shipped.state(m.keeper.pid), shipped.state(m.daemon_pid())
    kept = wanted & sum(1 << number for number in shipped.server_kept())
    check(kept != wanted, "the daemon gives nothing up")
    for who, may, (bounding, effective, no_new, seccomp, umask) in (("keeper", wanted, keeper), ("daemon", kept, daemon)):
        check(bounding == may and effective & ~may == 0 and no_new == 1, who, [hex(bounding), hex(effective), no_new], hex(may))
        check(umask == rules.umask, who, "umask", oct(umask))
    check(daemon[3] == 2 or keeper[3] == 2, "no filter of system calls", keeper, daemon)


with Machine() as m:
    m.start()
    look(m)
    m.tool("start", "web", "-o", "web.etl", "--provider", "Contoso-Web")
    m.tool("write", "Contoso-Web", "Started")
    mode = os.stat(m.runtime).st_mode & 0o777
    check(mode == 0o755, "programs of users do not reach the socket: the runtime folder has the mode", oct(mode))
    p, _ = m.writer(0, 100, provider=1, wait_ms=500, user=5000)  # before any session wants its provider
    m.tool("start", "user", "-o", "user.etl", "--provider", "{5ca1ab1e-7e57-0001-8000-000000000001}")
    check(p.wait(60) == 0, "a writer")
    info = json.loads(m.tool("stop", "user", "--json").stdout)
    info = info.get("session", info)
    check(info["events_written"] == 100 and info["events_lost"] == 0, "another user's events", info)
    os.kill(m.daemon_pid(), signal.SIGKILL)  # its successor has no more rights
    m.wait_ready()
    look(m)
    m.tool("stop", "web")
    mode = os.stat(os.path.join(m.logs, "web.etl")).st_mode & 0o777
    check(mode == 0o640, "the mode of a trace", oct(mode))
    m.shutdown()
    strange = os.path.join(m.dir, "strange.service")
    with open(shipped.UNIT, encoding="utf-8") as f, open(strange, "w", encoding="utf-8") as to:
        to.write(f.read().replace("NoNewPrivileges=yes", "NoNewPrivileges=yes\nPrivateDevices=yes"))
    try:
        shipped.Rules(strange)
        check(False, "a line that is not known was read over")
    except ValueError as error:
        check("PrivateDevices" in str(error), error)
