"""One boot: QEMU with software emulation, its serial line in a file, a hard limit of time, one guest at a time."""
import contextlib
import fcntl
import os
import subprocess
import tempfile
import time

from qemu import autopsy
from qemu.places import Failed, Stuck, need

CONSOLE = "console=ttyS0 panic=-1 quiet edd=off sysrq_always_enabled"
QUICK = "mitigations=off cryptomgr.notests no_timer_check"  # turns off what only costs time under emulation
# A busy machine stops the emulator for longer than the kernel's clock watchdog, and the early program's 90 s for a daemon, allow.
PATIENT = "tsc=reliable"
WAIT = "autologger.wait=600"
EXACT = "nokaslr tsc=reliable"  # with -icount: the guest's clock counts instructions


@contextlib.contextmanager
def turn():
    """Concurrent guests of several tests would make each other's times worthless: they wait for each other. AL_QEMU_SLOTS is the number of guests
    that may run at once (1); where the guest's clock counts instructions its times do not change."""
    slots = max(1, int(os.environ.get("AL_QEMU_SLOTS", "1")))
    held = [os.open(os.path.join(tempfile.gettempdir(), f"qemu.lock{n or ''}"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
            for n in range(slots)]
    try:
        while not any(_try(fd) for fd in held):
            time.sleep(0.2)
        yield
    finally:
        for fd in held:
            os.close(fd)


def _try(fd):
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False


class Boot:
    """The result of one boot."""

    def __init__(self, seconds, serial, cut):
        self.seconds, self.serial, self.cut = seconds, serial, cut

    def trouble(self):
        """The kernel's first message of trouble, or None."""
        for line in self.serial.splitlines():
            for sign in ("Kernel panic", "BUG: ", "Oops: ", "general protection fault", "WARNING: CPU", "rcu: INFO: rcu_preempt"):
                if sign in line:
                    return line.strip()
        return None


def threads():
    """The emulator's way to run a guest's processors: by turns in one thread, or with AL_QEMU_PARALLEL each in its own. In threads of their own (QEMU
    7.2) about one boot of a hundred on a busy machine stands still: a processor gets no interrupt any more, or both are in soft lockup."""
    return "multi" if os.environ.get("AL_QEMU_PARALLEL") else "single"


def command(kernel, initramfs, disks, memory, cpus, arguments, exact=False, limit="", cpu=""):
    line = [need("qemu-system-x86_64", "qemu-system-x86"), "-machine", "q35", "-m", str(memory), "-nographic", "-nodefaults",
            "-serial", "mon:stdio", "-no-reboot", "-kernel", str(kernel)]
    if exact:
        line += ["-accel", "tcg,thread=single", "-smp", "1", "-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01,clock=vm"]
    else:
        line += ["-accel", f"tcg,thread={threads()}", "-smp", str(cpus)]
    if cpu:
        line += ["-cpu", cpu]
    if initramfs:
        line += ["-initrd", str(initramfs)]
    for number, image in enumerate(disks):
        throttled = f",throttling.{limit}" if limit and number == 0 else ""  # the first disk is the root
        line += ["-drive", f"file={image},if=none,id=d{number},format=raw,cache=unsafe{throttled}",
                 "-device", f"nvme,drive=d{number},serial=disk{number}"]
    root = "root=LABEL=root ro" if initramfs else "root=/dev/nvme0n1 rootfstype=ext4 rootwait ro"
    words = [CONSOLE, root, QUICK, PATIENT, "" if "autologger.wait" in arguments else WAIT, EXACT if exact else "", arguments]
    return line + ["-append", " ".join(w for w in words if w)]


PATIENCE = 2  # a scenario's timeout is for a fast machine


def boot(line, serial_path, timeout, cut_after=None, cut_at=None):
    """Runs the machine until it switches itself off. Stuck when its kernel stands still (threads()): a processor halts, with interrupts
    on, and no interrupt reaches it any more, neither its timer's ("rcu_preempt kthread timer wakeup didn't happen") nor the serial line's;
    or its clock has jumped. cut_after: seconds after which its power is cut; cut_at: a text on the serial line at which (cut_after seconds
    later) it is."""
    with turn(), open(serial_path, "wb") as serial:
        begun = time.monotonic()
        guest = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=serial, stderr=subprocess.STDOUT)
        try:
            cut = _wait(guest, serial_path, begun, PATIENCE * timeout, cut_after, cut_at)
        finally:
            if guest.poll() is None:
                guest.kill()
                guest.wait()
            guest.stdin.close()
        seconds = time.monotonic() - begun
    with open(serial_path, encoding="utf-8", errors="replace") as f:
        said = f.read()
    if not cut and guest.returncode != 0:
        raise Failed(f"QEMU ended with {guest.returncode}: {said[-500:]}")
    return Boot(seconds, said, cut)


def _wait(guest, serial_path, begun, timeout, cut_after, cut_at):
    """True when the power was cut."""
    seen = begun if cut_at is None else None
    while guest.poll() is None:
        now = time.monotonic()
        if seen is None:
            with open(serial_path, "rb") as f:
                seen = now if cut_at.encode() in f.read() else None
        if seen is not None and (cut_after is not None or cut_at) and now - seen >= (cut_after or 0):
            guest.kill()
            guest.wait()
            return True
        if now - begun > timeout:
            said, answers = autopsy.ask(guest, serial_path, now - begun)
            guest.kill()
            guest.wait()
            raise (Failed if answers else Stuck)(f"the guest did not switch itself off within {timeout} s.\n{said}")
        time.sleep(0.02)
    return False
