"""A kernel that panics in the traced boot entry: the next boot is the normal one, by itself. `apply` makes the entry in a machine's tree;
a real GRUB on a real UEFI firmware (OVMF) in QEMU boots it, the kernel panics, and GRUB, which took its choice back before it gave
control away, boots the normal entry."""
import gzip
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["AL_SOURCE_DIR"], "boot-tests"))
from harness import check, skip, tool
from qemu import firmware, grub, initramfs, kernel, payload
from qemu.places import Missing, need, run

DECLARED = """
[Boot]
Once = yes
KernelPhase = yes
[GlobalLogger]
EnableKernelFlags = PROC_THREAD+CSWITCH
FileName = boot.etl
"""
MODULES = "fat part_gpt normal linux configfile loadenv search search_label ls echo test reboot halt sleep".split()
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
if grep -q autologger=kernel /proc/cmdline; then
    echo "guest: traced entry: $(cat /proc/cmdline)" >/dev/ttyS0
    sleep 1
    echo c >/proc/sysrq-trigger
fi
echo "guest: normal entry: $(cat /proc/cmdline)" >/dev/ttyS0
sleep 1
poweroff -f
"""


def tree_make(tree, version, work):
    """A machine's root: only the files that `apply` reads and runs there."""
    payload.busybox(tree)
    for name in ("boot/grub", f"lib/modules/{version}", "var/lib", "var/log", "etc", "dev", "proc", "tmp"):
        (tree / name).mkdir(parents=True, exist_ok=True)
    payload.install(kernel.image(), tree / f"boot/vmlinuz-{version}")
    image = work / "image"
    payload.busybox(image)
    for name in ("dev", "proc"):
        (image / name).mkdir(exist_ok=True)
    (image / "init").write_text(INIT)
    (image / "init").chmod(0o755)
    (tree / f"boot/initrd.img-{version}").write_bytes(gzip.compress(initramfs.archive(image), 1))
    grub.lay(tree, version, "console=ttyS0 quiet edd=off panic=1")


def disk_make(tree, work):
    """The tree's /boot, and GRUB as the firmware's boot program, on a FAT volume that GRUB can write."""
    loader, disk = work / "BOOTX64.EFI", work / "disk.img"
    run(need("grub-mkimage", "grub-common"), "-O", "x86_64-efi", "-p", "/boot/grub", "-o", loader, *MODULES)
    firmware.disk_make(disk, loader)
    run("mcopy", "-s", "-i", disk, tree / "boot", "::boot")
    return disk


def main(work):
    firmware.check_here()
    version = kernel.image().name.removeprefix("vmlinuz-")
    tree = work / "tree"
    tree_make(tree, version, work)
    declared = work / "boot.ini"
    declared.write_text(DECLARED)
    normal = (tree / "boot/grub/grub.cfg").read_bytes()
    r = tool("apply", str(declared), "--root", str(tree), "--no-initramfs", "--force", expect=None)
    check(r.returncode == 0, "apply:", r.stdout, r.stderr)
    check((tree / "boot/grub/grub.cfg").read_bytes() == normal, "apply changed the normal entries")
    check(b"next_entry=autologger" in (tree / "boot/grub/grubenv").read_bytes(), "the entry was not chosen for the next boot", r.stdout)
    disk = disk_make(tree, work)
    said = firmware.guest_lines(firmware.boot(disk, work))
    check(len(said) == 2 and "traced entry" in said[0] and "normal entry" in said[1], "the boots:", said)
    check("trace_event=" in said[0] and "trace_clock=perf" in said[0] and "autologger" not in said[1], said)
    run("mcopy", "-i", disk, "::boot/grub/grubenv", work / "after")
    check(b"next_entry=autologger" not in (work / "after").read_bytes(), "the choice was not taken back")
    print("the traced entry panicked; the next boot was the normal one")


if os.geteuid() != 0:
    skip("needs root (chroot)")
if not os.path.isdir("/usr/lib/grub/x86_64-efi"):
    skip("no GRUB for UEFI firmware. Do: apt-get install --no-install-recommends grub-efi-amd64-bin grub2-common")
folder = tempfile.mkdtemp(prefix="autologger-grub-")
try:
    main(pathlib.Path(folder))
except Missing as why:
    skip(str(why))
finally:
    if not os.environ.get("AL_KEEP"):
        shutil.rmtree(folder, ignore_errors=True)
