"""Stops a program where it opens a certain file, and makes it call the kernel there, as code that had taken it over would: by ptrace(2), on x86-64
only. The caller has one thread. The program's forks are not traced."""
import ctypes
import os
import platform
import signal
import subprocess

POSSIBLE = platform.machine() == "x86_64"
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
TRACEME, CONT, GETREGS, SETREGS, SYSCALL, SETOPTIONS = 0, 7, 12, 13, 24, 0x4200
SYSGOOD, EXITKILL = 1, 1 << 20
NAMES = ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs").split()
ARGUMENTS = ("rdi", "rsi", "rdx", "r10", "r8", "r9")
CALLS = {"open": 2, "connect": 42, "socket": 41, "kill": 62, "rename": 82, "mkdir": 83, "unlink": 87, "symlink": 88, "chmod": 90, "setuid": 105, "openat": 257}
AT_FDCWD, BELOW_THE_STACK = -100, 1 << 14


class Registers(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in NAMES]


class Inside:
    """`with` a program that runs `command`. At the end the program has ended in any case."""

    def __init__(self, command, **how):
        self.program = subprocess.Popen(command, preexec_fn=lambda: libc.ptrace(TRACEME, 0, None, None), **how)
        self.pid = self.program.pid
        self._wait()
        self._ask(SETOPTIONS, SYSGOOD | EXITKILL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.program.returncode is None:
            self.program.kill()
            self._wait()

    def _ask(self, what, data):
        if libc.ptrace(what, self.pid, None, data) < 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def _wait(self):
        """The signal that stopped the program; None: it has ended."""
        status = os.waitpid(self.pid, 0)[1]
        if os.WIFSTOPPED(status):
            return os.WSTOPSIG(status)
        self.program.returncode = os.waitstatus_to_exitcode(status)
        return None

    def _registers(self):
        r = Registers()
        self._ask(GETREGS, ctypes.addressof(r))
        return r

    def _text(self, at):
        with open(f"/proc/{self.pid}/mem", "rb") as f:
            f.seek(at)
            return f.read(256).split(b"\0")[0].decode(errors="replace")

    def next_call(self):
        """Runs to the next system call's entry; returns the registers there. None: the program has ended."""
        stopped = 0
        while True:
            self._ask(SYSCALL, stopped)
            stopped = self._wait()
            if stopped is None:
                return None
            if stopped != signal.SIGTRAP | 0x80:
                continue  # delivers the signal
            stopped, r = 0, self._registers()
            if ctypes.c_int64(r.rax).value == -38:
                return r

    def until_open(self, path):
        """Runs to the opening of that file. False: the program ended without."""
        while (r := self.next_call()) is not None:
            at = r.rsi if r.orig_rax == CALLS["openat"] else r.rdi if r.orig_rax == CALLS["open"] else None
            if at and self._text(at) == path:
                return True
        return False

    def call(self, name, *arguments):
        """Replaces the current system call, then returns to its entry: the result, or -errno."""
        was = self._registers()
        r, at = Registers.from_buffer_copy(was), was.rsp - BELOW_THE_STACK
        r.orig_rax = CALLS[name]
        with open(f"/proc/{self.pid}/mem", "r+b", buffering=0) as memory:
            for register, value in zip(ARGUMENTS, arguments):
                if isinstance(value, (str, bytes)):
                    data = value.encode() + b"\0" if isinstance(value, str) else value
                    memory.seek(at)
                    memory.write(data)
                    value, at = at, at + (len(data) + 15) // 16 * 16
                setattr(r, register, value & (1 << 64) - 1)
        self._ask(SETREGS, ctypes.addressof(r))
        self._ask(SYSCALL, 0)
        if self._wait() is None:
            raise OSError(f"{name} ended it: {self.program.returncode}")
        result = ctypes.c_int64(self._registers().rax).value
        again = Registers.from_buffer_copy(was)
        again.rip, again.rax = was.rip - 2, was.orig_rax  # back to the system call instruction
        self._ask(SETREGS, ctypes.addressof(again))
        self.next_call()
        return result

    def go_on(self):
        """Runs to the end; returns the exit code."""
        while self.program.returncode is None:
            self._ask(CONT, 0)
            stopped = self._wait()
            while stopped is not None:
                self._ask(CONT, stopped)
                stopped = self._wait()
        return self.program.returncode
