"""DisallowList: the list excludes a member of a provider group from the group's enablement, before and after the daemon's death, and also when the
group is enabled anew. The other members are enabled. A session that enables the member itself gets its events.
D-17 (DisallowList)."""
import os
import signal

from harness import Machine, check

GROUP = "{5ca1ab1e-7e57-0009-8000-000000000000}"
MEMBER = "{{5ca1ab1e-7e57-{0:04x}-8000-{0:012x}}}"
COUNT = 500
DECLARED = f"""[Autologger/gang]
FileName = gang.etl
MinimumBuffers = 16
MaximumBuffers = 64
DisallowList = {MEMBER.format(2)}{MEMBER.format(4)}
[Autologger/gang/all]
Guid = {GROUP}
[Autologger/gang/four]
Guid = {MEMBER.format(4)}
"""


def write(m, number, provider, recorded):
    """A member of the group writes; it waits for its enablement only if it will be enabled."""
    p, tally = m.writer(number, COUNT, provider=provider, wait_ms=300, enabled=recorded)
    check(p.wait(60) == 0, "the writer ended with", p.returncode)
    return [tally] if recorded else []


with Machine(DECLARED) as m:
    m.env["EVENT_WRITER_GROUP"] = "1"
    m.start()
    # a writer's number is its tally's index: a writer that is not recorded gets a number that is not verified
    tallies = write(m, 0, 1, True)
    write(m, 20, 2, False)
    tallies += write(m, 1, 4, True)
    os.kill(m.daemon_pid(), signal.SIGKILL)
    m.wait_ready()
    tallies += write(m, 2, 3, True)
    write(m, 21, 2, False)
    m.tool("enable", "gang", GROUP, "--level", "5")
    write(m, 22, 2, False)
    tallies += write(m, 3, 1, True)
    m.tool("enable", "gang", MEMBER.format(2))
    tallies += write(m, 4, 2, True)
    m.shutdown()
    got = m.verify(os.path.join(m.logs, "gang.etl"), tallies)
    check(got["events"] == COUNT * len(tallies) and got["torn"] == got["doubled"] == got["damage"] == got["invented"] == 0, got)
