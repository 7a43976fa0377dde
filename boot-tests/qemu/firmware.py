"""A machine with UEFI firmware (OVMF) that boots the boot program of its one disk, a FAT volume."""
import os
import shutil
import subprocess

from qemu import machine
from qemu.places import Failed, Missing, need, run

OVMF = "/usr/share/OVMF"


def check_here():
    if not os.path.exists(f"{OVMF}/OVMF_CODE_4M.fd"):
        raise Missing("no UEFI firmware. Do: apt-get install --no-install-recommends ovmf")
    need("mcopy", "mtools")
    need("mkfs.vfat", "dosfstools")


def disk_make(disk, loader, megabytes=96):
    """An empty volume with that boot program."""
    with open(disk, "wb") as f:
        f.truncate(megabytes << 20)
    run(need("mkfs.vfat", "dosfstools"), "-F", "32", disk)
    run("mmd", "-i", disk, "::EFI", "::EFI/BOOT")
    run("mcopy", "-i", disk, loader, "::EFI/BOOT/BOOTX64.EFI")


def boot(disk, work, timeout=500):
    """The machine's output on its serial line until it switches itself off; it may restart before that."""
    shutil.copy(f"{OVMF}/OVMF_VARS_4M.fd", work / "vars.fd")
    line = [need("qemu-system-x86_64", "qemu-system-x86"), "-machine", "q35", "-m", "512", "-nographic", "-nodefaults", "-serial", "stdio",
            "-accel", "tcg,thread=multi", "-smp", "1", "-net", "none",
            "-cpu", "qemu64,-hypervisor",  # systemd-boot reports its times only on a machine that looks real
            "-drive", f"if=pflash,format=raw,readonly=on,file={OVMF}/OVMF_CODE_4M.fd", "-drive", f"if=pflash,format=raw,file={work}/vars.fd",
            "-drive", f"file={disk},if=none,id=d0,format=raw,cache=unsafe", "-device", "nvme,drive=d0,serial=x"]
    serial = work / "serial"
    with machine.turn(), open(serial, "wb") as out:
        try:
            code = subprocess.run(line, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, timeout=timeout).returncode
        except subprocess.TimeoutExpired:
            code = f"none: {timeout} s were over"
    text = serial.read_text(errors="replace")
    if code != 0:
        raise Failed(f"QEMU ended with {code}: {text[-3000:]}")
    return text


def guest_lines(text):
    """The lines of the guest's own script ("guest: ...")."""
    return [line[line.index("guest: ") + 7:] for line in text.replace("\r", "\n").split("\n") if "guest: " in line]
