"""Command lines of Windows' programs, as articles and books print them, in a shell and under the programs' own names: each is translated as written
down here; then the flows run for real: a session of logman and its dump, a process trace of xperf, kernel events with a merge, an update, a list
of providers, another computer by ssh.
Proves: CTL-01, CTL-02, CTL-03, CTL-04, CTL-05, CTL-06, CTL-07, CTL-08, CTL-09, CTL-12, CTL-13, CTL-14, CTL-20, CTL-21, CTL-24."""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import time

from harness import BUILD, Machine, check, tool

NAMES = ("logman", "xperf", "tracerpt", "wevtutil", "xbootmgr", "mc")
GUID = "11223344-5566-7788-99aa-bbccddeeff00"
# The line, then the lines of autologger. A typographic dash is as articles print it.
LINES = (
    ("logman start mysession -p Contoso-Web -o mytest.etl -ets", "autologger start mysession --provider Contoso-Web --output ./mytest.etl"),
    (f"logman start mysession -p {{{GUID}}} -o mytest.etl -ets",
     f"autologger start mysession --provider '{{{GUID}}}' --output ./mytest.etl"),
    ("logman stop mysession -ets", "autologger stop mysession"),
    ("tracerpt mytest.etl", "autologger tracerpt mytest.etl"),
    ("logman query providers", "autologger providers --installed"),
    ("wevtutil.exe im contoso.man", "autologger manifest install contoso.man"),
    ("wevtutil -im contoso.man", "autologger manifest install contoso.man"),
    ("xperf –help stackwalk", "autologger providers --stacks"),
    ("xperf -i input.etl –o output.txt", "autologger dump input.etl > output.txt"),
    ("xperf -d output.etl", "autologger stop --merge 'NT Kernel Logger' --output output.etl"),
    ("xperf -merge user.etl kernel.etl output.etl", "autologger merge user.etl kernel.etl --output output.etl"),
    ("xperf -providers R > registered_providers.txt", "autologger providers --registered"),
    ("xperf -providers I > installed_providers.txt", "autologger providers --installed"),
    ("xperf -providers K", "autologger providers --kernel"),
    ("xperf -providers KF", "autologger providers --kernel=flags"),
    ("xperf -providers KG", "autologger providers --kernel=groups"),
    ("xperf -start TestSession -on Microsoft-Windows-Kernel-Process -f c:\\process_trace.etl",
     "autologger start TestSession --provider Microsoft-Windows-Kernel-Process --output 'c:\\process_trace.etl'"),
    ("xperf -stop TestSession", "autologger stop TestSession"),
    ("xperf -loggers", "autologger sessions"),
    # Options in either order and case.
    ("LOGMAN.EXE START web -ETS -O web.etl -P Contoso-Web 0x10 5",
     "autologger start web --provider Contoso-Web:5:0x10 --output ./web.etl"),
    ("logman start -n web -bs 128 -nb 16 64 -max 20 -f bincirc -ct system -ft 1:30 -rt -p A 0x1 win:Error -p '{" + GUID + "}' -o /x/web.etl -ets",
     "autologger start web --provider A:Error:0x1 --provider '{" + GUID + "}' --output /x/web.etl --real-time --set LogFileMode=CIRCULAR "
     "--set BufferSize=128KB --set MinimumBuffers=16 --set MaximumBuffers=64 --set MaxFileSize=20MB --set ClockType=SystemTime --set FlushTimer=90"),
    ("logman create trace web -ow -o 'c:\\web.etl' -p '{" + GUID + "}' 0xffffffffffffffff 0xff -nb 16 16 -bs 1024 -mode Circular -f bincirc -max 4096 –ets",
     "autologger start web --provider '{" + GUID + "}:0xff:0xffffffffffffffff' --output 'c:\\web.etl' --set LogFileMode=Circular "
     "--set MinimumBuffers=16 --set MaximumBuffers=16 --set BufferSize=1024KB --set MaxFileSize=4096MB"),
    ("logman update trace web -p B 0xf7 0xff -ets", "autologger enable web B --level 0xff --keywords 0xf7"),
    ("logman update web --p B -ft 5 -ets", "autologger update web --flush-timer 5\nautologger disable web B"),
    ("logman update web -fd -ets", "autologger flush web"),
    ("logman update web -nb 4 64 -fd -ets", "autologger update web --maximum-buffers 64\nautologger flush web"),
    ("logman update web --rt -o web2.etl -ets", "autologger update web --output web2.etl --real-time off"),
    ("logman update web --p 'Windows Kernel Trace' -ets", "autologger update web --flags none"),
    ("logman start web -p A -cnf -max 5 -o cn.etl -ets",
     "autologger start web --provider A --output ./cn_%d.etl --set LogFileMode=NEWFILE --set MaxFileSize=5MB"),
    ("logman start web -p A -m start stop -ets", "autologger start web --provider A --output ./web.etl"),
    ("logman start web -p A -ets --runtime-dir /r", "autologger start web --provider A --output ./web.etl --runtime-dir /r"),
    ("logman start web -p A -o /x/w.etl -b 1/2/2099 9:05PM -rf 60 -ets",
     "systemd-run --unit=autologger-start-web --timer-property=AccuracySec=1s '--on-calendar=2099-01-02 21:05:00 UTC' "
     "--setenv=AUTOLOGGER_RUNTIME_DIR=@run@ autologger start web --provider A --output /x/w.etl\n"
     "systemd-run --unit=autologger-stop-web --timer-property=AccuracySec=1s '--on-calendar=2099-01-02 21:06:00 UTC' "
     "--setenv=AUTOLOGGER_RUNTIME_DIR=@run@ autologger stop web"),
    ("logman start k -p 'Windows Kernel Trace' '(process,thread,img)' -o k -ets", "autologger start k --flags PROC_THREAD+LOADER --output ./k.etl"),
    ("logman start k -p '{9E814AAD-3204-11D2-9A82-006008A86939}' 0x10007 -o k.etl -ets", "autologger start k --flags PROC_THREAD+LOADER+NETWORKTRACE --output ./k.etl"),
    ("logman start web -mode globalsequence pagedmemory -p A -o w.etl -ets",
     "autologger start web --provider A --output ./w.etl --set LogFileMode=USE_GLOBAL_SEQUENCE+USE_PAGED_MEMORY"),
    ("logman query", "autologger set list"),
    ("logman query web", "autologger set export web"),
    ("logman start web", "autologger set start web"),
    ("logman stop web", "autologger set stop web"),
    ("logman delete web", "autologger set remove web"),
    ("logman create counter cpu -c '\\Processor(_Total)\\% Processor Time' '\\\\host\\PhysicalDisk(*)\\*' -si 5",
     "cat > cpu.set.ini <<'END'\n[CollectorSet/cpu]\nCounters = Processor, Disk\nCounterInterval = 5\nEND\nautologger set save ./cpu.set.ini"),
    ("logman create trace web -p A 0x3 5 -o 'C:\\perf\\web' -bs 64 -b '1/2/2099 3:00AM' -r -rf 10:00",
     "cat > web.set.ini <<'END'\n[CollectorSet/web]\nFolder = C:\\perf\\web\nDuration = 600\nSchedule = *-*-* 03:00:00 UTC\n\n"
     "[CollectorSet/web/web]\nBufferSize = 64KB\n\n[CollectorSet/web/web/A]\nEnableLevel = 5\nMatchAnyKeyword = 0x3\nEND\nautologger set save ./web.set.ini"),
    ("logman query -ets", "autologger sessions"),
    ("logman query web -ets --json", "autologger query web --json"),
    ("logman query providers Contoso-Web", "autologger manifest show Contoso-Web"),
    ("logman stop web -s '\\\\web1' -ets", "ssh -n web1 'autologger stop web'"),
    ("logman start web -p \"It's\" -o /x/w.etl -s web1 -ets", "ssh -n web1 'autologger start web --provider '\\''It'\\''\\'\\'''\\''s'\\'' --output /x/w.etl'"),
    ("logman start web -p A -o /x/w.etl -b '1/2/2099 9:05:00PM' -e '1/3/2099 21:00:00' -ets",
     "systemd-run --unit=autologger-start-web --timer-property=AccuracySec=1s '--on-calendar=2099-01-02 21:05:00 UTC' --setenv=AUTOLOGGER_RUNTIME_DIR=@run@ autologger start web --provider A --output /x/w.etl\n"
     "systemd-run --unit=autologger-stop-web --timer-property=AccuracySec=1s '--on-calendar=2099-01-03 21:00:00 UTC' --setenv=AUTOLOGGER_RUNTIME_DIR=@run@ autologger stop web"),
    ("logman start web -p A -o /x/w.etl -b '2099-01-02 23:59' -rf 2:00 -ets",
     "systemd-run --unit=autologger-start-web --timer-property=AccuracySec=1s '--on-calendar=2099-01-02 23:59:00 UTC' --setenv=AUTOLOGGER_RUNTIME_DIR=@run@ autologger start web --provider A --output /x/w.etl\n"
     "systemd-run --unit=autologger-stop-web --timer-property=AccuracySec=1s '--on-calendar=2099-01-03 00:01:00 UTC' --setenv=AUTOLOGGER_RUNTIME_DIR=@run@ autologger stop web"),
    ("logman start web -p A -o w.etl -rf 10 -ets",
     "autologger start web --provider A --output ./w.etl\nsystemd-run --unit=autologger-stop-web --timer-property=AccuracySec=1s --on-active=10s --setenv=AUTOLOGGER_RUNTIME_DIR=@run@ autologger stop web"),
    ("xperf -on DiagEasy –stackwalk Profile+CSwitch -BufferSize 1024 -MinBuffers 64 -MaxBuffers 320",
     "autologger start --flags DiagEasy --stacks Profile+CSwitch --output 'C:\\kernel.etl' --set BufferSize=1024KB --set MinimumBuffers=64 "
     "--set MaximumBuffers=320"),
    ("xperf -on base -start user -on \"A:0x10:5:'stack|sid'+B\" -f u.etl",
     "autologger start --flags base --output 'C:\\kernel.etl'\nautologger start user --provider B --output ./u.etl\n"
     "autologger enable user A --level 5 --keywords 0x10 --property STACK_TRACE+SID"),
    ("xperf -start -on base -f k.etl", "autologger start --flags base --output ./k.etl"),
    ("xperf -start ring -on A -buffering -BufferSize 64 -MinBuffers 16", "autologger start ring --provider A --set LogFileMode=BUFFERING "
     "--set BufferSize=64KB --set MinimumBuffers=16"),
    ("xperf -stop -stop user -d merged.etl", "autologger stop --merge 'NT Kernel Logger' user --output merged.etl"),
    ("xperf -stop", "autologger stop 'NT Kernel Logger'"),
    ("xperf -flush ring -f ring.etl", "autologger snapshot ring --output ring.etl"),
    ("xperf -on base -buffering", "autologger start 'NT Kernel Logger' --flags base --set LogFileMode=BUFFERING"),
    ("xperf -f k.etl -on base -start user -on A", "autologger start --flags base --output ./k.etl\n"
     "autologger start user --provider A --output 'C:\\user.etl'"),
    ("xperf -update -on base+CSWITCH", "autologger update 'NT Kernel Logger' --flags base+CSWITCH"),
    ("xperf -i a.etl -a tracestats", "autologger summary a.etl"),
    ("xperf -mark here", "autologger mark here"),
    ("xperf -loggers user", "autologger query user"),
    ("xperf -capturestate user A+B", "autologger enable user A --capture-state\nautologger enable user B --capture-state"),
    ("tracerpt a.etl -gmt -O out.xml -of XML -summary -Y", "autologger tracerpt a.etl -o out.xml -of XML -summary -y"),
    ("tracerpt -l a.etl /report r.xml", "autologger tracerpt a.etl -report r.xml"),
    ("wevtutil ep", "autologger providers --installed"),
    ("wevtutil gp Contoso-Web /ge:true /gm:true /f:xml", "autologger manifest show Contoso-Web --json"),
    ("wevtutil el", "autologger channels list --all"),
    ("wevtutil gl Contoso-Web/Debug", "autologger channels list Contoso-Web/Debug"),
    ("wevtutil sl Contoso-Web/Debug /e:true", "autologger channels enable Contoso-Web/Debug"),
    ("wevtutil set-log Contoso-Web/Debug /enabled:FALSE", "autologger channels disable Contoso-Web/Debug"),
    ("wevtutil qe Contoso-Web/Operational /c:5 /rd:true /f:text", "autologger channels query Contoso-Web/Operational --count 5 --reverse"),
    ("wevtutil um c.man", "autologger manifest uninstall c.man"),
    ("wevtutil im c.man /rf:/x/c.so /mf:/x/m.so", "autologger manifest install c.man --resource-file /x/c.so --message-file /x/m.so"),
    ("xbootmgr -remove", "autologger clean"),
    ("mc -um -z contoso c.man", "autologger mc -um -z contoso c.man"),
)
# The line, and what its refusal says; nothing is done.
WRONG = (
    ("logman", "a verb is missing"),
    ("logman frob", "\"frob\" is no verb"),
    ("logman start -ets", "the name of a session is missing"),
    ("logman start web -p A", "add -ets"),
    ("logman update web -p A", "add -ets"),
    ("logman create trace web -p A -o x.etl", "below the log folder"),
    ("logman create counter web -c '\\Frob(*)\\*'", "such counters are not there"),
    ("logman create counter web -c '\\Processor(*)\\*' -ets", "leave -ets out"),
    ("logman start web -p A -ets -bz 5", "Do: -bs"),
    ("logman start web -bs -ets", "-bs needs KB"),
    ("logman start web -bs 5k -ets", "takes a number"),
    ("logman start web -nb 5 -ets", "needs MIN MAX"),
    ("logman start web -f csv -ets", "bin or bincirc"),
    ("logman start web -f bincirc -ets", "-max MB"),
    ("logman start web -ct tsc -ets", "perf, system or cycle"),
    ("logman start web -ft 1:60 -ets", "[[hh:]mm:]ss"),
    ("logman start web -b '13/1/2099 1:00:00' -ets", "not a time. Do"),
    ("logman start web -b '2/30/2099 1:00:00' -ets", "not a time. Do"),
    ("logman start web -b '1/1/2001 1:00:00' -ets", "not a time to come"),
    ("logman start web -b '1/1/2099 13:00:00PM' -ets", "not a time. Do"),
    ("logman start web -b '1/2/2099 9:00' -e '1/2/2099 10:00' -rf 5 -ets", "-e and -rf"),
    ("logman create alert web -o x -ets", "of type alert"),
    ("logman start web garbage -p A -ets", "one word too many"),
    ("logman start web -p A 1 2 garbage -ets", "one word too many"),
    ("logman start web -p A -keywords 0xff -ets", "-keywords is not known"),
    ("logman stop web -o y -ets", "-o does not go with this verb"),
    ("logman query web -p X -ets", "-p does not go with this verb"),
    ("logman update web -p A -rf 10 -ets", "-rf does not go with this verb"),
    ("logman update web -o ../w.etl -ets", "below the log folder"),
    ("logman start web -p A -o w.etl -s web1 -ets", "or an absolute path"),
    ("logman start web -b '1/2/2099 9:00:00' -e '1/2/2099 8:00:00' -ets", "is not after"),
    ("logman start web -s '-oProxyCommand=x' -ets", "-s "),
    ("logman start web -s 'a;b' -ets", "the name of a computer"),
    ("logman update web -bs 5 -ets", "stays"),
    ("logman update web -ets", "nothing to change"),
    ("logman start web -rc x -ets", "-rc is not there"),
    ("xperf", "nothing was asked for"),
    ("xperf on base", "\"on\" is no option"),
    ("xperf -on NO_SUCH_FLAG", "NO_SUCH_FLAG"),
    ("xperf -start web", "-on is missing"),
    ("xperf -stackwalk CSwitch", "-on is missing"),
    ("xperf -start web -on CSWICH+LOADER", "CSWICH"),
    ("xperf -start web -on +", "names nothing"),
    ("xperf -start web -on A -buffering -f w.etl", "without a file"),
    ("xperf -stop -f w.etl", "belongs to no session"),
    ("xperf -merge a.etl b.etl c.etl -compress", "-compress is not known"),
    ("xperf -merge a b c -merge d e f", "one -merge"),
    ("xperf -i a.etl -a tracestats -symbols", "-symbols is for"),
    ("tracerpt a.etl b.etl", "one file at a time"),
    ("xbootmgr -trace boot -traceFlags ../../x", "-traceFlags"),
    ("xbootmgr -trace boot -stackWalk Frob", "-stackWalk"),
    ("xperf -start web -on \"A:1:2:'frob'\"", "stack, sid or tsid"),
    ("xperf -on base -FileMode Ring", "Sequential, Circular"),
    ("xperf -providers X", "I, R, K"),
    ("xperf -i a.etl -a registry", "-a registry is not there"),
    ("tracerpt -rt web", "autologger watch"),
    ("wevtutil", "a command is missing"),
    ("wevtutil im", "needs a manifest"),
    ("wevtutil epl System", "in systemd's journal"),
    ("wevtutil sl System /ms:5", "one size for all"),
    ("wevtutil sl System", "/e:true or /e:false"),
    ("wevtutil sl System /e:maybe", "true or false"),
    ("wevtutil gp A /f:yaml", "Text or XML"),
    ("xbootmgr -trace shutdown", "boots alone"),
    ("xbootmgr", "nothing was asked for"),
    ("xbootmgr -trace boot -numRuns x", "takes a number"),
    ("xbootmgr -trace boot -runTag a/b", "-runTag is a word"),
)


class Shell:
    """A folder with the programs' names on PATH, and the current folder of their command lines."""

    def __init__(self, m):
        self.m, self.bin, self.work = m, pathlib.Path(m.dir, "bin"), pathlib.Path(m.dir, "work")
        self.bin.mkdir()
        self.work.mkdir()
        for name in NAMES + ("LOGMAN.EXE", "wevtutil.exe"):
            (self.bin / name).symlink_to(os.path.join(BUILD, "autologger"))
        (self.bin / "autologger").symlink_to(os.path.join(BUILD, "autologger"))
        self.env = dict(m.env, PATH=f"{self.bin}:{os.environ['PATH']}", TZ="UTC")

    def run(self, line, expect=0):
        r = subprocess.run(["sh", "-c", line], cwd=self.work, env=self.env, capture_output=True, text=True, timeout=120)
        check(r.returncode == expect, line, "-> exit", r.returncode, "expected", expect, "\n", r.stdout, r.stderr)
        return r


def translations(shell):
    for line, wanted in LINES:
        words = line.split(" ", 1)
        plain = " ".join([words[0], "--explain", *words[1:]])
        plain = plain.split(" > ")[0]
        said = shell.run(plain).stdout.rstrip("\n")
        check(said == wanted.replace("@run@", shell.m.runtime), line, "\n said  ", said, "\n wanted", wanted)
        check(not os.listdir(shell.work), "--explain made", os.listdir(shell.work))
    for line, wanted in WRONG:
        said = shell.run(line, expect=100).stderr
        check(wanted in said and said.startswith(line.split()[0] + ":"), line, "\n said", said, "\n wanted", wanted)
        check(not os.listdir(shell.work), line, "made", os.listdir(shell.work))
    print(len(LINES), "lines translated,", len(WRONG), "refused")


def outputs(shell):
    """A dump goes into pipes, through links, with the rights of the file that is there, and never in place of what is no file."""
    shell.run("logman start o -p Contoso-Web -ets")
    shell.m.tool("write", "Contoso-Web", "Step", "n=1")
    shell.run("logman stop o -ets")
    shell.run("xperf -i o.etl -o a.txt")
    check(oct((shell.work / "a.txt").stat().st_mode & 0o777) == "0o640", "a dump that all may read")
    text = (shell.work / "a.txt").read_text()
    (shell.work / "private.txt").touch()
    (shell.work / "private.txt").chmod(0o600)
    (shell.work / "link.txt").symlink_to("private.txt")
    shell.run("xperf -i o.etl -o link.txt")
    check((shell.work / "link.txt").is_symlink() and (shell.work / "private.txt").read_text() == text, "through a link")
    check(oct((shell.work / "private.txt").stat().st_mode & 0o777) == "0o600", "the rights of a file that is there")
    os.mkfifo(shell.work / "pipe")
    check(shell.run("cat pipe >b.txt & xperf -i o.etl -o pipe; wait").returncode == 0 and (shell.work / "b.txt").read_text() == text, "a pipe")
    check((shell.work / "pipe").is_fifo(), "the pipe is gone")
    shell.run("xperf -i o.etl -o .", expect=111)
    shell.run("xperf -providers K >/dev/full", expect=111)
    shell.run("logman start web -pf /nowhere -ets", expect=1)
    shell.run("logman start web -pf . -ets", expect=1)
    for name in ("a.txt", "b.txt", "private.txt", "link.txt", "pipe", "o.etl"):
        (shell.work / name).unlink()
    check(not os.listdir(shell.work), os.listdir(shell.work))


def taken_back(shell):
    """The second session cannot start: the first is stopped again, and the timer that does not come stops its session."""
    r = shell.run("xperf -start one -on A -f one.etl -start two/x -on B -f two.etl", expect=100)
    check("taken back, as a later step failed: autologger stop one" in r.stderr, r.stderr)
    check("one" not in [s["name"] for s in json.loads(shell.run("xperf -loggers --json").stdout)["sessions"]], "one runs")
    (shell.bin / "systemd-run").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    (shell.bin / "systemd-run").chmod(0o755)
    r = shell.run("logman start one -p A -rf 5 -ets", expect=1)
    check("taken back" in r.stderr and not json.loads(shell.run("xperf -loggers --json").stdout)["sessions"], r.stderr)
    (shell.bin / "systemd-run").unlink()


def a_collector(shell):
    """Saved, listed, started without its options, stopped, deleted; the file that carries it is gone."""
    store = f"--store={shell.m.store}"
    for name in os.listdir(shell.work):
        (shell.work / name).unlink()
    shell.run(f"logman create trace col -p Contoso-Web 0x1 4 -bs 64 {store}")
    check(not os.listdir(shell.work), os.listdir(shell.work))
    check("col" in shell.run(f"logman query {store}").stdout and "Contoso-Web" in shell.run(f"logman query col {store}").stdout, "query")
    result = shell.run(f"logman start col {store}").stdout.split()[-1]
    shell.m.tool("write", "Contoso-Web", "Step", "n=3", "--keyword", "0x1")
    shell.run("logman stop col")
    check([e["fields"] for e in events(os.path.join(result, "col.etl"), event="Step")] == [{"n": 3}], result)
    shell.run(f"logman delete col {store}")
    check("col" not in shell.run(f"logman query {store}").stdout, "deleted")


def in_memory(shell):
    """Kernel events in memory, and a snapshot of them; an update of a file."""
    shell.run("xperf -on PROC_THREAD -buffering -BufferSize 64 -MinBuffers 16")
    subprocess.run(["/bin/true"], check=True)
    shell.run("xperf -flush -f ring.etl")
    check(any("true" in json.dumps(e) for e in events(os.path.join(shell.m.logs, "ring.etl"))), "no process in the snapshot")
    shell.run("xperf -stop")
    shell.run("logman start up -p Contoso-Web -o up.etl -ets")
    shell.run("logman update up -o up2.etl -nb 4 64 -ets")
    shell.m.tool("write", "Contoso-Web", "Step", "n=9")
    shell.run("logman stop up -ets")
    check(len([e for e in events(os.path.join(shell.m.logs, "up2.etl")) if "n" in e.get("fields", {})]) == 1, "up2.etl")


def events(path, **wanted):
    got = [json.loads(line) for line in tool("dump", str(path), "--json").stdout.splitlines()]
    return [e for e in got if all(e.get(k) == v for k, v in wanted.items())]


def a_session(shell):
    """logman start, stop; tracerpt: by name and by GUID."""
    for provider in ("Contoso-Web", f"{{{GUID}}}"):
        shell.run(f"logman start mysession -p {provider} -o mytest.etl -ets")
        listed = shell.run("xperf -loggers").stdout
        check("mysession" in listed and "mysession" in shell.run("logman query -ets").stdout, listed)
        for n in range(5):
            shell.m.tool("write", provider, "Step", f"n={n}")
        shell.run("logman stop mysession -ets")
        check("mysession" not in shell.run("logman query -ets").stdout, "still there")
        numbers = [e["fields"]["n"] for e in events(shell.work / "mytest.etl") if "fields" in e and "n" in e["fields"]]
        check([int(n) for n in numbers] == list(range(5)), provider, numbers)
        shell.run("tracerpt mytest.etl -y")
        dump = (shell.work / "dumpfile.xml").read_text(encoding="utf-8")
        check(dump.count("<Event ") >= 5 and (shell.work / "summary.txt").stat().st_size > 0, dump[:500])
    shell.run("logman stop mysession -ets", expect=1)


def an_update(shell):
    """A provider more, then one less, and a flush; -pf names providers, as does a line."""
    (shell.work / "providers.txt").write_text('"Contoso-Web" 0x3 5\n\n; a comment\n{' + GUID + "} 0xff win:Verbose\n", encoding="utf-8")
    shell.run("logman create trace web -pf providers.txt -o web.etl -bs 64 -nb 8 32 -ets")
    q = json.loads(shell.run("logman query web -ets --json").stdout)
    got = sorted((e["guid"], e["level"], e["match_any"]) for e in q["enables"])
    check(got == [(f"{{{GUID}}}", 5, 0xFF), ("{692ff1fc-f6e3-5dcf-152a-f465e8b11831}", 5, 3)], q["enables"])
    check((q["buffer_kb"], q["minimum_buffers"], q["maximum_buffers"]) == (64, 8, 32), q)
    shell.run("logman update web -p Contoso-Db 0x1 4 -ets")
    shell.m.tool("write", "Contoso-Db", "Query", "n=1", "--keyword", "0x1")
    shell.run("logman update web --p Contoso-Db -ets")
    shell.m.tool("write", "Contoso-Db", "Query", "n=2", "--keyword", "0x1", expect=1)
    shell.run("logman update web -fd -ets")
    check([e["fields"] for e in events(shell.work / "web.etl", event="Query")] == [{"n": 1}], "flushed")
    shell.run("logman stop web -ets")


def kernel(shell):
    """A process trace by the provider of the book; then kernel events, stacks, merge: one command gives a file that has the images' versions."""
    shell.run("xperf -start TestSession -on Microsoft-Windows-Kernel-Process -f c:\\process_trace.etl")
    check("TestSession" in shell.run("xperf -loggers").stdout, "not listed")
    subprocess.run(["/bin/true"], check=True)
    subprocess.run(["/bin/sh", "-c", "exit 7"], check=False)
    shell.run("xperf -stop TestSession")
    shell.run("xperf -i 'c:\\process_trace.etl' -o out.txt")
    text = (shell.work / "out.txt").read_text(encoding="utf-8", errors="replace")
    check("ProcessStart" in text and "true" in text, text[:2000])
    shell.run("xperf -on PROC_THREAD+LOADER -f kernel.etl")
    shell.run("xperf -start user -on Contoso-Web -f user.etl")
    shell.m.tool("write", "Contoso-Web", "Step", "n=1")
    subprocess.run(["/bin/sh", "-c", "/bin/true; exit 0"], check=True)
    shell.run("xperf -stop user")
    shell.run("xperf -d output.etl")
    shell.run("xperf -i output.etl –o output.txt")
    text = (shell.work / "output.txt").read_text(encoding="utf-8", errors="replace")
    check("FileVersion" in text and "/true" in text, text[:2000])
    shell.run("xperf -merge output.etl user.etl both.etl")
    counts = [len(events(shell.work / name)) for name in ("output.etl", "user.etl", "both.etl")]
    check(counts[2] >= counts[0] + 1 and len([e for e in events(shell.work / "both.etl") if "n" in e.get("fields", {})]) == 1, counts)
    shell.run("logman start proc -p 'Windows Kernel Trace' '(process,img)' -o proc -ets")
    subprocess.run(["/bin/true"], check=True)
    shell.run("logman stop proc -ets")
    check(any("true" in json.dumps(e) for e in events(shell.work / "proc.etl")), "no process")
    shell.run("xperf -merge nothing.etl both.etl x.etl", expect=1)
    shell.run("xperf -i nothing.etl -o x.txt", expect=1)
    check(not (shell.work / "x.txt").exists() and not list(shell.work.glob("*~")), os.listdir(shell.work))


def providers(shell):
    """R has names and GUIDs of programs that run, I has names with GUIDs; wevtutil has the same list as xperf."""
    shell.run("xperf -providers R > registered_providers.txt")
    shell.run("xperf -providers I > installed_providers.txt")
    installed = (shell.work / "installed_providers.txt").read_text(encoding="utf-8")
    check(installed == shell.run("wevtutil ep").stdout == shell.run("logman query providers").stdout, installed)
    check("Microsoft-Windows-Kernel-Process" in installed, installed[:500])


def another_computer(shell):
    """-s: a real server of ssh on the loopback interface, with keys of its own."""
    server, client, keys = (shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") for name in ("dropbear", "ssh", "dropbearkey"))
    if not (server and client and keys):
        print("no ssh server (dropbear-bin) and client here: -s was translated, not run")
        return
    home = pathlib.Path(shell.m.dir, "home")
    (home / ".ssh").mkdir(parents=True, mode=0o700)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", home / "key"], check=True)
    subprocess.run([keys, "-t", "ed25519", "-f", home / "host"], check=True, capture_output=True)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    shutil.copy(home / "key.pub", home / ".ssh" / "authorized_keys")
    # bash reads it for a command of ssh
    (home / ".bashrc").write_text(f"export PATH={shell.env['PATH']} AUTOLOGGER_RUNTIME_DIR={shell.m.runtime}\n", encoding="utf-8")
    served = f"mount --bind {home} /root && exec {server} -F -s -p 127.0.0.1:{port} -r {home}/host -P {home}/pid"
    shell.m.processes.append(subprocess.Popen(["unshare", "--mount", "sh", "-c", served], stderr=subprocess.DEVNULL))
    (home / "config").write_text(f"Host web1\n HostName 127.0.0.1\n Port {port}\n User root\n IdentityFile {home}/key\n IdentitiesOnly yes\n"
                                 f" BatchMode yes\n StrictHostKeyChecking no\n UserKnownHostsFile {home}/known\n", encoding="utf-8")
    (shell.bin / "ssh").write_text(f"#!/bin/sh\nexec {client} -F {home}/config \"$@\"\n", encoding="utf-8")
    (shell.bin / "ssh").chmod(0o755)
    end = time.time() + 20
    while subprocess.run([shell.bin / "ssh", "web1", "true"], capture_output=True).returncode and time.time() < end:
        time.sleep(0.1)
    file = pathlib.Path(shell.m.logs, "it's far.etl")
    shell.run(f"logman start far -p Contoso-Web -o \"{file}\" -s web1 -ets")
    shell.m.tool("write", "Contoso-Web", "Step", "n=1")
    check("far" in shell.run("logman query -s web1 -ets").stdout, "not listed")
    shell.run("logman stop far -s '\\\\web1' -ets")
    check(len([e for e in events(file) if "n" in e.get("fields", {})]) == 1, "far")
    shell.run("logman stop far -s web1 -ets", expect=1)
    shell.run("logman stop far -s 127.0.0.1.invalid -ets", expect=111)
    print("sessions of another computer, by ssh")


with Machine() as machine:
    machine.start()
    sh = Shell(machine)
    translations(sh)
    outputs(sh)
    taken_back(sh)
    a_collector(sh)
    in_memory(sh)
    a_session(sh)
    an_update(sh)
    providers(sh)
    kernel(sh)
    another_computer(sh)
