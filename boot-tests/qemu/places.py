"""Where things are, how programs are run, and the two ways to give up: something is missing here, or something failed."""
import os
import pathlib
import re
import shutil
import subprocess

SOURCE = pathlib.Path(os.environ.get("AL_SOURCE_DIR") or pathlib.Path(__file__).parents[2]).resolve()
BUILD = pathlib.Path(os.environ.get("AL_BINARY_DIR") or SOURCE / "build" / "release").resolve()
CACHE = SOURCE / "build" / "boot"  # kernels, roots, packages: made once, never committed
SCENARIOS = SOURCE / "boot-tests" / "scenarios"
SLOW = SOURCE / "boot-tests" / "slow"
GUEST = SOURCE / "boot-tests" / "guest"


class Missing(Exception):
    """This machine lacks what a boot needs: the test is skipped, with this reason."""


class Stuck(Exception):
    """The emulated machine stands still: its kernel does not answer, though programs may run in it."""


class Failed(Exception):
    """An expectation does not hold."""


def run(*command, cwd=None, text=True, env=None, timeout=900, check=True, stdin=None):
    """A program's standard output; Failed with the end of its output when it fails."""
    r = subprocess.run([str(c) for c in command], capture_output=True, text=text, cwd=cwd, env=env, timeout=timeout,
                       input=stdin, stdin=None if stdin is not None else subprocess.DEVNULL)
    if check and r.returncode != 0:
        said = r.stdout + r.stderr if text else (r.stdout + r.stderr).decode(errors="replace")
        raise Failed(f"{' '.join(str(c) for c in command)}: exit {r.returncode}\n{said[-2000:]}")
    return r.stdout if check else r


def need(program, package):
    """The path of a program; Missing, with the Debian package, when it is not installed."""
    found = shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    if not found:
        raise Missing(f"{program} is not installed. Do: apt-get install --no-install-recommends {package}")
    return found


def built(name):
    """A program of this build."""
    path = BUILD / name
    if not path.exists():
        raise Missing(f"{path} is not built. Do: cmake --preset release && ninja -C build/release")
    return path


def tool(*args, check=True):
    """The autologger command of this build."""
    return run(built("autologger"), *args, check=check)


def suite():
    """The name of this machine's release of Debian."""
    found = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(), re.M)
    if not found:
        raise Missing("/etc/os-release names no suite of Debian")
    return found.group(1)
