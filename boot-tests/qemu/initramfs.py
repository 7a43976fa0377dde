"""A small initramfs of our own (busybox, a script, the early program), packed without root rights."""
import gzip
import os
import pathlib
import stat

from qemu import payload
from qemu.places import CACHE, GUEST, run

DEVICES = {"dev/console": (5, 1), "dev/null": (1, 3)}


def _entry(name, mode, data=b"", device=(0, 0), number=0):
    head = [number, mode, 0, 0, 1, 0, len(data), 0, 0, device[0], device[1], len(name) + 1, 0]
    raw = b"070701" + "".join(f"{value:08x}" for value in head).encode() + name.encode() + b"\0"
    raw += b"\0" * (-len(raw) % 4)
    return raw + data + b"\0" * (-len(data) % 4)


def archive(folder):
    """The folder as a cpio archive in the kernel's "newc" form, with the two device nodes that the first process needs."""
    out, number = [], 1
    for path in sorted(pathlib.Path(folder).rglob("*")):
        info = path.lstat()
        name = str(path.relative_to(folder))
        data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if stat.S_ISREG(info.st_mode) else b""
        out.append(_entry(name, info.st_mode, data, number=number))
        number += 1
    for name, device in DEVICES.items():
        out.append(_entry(name, stat.S_IFCHR | 0o600, device=device, number=number))
        number += 1
    return b"".join(out) + _entry("TRAILER!!!", 0)


def pack(folder, target):
    pathlib.Path(target).write_bytes(gzip.compress(archive(folder), 1))


def early_files(tree, scenario):
    """What a package's hook puts into an image: the early program, its script, the sealed snapshot."""
    early = payload.early_program()
    if early and scenario.early:
        payload.copy_program(early, tree, "usr/sbin/autologger-early")


def make(scenario, work):
    """The busybox initramfs of a scenario, in the folder `work`."""
    tree = work / "initramfs"
    payload.busybox(tree)
    for name in ("dev", "proc", "sys", "run", "root", "tmp", "etc", "boot-test"):
        (tree / name).mkdir(exist_ok=True)
    payload.install(GUEST / "initramfs-init", tree / "init", 0o755)
    payload.guest_files(tree, scenario)
    early_files(tree, scenario)
    for name, source in scenario.files("initramfs"):
        payload.install(source, tree / name, 0o755)
    for name in scenario.early_programs:
        payload.copy_program(payload.program_of(name), tree, f"usr/bin/{name}")
    target = work / "initramfs.gz"
    pack(tree, target)
    return target
