"""An administrator's work between two boots of a busybox root: a scenario's between.py has a function follow(machine), which reads the last boot's
Status and changes files and declarations of the machine, which is switched off."""
import importlib.util
import shutil

from qemu import disk, initramfs, payload
from qemu.places import Failed, run, tool
from qemu.remains import STORE
from qemu.roots import SNAPSHOT

GUARD = "var/lib/autologger/guard"
WMI = "HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI"
DECLARED = (f"{WMI}\\Autologger", f"{WMI}\\GlobalLogger")


class Machine:
    """The machine that is switched off after boot `number`."""

    def __init__(self, scenario, number, remains, work):
        self.scenario, self.number, self.remains, self._work = scenario, number, remains, work
        self.folder = work / "declared"  # the current declarations, for corrections
        if not self.folder.exists():
            self.folder.mkdir()
            for path in scenario.declarations():
                shutil.copy(path, self.folder / path.name)

    def failed_rows(self):
        return {row["name"] + str(row["line"]): row for row in self.remains.status().get("sessions", []) if row["result"] == "failed"}

    def touch(self, path):
        empty = self._work / "empty"
        empty.touch()
        disk.put(self._work / "root.img", [(empty, path, 0o644)])

    def remove(self, path):
        disk.remove(self._work / "root.img", path)

    def declare(self):
        """The declarations in `folder` replace the old ones, in the machine's own store; the store is sealed, and the image rebuilt: what `apply`
        does on the machine."""
        store, sealed = self._work / "registry.db", self._work / "boot.snapshot"
        shutil.copy(self.remains.store(), store)
        gone = self._work / "gone.reg"
        gone.write_text("Windows Registry Editor Version 5.00\n" + "".join(f"\n[-{key}]\n" for key in DECLARED))
        for path in (gone, *sorted(self.folder.iterdir())):
            tool("import", "--store", store, path)
        run(payload.program_of("boot_seal"), store, sealed)
        self.remove("/" + GUARD)
        disk.put(self._work / "root.img", [(store, f"/{STORE}", 0o600), (sealed, f"/{SNAPSHOT}", 0o600)])
        shutil.rmtree(self._work / "initramfs")
        initramfs.make(self.scenario, self._work)


def follow(scenario, number, remains, work):
    """Has the scenario's between.py do its work, if there is one."""
    path = scenario.folder / "between.py"
    if not path.exists() or number >= scenario.boots:
        return
    if not scenario.expectation(number):
        raise Failed(f"{scenario.name}: nothing is expected after boot {number}, so nothing was read")
    spec = importlib.util.spec_from_file_location("between", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.follow(Machine(scenario, number, remains, work))
