"""Files for the guests' file systems: programs of this build with the libraries they need, busybox, the guest's scripts."""
import lzma
import pathlib
import re
import shutil

from qemu import kernel
from qemu.places import BUILD, CACHE, GUEST, SOURCE, Missing, built, need, run

LIBRARIES = "usr/lib/x86_64-linux-gnu"
PROGRAMS = {"autologger": "usr/bin/autologger", "autologgerd": "usr/sbin/autologgerd", "autologger-calm": "usr/lib/autologger/autologger-calm",
            "autologger-demo": "usr/bin/autologger-demo", "autologger-unwind": "usr/lib/autologger/autologger-unwind",
            "event_writer": "usr/bin/event_writer", "cpu_burst": "usr/bin/cpu_burst", "socket_work": "usr/bin/socket_work"}


def install(source, target, mode=None):
    """Copies one file, with the folders above it. A link of that name is replaced, never followed: it may lead out of the tree."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    shutil.copyfile(source, target)
    target.chmod(mode if mode is not None else pathlib.Path(source).stat().st_mode & 0o777)


def libraries(program):
    """(the loader's path for it, its file here) of every library that the program needs."""
    said = run(need("ldd", "libc-bin"), program, check=False).stdout
    for line in said.splitlines():
        found = re.match(r"\s*(?:(\S+) => )?(/\S+) \(0x", line)
        if found and found.group(1):
            yield f"{LIBRARIES}/{found.group(1)}", found.group(2)
        elif found:
            yield found.group(2).lstrip("/"), found.group(2)  # the loader itself, at its fixed place
        elif "not found" in line:
            raise Missing(f"{program}: {line.strip()}")


def copy_program(program, tree, place):
    install(program, tree / place, 0o755)
    for name, source in libraries(program):
        if not (tree / name).exists():
            install(source, tree / name, 0o755)


def program_of(name):
    """A program of this build by its bare name."""
    inner = BUILD / "tests" / name
    return inner if inner.exists() else built(name)


def busybox(tree):
    """busybox with a name for each of its programs, in the merged /usr layout of Debian."""
    program = need("busybox", "busybox-static")
    if list(libraries(program)):
        raise Missing(f"{program} is not static. Do: apt-get install --no-install-recommends busybox-static")
    for name in ("usr/bin", "usr/sbin", LIBRARIES, "usr/lib64"):
        (tree / name).mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        (tree / name).symlink_to(f"usr/{name}")
    install(program, tree / "usr/bin/busybox", 0o755)
    for line in run(program, "--list-full").split():
        path = tree / "usr" / line.removeprefix("usr/")
        if path.parent.is_dir() and not path.exists() and path.name != "busybox":
            path.symlink_to("busybox" if path.parent.name == "bin" else "../bin/busybox")


def _module(name, kind):
    """A module's own file, and its place below lib/modules. Newer kernels pack their modules: they are unpacked beside the packed file."""
    top = kernel.fetch(kind) / "lib/modules"
    found = next(top.rglob(f"{name}.ko"), None)
    if not found:
        packed = next(top.rglob(f"{name}.ko.xz"))
        found = packed.with_suffix("")
        found.write_bytes(lzma.decompress(packed.read_bytes()))
    return found, found.relative_to(top)


def modules(tree, names, kind):
    """Puts modules of the guest's kernel where modprobe finds them, and under their bare names for insmod."""
    for name in names:
        source, where = _module(name, kind)
        release, place = where.parts[0], where.relative_to(where.parts[0])
        install(source, tree / "boot-test" / f"{name}.ko", 0o644)
        folder = tree / ("usr/lib" if (tree / "lib").is_symlink() else "lib") / "modules" / release
        if (folder / "modules.dep").exists() and (folder / "modules.builtin").exists():
            continue  # a distribution's root has its own lists
        install(source, folder / place, 0o644)
        with open(folder / "modules.dep", "a", encoding="utf-8") as f:
            f.write(f"{place}:\n")


def guest_files(tree, scenario):
    """The folder /boot-test: the scripts that every guest runs, this scenario's additions, and the clock."""
    folder = tree / "boot-test"
    folder.mkdir(parents=True, exist_ok=True)
    install(GUEST / "lib.sh", folder / "lib.sh")
    install(program_of("boot_mark"), folder / "mark", 0o755)
    (folder / "scenario").write_text(scenario.variables())
    (folder / "programs").write_text("".join(line + "\n" for line in scenario.run))
    install(GUEST / "workload", folder / "workload", 0o755)
    modules(tree, scenario.modules, scenario.kernel)
    if scenario.build_module:
        work = tree.with_name(tree.name + "-module")
        for path in (*kernel.build_module(SOURCE / scenario.build_module, work, scenario.kernel), *work.glob("*.ini")):
            install(path, folder / path.name, 0o644)
        shutil.rmtree(work)
    for place in (scenario.folder, scenario.folder.parent):
        if (place / "guest.sh").exists():
            install(place / "guest.sh", folder / "guest.sh")
            break
