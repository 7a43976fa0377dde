"""A copy of a file system that accepts every change and discards it: for tests of files in fixed places. Needs root. The whole test enters mount
namespaces of its own: whatever happens, nothing stays mounted."""
import os
import pathlib
import shutil
import subprocess
import sys

from harness import skip


def enter():
    """Call first: restarts this test in a mount namespace of its own, and returns there."""
    if os.getuid() != 0:
        skip("a file system of one's own needs root")
    if os.environ.get("AL_OWN_MOUNTS") != "1":
        env = dict(os.environ, AL_OWN_MOUNTS="1")
        sys.exit(subprocess.run(["unshare", "--mount", "--propagation", "private", sys.executable, sys.argv[0]], env=env).returncode)


class Tree:
    """A root folder `root` in which programs can be run."""

    def put(self, source, place, mode=None):
        target = self.root / place.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
        os.chmod(target, mode if mode is not None else os.stat(source).st_mode & 0o777)

    def write(self, place, text, mode=0o644):
        target = self.root / place.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(mode)

    def has(self, program):
        return shutil.which(program, path=":".join(f"{self.root}{d}" for d in ("/usr/bin", "/usr/sbin", "/bin", "/sbin"))) is not None

    def run(self, *command, env=None, timeout=300):
        return subprocess.run(["chroot", str(self.root), *command], capture_output=True, text=True, env=env, timeout=timeout,
                              stdin=subprocess.DEVNULL)

    def files(self):
        """Every path that is not a folder."""
        found = set()
        for folder, folders, names in os.walk(self.root):
            if pathlib.Path(folder) == self.root:
                folders[:] = [name for name in folders if name not in ("proc", "sys", "dev")]
            found |= {os.path.relpath(os.path.join(folder, name), self.root) for name in names}
            found |= {os.path.relpath(os.path.join(folder, name), self.root) for name in folders
                      if os.path.islink(os.path.join(folder, name))}
        return found

    def _mount_inner(self):
        subprocess.run(["mount", "-t", "proc", "proc", str(self.root / "proc")], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "dev", str(self.root / "dev")], check=True)
        os.mknod(self.root / "dev/null", 0o020666, os.makedev(1, 3))
        os.chmod(self.root / "dev/null", 0o666)
        (self.root / "dev/fd").symlink_to("/proc/self/fd")


class Overlay(Tree):
    """`/` of this machine below self.root; changes go to memory. `with` unmounts it."""

    def __init__(self, work):
        self.work = pathlib.Path(work)
        subprocess.run(["mount", "-t", "tmpfs", "overlay", str(self.work)], check=True)
        for name in ("upper", "inner", "root"):
            (self.work / name).mkdir()
        self.root = self.work / "root"
        layers = f"lowerdir=/,upperdir={self.work / 'upper'},workdir={self.work / 'inner'}"
        if subprocess.run(["mount", "-t", "overlay", "overlay", "-o", layers, str(self.root)]).returncode:
            skip("this kernel gives no overlay of its root")
        self._mount_inner()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "--recursive", "--lazy", str(self.work)], check=True)


class Image(Tree):
    """The contents of a disk image. `with` mounts it at the folder `work`."""

    def __init__(self, image, work):
        self.image, self.root = image, pathlib.Path(work)

    def __enter__(self):
        if subprocess.run(["mount", "-o", "loop", str(self.image), str(self.root)]).returncode:
            skip("a disk image cannot be mounted here")
        self._mount_inner()
        return self

    def __exit__(self, *_):
        for place in ("dev", "proc", ""):
            subprocess.run(["umount", str(self.root / place)], check=True)
