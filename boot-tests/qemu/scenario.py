"""A scenario: a folder with scenario.ini, declarations, expectations, and perhaps scripts for the guest.

scenario.ini:
  [scenario]
  about      one sentence
  proves     ids of the checklist
  tier       ci | full
  root       busybox | systemd (own initramfs) | initramfs-tools | dracut (both by autologger apply)
  declare    imports into the store, a line each: a file of this folder, @examples@/NAME, @made@/NAME (default boot.ini); a .man is installed
  absent     programs of ours that the root does not have
  early      no = the initramfs has no early program;  snapshot  no = there is no sealed snapshot
  initramfs  no = there is none: the kernel mounts the root, which has the early program (busybox)
  early-run  programs of this build that the initramfs has, too
  kernel     stable | backports | old: the release's own, the newer one of its backports, or Linux 5.10 (boot-tests/run --kernel: any scenario with it)
  memory     MB (512);  cpus (2);  timeout  seconds of one boot (120);  disks  NAME:MB of further disks
  arguments  added to the kernel's command line
  entry      yes = the first boot is the one of the boot entry that apply made (KernelPhase), with its words
  run        command lines run in the root, a line each
  modules    kernel modules that lie in /boot-test, for insmod (the systemd roots have no others), and below /lib/modules, for modprobe
  build-module  folder of a module's source (below the source tree): built for the kernel; it and its .ini lie in /boot-test. Skipped without headers
  writable-after  seconds until the root is remounted read-write (0.3);  wait-after  seconds after the programs (0.2)
  disk-limit  the root disk's limits, as QEMU's throttling options ("bps-total=2500000")
  root-files  number of additional empty files in a Debian root (0)
  stop       end = the daemon is ended; itself = the sessions first end by their declarations
  boots      how often the machine is started (1)
  cuts       power cuts at random moments before the boot that `expect` is about (0); boot-tests/qemu/cuts.py has the checks
  [boot N]   arguments, timeout, cut-after (seconds), cut-at (text of the serial line): of the boot N alone
Files: expect (after the last boot), expect.N (after the boot N), guest.sh (replaces functions of boot-tests/guest/lib.sh; else that of
the folder above), cause (boot-tests/slow: the expected verdict, see boot-tests/qemu/slow.py),
between.py (an administrator's work after a boot, see boot-tests/qemu/between.py),
initramfs/... and root/... (files laid into either)."""
import configparser
import pathlib

from qemu.kernel import KINDS
from qemu.places import SCENARIOS, SLOW, SOURCE, Failed

KEYS = {"about": None, "proves": "", "tier": "full", "root": "busybox", "declare": "boot.ini", "absent": "", "early": "yes", "snapshot": "yes",
        "early-run": "", "memory": "512", "cpus": "2", "timeout": "120", "disks": "", "arguments": "", "run": "", "modules": "", "build-module": "", "entry": "no", "initramfs": "yes",
        "writable-after": "0.3", "wait-after": "0.2", "kernel": "stable", "boots": "1", "stop": "end", "cuts": "0", "disk-limit": "", "root-files": "0"}
BOOT_KEYS = {"arguments", "timeout", "cut-after", "cut-at"}
ROOTS = ("busybox", "systemd", "initramfs-tools", "dracut")


class Scenario:
    def __init__(self, folder):
        self.folder, self.name = pathlib.Path(folder), pathlib.Path(folder).name
        ini = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=(";",))
        try:
            ini.read_string((self.folder / "scenario.ini").read_text(encoding="utf-8"))
            values = {**KEYS, **ini["scenario"]}
        except (OSError, KeyError, configparser.Error) as e:
            raise Failed(f"{self.folder}/scenario.ini: {e}") from e
        self._refuse_unknown(ini)
        self.about, self.proves, self.tier, self.root = (values[k] for k in ("about", "proves", "tier", "root"))
        self.declare, self.run = values["declare"].split("\n"), [line for line in values["run"].split("\n") if line]
        self.modules, self.build_module = values["modules"].split(), values["build-module"]
        self.absent, self.early_programs = values["absent"].split(), values["early-run"].split()
        self.early, self.snapshot = values["early"] == "yes", values["snapshot"] == "yes"
        self.initramfs = values["initramfs"] == "yes"
        self.memory, self.cpus, self.timeout = (int(values[k]) for k in ("memory", "cpus", "timeout"))
        self.boots, self.cuts, self.arguments = int(values["boots"]), int(values["cuts"]), values["arguments"]
        self.disks = [(name, int(size)) for name, _, size in (d.partition(":") for d in values["disks"].split())]
        self.writable_after, self.wait_after = values["writable-after"], values["wait-after"]
        self.stop, self.disk_limit, self.root_files = values["stop"], values["disk-limit"], int(values["root-files"])
        self.kernel = values["kernel"]
        self.entry, self.entry_words = values["entry"] == "yes", ""  # the words: once apply has run
        self.per_boot = {int(s.split()[1]): ini[s] for s in ini.sections() if s.startswith("boot ")}

    def _refuse_unknown(self, ini):
        for section in ini.sections():
            known = KEYS if section == "scenario" else BOOT_KEYS if section.startswith("boot ") else ()
            for key in ini[section]:
                if key not in known:
                    raise Failed(f"{self.folder}/scenario.ini: [{section}] {key} means nothing")
        values = ini["scenario"]
        if "about" not in values or values.get("root", "busybox") not in ROOTS or values.get("tier", "full") not in ("ci", "full") \
                or values.get("kernel", "stable") not in KINDS:
            raise Failed(f"{self.folder}/scenario.ini: about is missing, or root, tier or kernel is not known")

    def of_boot(self, number, key, default=None):
        return self.per_boot.get(number, {}).get(key, default)

    def declarations(self):
        for name in self.declare:
            if not name:
                continue
            path = pathlib.Path(name.replace("@examples@", str(SOURCE / "config" / "examples"))
                                .replace("@profiles@", str(SOURCE / "config" / "profiles")).replace("@made@", str(SOURCE / "tools" / "tests" / "made")))
            path = path if path.is_absolute() else self.folder / name
            if not path.exists():
                raise Failed(f"{self.name}: {path} does not exist")
            yield path

    def files(self, where):
        """(place in the image, file here) of the scenario's files for "initramfs" or "root"."""
        for path in sorted((self.folder / where).rglob("*")):
            if path.is_file():
                yield path.relative_to(self.folder / where), path

    def variables(self):
        return f"WRITABLE_AFTER={self.writable_after}\nWAIT_AFTER={self.wait_after}\nSTOP={self.stop}\n"

    def expectation(self, number):
        """The file of expectations after the boot of that number, or None."""
        path = self.folder / f"expect.{number}"
        if not path.exists() and number == self.boots:
            path = self.folder / "expect"
        return path if path.exists() else None


def all_scenarios():
    return [Scenario(p.parent) for p in sorted(SCENARIOS.glob("*/scenario.ini"))]


def slow(names=()):
    """Boots with a planted cause (boot-tests/slow), all or those of that name."""
    known = {p.parent.name: Scenario(p.parent) for p in sorted(SLOW.glob("*/scenario.ini"))}
    return [known[name] for name in names] if names else list(known.values())


def find(name):
    if not (SCENARIOS / name / "scenario.ini").exists():
        raise KeyError(name)
    return Scenario(SCENARIOS / name)
