"""The Debian packages: built, checked by lintian, installed into a fresh Debian root, used, installed again, removed, purged;
then installed, applied, booted under QEMU, captured, purged: no file is left but the logs and the store.
Full tier only (AL_FULL=1): building takes a minute, the root some more the first time.
Proves: REG-19, REG-22 (all of it can be taken away)."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from harness import FULL, SOURCE, check, skip, tool

import overlay

if not FULL:
    skip("the packages are built and installed by the full tier: tools/check --full")
overlay.enter()
sys.path.insert(0, os.path.join(SOURCE, "boot-tests"))
from qemu import debian, disk  # noqa: E402
from qemu import machine as guest  # noqa: E402
from qemu.places import Missing  # noqa: E402

OUT = pathlib.Path(SOURCE, "build/deb")
PACKAGES = ["libautologger0", "libautologger-dev", "autologger", "autologger-initramfs"]
NEEDS = ["libfwnt1", "libiniparser1", "libsqlite3-0", "libyajl2"]
STAYS = ("var/lib/autologger/registry.db", "var/log/autologger/")
SNAPSHOT = "var/lib/autologger/boot.snapshot"
# of dpkg, ldconfig and update-initramfs themselves; the image is looked at by what is in it
BOOKS = ("var/lib/dpkg/", "var/log/dpkg.log", "var/log/alternatives.log", "var/log/apt/", "etc/ld.so.cache", "var/cache/ldconfig/",
         "var/lib/initramfs-tools/", "boot/initrd.img", "var/lib/systemd/deb-systemd-helper")
ENVIRONMENT = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8", "HOME": "/root"}


def build():
    r = subprocess.run([os.path.join(SOURCE, "tools/make-deb"), "--lintian"], capture_output=True, text=True, timeout=900)
    if "missing" in r.stderr:
        skip(r.stderr.strip())
    check(r.returncode == 0, "make-deb:", r.stdout, r.stderr)
    return [next(OUT.glob(f"{name}_*.deb")) for name in PACKAGES]


def needs():
    folder = OUT / "needs"
    folder.mkdir(exist_ok=True)
    for name in NEEDS:
        if not list(folder.glob(f"{name}_*.deb")):
            r = subprocess.run(["apt-get", "-q", "download", name], cwd=folder, capture_output=True, text=True)
            if r.returncode:
                skip(f"{name} could not be downloaded: {r.stderr.strip()}")
    return [next(folder.glob(f"{name}_*.deb")) for name in NEEDS]


class Machine:
    """The packages' own tools at work in a root."""

    def __init__(self, tree):
        self.tree = tree
        self.image = next(p for p in (tree.root / "boot").glob("initrd.img-*"))

    def run(self, *command, expect=0):
        r = self.tree.run(*command, env=ENVIRONMENT, timeout=600)
        check(expect is None or r.returncode == expect, *command, "-> exit", r.returncode, "expected", expect, r.stdout, r.stderr)
        return r.stdout + r.stderr

    def install(self, packages):
        for package in packages:
            self.tree.put(package, f"/root/{package.name}", 0o644)
        names = [f"/root/{package.name}" for package in packages]
        said = self.run("dpkg", "--install", *names)
        self.run("rm", *names)
        return said

    def remove(self):
        said = self.run("dpkg", "--remove", *reversed(PACKAGES))
        check("update-initramfs: Generating" in said, "removing built no image:", said)
        check(not self.image_has("scripts/init-top/autologger"), "the script is in the image still")

    def image_has(self, name):
        listed = self.run("lsinitramfs", "/" + str(self.image.relative_to(self.tree.root)))
        return name in listed.split()

    def enabled(self):
        return sorted(str(p) for p in (self.tree.root / "etc/systemd/system").rglob("autologger*"))


def leftovers(machine, before):
    new = machine.tree.files() - before
    return sorted(p for p in new if not p.startswith(BOOKS))


def quiet_until_asked(machine):
    """Installed, and nothing runs at the next boot."""
    check(not machine.enabled(), "enabled by being installed:", machine.enabled())
    check(not (machine.tree.root / SNAPSHOT).exists(), "there is a snapshot")
    check(not machine.image_has("usr/sbin/autologger-early"), "the early program is in the image")
    check(machine.image_has("scripts/init-top/autologger"), "the image was not built again")


def use(machine):
    check("0.1" in machine.run("autologger", "--version"), "--version")
    check("boot-cpu" in machine.run("autologger", "profiles"), "profiles")
    check("CSwitch" in machine.run("autologger", "check", "/usr/share/autologger/examples/first-boot.ini", expect=None), "check")
    machine.run("autologger", "import", "/usr/share/autologger/examples/service.ini")
    check("Autologger" in machine.run("autologger", "export"), "export")
    machine.tree.write("/root/a.ini", "[Autologger/web]\n")
    machine.run("autologger", "rehearse", "/root/a.ini", "--for", "1", "--out", "/root/out")
    machine.run("rm", "-r", "/root/a.ini", "/root/out")


def without_a_boot(machine, packages):
    """Installed, used, installed again, removed, purged: every file is accounted for."""
    before = machine.tree.files()
    said = machine.install(packages)
    check("update-initramfs: Generating" in said, "installing built no image:", said)
    quiet_until_asked(machine)
    use(machine)
    machine.install(packages)  # an upgrade to itself
    machine.remove()
    for how in ("removed", "purged"):
        left = leftovers(machine, before)
        check(all(p.startswith(STAYS) for p in left), how, "and still there:", left)
        check(not machine.enabled(), how, "and enabled:", machine.enabled())
        machine.run("dpkg", "--purge", *reversed(PACKAGES))
    check((machine.tree.root / STAYS[0]).exists(), "the store is gone")


# ---- a real boot of what was installed

END = """#!/bin/sh
# The sessions end by themselves; then the results, then the power.
mkdir /root/out
for try in $(seq 300); do
    autologger sessions --json 2>/dev/null | grep -q '"name"' || break
    sleep 1
done
sleep 3
journalctl -b --no-pager -o short-monotonic >/root/out/journal 2>&1
systemctl --failed --no-legend >/root/out/failed 2>&1
systemctl show autologgerd.service autologger-status.service >/root/out/units 2>&1
systemctl poweroff
"""
END_UNIT = "[Unit]\nAfter=multi-user.target\n[Service]\nType=exec\nExecStart=/root/end\n[Install]\nWantedBy=multi-user.target\n"


def apply(machine, packages):
    machine.install(packages)
    machine.tree.write("/root/end", END, 0o755)
    machine.tree.write("/etc/systemd/system/boot-end.service", END_UNIT)
    machine.run("systemctl", "enable", "boot-end.service")
    tool("apply", "boot", "--root", str(machine.tree.root), timeout=600)
    check((machine.tree.root / SNAPSHOT).exists(), "apply made no snapshot")
    check(machine.image_has("usr/sbin/autologger-early") and machine.image_has(SNAPSHOT), "the image has no early program")
    check(any("autologgerd" in p for p in machine.enabled()), "the daemon is not enabled:", machine.enabled())


def captured(machine, serial):
    """What the boot left: one trace, of all its moments; nothing failed."""
    root, out = machine.tree.root, machine.tree.root / "root/out"
    said = {p.name: p.read_text() for p in out.iterdir()} if out.is_dir() else {}
    check("failed" in said, "the boot did not get to its end:", serial[-3000:])
    check("autologger" not in said["failed"], "failed units:", said["failed"], said["journal"][-3000:])
    store = str(root / STAYS[0])
    rows = json.loads(tool("status", "--json", "--store", store, expect=None).stdout)
    check(rows["failed"] == 0 and rows["sessions"], "Status:", rows, said["journal"][-3000:])
    traces = [p for p in (root / "var/log/autologger").rglob("*.etl")]
    check(len(traces) == 1, "the files of the boot are not one:", traces, rows)
    starts = tool("dump", str(traces[0]), "--provider", "Process", "--json").stdout
    check("run-init" in starts or "switch" in starts or "udev" in starts, "no process of the initramfs is in the trace")
    return tool("status", "--store", store, expect=None).stdout


def with_a_boot(image, folder, packages):
    with overlay.Image(image, folder) as tree:
        apply(Machine(tree), packages)
        parts = [folder + ".kernel", folder + ".initrd"]
        shutil.copy(next((tree.root / "boot").glob("vmlinuz-*")), parts[0])
        shutil.copy(Machine(tree).image, parts[1])
    line = guest.command(parts[0], parts[1], [image], 768, 2, "root=LABEL=root ro")
    boot = guest.boot(line, folder + ".serial", 600)
    print(f"booted in {boot.seconds:.0f} s")
    with overlay.Image(image, folder) as tree:
        machine = Machine(tree)
        print(captured(machine, boot.serial))
        machine.remove()
        machine.run("dpkg", "--purge", *reversed(PACKAGES))
        left = sorted(p for p in tree.files() if "autologger" in p and not p.startswith(STAYS + BOOKS))
        check(not left, "after a boot, purged, and still there:", left)

def main():
    packages = build()
    try:
        root = debian.base()
    except Missing as e:
        skip(e)
    with tempfile.TemporaryDirectory(prefix="al-packages-") as folder:
        image, mounted = os.path.join(folder, "root.img"), os.path.join(folder, "root")
        os.mkdir(mounted)
        disk.make(image, root, debian.IMAGE_MB)
        with overlay.Image(image, mounted) as tree:
            machine = Machine(tree)
            machine.install(needs())
            without_a_boot(machine, packages)
        with_a_boot(image, mounted, packages)


main()
