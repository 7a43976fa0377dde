"""The kernel phase with systemd-boot: in a machine that a real systemd-boot has started on real UEFI firmware (OVMF in QEMU), `apply` adds
its entry and chooses it for one boot through the firmware; `clean` takes both away again; the traced entry panics, and the next boot is
the normal one, by itself. Full tier only (AL_FULL=1): three boots through a firmware take minutes."""
import gzip
import os
import pathlib
import re
import shutil
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["AL_SOURCE_DIR"], "boot-tests"))
from harness import FULL, check, skip
from qemu import debian, firmware, initramfs, kernel, payload
from qemu.places import CACHE, Failed, Missing, need, run

DECLARED = """
[Boot]
Once = yes
KernelPhase = yes
[GlobalLogger]
EnableKernelFlags = PROC_THREAD+CSWITCH
FileName = boot.etl
"""
NORMAL = """title Debian GNU/Linux
version @V@
linux /vmlinuz-@V@
initrd /initrd.img-@V@
options console=ttyS0 quiet edd=off panic=1
"""
MODULES = ("fs/fat/fat", "fs/fat/vfat", "fs/nls/nls_cp437", "fs/nls/nls_ascii", "fs/efivarfs/efivarfs")
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin
say() { echo "guest: $*" >/dev/ttyS0; }
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs run /run
for module in fat vfat nls_cp437 nls_ascii efivarfs; do insmod /modules/$module.ko; done
mount -t efivarfs vars /sys/firmware/efi/efivars
for try in $(seq 100); do [ -b /dev/nvme0n1 ] && break; sleep 0.1; done
mount -t vfat -o iocharset=ascii /dev/nvme0n1 /boot/efi || say "no boot partition"
end() { umount /boot/efi; sync; sleep 1; "$@" -f; }
chosen() { tr -d '\\000' </sys/firmware/efi/efivars/LoaderEntryOneShot-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f 2>/dev/null | tail -c +2; }
if grep -q autologger=kernel /proc/cmdline; then
    say "traced $(cat /proc/cmdline)"
    umount /boot/efi
    sleep 1
    echo c >/proc/sysrq-trigger
fi
if [ -e /boot/efi/applied ]; then
    say "normal again $(cat /proc/cmdline)"
    say "chosen: $(chosen)"
    end poweroff
fi
say "normal $(cat /proc/cmdline)"
autologger apply /boot.ini --no-initramfs --force >/tmp/said 2>&1 || say "apply failed: $(tr '\\n' '|' </tmp/said)"
say "chosen after apply: $(chosen)"
autologger clean >/tmp/said 2>&1 || say "clean failed: $(tr '\\n' '|' </tmp/said)"
say "chosen after clean: $(chosen)"
say "entries after clean: $(ls /boot/efi/loader/entries | tr '\\n' ' ')"
autologger apply /boot.ini --no-initramfs --force >/tmp/said 2>&1 || say "second apply failed: $(tr '\\n' '|' </tmp/said)"
told() { for name in LoaderTimeInitUSec LoaderTimeExecUSec; do
    tr -d '\\000' </sys/firmware/efi/efivars/$name-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f | tail -c +2; echo; done | tr '\n' ' '; }
autologger rehearse --out /tmp/r --run /bin/true /boot.ini >/tmp/said 2>&1 || say "rehearse failed: $(tr '\n' '|' </tmp/said)"
autologger dump "$(find /tmp/r -name '*.etl')" >/tmp/dump 2>&1
say "variables $(told)"
say "events $(grep -o 'BootTimes .*' /tmp/dump) $(grep -o 'BootLoader .*' /tmp/dump)"
touch /boot/efi/applied
end reboot
"""


def package_unpacked(name):
    """A Debian package's files; nothing is installed."""
    final = CACHE / "loaders" / name
    if not final.is_dir():
        work = final.with_suffix(".new")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        try:
            run("apt-get", "-q", "download", name, cwd=work)
        except Failed as e:
            raise Missing(f"{name} could not be downloaded: {str(e).splitlines()[-1]}") from e
        run(need("dpkg-deb", "dpkg"), "-x", next(work.glob("*.deb")), work)
        os.rename(work, final)
    return final


def bootctl_copy(tree):
    """bootctl, with the libraries that the Debian root has for it."""
    payload.install(package_unpacked("systemd-boot") / "usr/bin/bootctl", tree / "usr/bin/bootctl", 0o755)
    base = debian.base()
    shared = next((base / "usr/lib/x86_64-linux-gnu/systemd").glob("libsystemd-shared-*.so"))
    payload.install(shared, tree / shared.relative_to(base), 0o755)
    said = run(need("chroot", "coreutils"), base, "ldd", "/" + str(shared.relative_to(base)))
    for word in said.split():
        if word.startswith("/lib") and not (tree / f"usr{word}").exists():
            payload.install(base / f"usr{word}", tree / f"usr{word}", 0o755)


def image_make(version, work):
    tree = work / "image"
    payload.busybox(tree)
    for name in ("dev", "proc", "sys", "run", "tmp", "boot/efi", "var/lib", "var/log", "etc", "modules", f"lib/modules/{version}"):
        (tree / name).mkdir(parents=True, exist_ok=True)
    for name in MODULES:
        payload.install(kernel.fetch() / f"lib/modules/{version}/kernel/{name}.ko", tree / f"modules/{pathlib.Path(name).name}.ko")
    payload.copy_program(payload.program_of("autologger"), tree, "usr/bin/autologger")
    payload.copy_program(payload.program_of("autologgerd"), tree, "usr/sbin/autologgerd")
    bootctl_copy(tree)
    (tree / "boot.ini").write_text(DECLARED)
    (tree / "init").write_text(INIT)
    (tree / "init").chmod(0o755)
    image = work / f"initrd.img-{version}"
    image.write_bytes(gzip.compress(initramfs.archive(tree), 1))
    return image


def main(work):
    version = kernel.image().name.removeprefix("vmlinuz-")
    loader = package_unpacked("systemd-boot-efi") / "usr/lib/systemd/boot/efi/systemd-bootx64.efi"
    disk = work / "disk.img"
    firmware.check_here()
    firmware.disk_make(disk, loader)
    (work / "normal.conf").write_text(NORMAL.replace("@V@", version))
    (work / "loader.conf").write_text("timeout 0\ndefault normal.conf\n")
    run("mmd", "-i", disk, "::loader", "::loader/entries")
    for source, place in ((work / "normal.conf", "loader/entries/"), (work / "loader.conf", "loader/"), (image_make(version, work), ""),
                          (kernel.image(), "")):
        run("mcopy", "-i", disk, source, f"::{place}")
    said = firmware.guest_lines(firmware.boot(disk, work))
    check(len(said) == 9 and said[0].startswith("normal ") and "autologger" not in said[0], "the guest said:", said)
    check("chosen after apply: autologger.conf" in said[1], said)
    check(said[2].strip() == "chosen after clean:", said)
    check(said[3].split(": ")[1].split() == ["normal.conf"], said)
    check(len(said[4].split()) == 3, "systemd-boot told no times", said)
    init, execute = (int(n) for n in said[4].split()[1:3])
    event = dict(re.findall(r'(\w+)=("[^"]*"|\S+)', said[5]))
    check(0 < init < execute, said[4])
    check(int(event["FirmwareNs"]) == init * 1000 and int(event["LoaderNs"]) == (execute - init) * 1000 and event["Source"] == "LoaderTime",
          "the event says otherwise than the firmware's variables:", said[4:6])
    check(event["Name"].startswith('"systemd-boot') and event["FirmwareKind"] == "EFI", said[5])
    check(said[6].startswith("traced ") and "trace_event=" in said[6] and "trace_clock=perf" in said[6], said)
    check(said[7].startswith("normal again ") and "autologger" not in said[7], said)
    check(said[8].strip() == "chosen:", "the choice was not taken back", said)
    print(f"the traced entry of systemd-boot panicked; the next boot was the normal one; firmware {init / 1e6:.1f} s, loader {(execute - init) / 1e6:.1f} s, as the trace says")


if not FULL:
    skip("full tier only. Do: AL_FULL=1")
folder = tempfile.mkdtemp(prefix="autologger-systemd-boot-")
try:
    main(pathlib.Path(folder))
except Missing as why:
    skip(str(why))
finally:
    if not os.environ.get("AL_KEEP"):
        shutil.rmtree(folder, ignore_errors=True)
