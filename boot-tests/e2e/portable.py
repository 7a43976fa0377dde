"""The portable program: built, static, and at work in a root that holds only itself, a shell and tar. Full tier: on a Debian without autologger:
applied, booted under QEMU, bundled, cleaned; then nothing of it is left.
Proves: CTL-15."""
import os
import pathlib
import shutil
import subprocess
import tempfile

from harness import FULL, SOURCE, check, skip

import overlay

overlay.enter()
CONFIGURATION = "[Autologger/web]\nBufferSize = 64 KB\n[Autologger/web/Contoso-Web]\n"
SETTINGS = "LC_ALL=C.UTF-8 PATH=/bin HOME=/".split()


def build():
    r = subprocess.run([os.path.join(SOURCE, "tools/make-portable")], capture_output=True, text=True, timeout=900)
    if r.returncode == 111 and "libyajl_s" in r.stdout:
        skip("static libraries are missing")
    check(r.returncode == 0, "make-portable:", r.stdout, r.stderr)
    program = pathlib.Path(SOURCE, "build/autologger-portable")
    check(program.stat().st_size < 9 << 20, "it has grown to", program.stat().st_size)
    return program


def files_of(tree):
    found = set()
    for folder, folders, names in os.walk(tree):
        if pathlib.Path(folder) == tree:
            folders.remove("proc")
        found |= {os.path.join(folder, name) for name in names}
    return found


def empty_root(work, program):
    busybox = shutil.which("busybox") or skip("busybox is missing")
    for name in ("bin", "proc", "dev", "tmp", "sys", "run", "anywhere"):
        (work / name).mkdir()
    shutil.copy(busybox, work / "bin/busybox")
    for name in ("sh", "tar", "true", "ls"):
        (work / "bin" / name).symlink_to("busybox")
    subprocess.run(["mount", "-t", "proc", "proc", str(work / "proc")], check=True)
    os.mknod(work / "dev/null", 0o020666, os.makedev(1, 3))
    shutil.copy(program, work / "anywhere/autologger-portable")
    (work / "anywhere/a.ini").write_text(CONFIGURATION)


def alone(program):
    with tempfile.TemporaryDirectory(prefix="al-portable-") as folder:
        work = pathlib.Path(folder)

        def run(*words, expect=0):
            r = subprocess.run(["chroot", folder, "/bin/busybox", "env", "-i", *SETTINGS, "/bin/sh", "-c", 'cd /anywhere && exec "$@"', "sh",
                                "./autologger-portable", *words], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
            check(r.returncode == expect, words, "-> exit", r.returncode, r.stdout, r.stderr)
            return r.stdout

        try:
            empty_root(work, program)
            before = files_of(work)
            check(run("--version").startswith("autologger "), "--version")
            check("boot-cpu" in run("profiles"), "the profiles are not in it")
            check("web" in run("check", "a.ini"), "check")
            run("rehearse", "a.ini", "--for", "1", "--out", "/anywhere/out")
            trace = next((work / "anywhere/out").rglob("*.etl")).relative_to(work)
            check("web" in run("summary", f"/{trace}"), "summary")
            run("bundle", "--store", "/anywhere/out/rehearsal.db", "-o", "/anywhere/boot.tar")
            listed = subprocess.run(["tar", "-tf", work / "anywhere/boot.tar"], capture_output=True, text=True).stdout
            check("traces/" + trace.name in listed and "status.json" in listed, listed)
            shutil.rmtree(work / "anywhere/out")
            (work / "anywhere/boot.tar").unlink()
            check(files_of(work) == before, "it left something:", files_of(work) ^ before)
        finally:
            subprocess.run(["umount", "--lazy", str(work / "proc")])


# ---- a Debian without autologger: applied, booted, bundled, cleaned (full tier)

def renamed_kernel(machine):
    """apply looks for the running kernel's image: the root's kernel gets that name, too."""
    boot, modules = machine.tree.root / "boot", machine.tree.root / "usr/lib/modules"
    have = machine.image.name.removeprefix("initrd.img-")
    for name in ("vmlinuz", "config", "System.map"):
        (boot / f"{name}-{have}").rename(boot / f"{name}-{os.uname().release}")
    (modules / have).rename(modules / os.uname().release)
    machine.image.unlink()
    machine.run("update-initramfs", "-c", "-k", os.uname().release)
    machine.image = boot / f"initrd.img-{os.uname().release}"


def in_image(machine):
    return "autologger" in machine.run("lsinitramfs", "/boot/" + machine.image.name)


def whole_cycle(program):
    import debian_root
    with tempfile.TemporaryDirectory(prefix="al-portable-") as folder:
        image, mounted = debian_root.make(folder)
        with overlay.Image(image, mounted) as tree:
            machine = debian_root.Machine(tree)
            renamed_kernel(machine)
            tree.put(program, "/root/autologger-portable", 0o755)
            machine.ends_by_itself()
            before = tree.files()
            machine.run("/root/autologger-portable", "apply", "no-such-profile", expect=1)
            check(tree.files() == before, "a failed apply left", tree.files() ^ before)
            machine.run("/root/autologger-portable", "apply", "boot")
            machine.prepared()
            machine.run("/root/autologger-portable", "clean")
            check(tree.files() == before and not in_image(machine), "clean left", tree.files() ^ before, in_image(machine))
            machine.run("/root/autologger-portable", "apply", "boot")
        serial = debian_root.boot(image, mounted)
        with overlay.Image(image, mounted) as tree:
            machine = debian_root.Machine(tree)
            print(debian_root.captured(machine, serial))
            machine.run("/root/autologger-portable", "bundle", "-o", "/root/boot.tar")
            listed = subprocess.run(["tar", "-tf", tree.root / "root/boot.tar"], capture_output=True, text=True).stdout
            check(".etl" in listed and "status.json" in listed and "configuration.reg" in listed, listed)
            machine.run("/root/autologger-portable", "clean")
            left = sorted(p for p in tree.files() - before if "autologger" in p)
            check(not left and not in_image(machine), "after a boot, cleaned, and still there:", left, in_image(machine))
            machine.run("/root/autologger-portable", "clean")  # twice is fine


made = build()
alone(made)
if FULL:
    whole_cycle(made)
