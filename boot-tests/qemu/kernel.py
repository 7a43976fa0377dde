"""Debian's kernels, unpacked below the cache without being installed."""
import os
import re
import shutil

from qemu.places import CACHE, Failed, Missing, need, run

META = "linux-image-cloud-amd64"  # NVMe and ext4 are built in: no module is needed to reach the root


def package_name():
    """The package that the newest cloud kernel of this distribution is in."""
    need("apt-cache", "apt")
    found = re.search(r"Depends: (linux-image-[\w.+-]*cloud-amd64)", run("apt-cache", "depends", META, check=False).stdout)
    if not found:
        raise Missing(f"the package lists do not name {META}. Do: apt-get update")
    return found.group(1)


def unpacked():
    """The folders of the kernels that the cache already has, newest last."""
    return sorted(p for p in (CACHE / "kernels").glob("linux-image-*") if list(p.glob("boot/vmlinuz-*")))


def fetch():
    """The folder of the unpacked kernel, downloaded when the cache has none."""
    have = unpacked()
    if have:
        return have[-1]
    name = package_name()
    work = CACHE / "kernels" / (name + ".new")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        run("apt-get", "-q", "download", name, cwd=work)
    except Failed as e:
        raise Missing(f"the kernel {name} could not be downloaded: {str(e).splitlines()[-1]}") from e
    package = next(work.glob("*.deb"))
    run(need("dpkg-deb", "dpkg"), "-x", package, work)
    final = CACHE / "kernels" / name
    shutil.copy(package, CACHE / "kernels")  # a root that has the package installed wants the package itself
    package.unlink()
    os.rename(work, final)
    return final


def image():
    """The kernel's own file, as QEMU wants it."""
    return next(fetch().glob("boot/vmlinuz-*"))


def package_file():
    fetch()
    return sorted((CACHE / "kernels").glob("linux-image-*.deb"))[-1]
