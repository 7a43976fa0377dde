"""A Debian root with a kernel, and a real boot of it: for tests of installed files."""
import json
import os
import shutil
import sys

from harness import SOURCE, check, skip, tool

import overlay

sys.path.insert(0, os.path.join(SOURCE, "boot-tests"))
from qemu import debian, disk  # noqa: E402
from qemu import machine as guest  # noqa: E402
from qemu.places import Missing  # noqa: E402

STORE, SNAPSHOT, EARLY = "var/lib/autologger/registry.db", "var/lib/autologger/boot.snapshot", "usr/sbin/autologger-early"
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root"}


class Machine:
    """The packages' own tools at work in a root."""

    def __init__(self, tree):
        self.tree = tree
        self.image = next(p for p in (tree.root / "boot").glob("initrd.img-*"))

    def run(self, *command, expect=0):
        r = self.tree.run(*command, env=ENVIRONMENT, timeout=600)
        check(expect is None or r.returncode == expect, *command, "-> exit", r.returncode, "expected", expect, r.stdout, r.stderr)
        return r.stdout + r.stderr

    def ends_by_itself(self):
        """The next boot switches the machine off once the sessions have ended."""
        self.tree.write("/root/end", END, 0o755)
        self.tree.write("/etc/systemd/system/boot-end.service", END_UNIT)
        self.run("systemctl", "enable", "boot-end.service")

    def prepared(self):
        """After apply: everything is ready for the next boot."""
        check((self.tree.root / SNAPSHOT).exists(), "apply made no snapshot")
        check(self.image_has(EARLY) and self.image_has(SNAPSHOT), "the image has no early program")
        check(any("autologgerd" in p for p in self.enabled()), "the daemon is not enabled:", self.enabled())

    def image_has(self, name):
        listed = self.run("lsinitramfs", "/" + str(self.image.relative_to(self.tree.root)))
        return name in listed.split()

    def enabled(self):
        return sorted(str(p) for p in (self.tree.root / "etc/systemd/system").rglob("autologger*"))


END = """#!/bin/sh
# The sessions end by themselves, and what was in place for them is put back; then the results, then the power.
mkdir /root/out
for try in $(seq 300); do
    autologger sessions --json 2>/dev/null | grep -q '"name"' || break
    sleep 1
done
sleep 3
for try in $(seq 300); do
    grep -q -e '^done' -e '^left' /var/lib/autologger/put-back 2>/dev/null && break
    sleep 1
done
journalctl -b --no-pager -o short-monotonic >/root/out/journal 2>&1
systemctl --failed --no-legend >/root/out/failed 2>&1
systemctl show autologgerd.service autologger-status.service >/root/out/units 2>&1
systemctl poweroff
"""
END_UNIT = "[Unit]\nAfter=multi-user.target\n[Service]\nType=exec\nExecStart=/root/end\n[Install]\nWantedBy=multi-user.target\n"


def make(folder):
    """(the image of a fresh Debian, where to mount it)"""
    image, mounted = os.path.join(folder, "root.img"), os.path.join(folder, "root")
    os.mkdir(mounted)
    try:
        disk.make(image, debian.base(), debian.IMAGE_MB)
    except Missing as e:
        skip(e)
    return image, mounted


def boot(image, mounted):
    """One boot with the root's kernel and initramfs. Returns the output of the serial line."""
    parts = [mounted + ".kernel", mounted + ".initrd"]
    with overlay.Image(image, mounted) as tree:
        shutil.copy(next((tree.root / "boot").glob("vmlinuz-*")), parts[0])
        shutil.copy(Machine(tree).image, parts[1])
    done = guest.boot(guest.command(parts[0], parts[1], [image], 768, 2, "root=LABEL=root ro"), mounted + ".serial", 600)
    print(f"booted in {done.seconds:.0f} s")
    return done.serial


def captured(machine, serial):
    """The boot's result: one trace of all its phases; nothing failed."""
    root, out = machine.tree.root, machine.tree.root / "root/out"
    said = {p.name: p.read_text() for p in out.iterdir()} if out.is_dir() else {}
    check("failed" in said, "the boot did not get to its end:", serial[-3000:])
    check("autologger" not in said["failed"], "failed units:", said["failed"], said["journal"][-3000:])
    for name in ("autologger-status.service", "autologger-once.service"):  # with the rights of their units
        check(f"{name}: Deactivated successfully." in said["journal"], name, "did not run to a good end:", said["journal"][-3000:])
    store = str(root / STORE)
    rows = json.loads(tool("status", "--json", "--store", store, expect=None).stdout)
    check(rows["failed"] == 0 and rows["sessions"], "Status:", rows, said["journal"][-3000:])
    traces = [p for p in (root / "var/log/autologger").rglob("*.etl")]
    check(len(traces) == 1, "the files of the boot are not one:", traces, rows)
    starts = tool("dump", str(traces[0]), "--provider", "Process", "--json").stdout
    check("run-init" in starts or "switch" in starts or "udev" in starts, "no process of the initramfs is in the trace")
    return tool("status", "--store", store, expect=None).stdout
