"""A small initramfs of our own (busybox, a script, the early program), packed without root rights."""
import gzip
import os
import pathlib
import stat

from qemu import payload
from qemu.places import GUEST, SOURCE

DEVICES = {"dev/console": (5, 1), "dev/null": (1, 3)}


def _entry(name, mode, data=b"", device=(0, 0), number=0, owner=(0, 0)):
    head = [number, mode, *owner, 1, 0, len(data), 0, 0, device[0], device[1], len(name) + 1, 0]
    raw = b"070701" + "".join(f"{value:08x}" for value in head).encode() + name.encode() + b"\0"
    raw += b"\0" * (-len(raw) % 4)
    return raw + data + b"\0" * (-len(data) % 4)


def _tree(folder, prefix, out):
    for path in sorted(pathlib.Path(folder).rglob("*")):
        info = path.lstat()
        data = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if stat.S_ISREG(info.st_mode) else b""
        out.append(_entry(prefix + str(path.relative_to(folder)), info.st_mode, data, (os.major(info.st_rdev), os.minor(info.st_rdev)),
                          len(out) + 1, (info.st_uid, info.st_gid)))


def archive(folder, inner=None):
    """The folder as a cpio archive in the kernel's "newc" form, with the two device nodes that the first process needs.
    `inner`: a folder that becomes /newroot in it."""
    out = []
    _tree(folder, "", out)
    if inner:
        out.append(_entry("newroot", stat.S_IFDIR | 0o755, number=len(out) + 1))
        _tree(inner, "newroot/", out)
    for name, device in DEVICES.items():
        out.append(_entry(name, stat.S_IFCHR | 0o600, device=device, number=len(out) + 1))
    return b"".join(out) + _entry("TRAILER!!!", 0)


def early_files(tree, scenario, work):
    """The files that the package's hook puts into an image: the early program, its script, the sealed snapshot."""
    if scenario.early:
        payload.copy_program(payload.program_of("autologger-early"), tree, "usr/sbin/autologger-early")
    payload.install(SOURCE / "config/initramfs-tools/init-top", tree / "scripts/init-top/autologger", 0o755)
    if (work / "boot.snapshot").exists():
        payload.install(work / "boot.snapshot", tree / "var/lib/autologger/boot.snapshot", 0o600)


def make(scenario, work, root_tree=None):
    """The busybox initramfs of a scenario, in the folder `work`. root_tree: a root that is packed with it, and lives in memory."""
    tree = work / "initramfs"
    payload.busybox(tree)
    for name in ("dev", "proc", "sys", "run", "root", "tmp", "etc", "boot-test"):
        (tree / name).mkdir(exist_ok=True)
    payload.install(GUEST / "initramfs-init", tree / "init", 0o755)
    payload.guest_files(tree, scenario)
    early_files(tree, scenario, work)
    for name, source in scenario.files("initramfs"):
        payload.install(source, tree / name, 0o755)
    for name in scenario.early_programs:
        payload.copy_program(payload.program_of(name), tree, f"usr/bin/{name}")
    target = work / "initramfs.img"
    raw = archive(tree, root_tree)
    target.write_bytes(raw if root_tree else gzip.compress(raw, 1))
    return target
