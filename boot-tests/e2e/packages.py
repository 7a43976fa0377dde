"""The Debian packages: built, checked by lintian, installed into a fresh Debian root, used, installed again, removed, purged; then installed,
applied, booted under QEMU, captured, purged: no file is left but the traces (D-83). After the boot that was asked for once, its parts are put back
(D-82). Nothing needs libxml2 (D-89).
Full tier only (AL_FULL=1): building takes a minute, the root some more the first time."""
import os
import pathlib
import re
import subprocess
import tempfile

from harness import FULL, SOURCE, check, skip, tool

import overlay

if not FULL:
    skip("the packages are built and installed by the full tier: tools/check --full")
overlay.enter()
import debian_root  # noqa: E402
from debian_root import EARLY, SNAPSHOT, STORE, Machine  # noqa: E402

OUT = pathlib.Path(SOURCE, "build/deb")
PACKAGES = ["libautologger0", "libautologger-trace0", "libautologger-dev", "autologger", "autologger-initramfs"]
NEEDS = ["libfwnt1", "libiniparser1", "libsqlite3-0", "libyajl2", "libelf1", "libdw1", "libprotobuf-c1"]
LOGS = "var/log/autologger/"
STAYS = {"removed": (STORE, LOGS), "purged": (LOGS,)}
# files of dpkg, ldconfig and update-initramfs themselves; the image is judged by its contents
BOOKS = ("var/lib/dpkg/", "var/log/dpkg.log", "var/log/alternatives.log", "var/log/apt/", "etc/ld.so.cache", "var/cache/ldconfig/",
         "var/lib/initramfs-tools/", "boot/initrd.img", "var/lib/systemd/deb-systemd-helper",
         "etc/group-", "etc/gshadow-", "etc/passwd-", "etc/shadow-", "etc/.pwd.lock")  # addgroup's, adduser's


def build():
    r = subprocess.run([os.path.join(SOURCE, "tools/make-deb"), "--lintian"], capture_output=True, text=True, timeout=900)
    if "missing" in r.stderr:
        skip(r.stderr.strip())
    check(r.returncode == 0, "make-deb:", r.stdout, r.stderr)
    told = re.findall(r"make-deb: (\d+) s, dh_auto_build, files (\d+)/(\d+)", r.stderr)
    check(len(told) > 1 and int(told[-1][1]) > int(told[0][1]), "minutes without a sign:", r.stderr)
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


def install(machine, packages):
    for package in packages:
        machine.tree.put(package, f"/root/{package.name}", 0o644)
    names = [f"/root/{package.name}" for package in packages]
    said = machine.run("dpkg", "--install", *names)
    machine.run("rm", *names)
    return said


def remove(machine):
    said = machine.run("dpkg", "--remove", *reversed(PACKAGES))
    check("update-initramfs: Generating" in said, "removing built no image:", said)
    check(not machine.image_has("scripts/init-top/autologger"), "the script is in the image still")


def leftovers(machine, before):
    new = machine.tree.files() - before
    return sorted(p for p in new if not p.startswith(BOOKS))


def quiet_until_asked(machine):
    """Once installed, nothing runs at the next boot."""
    check(not machine.enabled(), "enabled by being installed:", machine.enabled())
    check(not (machine.tree.root / SNAPSHOT).exists(), "there is a snapshot")
    check(not machine.image_has(EARLY), "the early program is in the image")
    check(machine.image_has("scripts/init-top/autologger"), "the image was not built again")


def use(machine):
    check("0.1" in machine.run("autologger", "--version"), "--version")
    check("boot-cpu" in machine.run("autologger", "profiles"), "profiles")
    check("CSwitch" in machine.run("autologger", "check", "/usr/share/autologger/examples/first-boot.ini", expect=None), "check")
    machine.run("autologger", "import", "/usr/share/autologger/examples/service.ini")
    check("Autologger" in machine.run("autologger", "export"), "export")
    machine.tree.write("/root/x.man", "<instrumentationManifest/>\n")
    said = machine.run("autologger", "manifest", "check", "/root/x.man", expect=None)
    check("Do: apt-get install libxml2" in said, "XML without libxml2:", said)
    machine.run("rm", "/root/x.man")
    machine.tree.write("/root/a.ini", "[Autologger/web]\n")
    machine.run("autologger", "rehearse", "/root/a.ini", "--for", "1", "--out", "/root/out")
    machine.run("rm", "-r", "/root/a.ini", "/root/out")


def without_a_boot(machine, packages):
    """Installed, used, installed again, removed, purged: every file is accounted for."""
    before = machine.tree.files()
    said = install(machine, packages)
    check("update-initramfs: Generating" in said, "installing built no image:", said)
    quiet_until_asked(machine)
    check(machine.run("stat", "-c", "%A %G", "/var/log/autologger").split() == ["drwxr-s---", "autologger"], "the log folder's group")
    use(machine)
    install(machine, packages)  # an upgrade to itself
    remove(machine)
    for how in ("removed", "purged"):
        left = leftovers(machine, before)
        check(all(p.startswith(STAYS[how]) for p in left), how, "and still there:", left)
        check((machine.tree.root / STORE).exists() == (how == "removed"), how, "the store:", left)
        check(not machine.enabled(), how, "and enabled:", machine.enabled())
        machine.run("dpkg", "--purge", *reversed(PACKAGES))
    check(not machine.run("getent", "group", "autologger", expect=None), "purged without a trace, and the group is there")


def with_a_boot(image, mounted, packages):
    with overlay.Image(image, mounted) as tree:
        machine = Machine(tree)
        install(machine, packages)
        machine.ends_by_itself()
        tool("apply", "boot", "--root", mounted, timeout=600)
        machine.prepared()
    serial = debian_root.boot(image, mounted)
    with overlay.Image(image, mounted) as tree:
        machine = Machine(tree)
        print(debian_root.captured(machine, serial))
        check(not machine.enabled() and not machine.image_has(EARLY), "one boot was asked for, and it is over:", machine.enabled())
        remove(machine)
        said = machine.run("dpkg", "--purge", *reversed(PACKAGES))
        check("file(s) stay in /var/log/autologger" in said, "the traces stay, and it is not said:", said)
        left = sorted(p for p in tree.files() if "autologger" in p and not p.startswith(STAYS["purged"] + BOOKS))
        check(not left, "after a boot, purged, and still there:", left)


def main():
    packages = build()
    with tempfile.TemporaryDirectory(prefix="al-packages-") as folder:
        image, mounted = debian_root.make(folder)
        with overlay.Image(image, mounted) as tree:
            machine = Machine(tree)
            install(machine, needs())
            without_a_boot(machine, packages)
        with_a_boot(image, mounted, packages)


main()
