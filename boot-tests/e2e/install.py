"""cmake --install into a folder: each component has its files, the units name the prefix, a program compiles against the installed files and runs,
manual pages are clean, and bash completes verbs, options and files.
Proves: TLG-15 (headers as they are installed)."""
import os
import pathlib
import shutil
import subprocess
import tempfile

from harness import BUILD, check, skip

CMAKE = shutil.which("cmake") or skip("cmake is not here")
PROGRAM = """#include <TraceLoggingProvider.h>
TRACELOGGING_DEFINE_PROVIDER(web, "Contoso-Web", (0x692ff1fc, 0xf6e3, 0x5dcf, 0x15, 0x2a, 0xf4, 0x65, 0xe8, 0xb1, 0x18, 0x31));
int main(void)
{
    if (TraceLoggingRegister(web) != 0)
        return 1;
    TraceLoggingWrite(web, "Started", TraceLoggingInt32(80, "Port"));
    TraceLoggingUnregister(web);
    return 0;
}
"""
WANTED = {
    "bin": ["bin/autologger", "lib/autologger/autologger-demo", "share/man/man1/autologger.1", "share/man/man1/autologger-status.1",
            "share/autologger/profiles/boot.ini", "share/autologger/examples/first-boot.ini",
            "share/bash-completion/completions/autologger", *[f"lib/autologger/windows/{name}" for name in
                                                              ("logman", "xperf", "tracerpt", "wevtutil", "xbootmgr", "mc")]],
    "daemon": ["sbin/autologgerd", "lib/autologger/autologger-calm", "lib/autologger/autologger-units", "lib/autologger/autologger-processes", "lib/systemd/system/autologgerd.service", "lib/systemd/system/autologger-status.service",
               "lib/systemd/system/autologger-channels.service", "lib/systemd/system/autologger-set@.service",
               "share/man/man8/autologgerd.8"],
    "initramfs": ["lib/systemd/system/autologger-early.service", "share/man/man8/autologger-early.8", "share/man/man8/autologger-init.8",
                  "share/initramfs-tools/hooks/autologger", "share/initramfs-tools/scripts/init-top/autologger",
                  "lib/dracut/modules.d/90autologger/module-setup.sh", "lib/dracut/modules.d/90autologger/autologger.sh"],
    "lib": ["*/libautologger.so.0"],
    "trace": ["*/libautologger-trace.so.0"],
    **({"python": ["*/dist-packages/autologger/__init__.py", "*/dist-packages/autologger/_events.abi3.so"]} if os.path.exists(os.path.join(BUILD, "python", "autologger", "_events.abi3.so")) else {}),
    "dev": ["*/libautologger.so", "*/pkgconfig/libautologger.pc", "*/libautologger-trace.so", "*/pkgconfig/libautologger-trace.pc",
            "include/autologger/evntrace.h", "include/autologger/evntcons.h", "include/autologger/evntprov.h", "include/autologger/tdh.h", "include/autologger/relogger.h",
            "include/autologger/TraceLoggingProvider.h", "include/autologger/autologger_types.h"],
}
if (pathlib.Path(BUILD) / "autologger-early").exists():
    WANTED["initramfs"] += ["sbin/autologger-early", "sbin/autologger-init"]


def files_below(folder):
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if not p.is_dir()}


def install(prefix, *words, env=None):
    r = subprocess.run([CMAKE, "--install", BUILD, "--prefix", prefix, *words], capture_output=True, text=True, env=env)
    check(r.returncode == 0, "cmake --install", *words, r.stdout, r.stderr)


def components(work):
    together = set()
    for name, wanted in WANTED.items():
        folder = work / name
        install("/usr", "--component", name, env=dict(os.environ, DESTDIR=str(folder)))
        have = files_below(folder / "usr")
        for file in wanted:
            check(any(pathlib.PurePath(h).match(file) for h in have), f"component {name} lacks {file}; it has", sorted(have))
        check(not have & together, "in two components:", have & together)
        together |= have
    for unit in (work / "daemon/usr/lib/systemd/system").glob("*.service"):
        check("/usr/sbin/autologgerd " in unit.read_text() or "=/usr/bin/autologger " in unit.read_text(), unit, "does not name what was installed")
    return together


def everything(work, together):
    prefix = work / "own"
    install(str(prefix))
    check(files_below(prefix) == together, "without a component it is not the same:", files_below(prefix) ^ together)
    r = subprocess.run([prefix / "lib/autologger/windows/xperf", "-stop", "--explain"], capture_output=True, text=True)
    check(r.stdout == "autologger stop 'NT Kernel Logger'\n", r)
    text = (prefix / "lib/systemd/system/autologgerd.service").read_text()
    check(f"ExecStart={prefix}/lib/autologger/autologger-calm {prefix}/sbin/autologgerd --keep" in text and "/usr/sbin" not in text, "the unit does not follow the prefix:", text)
    return prefix


def program(prefix):
    source, target = prefix / "app.c", prefix / "app"
    source.write_text(PROGRAM)
    pc = next(prefix.rglob("libautologger.pc"))
    env = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent), LD_LIBRARY_PATH=str(pc.parent.parent), AUTOLOGGER_RUNTIME_DIR=str(prefix))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libautologger"], capture_output=True, text=True, env=env)
    check(flags.returncode == 0 and str(prefix) in flags.stdout, "pkg-config:", flags.stdout, flags.stderr)
    r = subprocess.run(["cc", "-Wall", "-Werror", str(source), "-o", str(target), *flags.stdout.split()], capture_output=True, text=True)
    check(r.returncode == 0, "it does not compile:", r.stderr)
    check(subprocess.run([str(target)], env=env, timeout=30).returncode == 0, "it does not run")


READER = """
#include <evntcons.h>
static ULONG events;
static VOID on_event(PEVENT_RECORD r) { events += r->EventHeader.Size != 0; }
int main(int argc, char **argv)
{
    EVENT_TRACE_LOGFILE l = {.LogFileName = argv[argc - 1]};
    l.ProcessTraceMode    = PROCESS_TRACE_MODE_EVENT_RECORD;
    l.EventRecordCallback = on_event;
    TRACEHANDLE h         = OpenTrace(&l);
    return h == INVALID_PROCESSTRACE_HANDLE ? (int)GetLastError() : (int)ProcessTrace(&h, 1, NULL, NULL) + (int)CloseTrace(h);
}
"""


def reader(prefix):
    source, target = prefix / "reader.c", prefix / "reader"
    source.write_text(READER)
    pc = next(prefix.rglob("libautologger-trace.pc"))
    env = dict(os.environ, PKG_CONFIG_PATH=str(pc.parent), LD_LIBRARY_PATH=str(pc.parent.parent))
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libautologger-trace"], capture_output=True, text=True, env=env)
    check(flags.returncode == 0 and str(prefix) in flags.stdout, "pkg-config:", flags.stdout, flags.stderr)
    r = subprocess.run(["cc", "-Wall", "-Werror", str(source), "-o", str(target), *flags.stdout.split()], capture_output=True, text=True)
    check(r.returncode == 0, "it does not compile:", r.stderr)
    check(subprocess.run([str(target), "/nowhere.etl"], env=env, timeout=30).returncode == 2, "a file that is not there")
    check(subprocess.run([str(target), str(source)], env=env, timeout=30).returncode == 13, "a file that is no trace")


def pages(prefix):
    groff = shutil.which("groff")
    found = sorted(prefix.rglob("man?/*.[18]"))
    check(len(found) > 15, "manual pages are missing:", found)
    for page in found if groff else []:
        if page.read_text().startswith(".so "):
            check((page.parent.parent / page.read_text().split()[1]).is_file(), page.name, "leads nowhere")
            continue
        r = subprocess.run([groff, "-man", "-Tutf8", "-ww", "-z", str(page)], capture_output=True, text=True)
        check(r.returncode == 0 and not r.stderr, page.name, r.stderr)


def complete(prefix, *words):
    """bash's completions of the last word."""
    script = """
. "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
compopt() { :; }
_autologger
printf '%s\\n' "${COMPREPLY[@]}"
"""
    env = dict(os.environ, PATH=f"{prefix / 'bin'}:{os.environ['PATH']}", AUTOLOGGER_RUNTIME_DIR=str(prefix),
               AUTOLOGGER_PROFILES=str(prefix / "share/autologger/profiles"))
    r = subprocess.run(["bash", "-c", script, "bash", str(prefix / "share/bash-completion/completions/autologger"), *words],
                       capture_output=True, text=True, env=env, cwd=prefix, timeout=60)
    check(r.returncode == 0 and not r.stderr, "completion of", words, r.stdout, r.stderr)
    return [line for line in r.stdout.splitlines() if line]


def completion(prefix):
    (prefix / "two words.etl").touch()
    verbs = complete(prefix, "autologger", "")
    table = subprocess.run([str(prefix / "bin/autologger"), "--help"], capture_output=True, text=True).stdout
    for verb in ("rehearse", "status", "dump", "bench", "write", "help"):
        check(verb in verbs, f"{verb} is not offered:", verbs)
    check(all(word.lstrip("-").replace("-", "").isalpha() for word in verbs), "no verbs:", verbs)
    check("Usage" in table, table)
    check(complete(prefix, "autologger", "du") == ["dump"], complete(prefix, "autologger", "du"))
    options = complete(prefix, "autologger", "export", "--")
    check("--format" in options and "--store" in options and "--help" in options, options)
    check(complete(prefix, "autologger", "export", "--fo") == ["--format"], options)
    check(complete(prefix, "autologger", "dump", "two") == ["two words.etl"], complete(prefix, "autologger", "dump", "two"))
    check(complete(prefix, "autologger", "export", "--store", "app.") == ["app.c"], "a file as a value")
    check("boot-cpu" in complete(prefix, "autologger", "rehearse", "boot-"), complete(prefix, "autologger", "rehearse", "boot-"))
    check(complete(prefix, "autologger", "bench", "ker") == ["kernel"], complete(prefix, "autologger", "bench", "ker"))


with tempfile.TemporaryDirectory(prefix="al-install-") as folder:
    at = everything(pathlib.Path(folder), components(pathlib.Path(folder)))
    program(at)
    reader(at)
    pages(at)
    completion(at)
