"""The daemon as the shipped unit starts it. config/systemd/autologgerd.service is read, and a process gets its capabilities, umask, limits and
NoNewPrivileges; --confine, if ExecStart has it, makes the filter of system calls. Nothing is written twice: tests run with the rights that the unit
states. With AL_AS_SHIPPED=1 in the environment every Machine of harness.py starts its daemon so.

A line of the unit that this file does not know, and that would change the daemon's rights, is an error: it must be added here.
"""
import ctypes
import os
import re
import resource

UNIT = os.path.join(os.environ["AL_SOURCE_DIR"], "config", "systemd", "autologgerd.service")
PR_CAPBSET_READ, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 23, 24, 38
# <linux/capability.h>
CAPABILITIES = """CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST
NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME
SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF
CHECKPOINT_RESTORE""".split()
LIMITS = {"LimitNOFILE": resource.RLIMIT_NOFILE, "LimitMEMLOCK": resource.RLIMIT_MEMLOCK, "LimitRTPRIO": 14}  # RLIMIT_RTPRIO
# of [Service]: when and how it is started and ended, which the harness does by itself
OTHER = {"Type", "NotifyAccess", "ExecStart", "ExecReload", "FileDescriptorStoreMax", "Restart", "RestartSec", "RestartPreventExitStatus", "KillMode",
         "TimeoutStartSec", "TimeoutStopSec"}
libc = ctypes.CDLL(None, use_errno=True)


def service(path=UNIT):
    """[Service] of a unit: name -> its values, in order."""
    found, inside = {}, False
    with open(path, encoding="utf-8") as f:
        for line in f.read().replace("\\\n", " ").splitlines():
            line = line.strip()
            if line.startswith("["):
                inside = line == "[Service]"
            elif inside and line and line[0] not in "#;":
                name, _, value = line.partition("=")
                found.setdefault(name.strip(), []).append(value.strip())
    return found


def capabilities(values):
    """Numbers of a CapabilityBoundingSet of several lines. An empty line discards those before it."""
    kept = set()
    for value in values:
        if value.startswith("~"):
            raise ValueError("CapabilityBoundingSet=~... is not known here")
        kept = kept | {CAPABILITIES.index(word.removeprefix("CAP_")) for word in value.split()} if value else set()
    return kept


def server_kept():
    """Numbers of the unit's capabilities that the process with sockets, parsers and sessions keeps."""
    with open(os.path.join(os.environ["AL_SOURCE_DIR"], "autologger", "daemon", "parts", "server_rights.def"), encoding="utf-8") as f:
        return {CAPABILITIES.index(name) for name in re.findall(r"^KEPT\(CAP_(\w+)\)", f.read(), re.M)}


class Rules:
    """The rights that a unit's [Service] gives its process."""

    def __init__(self, path=UNIT):
        found = service(path)
        strange = set(found) - OTHER - set(LIMITS) - {"UMask", "CapabilityBoundingSet", "NoNewPrivileges"}
        if strange:
            raise ValueError(f"{path}: boot-tests/e2e/shipped.py does not know {', '.join(sorted(strange))}")
        self.kept = capabilities(found["CapabilityBoundingSet"])
        self.umask = int(found["UMask"][-1], 8)
        self.no_new_privileges = found["NoNewPrivileges"][-1] == "yes"
        self.limits = {LIMITS[name]: values[-1] for name, values in found.items() if name in LIMITS}
        self.words = [w for w in found["ExecStart"][-1].split() if w == "--confine"]

    def enter(self):
        """Called in a child before it executes the daemon. An exec as root gives all capabilities of the bounding set."""
        for limit, value in self.limits.items():
            most = resource.RLIM_INFINITY if value == "infinity" else int(value)
            try:
                resource.setrlimit(limit, (most, most))
            except ValueError:  # without CAP_SYS_RESOURCE a machine allows less than the unit requests
                pass
        os.umask(self.umask)
        number = 0
        while libc.prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0:
            if number not in self.kept and libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
                os.write(2, f"shipped.py: capability {number} can't be dropped\n".encode())
                os._exit(111)
            number += 1
        if self.no_new_privileges and libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
            os._exit(111)


def state(pid):
    """The kernel's report of a process: (bounding set, effective, NoNewPrivs, Seccomp, Umask)."""
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as f:
        lines = dict(line.split(":", 1) for line in f.read().splitlines() if ":" in line)
    return (int(lines["CapBnd"], 16), int(lines["CapEff"], 16), int(lines["NoNewPrivs"]), int(lines["Seccomp"]), int(lines["Umask"], 8))
