#!/usr/bin/env python3
"""Names that others chose are escaped where they are printed: no name of a provider, session, file or program moves the cursor of a terminal, nor
starts a line of its own in the journal (registry-sim/win32/visible.h).

Usage: check_visible.py [SOURCE_DIR]. Exit codes: 0 fine, 1 something is printed as it is.
- The daemon and the folders below it write to stderr by visible_line alone.
- The tools, and functions that print text for them, put strings into text by visible_printf: printf or fprintf with %s or %c is an error, as is puts
of anything but a literal. A line whose comment begins with "visible:" gives the reason for an exception.
- No argument of a format has a newline of our own in it: visible_printf would escape it.
"""
import pathlib
import re
import subprocess
import sys

# files that print text, or pass it to a function that does
TEXT = re.compile(r"^(tools/(?!tests/|dev/|portable/|ust/|writers/)(?:\w+/)?[^/]+\.c|autologger/report/(boot_text|compare_view)\.c|autologger/consumer/(losses|summary_print)\.c"
                  r"|autologger/daemon/early/early(_report)?\.c)$")
# programs for developers; files of other forms, with escaping rules of their own
OTHER = re.compile(r"^tools/(bench/\w+|verbs/cmd_bench|demo|live/filter_words|view/tracerpt_report)\.c$")
QUIET = re.compile(r"^(autologger|registry-sim)/.*\.c$")
CALL = re.compile(r"(?<![\w])(printf|fprintf|dprintf|fwrite|puts|fputs|perror|visible_printf|visible_line|text_table_line)\(")
STRING = re.compile(r"%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?[sc]")


def arguments(text, at):
    """The arguments of the call whose '(' ends at `at`, and its end. Literals and brackets are kept whole."""
    found, depth, start, quote, i = [], 1, at, "", at
    while i < len(text) and depth:
        c = text[i]
        if quote:
            if c == "\\":
                i += 1
            elif c == quote:
                quote = ""
        elif c in "\"'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        if (c == "," and depth == 1 and not quote) or not depth:
            found.append(text[start:i].strip())
            start = i + 1
        i += 1
    return found, i


def literals(argument):
    return re.findall(r'"((?:[^"\\]|\\.)*)"', argument)


def wrong(name, called, given):
    """The error of a call, or None."""
    formatted = {"printf": 0, "fprintf": 1, "dprintf": 1, "visible_printf": 1, "visible_line": 1, "text_table_line": 1}
    to_stderr = called == "perror" or (given and given[0] == "stderr") or (given and given[-1] == "stderr")
    if QUIET.match(name) and to_stderr and called != "visible_line" and name != "registry-sim/base/visible_print.c":
        return "goes to stderr: use visible_line"
    if called in formatted and len(given) > formatted[called]:
        texts = [part for part in literals(given[formatted[called]])]
        if called in ("printf", "fprintf", "dprintf") and TEXT.match(name) and any(STRING.search(part) for part in texts):
            return "puts a string into text: use visible_printf"
        if called.startswith(("visible", "text")) and any("\\n" in part for more in given[formatted[called] + 1:] for part in literals(more)):
            return "an argument has a newline of ours: it would be escaped. Put it into the format"
    if called == "fwrite" and TEXT.match(name) and given[-1] == "stdout":
        return "prints bytes as they are: use visible_json or visible_puts"
    if called in ("puts", "fputs") and TEXT.match(name) and not literals(given[0]):
        return "prints something that is no literal: use visible_puts or visible_printf"
    return None


def check(root, name):
    text, problems = (root / name).read_text(encoding="utf-8"), []
    if OTHER.match(name):
        return []
    for m in CALL.finditer(text):
        given, end = arguments(text, m.end())
        line_end = text.find("\n", end)
        if "/* visible:" in text[m.start():line_end if line_end >= 0 else len(text)]:
            continue
        why = wrong(name, m.group(1), given)
        if why:
            problems.append(f"{name}:{text.count(chr(10), 0, m.start()) + 1}: {m.group(1)}(...) {why}")
    return problems


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    listed = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True)
    names = listed.stdout.split("\n") if listed.returncode == 0 else [str(p.relative_to(root)) for p in root.rglob("*.c")]
    looked = sorted(n for n in set(names) if (TEXT.match(n) or QUIET.match(n)) and "/tests/" not in n and (root / n).is_file())
    problems = [p for name in looked for p in check(root, name)]
    print("\n".join(problems) or f"{len(looked)} files print what others chose escaped")
    return 1 if problems or not looked else 0


if __name__ == "__main__":
    sys.exit(main())
