"""Debian roots with systemd: made once with debootstrap, kept as folders, copied for each scenario. They need root rights.

base             minbase, systemd, udev, dbus, initramfs-tools and the kernel's package
dracut           the same with dracut in the place of initramfs-tools, its image with systemd as process 1"""
import os
import pathlib
import shutil

from qemu import disk, grub, kernel, payload
from qemu.places import BUILD, CACHE, GUEST, Failed, Missing, built, need, run, suite

PACKAGES = "systemd-sysv,udev,dbus,kmod,linux-base,busybox,zstd"
MACHINE_ID = "5d7a31c5c0de4b1f9a7b3c2d1e0f9a8b"  # else the first boot makes one, which takes ten seconds more
IMAGE_MB = 1200  # sparse
FOLDERS = CACHE / "roots"


ENVIRONMENT = "env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive LC_ALL=C"


def _mounted(tree, command, *words, timeout=600):
    """A shell line on this machine, with the mounts in the root that package scripts need; the mounts end with the process."""
    script = ('mount --make-rprivate / && mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && '
              f'mount --bind /dev "$1/dev" && exec {ENVIRONMENT} {command}')
    return run(need("unshare", "util-linux"), "--mount", "--fork", "sh", "-c", script, "sh", tree, *words, timeout=timeout)


def inside(tree, command, timeout=600):
    """A shell line in the root."""
    return _mounted(tree, 'chroot "$1" /bin/sh -ec "$2"', command, timeout=timeout)


def _settle(tree):
    """Settings for an ordinary first boot and a small image."""
    (tree / "etc/machine-id").write_text(MACHINE_ID + "\n")
    (tree / "etc/hostname").write_text("guest\n")
    (tree / "etc/fstab").write_text("/dev/disk/by-label/root / ext4 errors=remount-ro 0 1\n")
    for stamp in ("etc/.updated", "var/.updated"):
        (tree / stamp).touch()
    for unit in ("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",
                 "systemd-timesyncd.service", "e2scrub_reap.service"):
        path = tree / "etc/systemd/system" / unit
        path.unlink(missing_ok=True)
        path.symlink_to("/dev/null")
    for folder in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/locale", "usr/share/man"):
        shutil.rmtree(tree / folder, ignore_errors=True)
        (tree / folder).mkdir(parents=True)
    for leftover in (tree / "boot").glob("*.old-dkms"):
        leftover.unlink()


def _made(name, make):
    """The folder of that name in the cache, made if missing. A half-made folder never gets the name."""
    final, work = FOLDERS / name, FOLDERS / (name + ".new")
    if final.is_dir():
        return final
    if os.getuid() != 0:
        raise Missing("a Debian root can be made by root only")
    shutil.rmtree(work, ignore_errors=True)
    FOLDERS.mkdir(parents=True, exist_ok=True)
    make(work)
    os.rename(work, final)
    return final


# name: the package that makes images, its configuration file, and the contents; an image without modules, because the emulated machine's drivers are
# built in, and unpacking modules takes a slow processor seconds
MAKERS = {
    "base": ("initramfs-tools", "etc/initramfs-tools/conf.d/boot-tests", "MODULES=list\nCOMPRESS=gzip\n", "update-initramfs -u"),
    "dracut": ("dracut", "etc/dracut.conf.d/boot-tests.conf", 'hostonly="no"\ncompress="gzip"\nno_kernel="yes"\n'
               'omit_dracutmodules+=" network network-manager systemd-networkd nfs iscsi lvm mdraid crypt dmraid multipath plymouth "\n',
               "dracut -f /boot/initrd.img-$(ls /lib/modules) $(ls /lib/modules)"),
}


def _make_root(work, name):
    package, conf, text, rebuild = MAKERS[name]
    try:
        run(need("debootstrap", "debootstrap"), "--variant=minbase", f"--include={PACKAGES},{package}", suite(), work, timeout=1200)
    except Failed as e:
        raise Missing(f"debootstrap: {str(e).strip().splitlines()[-1]}") from e
    (work / conf).parent.mkdir(parents=True, exist_ok=True)
    (work / conf).write_text(text)
    shutil.copy(kernel.package_file(), work / "root/kernel.deb")
    # the emulated machine needs no module either: udev would load fifty, at half a second of boot time each
    inside(work, f"dpkg -i /root/kernel.deb && rm -r /root/kernel.deb /lib/modules/*/kernel && depmod -a $(ls /lib/modules) && {rebuild}")
    _settle(work)


def _with_other_kernel(work, name, kind):
    """The root `name` with another kernel's package. The backports kernel wants a newer linux-base than the release has: that package's work at an
    upgrade does not matter here."""
    copy(base(name), work)
    shutil.copy(kernel.package_file(kind), work / "root/kernel.deb")
    inside(work, 'dpkg --purge --force-depends $(dpkg-query -W -f "\\${Package} " "linux-image-*") && '
           "dpkg -i --force-depends /root/kernel.deb && rm -r /root/kernel.deb /lib/modules/*/kernel && "
           f"depmod -a $(ls /lib/modules) && {MAKERS[name][3]}")


def base(name="base", kind="stable"):
    """The root of that name with that kernel."""
    if kind == "stable":
        return _made(name, lambda work: _make_root(work, name))
    return _made(f"{name}-{kind}", lambda work: _with_other_kernel(work, name, kind))


def kernel_version(tree):
    return sorted((tree / "boot").glob("vmlinuz-*"))[-1].name.removeprefix("vmlinuz-")


def copy(source, target):
    """A folder with all owners, modes and links."""
    run("cp", "-a", source, target)


def _install_ours(tree, scenario):
    """autologger as `cmake --install` leaves it, with its libraries from this machine; and the unit that ends the boot."""
    run("cmake", "--install", BUILD, "--prefix", "/usr", env={**os.environ, "DESTDIR": str(tree)})
    for program in ("autologger", "autologgerd", "autologger-units", "autologger-processes"):
        for name, source in payload.libraries(BUILD / program):
            if not (tree / name).exists():
                payload.install(source, tree / name, 0o644)
    for name in ("autologger-demo", "event_writer"):
        payload.copy_program(payload.program_of(name), tree, f"usr/bin/{name}")
    for name in scenario.absent:
        for path in (tree / "usr/bin" / name, tree / "usr/sbin" / name):
            path.unlink(missing_ok=True)
    payload.guest_files(tree, scenario)
    payload.install(GUEST / "debian-main", tree / "boot-test/main", 0o755)
    payload.install(GUEST / "boot-test.service", tree / "etc/systemd/system/boot-test.service", 0o644)
    for folder in ("var/log/autologger", "var/lib/autologger"):
        (tree / folder).mkdir(parents=True, exist_ok=True)


# root: this test's files in a distribution's image (marks, and programs that are run there): (file of GUEST, its place)
MADE_BY = {
    "initramfs-tools": (("initramfs-tools-hook", "etc/initramfs-tools/hooks/boot-test"),
                        ("initramfs-tools-script", "etc/initramfs-tools/scripts/init-premount/boot-test")),
    "dracut": (("dracut-module", "usr/lib/dracut/modules.d/91boot-test/module-setup.sh"),
               ("dracut-hook", "usr/lib/dracut/modules.d/91boot-test/boot-test.sh")),
}


def _lay_scripts(tree, scenario):
    for name, place in MADE_BY[scenario.root]:
        payload.install(GUEST / name, tree / place, 0o755)
    (tree / "boot-test/early-programs").write_text("".join(f"/usr/bin/{name}\n" for name in scenario.early_programs))


def _apply(tree, scenario):
    """As an administrator does it: `autologger apply`, which builds the image of the root's kernel, and makes the boot entry if the kernel phase is
    requested."""
    declarations = list(scenario.declarations())
    if len(declarations) != 1:
        raise Failed(f"{scenario.name}: apply takes one file")
    payload.install(declarations[0], tree / "root" / declarations[0].name, 0o644)
    if scenario.entry:
        grub.lay(tree, kernel_version(tree), "root=LABEL=root ro")
    return _mounted(tree, '"$2" apply --root "$1" "$1/root/$3"', built("autologger"), declarations[0].name)


def image_of(scenario, work):
    """A machine whose root makes its own image boots the image that is on its disk now: read as a boot loader does, without the journal."""
    if scenario.root not in MADE_BY:
        return
    folder = work / "boot-loader"
    shutil.rmtree(folder, ignore_errors=True)
    disk.extract(work / "root.img", "/boot", folder)
    images = [p for p in (folder / "boot").glob("initrd.img-*") if "autologger" not in p.name and p.suffix != ".new"]
    if len(images) != 1 or not images[0].stat().st_size:
        raise Failed(f"a boot loader finds no image: {sorted(p.name for p in (folder / 'boot').iterdir())}")
    shutil.copy(images[0], work / "initramfs.img")


def make(scenario, work, lay_state):
    """(root disk, its own initramfs or None) of a Debian scenario; lay_state(tree) puts the store into it."""
    tree, initial = work / "root", None
    copy(base("dracut" if scenario.root == "dracut" else "base", scenario.kernel), tree)
    _install_ours(tree, scenario)
    for name, source in scenario.files("root"):
        payload.install(source, tree / name, 0o755 if source.read_bytes()[:2] == b"#!" else 0o644)
    for number in range(scenario.root_files):
        place = tree / "srv" / str(number // 500)
        place.mkdir(parents=True, exist_ok=True)
        (place / str(number % 500)).touch()
    if scenario.root in MADE_BY:
        _lay_scripts(tree, scenario)
        (work / "apply.txt").write_text(_apply(tree, scenario))
        if scenario.entry:
            scenario.entry_words = grub.entry_words(tree)
        initial = work / "initramfs.img"
        payload.install(tree / f"boot/initrd.img-{kernel_version(tree)}", initial, 0o644)
    else:
        lay_state(tree)
    enabled = "boot-test.service" + ("" if "autologgerd" in scenario.absent else " autologgerd.service")
    inside(tree, f"systemctl enable {enabled}")
    image = work / "root.img"
    disk.make(image, tree, IMAGE_MB, inodes=scenario.root_files + 40000 if scenario.root_files else None)
    if scenario.root_files:
        disk.correct(image)
    return image, initial
