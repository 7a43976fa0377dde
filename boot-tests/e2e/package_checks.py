"""The Debian packages, made from the release build's files: lintian finds no error, hardening-check and check_elf.py find each protection in each
program and library, and each package has the contents that its name promises. Nothing is installed: that is packages.py, of the full tier."""
import pathlib
import re
import subprocess

from harness import SOURCE, check, skip

PROGRAMS = {"autologger": ("/usr/bin/autologger", "/autologgerd"), "autologger-initramfs": ("autologger-early",), "libautologger0": ("libautologger.so.0",),
            "libautologger-trace0": ("libautologger-trace.so.0",), "libautologger-dev": ("/usr/include/",),
            "python3-autologger": ("dist-packages/autologger/__init__.py", "dist-packages/autologger/_events.abi3.so")}
r = subprocess.run([SOURCE + "/tools/make-deb", "--lintian", "--as-release"], capture_output=True, text=True, timeout=2500)
if "missing" in r.stderr and r.returncode == 111:
    skip(r.stderr.strip())
check(r.returncode == 0, "make-deb:", r.stdout, r.stderr)
check(not re.search(r"^E: ", r.stdout, re.M), "lintian:", r.stdout)
for name, has in PROGRAMS.items():
    package = next(pathlib.Path(SOURCE, "build/deb").glob(name + "_*.deb"))
    files = subprocess.run(["dpkg-deb", "--contents", package], capture_output=True, text=True, check=True).stdout
    for path in has:
        check(path in files, package.name, "has no", path, files)
print(re.findall(r"make-deb: .*", r.stderr)[-1:])
print("fine")
