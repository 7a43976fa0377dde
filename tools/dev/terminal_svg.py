#!/usr/bin/env python3
"""Turns a command's output into a picture for the README.

Usage: build/release/autologger status --store FILE | terminal_svg.py 'autologger status' > docs/status.svg
       build/release/autologger why FILE | terminal_svg.py 'autologger why' 112 > docs/why.svg
"""
import sys
from xml.sax.saxutils import escape

LINE, LEFT, TOP, MOST = 18, 14, 34, 40
COLOURS = (("failed", "#e06c75"), ("note ", "#e5c07b"), ("SESSION", "#61afef"), ("    ", "#9aa2b1"))


def colour(line):
    return next((c for word, c in COLOURS if line.startswith(word) or (word == "failed" and "  failed  " in line)), "#dcdfe4")


def main():
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    width = int(sys.argv[2]) if len(sys.argv) > 2 else 84
    lines = [f"$ {command}"] + [line.rstrip("\n") for line in sys.stdin][:MOST]
    lines = [line if len(line) <= width else line[: width - 3] + "..." for line in lines]
    height = TOP + LINE * len(lines) + 12
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width * 8 + 2 * LEFT}" height="{height}" role="img" '
          f'aria-label="{escape(command)} in a terminal">')
    print(f'<rect width="100%" height="100%" rx="8" fill="#282c34"/>')
    print('<g font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="13" xml:space="preserve">')
    for number, line in enumerate(lines):
        print(f'<text x="{LEFT}" y="{TOP + LINE * number}" fill="{colour(line)}">{escape(line)}</text>')
    print("</g>\n</svg>")


if __name__ == "__main__":
    main()
