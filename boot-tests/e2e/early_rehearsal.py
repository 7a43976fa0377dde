"""A rehearsal in the first minutes of a machine: its trace might be taken for a boot's even without boot events. It is reported as a session, and its
file says that it is of a rehearsal; so does a file merged from it. D-30."""
import json
import os
import subprocess
import tempfile

from harness import BUILD, check, skip, tool

CONFIGURATION = r"""[Autologger/web]
FileName = C:\web.etl
[Autologger/web/Contoso-Demo-Classic]
Guid = {6f1c3b52-0d2e-4c55-9f6e-2b8f3f0a7d11}
"""
AGE = 60  # s: the machine's age, as its programs see it


def young(*command):
    """Runs the command with CLOCK_BOOTTIME at that age."""
    with open("/proc/uptime") as f:
        up = int(float(f.read().split()[0]))
    return subprocess.run(["unshare", "--time", "--fork", f"--boottime={AGE - up}", *command], capture_output=True, text=True, timeout=110)


def main():
    if young("true").returncode:
        skip("no time namespaces here")
    with tempfile.TemporaryDirectory(prefix="autologger-test-") as folder:
        ini, out, again = (os.path.join(folder, name) for name in ("a.ini", "out", "again.etl"))
        with open(ini, "w") as f:
            f.write(CONFIGURATION)
        r = young(os.path.join(BUILD, "autologger"), "rehearse", ini, "--out", out, "--json")
        check(r.returncode == 0, r.stdout, r.stderr)
        path = os.path.join(out, "c", "web-merged.etl")
        head = json.loads(tool("summary", path, "--json").stdout)
        check([s["of"] for s in head["provenance"]["sessions"]] == ["rehearsal"], head["provenance"])
        check("session web of a rehearsal" in tool("summary", path).stdout, "summary says it")
        tool("merge", "-o", again, path)
        for file in (path, again):
            report = json.loads(tool("report", file, "--json").stdout)
            check(report["ofBoot"] is False and 1000 < report["finish"] < AGE * 1000, file, "is reported as a boot", report["ofBoot"], report["finish"])
            text = tool("report", file).stdout
            check(f"{file}: session of " in text and "boot of" not in text, text)


main()
