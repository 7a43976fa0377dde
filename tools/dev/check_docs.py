#!/usr/bin/env python3
"""The manual is part of the change: verb -> tools/verbs/cmd_<verb>.c -> docs/man/autologger-<verb>.1 -> tools/tests/cases/<verb>-*.case.

Usage: check_docs.py [SOURCE_DIR]. Exit codes: 0 fine, 1 something is missing.
Also: each man page has an example and its exit codes; a verb is named on the main page and in the README; links between the pages have targets; files
that docs/ARCHITECTURE.md and docs/architecture name exist.
"""
import pathlib
import re
import sys

FILE_IN_TEXT = re.compile(r"`((?:autologger|registry-sim|tools|config|boot-tests|docs)/[\w./-]+\.\w+)`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def check_verb(root, name, wrong):
    verb = name.replace("_", "-")  # as users type it
    page = root / f"docs/man/autologger-{verb}.1"
    if not (root / f"tools/verbs/cmd_{name}.c").is_file():
        wrong.append(f"tools/verbs/cmd_{name}.c is missing: the verb '{verb}' has no file")
    if not page.is_file():
        wrong.append(f"docs/man/autologger-{verb}.1 is missing")
    else:
        text = page.read_text(encoding="utf-8")
        for section in ("NAME", "SYNOPSIS", "EXAMPLE", "EXIT STATUS"):
            if f".SH {section}" not in text:
                wrong.append(f"{page.name}: no section {section}")
    if not list((root / "tools/tests/cases").glob(f"{verb}-*.case")):
        wrong.append(f"tools/tests/cases/{verb}-*.case: the verb '{verb}' has no case test")
    main_page = root / "docs/man/autologger.1"
    listed = main_page.read_text(encoding="utf-8").replace("\\-", "-") if main_page.is_file() else ""
    if not re.search(rf"^\.BR? {verb}\b|autologger-{verb}\b", listed, re.M):
        wrong.append(f"docs/man/autologger.1 does not name the verb '{verb}'")


def check_page(root, page, wrong):
    text = page.read_text(encoding="utf-8")
    for target in LINK.findall(text):
        if not (page.parent / target).exists():
            wrong.append(f"{page.relative_to(root)}: the link {target} leads nowhere")
    if page.name == "ARCHITECTURE.md" or page.parent.name == "architecture":
        for target in FILE_IN_TEXT.findall(text):
            if not (root / target).is_file():
                wrong.append(f"{page.relative_to(root)}: names {target}, which does not exist")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parents[2]).resolve()
    verbs = re.findall(r"^V\((\w+),", (root / "tools/base/verbs.def").read_text(encoding="utf-8"), re.M)
    wrong = []
    for verb in verbs:
        check_verb(root, verb, wrong)
    known = {f"cmd_{verb}.c" for verb in verbs}
    for path in sorted((root / "tools/verbs").glob("cmd_*.c")):
        if path.name not in known:
            wrong.append(f"tools/verbs/{path.name} belongs to no verb of verbs.def")
    pages = sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")])
    for page in pages:
        check_page(root, page, wrong)
    print("\n".join(wrong))
    print(f"check_docs: {len(verbs)} verbs, {len(pages)} pages, {len(wrong)} wrong")
    return 1 if wrong or not verbs else 0


if __name__ == "__main__":
    sys.exit(main())
