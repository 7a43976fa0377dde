"""Disk images without mounts or loop devices: ext4 made from a folder, read back with debugfs."""
import pathlib
import subprocess

from qemu.places import Failed, need, run


def make(image, folder, megabytes, label="root", inodes=None):
    """An ext4 image of that size with the folder's contents (None: empty)."""
    pathlib.Path(image).unlink(missing_ok=True)
    source = ["-d", folder] if folder else []
    run(need("mke2fs", "e2fsprogs"), "-q", "-F", "-t", "ext4", "-L", label, "-m", "0", *(["-N", str(inodes)] if inodes else []), *source, image, f"{megabytes}M")


def copy(source, target):
    run("cp", "--sparse=always", source, target)


def _debugfs(image, *requests, write=False):
    """debugfs reports errors on its standard error, and exits 0 all the same."""
    script = "\n".join(requests) + "\n"
    r = subprocess.run([need("debugfs", "e2fsprogs"), *(["-w"] if write else []), "-f", "-", str(image)], capture_output=True,
                       text=True, input=script, errors="replace", timeout=300)
    wrong = [line for line in r.stderr.splitlines() if line and not line.startswith("debugfs ")]
    return r.stdout, wrong


def exists(image, path):
    out, wrong = _debugfs(image, f"stat {path}")
    return "Inode:" in out and not wrong


def extract(image, path, target):
    """Copies a folder of the image, with all below it, into the folder `target`; False when the image has no such folder."""
    if not exists(image, path):
        return False
    target = pathlib.Path(target)
    target.mkdir(parents=True, exist_ok=True)
    _, wrong = _debugfs(image, f"rdump {path} {target}")
    wrong = [line for line in wrong if "changing ownership" not in line]
    if wrong:
        raise Failed(f"reading {path} of {image}: {wrong[0]}")
    return True


def put(image, pairs):
    """Writes files of this machine into the image: (source, path in the image, octal mode)."""
    requests = []
    for source, path, mode in pairs:
        requests += [f"rm {path}", f"write {source} {path}", f"sif {path} mode 0100{mode:o}"]
    _, wrong = _debugfs(image, *requests, write=True)
    wrong = [line for line in wrong if not line.startswith("rm:")]
    if wrong:
        raise Failed(f"writing into {image}: {wrong[0]}")


def remove(image, path):
    """Takes one file out of the image, if it is there; the image must not need its journal."""
    if exists(image, path):
        _debugfs(image, f"rm {path}", write=True)


def state(image):
    """(clean, the words for it): was this file system unmounted in order?"""
    out = run(need("dumpe2fs", "e2fsprogs"), "-h", image)
    recovery = "needs_recovery" in out
    clean = next((line.split(":")[1].strip() for line in out.splitlines() if line.startswith("Filesystem state")), "unknown")
    return clean == "clean" and not recovery, clean + (", its journal needs recovery" if recovery else "")


def correct(image):
    """Corrects everything that a full check would find in a fresh image: a guest that checks it would have to boot again."""
    r = run(need("e2fsck", "e2fsprogs"), "-f", "-y", image, check=False)
    if r.returncode & ~3:
        raise Failed(f"the file system of {image} cannot be corrected: {r.stdout[-500:]}{r.stderr[-500:]}")


def replay(image):
    """Brings an image to the state that the next mount would find. The tool's exit code 1 means that it corrected something."""
    r = run(need("e2fsck", "e2fsprogs"), "-p", image, check=False)
    if r.returncode > 1:
        raise Failed(f"the file system of {image} is damaged: {r.stdout[-500:]}{r.stderr[-500:]}")
