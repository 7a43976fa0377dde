"""A session never fills the volume: two sessions, one in a growing file and one in a ring, on a small volume, while programs write more than it
holds. At every moment 64 MB stay free; the file that could not grow says so and counts each event that it could not take; the ring goes on with its
present buffers; attempted = written + lost, and the files' contents are whole.
Proves: SES-19."""
import json
import os
import struct
import subprocess

from harness import Machine, check, skip

if os.getuid() != 0:
    skip("a small volume needs root")

PROVIDER = "{5ca1ab1e-7e57-0001-8000-000000000001}"
MB = 1 << 20
VOLUME, FREE = 80 * MB, 64 * MB
COUNT = 100000  # of some 200 bytes: more than twice the available space


def free(folder):
    v = os.statvfs(folder)
    return v.f_bavail * v.f_frsize


def tally(path):
    with open(path, "rb") as f:
        return struct.unpack("<QQQ", f.read(24))


def session(m, name):
    return json.loads(m.tool("query", name, "--json").stdout)


with Machine() as m:
    volume = os.path.join(m.dir, "logs")
    os.makedirs(volume, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={VOLUME}", "none", volume], check=True)
    try:
        m.start()
        buffers = ("--set", "BufferSize=64KB", "--set", "MinimumBuffers=16", "--set", "MaximumBuffers=256")
        m.tool("start", "ring", "-o", os.path.join(volume, "ring.etl"), "--provider", PROVIDER, *buffers, "--set", "LogFileMode=CIRCULAR", "--set", "MaxFileSize=40")
        m.tool("start", "grows", "-o", os.path.join(volume, "grows.etl"), "--provider", PROVIDER, *buffers, "--set", "MaxFileSize=0")
        check(session(m, "grows")["max_file_size"] == 0, "unlimited, but for the volume")
        writer, path = m.writer(0, COUNT, rate=20000)
        least = free(volume)
        while writer.poll() is None:
            least = min(least, free(volume))
        check(writer.returncode == 0, "the writer")
        for name in ("grows", "ring"):
            m.tool("flush", name, expect=None)
        least = min(least, free(volume))
        attempted = tally(path)[0]
        check(least >= FREE, "free at least", least // MB, "MB")
        grows, ring = session(m, "grows"), session(m, "ring")
        print("least free", least / MB, "MB;", attempted, "attempted;", {i["name"]: (i["events_written"], i["events_lost"], i["status"]) for i in (grows, ring)})
        check(grows["status"] == 112, "it says that it could not go on", grows)
        check(grows["events_lost"] > 0 and grows["events_written"] + grows["events_lost"] == attempted, "attempted = written + lost", grows)
        check(ring["status"] == 0, "a ring goes on", ring)
        for name in ("grows", "ring"):
            m.tool("stop", name, expect=None)
        least = min(least, free(volume))
        check(least >= FREE, "free at the end", least // MB, "MB")
        for name in ("grows", "ring"):
            got = m.verify(os.path.join(volume, name + ".etl"), [path], expect=None)
            check(got["torn"] == got["doubled"] == got["invented"] == got["inversions"] == got["damage"] == 0 and got["events"] > 0, name, got)
            if name == "grows":
                check(got["events"] == grows["events_written"] and got["events_lost"] == grows["events_lost"], "header and file", got, grows)
        m.shutdown()
    finally:
        subprocess.run(["umount", "-l", volume], check=False)
