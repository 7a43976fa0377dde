"""The state of a guest that does not end: its processors, and its programs with the kernel's stack of each, read over the serial
line (QEMU's monitor and the kernel's SysRq share it)."""
import re
import time

MONITOR, BREAK = b"\x01c", b"\x01b"
END_OF_LINE = 1200
LOOKS = 6
JIFFIES = 250  # in a second, for the kernels that are booted
PER_TASK = 9  # lines of one program's stack
TIME = re.compile(r"^\[ *[0-9.]+\] ?")


def _said(path):
    with open(path, "rb") as f:
        return f.read().decode(errors="replace")


def _tell(guest, data, seconds):
    try:
        guest.stdin.write(data)
        guest.stdin.flush()
    except OSError:
        return
    time.sleep(seconds)


def _plain(text):
    """The text without cursor movements."""
    return re.sub(r"\x1b(\[[?0-9;]*[A-Za-z]|c)", "", text).replace("\r", "")


def _programs(text):
    """The tasks in SysRq's list that are not threads of the kernel."""
    out, left = [], 0
    for line in (TIME.sub("", raw) for raw in text.splitlines()):
        task = re.match(r"task:(\S+).*\bpid:(\d+).*\bppid:(\d+)", line)
        if task:
            left = PER_TASK if "2" not in (task[2], task[3]) else 0
        if left and not line.lstrip().startswith(("?", "RSP:", "RAX:", "RDX:", "RBP:", "R10:", "R13:")):
            out.append(line)
            left -= 1
    return out


def _monitor(guest, path, line, seconds=0.2):
    """The monitor's answer to a line."""
    before = len(_said(path))
    _tell(guest, line.encode() + b"\n", seconds)
    return _plain(_said(path)[before:])


def _processors(guest, path):
    """The position of each processor, read a few times: the same few positions again and again are a loop; and the top of its stack, with the memory
    that it points to (at an exception's address: is the instruction that raised it still there?)."""
    _tell(guest, MONITOR, 0.2)
    out = []
    for cpu in range(len(set(re.findall(r"CPU #(\d+)", _monitor(guest, path, "info cpus"))))):
        _monitor(guest, path, f"cpu {cpu}")
        looks = [_monitor(guest, path, "info registers", 0.1) for _ in range(LOOKS)]
        places = [m[1] for m in (re.search(r"RIP=(\w+)", text) for text in looks) if m]
        flags = re.search(r"RFL=(\w+).*HLT=(\d)", looks[-1])
        stack = re.search(r"RSP=(\w+)", looks[-1])
        words = re.findall(r"0x(\w{16})", _monitor(guest, path, f"x /6gx 0x{stack[1]}").split(":", 1)[-1]) if stack else []
        code = [_monitor(guest, path, f"x /8xb 0x{word} - 1").splitlines()[-2:-1] for word in words if word.startswith("ffffffff")]
        out.append(f"CPU {cpu}: flags {flags[1] if flags else '?'}, halted {flags[2] if flags else '?'}, at " + " ".join(places))
        out.append(f"  stack {' '.join(words)}")
        out += ["  " + line.strip() for lines in code for line in lines]
    _tell(guest, MONITOR, 0.2)
    return out


def _jump(text, age):
    """The seconds by which the guest's clock has jumped; 0: it has not. A kernel that reports a starvation longer than the machine's age has read
    another time stamp counter than before (the emulator's is this machine's, whose processors' may differ): its timers then wait for as long."""
    starved = max((int(n) for n in re.findall(r"starved for (\d+) jiffies", text)), default=0) / JIFFIES
    return starved if starved > 2 * age else 0


def ask(guest, serial_path, age):
    """A text for whoever investigates the hang, and whether the guest is to blame: its kernel answers, and its clock has not jumped. age: seconds
    since it was switched on. The guest is unusable afterwards: the caller kills it."""
    before = _plain(_said(serial_path))
    jump = _jump(before, age)
    if jump:
        return f"Its clock has jumped by {jump:.0f} s. The end of its serial line:\n{before[-END_OF_LINE:]}", False
    asked = len(_said(serial_path))
    _tell(guest, BREAK + b"9", 0.5)
    _tell(guest, BREAK + b"t", 10)
    programs = _programs(_plain(_said(serial_path)[asked:]))
    if programs:
        return "\n".join(["The end of its serial line:", before[-END_OF_LINE:], "Its programs:", *programs]), True
    return "\n".join(["The end of its serial line:", before[-END_OF_LINE:], "Its kernel does not answer. Its processors:",
                      *_processors(guest, serial_path)]), False
