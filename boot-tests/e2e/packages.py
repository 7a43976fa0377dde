"""The Debian packages: built, checked by lintian, installed into a fresh Debian root, used, installed again, removed, purged.
Full tier only (AL_FULL=1): building takes a minute, the root some more the first time.
Proves: REG-22 (one command takes it all away)."""
import os
import pathlib
import subprocess
import sys
import tempfile

from harness import FULL, SOURCE, check, skip

import overlay

if not FULL:
    skip("the packages are built and installed by the full tier: tools/check --full")
overlay.enter()
sys.path.insert(0, os.path.join(SOURCE, "boot-tests"))
from qemu import debian  # noqa: E402
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
    def __init__(self, copy):
        self.copy = copy
        self.image = next(p for p in (copy.root / "boot").glob("initrd.img-*"))

    def run(self, *command, expect=0):
        r = self.copy.run(*command, env=ENVIRONMENT, timeout=600)
        check(expect is None or r.returncode == expect, *command, "-> exit", r.returncode, "expected", expect, r.stdout, r.stderr)
        return r.stdout + r.stderr

    def install(self, packages):
        for package in packages:
            self.copy.put(package, f"/root/{package.name}", 0o644)
        names = [f"/root/{package.name}" for package in packages]
        said = self.run("dpkg", "--install", *names)
        self.run("rm", *names)
        return said

    def image_has(self, name):
        listed = self.run("lsinitramfs", "/" + str(self.image.relative_to(self.copy.root)))
        return name in listed.split()

    def enabled(self):
        return sorted(str(p) for p in (self.copy.root / "etc/systemd/system").rglob("autologger*"))


def leftovers(machine, before):
    new = machine.copy.files() - before
    return sorted(p for p in new if not p.startswith(BOOKS))


def quiet_until_asked(machine):
    """Installed, and nothing runs at the next boot."""
    check(not machine.enabled(), "enabled by being installed:", machine.enabled())
    check(not (machine.copy.root / SNAPSHOT).exists(), "there is a snapshot")
    check(not machine.image_has("usr/sbin/autologger-early"), "the early program is in the image")
    check(machine.image_has("scripts/init-top/autologger"), "the image was not built again")


def use(machine):
    check("0.1" in machine.run("autologger", "--version"), "--version")
    check("boot-cpu" in machine.run("autologger", "profiles"), "profiles")
    check("CSwitch" in machine.run("autologger", "check", "/usr/share/autologger/examples/first-boot.ini", expect=None), "check")
    machine.run("autologger", "import", "/usr/share/autologger/examples/service.ini")
    check("Autologger" in machine.run("autologger", "export"), "export")
    machine.copy.write("/root/a.ini", "[Autologger/web]\n")
    machine.run("autologger", "rehearse", "/root/a.ini", "--for", "1", "--out", "/root/out")
    machine.run("rm", "-r", "/root/a.ini", "/root/out")


def main():
    packages = build()
    try:
        root = debian.base()
    except Missing as e:
        skip(e)
    with tempfile.TemporaryDirectory(prefix="al-packages-") as folder, overlay.Overlay(folder, root) as copy:
        machine = Machine(copy)
        machine.install(needs())
        before = copy.files()
        said = machine.install(packages)
        check("update-initramfs: Generating" in said, "installing built no image:", said)
        quiet_until_asked(machine)
        use(machine)
        machine.install(packages)  # an upgrade to itself
        said = machine.run("dpkg", "--remove", *reversed(PACKAGES))
        check("update-initramfs: Generating" in said, "removing built no image:", said)
        check(not machine.image_has("scripts/init-top/autologger"), "the script is in the image still")
        for how in ("removed", "purged"):
            left = leftovers(machine, before)
            check(all(p.startswith(STAYS) for p in left), how, "and still there:", left)
            check(not machine.enabled(), how, "and enabled:", machine.enabled())
            machine.run("dpkg", "--purge", *reversed(PACKAGES))
        check((copy.root / STAYS[0]).exists(), "the store is gone")


main()
