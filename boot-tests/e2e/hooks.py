"""The files for an initramfs and for systemd: every shell script by shellcheck and in busybox's shell, the units by systemd, the hooks by real builds
of images by initramfs-tools and dracut. Tools missing on this machine are named; without any: skipped."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import overlay
from harness import SOURCE, check, skip

overlay.enter()
CONFIG = pathlib.Path(SOURCE) / "config"
EARLY, SNAPSHOT = "usr/sbin/autologger-early", "var/lib/autologger/boot.snapshot"
STARTED = "started-by-the-script"
missing, done = [], []


def shell_scripts():
    found = [CONFIG / "initramfs-tools/hook", CONFIG / "initramfs-tools/init-top", *sorted((CONFIG / "dracut").glob("*/*.sh")),
             CONFIG / "completion/autologger", *sorted(pathlib.Path(SOURCE, "tools").glob("make-*")),
             *sorted(pathlib.Path(SOURCE, "debian").glob("autologger.p*"))]
    check(len(found) >= 10, "the scripts are not where they were")
    return found


def shellcheck():
    if not shutil.which("shellcheck"):
        return missing.append("shellcheck")
    for script in shell_scripts():
        r = subprocess.run(["shellcheck", "-e", "SC1091", str(script)], capture_output=True, text=True)
        check(r.returncode == 0, r.stdout, r.stderr)
    return done.append("shellcheck")


# ---- the init-top script, in busybox's shell, with an early program that leaves a file

def small_root(work, name, early="#!/bin/sh\necho \"$@\" >/started-by-the-script\n", snapshot="sealed", words="quiet", vmcore=False):
    tree = pathlib.Path(work) / name
    for folder in ("bin", "proc", "dev", "usr/sbin", "var/lib/autologger"):
        (tree / folder).mkdir(parents=True)
    shutil.copy(shutil.which("busybox"), tree / "bin/busybox")
    for program in ("sh", "cat", "sleep", "echo"):
        (tree / "bin" / program).symlink_to("busybox")
    os.mknod(tree / "dev/null", 0o020666, os.makedev(1, 3))
    (tree / "proc/cmdline").write_text(words)  # without an end of line, as a hostile case
    if vmcore:
        (tree / "proc/vmcore").touch()
    if early is not None:
        (tree / EARLY).write_text(early)
        (tree / EARLY).chmod(0o755)
    if snapshot is not None:
        (tree / SNAPSHOT).write_text(snapshot)
    for script in ("initramfs-tools/init-top", "dracut/90autologger/autologger.sh"):
        shutil.copy(CONFIG / script, tree / pathlib.Path(script).name)
    return tree


def start_of(tree, command):
    """(exit code, seconds, the early program's arguments or None)"""
    begin = time.monotonic()
    r = subprocess.run(["chroot", str(tree), "/bin/sh", *command], stdin=subprocess.DEVNULL, timeout=20, capture_output=True, text=True)
    took, end = time.monotonic() - begin, time.monotonic() + 0.3
    check(r.stdout + r.stderr == "" or command[-1] == "prereqs", command, "said", r.stdout, r.stderr)
    while time.monotonic() < end and not (tree / STARTED).exists():
        time.sleep(0.02)
    time.sleep(0.02)
    return r.returncode, took, (tree / STARTED).read_text().strip() if (tree / STARTED).exists() else None


def scripts_in_busybox(work):
    static = shutil.which("busybox")
    if not static or b"interpreter" in subprocess.run(["ldd", static], capture_output=True).stdout or \
            subprocess.run(["ldd", static], capture_output=True).returncode == 0:
        return missing.append("busybox-static")
    cases = [("plain", {}, "start"), ("with words", {"words": "root=/dev/sda1 ro autologger=kernel\n"}, "start"),
             ("off", {"words": "root=/dev/sda1 autologger=off quiet\n"}, None), ("off, last word", {"words": "a autologger=off"}, None),
             ("not the word off", {"words": "xautologger=off autologger=offline\n"}, "start"),
             ("a crash kernel", {"vmcore": True}, None), ("no snapshot", {"snapshot": None}, None),
             ("an empty snapshot", {"snapshot": ""}, None), ("no program", {"early": None}, None),
             ("a program that cannot run", {"early": "no program\0"}, None),
             ("a program that fails", {"early": "#!/bin/sh\necho \"$@\" >/started-by-the-script\nexit 3\n"}, "start"),
             ("a program that hangs", {"early": "#!/bin/sh\necho \"$@\" >/started-by-the-script\nsleep 4\n"}, "start")]
    # dracut's process 1 sources the file: it must survive it
    for kind, command in (("init-top", ["/init-top"]), ("dracut", ["-c", ". /autologger.sh; exit 7"])):
        for name, how, wanted in cases:
            code, took, got = start_of(small_root(work, f"{kind} {name}", **how), command)
            check(got == wanted, f"{kind}, {name}: the early program got", got, "wanted", wanted)
            check(code == (7 if kind == "dracut" else 0), f"{kind}, {name}: exit", code)
            check(took < 2, f"{kind}, {name}: the boot was held up for {took:.1f} s")
    code, _, got = start_of(small_root(work, "prereqs"), ["/init-top", "prereqs"])
    check(code == 0 and got is None, "prereqs", code, got)
    return done.append(f"{2 * len(cases)} starts in busybox's shell")


# ---- systemd's own opinion

def units(machine):
    if not machine.has("systemd-analyze"):
        return missing.append("systemd")
    names = sorted(p.name for p in (CONFIG / "systemd").iterdir())
    for name in names:
        machine.put(CONFIG / "systemd" / name, f"/usr/lib/systemd/system/{name}")
    for program in ("usr/sbin/autologgerd", EARLY, "usr/bin/autologger", "usr/lib/autologger/autologger-calm"):
        machine.put("/bin/true", program, 0o755)
    r = machine.run("systemd-analyze", "verify", "--man=no", *names)
    check(r.returncode == 0 and r.stderr + r.stdout == "", r.stdout, r.stderr)
    machine.write("/usr/lib/systemd/system/al-wrong.service", "[Service]\nExecStart=/usr/sbin/autologgerd\nKillMoode=mixed\n")
    r = machine.run("systemd-analyze", "verify", "--man=no", "al-wrong.service")
    check("KillMoode" in r.stderr, "a wrong unit is not noticed:", r.stdout, r.stderr)
    return done.append(f"{len(names)} units")


# ---- real images

def prepare(machine, snapshot):
    machine.put("/bin/true", EARLY, 0o755)
    (machine.root / SNAPSHOT).unlink(missing_ok=True)
    if snapshot:
        machine.write(SNAPSHOT, "sealed")


def initramfs_tools(machine):
    if not machine.has("mkinitramfs"):
        return missing.append("initramfs-tools-core")
    machine.put(CONFIG / "initramfs-tools/hook", "/usr/share/initramfs-tools/hooks/autologger", 0o755)
    machine.put(CONFIG / "initramfs-tools/init-top", "/usr/share/initramfs-tools/scripts/init-top/autologger", 0o755)
    version = "6.1.0-test"
    for name in ("modules.builtin", "modules.order", "modules.builtin.modinfo"):
        machine.write(f"/usr/lib/modules/{version}/{name}", "")
    machine.write(f"/boot/config-{version}", "CONFIG_RD_GZIP=y\n")
    for snapshot in (True, False):
        prepare(machine, snapshot)
        r = machine.run("mkinitramfs", "-o", "/tmp/image", version)
        check(r.returncode == 0, "mkinitramfs:", r.stdout, r.stderr)
        shutil.rmtree(machine.root / "tmp/unpacked", ignore_errors=True)
        check(machine.run("unmkinitramfs", "/tmp/image", "/tmp/unpacked").returncode == 0, "unmkinitramfs")
        inside = machine.root / "tmp/unpacked"
        inside = inside / "main" if (inside / "main").is_dir() else inside
        check((inside / SNAPSHOT).is_file() == snapshot and (inside / EARLY).is_file() == snapshot, "what is in the image", snapshot)
        check((inside / "usr/sbin/autologger-init").is_symlink() == snapshot, "the name for rdinit=")
        order = [line.split()[0] for line in (inside / "scripts/init-top/ORDER").read_text().splitlines() if line.startswith("/")]
        check("/scripts/init-top/autologger" in order[:2], "the script is not among the first two:", order)
        if "/scripts/init-top/udev" in order:
            check(order.index("/scripts/init-top/autologger") < order.index("/scripts/init-top/udev"), "after udev:", order)
    return done.append("initramfs-tools images")


def dracut(machine):
    if not machine.has("dracut"):
        return missing.append("dracut-core")
    for path in (CONFIG / "dracut/90autologger").iterdir():
        machine.put(path, f"/usr/lib/dracut/modules.d/90autologger/{path.name}")
    machine.put(CONFIG / "systemd/autologger-early.service", "/usr/lib/systemd/system/autologger-early.service")
    for snapshot, modules in ((True, "systemd base"), (True, "base"), (False, "base")):
        prepare(machine, snapshot)
        r = machine.run("dracut", "--force", "--no-kernel", "--no-hostonly", "--no-compress", "-m", modules + " autologger", "/tmp/image")
        if not snapshot:  # dracut fails for a module that is asked for by name and refuses; without a request it only leaves the module out
            check("'autologger' cannot be found or installed" in r.stdout + r.stderr, "dracut:", r.stdout, r.stderr)
            continue
        check(r.returncode == 0, "dracut:", r.stdout, r.stderr)
        listed = machine.run("lsinitrd", "/tmp/image").stdout
        check(f" {EARLY}\n" in listed and f" {SNAPSHOT}\n" in listed, "what is in the image:", listed)
        wanted = "sysinit.target.wants/autologger-early.service" in listed
        hooked = "hooks/cmdline/00-autologger.sh" in listed
        check(wanted == ("systemd" in modules) and hooked == ("systemd" not in modules), modules, listed)
    return done.append("dracut images")


with tempfile.TemporaryDirectory(prefix="al-hooks-") as folder:
    small, big = os.path.join(folder, "small"), os.path.join(folder, "big")
    os.mkdir(small)
    os.mkdir(big)
    shellcheck()
    scripts_in_busybox(small)
    with overlay.Overlay(big) as copy:
        units(copy)
        initramfs_tools(copy)
        dracut(copy)
if not done:
    skip("missing: " + ", ".join(missing))
print("checked:", "; ".join(done))
if missing:
    print("not checked for want of:", ", ".join(missing))
