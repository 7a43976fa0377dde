"""The root file systems: busybox with the daemon started by hand, or Debian with systemd."""
from qemu import debian, disk, payload
from qemu.places import GUEST, run, tool

BUSYBOX_MB = 384  # sparse: an image costs what is in it


SNAPSHOT = "var/lib/autologger/boot.snapshot"


def store(scenario, work):
    """(store, sealed snapshot) as an administrator would have left them: with the scenario's declarations, imported and sealed here."""
    path, sealed = work / "registry.db", work / "boot.snapshot"
    for declaration in scenario.declarations():
        tool(*(["manifest", "install"] if declaration.suffix == ".man" else ["import"]), "--store", path, declaration)
    if not path.exists():
        return None, None
    if scenario.snapshot:
        run(payload.program_of("boot_seal"), path, sealed)
    return path, sealed if sealed.exists() else None


def lay_state(tree, made):
    """The store and its snapshot at their places in a root."""
    for source, place in zip(made, ("var/lib/autologger/registry.db", SNAPSHOT)):
        if source:
            payload.install(source, tree / place, 0o600)
            for manifest in (source.parent / "publishers").glob("*") if place.endswith(".db") else ():
                payload.install(manifest, tree / "var/lib/autologger/publishers" / manifest.name, 0o644)


def busybox(scenario, work):
    """The root disk of a busybox scenario."""
    tree = work / "root"
    payload.busybox(tree)
    for name in ("dev", "proc", "sys", "run", "tmp", "root", "mnt", "etc", "var/log/autologger", "var/lib/autologger", "boot-test"):
        (tree / name).mkdir(parents=True, exist_ok=True)
    payload.install(GUEST / "root-init", tree / "usr/sbin/init", 0o755)
    (tree / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    (tree / "etc/group").write_text("root:x:0:\n")
    payload.guest_files(tree, scenario)
    for name, place in payload.PROGRAMS.items():
        if name not in scenario.absent:
            payload.copy_program(payload.program_of(name), tree, place)
    if not scenario.initramfs:
        payload.copy_program(payload.program_of("autologger-early"), tree, "usr/sbin/autologger-early")
        (tree / "usr/sbin/autologger-init").symlink_to("autologger-early")
    lay_state(tree, store(scenario, work))
    for name, source in scenario.files("root"):
        payload.install(source, tree / name, 0o755)
    image = work / "root.img"
    disk.make(image, tree, BUSYBOX_MB)
    return image


def make(scenario, work):
    """(root disk, the initramfs that the root made for itself or None)"""
    if scenario.root == "busybox":
        return busybox(scenario, work), None
    return debian.make(scenario, work, lambda tree: lay_state(tree, store(scenario, work)))
