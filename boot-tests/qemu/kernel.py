"""Debian's kernels, unpacked below the cache without being installed: that of this machine's release, the newer one of its backports, and an old one
(OLD), for running the same scenarios again."""
import os
import re
import shutil

from qemu.places import CACHE, Failed, Missing, need, run, suite

META = "linux-image-cloud-amd64"  # NVMe and ext4 are built in: no module is needed to reach the root
KINDS = ("stable", "backports", "old")
OLD = "bullseye"  # Linux 5.10
# The newer kernel's 16-byte compare-and-swap in its allocator, under QEMU 7.2's multi-threaded emulation: 3 of 9 boots ended with a fault.
CPU = {"stable": "", "backports": "max,cx16=off", "old": ""}


def _folder(kind):
    return CACHE / ("kernels" if kind == "stable" else f"kernels-{kind}")


def _release(kind):
    return OLD if kind == "old" else f"{suite()}-{kind}"


def _apt(kind):
    """apt's options: for other releases a configuration of its own, so that this machine's stays unchanged."""
    if kind == "stable":
        return []
    place = CACHE / f"apt-{kind}"
    for name in ("lists/partial", "cache/archives/partial"):
        (place / name).mkdir(parents=True, exist_ok=True)
    (place / "list").write_text("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] "
                                f"http://deb.debian.org/debian {_release(kind)} main\n")
    words = ["-o", f"Dir::Etc::sourcelist={place}/list", "-o", "Dir::Etc::sourceparts=-", "-o", f"Dir::State::lists={place}/lists",
             "-o", f"Dir::Cache={place}/cache", "-o", "APT::Update::Post-Invoke=", "-o", "APT::Update::Post-Invoke-Success="]
    try:
        run(need("apt-get", "apt"), "-q", *words, "update")
    except Failed as e:
        raise Missing(f"the package lists of {_release(kind)} could not be fetched: {str(e).splitlines()[-1]}") from e
    return words


def _package_name(apt):
    """The name of the newest cloud kernel's package."""
    need("apt-cache", "apt")
    found = re.search(r"Depends: (linux-image-[\w.+-]*cloud-amd64)", run("apt-cache", *apt, "depends", META, check=False).stdout)
    if not found:
        raise Missing(f"the package lists do not name {META}. Do: apt-get update")
    return found.group(1)


def unpacked(kind):
    """The folders of the kernels in the cache, newest last."""
    return sorted(p for p in _folder(kind).glob("linux-image-*") if list(p.glob("boot/vmlinuz-*")))


def fetch(kind="stable"):
    """The folder of the unpacked kernel, downloaded if it is not in the cache."""
    have = unpacked(kind)
    if have:
        return have[-1]
    apt = _apt(kind)
    name = _package_name(apt)
    work = _folder(kind) / (name + ".new")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        run("apt-get", "-q", *apt, "download", name, cwd=work)
    except Failed as e:
        raise Missing(f"the kernel {name} could not be downloaded: {str(e).splitlines()[-1]}") from e
    package = next(work.glob("*.deb"))
    run(need("dpkg-deb", "dpkg"), "-x", package, work)
    final = _folder(kind) / name
    shutil.copy(package, _folder(kind))  # a root with this package installed needs the package itself
    package.unlink()
    os.rename(work, final)
    return final


def image(kind="stable"):
    """The kernel's own file, as QEMU wants it."""
    return next(fetch(kind).glob("boot/vmlinuz-*"))


def _headers_folder(release, place):
    """The unpacked folder for `make -C`. Its Makefile names the common one by the path where the package would lie."""
    folder = place / "usr/src" / f"linux-headers-{release}"
    makefile = folder / "Makefile"
    makefile.write_text(re.sub(r"include \S*?/(linux-headers-[\w.+-]+-common/Makefile)", rf"include {place}/usr/src/\1", makefile.read_text()))
    return folder


def headers(kind="stable"):
    """The headers of the cached kernel, unpacked beside it. Missing, with the reason, where they cannot be had: they must be of the same build."""
    release = image(kind).name.removeprefix("vmlinuz-")
    place = _folder(kind) / f"headers-{release}"
    if place.exists():
        return _headers_folder(release, place)
    apt, work = _apt(kind), place.with_name(place.name + ".new")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    first = f"linux-headers-{release}"
    said = run("apt-cache", *apt, "depends", first, check=False).stdout
    names = [first, *re.findall(r"Depends: (linux-headers-[\w.+-]+-common|linux-kbuild-[\w.+-]+)", said)]
    if len(names) != 3:
        raise Missing(f"the package lists do not have {first}, the headers of the cached kernel. Do: apt-get update; or remove {_folder(kind)}")
    try:
        run("apt-get", "-q", *apt, "download", *names, cwd=work)
    except Failed as e:
        raise Missing(f"{first} could not be downloaded: {str(e).splitlines()[-1]}") from e
    for package in work.glob("*.deb"):
        run(need("dpkg-deb", "dpkg"), "-x", package, work)
        package.unlink()
    os.rename(work, place)
    return _headers_folder(release, place)


def build_module(source, work, kind="stable"):
    """The .ko files that Kbuild makes from a copy of the folder `source`, for that kernel, with the compiler that its headers name."""
    folder = headers(kind)
    found = re.search(r"gcc-\d+", (folder / ".kernelvariables").read_text())
    need(found.group(0) if found else "gcc", found.group(0) if found else "gcc")
    shutil.copytree(source, work)
    run(need("make", "make"), "-C", work, f"KERNEL={folder}", "CONFIG_DEBUG_INFO_BTF_MODULES=")  # types for BPF would need pahole
    return sorted(work.glob("*.ko"))


def package_file(kind="stable"):
    fetch(kind)
    return sorted(_folder(kind).glob("linux-image-*.deb"))[-1]
