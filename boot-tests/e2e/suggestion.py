"""The buffers that a rehearsal suggests hold its events: three users' programs are rehearsed, MaximumBuffers is set to the row's suggestion, and ten
more rehearsals lose nothing; also where the first one lost most of the events. D-02. Proves: SES-09."""
import json
import os
import stat

from harness import BUILD, Machine, check, skip

USERS = (5005, 5006, 5007)
INI = """[Autologger/web]
FileName = C:\\traces\\web.etl
BufferSize = {size}
MinimumBuffers = 4
MaximumBuffers = {maximum}
[Autologger/web/numbered]
Guid = {{5ca1ab1e-7e57-0001-8000-000000000001}}
"""


def work(m, events):
    """A program that starts one writer for each user, all at once."""
    path = os.path.join(m.dir, "work.sh")
    with open(path, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\n")
        for i, user in enumerate(USERS):
            tally = os.path.join(m.dir, f"tally-{user}")
            f.write(f": >{tally}; chown {user} {tally}\nEVENT_WRITER_FIXED=1 EVENT_WRITER_ENABLED=1 setpriv --reuid {user} --regid {user} --clear-groups "
                    f"{os.path.join(BUILD, 'tests', 'event_writer')} {tally} {i} {events} >/dev/null &\n")
        f.write("wait\n")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
    return path


def rehearse(m, values, program):
    ini = os.path.join(m.dir, "web.ini")
    with open(ini, "w", encoding="ascii") as f:
        f.write(INI.format(**values))
    out = os.path.join(m.dir, "out")
    r = m.tool("rehearse", ini, "--out", out, "--run", program, "--json", expect=None)
    check(r.stdout.startswith("{"), "rehearse --json", r.returncode, r.stdout, r.stderr)
    return next(x for x in json.loads(r.stdout)["sessions"] if x["name"] == "web")


def series(m, size, maximum, events, loses):
    program = work(m, events)
    values = {"size": size, "maximum": maximum}
    row = rehearse(m, values, program)
    first = row["lost"]["ring"]
    check(bool(first) == loses, "the first rehearsal with", values, "lost", first)
    for _ in range(6):  # after a loss another rehearsal may suggest more
        values["maximum"] = row["suggested_maximum"]
        row = rehearse(m, values, program)
        if not row["lost"]["ring"]:
            break
    check(row["lost"]["ring"] == 0, "what was suggested still loses", row["lost"]["ring"], values)
    values["maximum"] = max(values["maximum"], row["suggested_maximum"]) if loses else values["maximum"]
    for i in range(10):
        row = rehearse(m, values, program)
        check(row["lost"]["ring"] == 0 and row["written"] >= len(USERS) * events, "repeat", i, "with", values, "lost", row["lost"]["ring"], "wrote", row["written"])


def main():
    if os.getuid() != 0:
        skip("needs root, to be other users")
    with Machine() as m:
        os.chmod(m.dir, 0o755)
        series(m, "64 KB", 26, 60, False)
        series(m, "16 KB", 6, 3000, True)


main()
