# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the documentation matches the repository. In every .md file:

* a ```cpp block follows `<!-- snippet: examples/01_digits.cpp training-loop -->` and equals the part of that file
  between `// [snippet: training-loop]` and `// [end]`, or it follows `<!-- not compiled: reason -->`; a ```cmake,
  ```c, ```fortran or ```python block may do the same, with its own comments;
* a relative link leads to a file, and its #anchor to a heading there;
* a script that a ```sh block names exists.

`snippets.py <root> --update` updates the blocks."""

import pathlib
import re
import sys
import textwrap
import tree

SNIPPET = re.compile(r"^<!-- snippet: (\S+) (\S+) -->$")
NOT_COMPILED = re.compile(r"^<!-- not compiled: \S.* -->$")
BEGIN = re.compile(r"^\s*(?://|#|!|/\*) \[snippet: (\S+)\](?: \*/)?$")
END = re.compile(r"^\s*(?://|#|!|/\*) \[end\](?: \*/)?$")
FENCE = re.compile(r"^\s*(`{3,})\s*(\S*)")
LINK = re.compile(r"(?<!\\)\]\(<?([^()\s>]+)>?\)|^\[[^\]]+\]:\s+(\S+)|\bsrc(?:set)?=\"([^\"]+)\"")
SCRIPT = re.compile(r"(?<![\w./$~-])(?:\./)?((?:[\w-]+/)*[\w-]+\.(?:sh|py))\b")
HIDDEN = (".", "build")  # prefixes of directories that are not ours


class Snippets:
    """The marked parts of source files, read on demand."""

    def __init__(self):
        self.files_ = {}

    def find(self, path, name):
        """Returns (text, None), or (None, reason)."""
        if path not in self.files_:
            self.files_[path] = self.read_(path)
        snippets, problem = self.files_[path]
        if name not in snippets:
            return None, problem or f"{path} has no snippet {name}"
        return snippets[name], None

    @staticmethod
    def read_(path):
        file = tree.root() / path
        if not file.is_file():
            return {}, f"there is no {path}"
        snippets = {}
        name = None
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            begin = BEGIN.match(line)
            if (begin and name) or (END.match(line) and not name):
                return {}, f"{path}:{number}: snippet markers do not pair"
            if begin:
                name = begin.group(1)
                if name in snippets:
                    return {}, f"{path}:{number}: a second snippet {name}"
                snippets[name] = []
            elif END.match(line):
                name = None
            elif name:
                snippets[name].append(line)
        if name:
            return {}, f"{path}: the snippet {name} has no end"
        return {key: textwrap.dedent("\n".join(lines)).strip("\n").split("\n") for key, lines in snippets.items()}, None


class Page:
    """One .md file, split into blocks of code and the prose between them."""

    def __init__(self, path):
        self.path = path
        self.lines = (tree.root() / path).read_text(encoding="utf-8").splitlines()
        self.blocks = []  # (language, line of the opening fence, line of the closing fence), from 0
        self.prose = []   # (line, text)
        opened = None
        for number, line in enumerate(self.lines):
            fence = FENCE.match(line)
            if opened is None and fence:
                opened = (fence.group(2), number, fence.group(1))
            elif opened is None:
                self.prose.append((number, line))
            elif line.strip() == opened[2]:
                self.blocks.append((opened[0], opened[1], number))
                opened = None
        self.open_block = opened

    def anchors(self):
        """Returns the names that GitHub and most renderers give to headings."""
        names = set()
        for _, line in self.prose:
            if re.match(r"#{1,6} ", line):
                text = re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-")
                name, count = text, 0
                while name in names:
                    count += 1
                    name = f"{text}-{count}"
                names.add(name)
        return names


def pages():
    for path in sorted(tree.root().rglob("*.md")):
        relative = path.relative_to(tree.root())
        if not any(part.startswith(HIDDEN) for part in relative.parts[:-1]):
            yield relative.as_posix()


def code_problems(page, snippets, update):
    """Compares, or with `update` replaces, the C++ blocks, last one first so that line numbers stay valid."""
    changed = False
    for language, first, last in reversed(page.blocks):
        marker = page.lines[first - 1] if first else ""
        if language not in ("cpp", "c++") and not (language in ("cmake", "c", "fortran", "python") and SNIPPET.match(marker)):
            continue
        where = f"{page.path}:{first + 1}"
        if NOT_COMPILED.match(marker):
            continue
        found = SNIPPET.match(marker)
        if not found:
            yield f"{where}: a cpp block needs `<!-- snippet: file name -->` on the line before, or `<!-- not compiled: reason -->`"
            continue
        text, problem = snippets.find(*found.groups())
        if problem:
            yield f"{where}: {problem}"
        elif page.lines[first + 1:last] != text:
            if not update:
                yield f"{where}: differs from {' '.join(found.groups())}; run {pathlib.Path(__file__).name} <root> --update"
            page.lines[first + 1:last] = text
            changed = True
    if changed and update:
        (tree.root() / page.path).write_text("\n".join(page.lines) + "\n", encoding="utf-8")
        print(f"updated {page.path}")


def stray_markers(page):
    for number, line in page.prose:
        following = page.lines[number + 1] if number + 1 < len(page.lines) else ""
        if line.startswith(("<!-- snippet:", "<!-- not compiled:")) and not following.startswith("```"):
            yield f"{page.path}:{number + 1}: no block follows this line directly"


def link_problems(page, all_pages):
    for number, line in page.prose:
        for match in LINK.finditer(re.sub(r"`[^`]*`", "", line)):
            target, _, anchor = next(filter(None, match.groups())).partition("#")
            if re.match(r"[a-z+.-]+:", target):
                continue
            full = (tree.root() / page.path).parent / target if target else tree.root() / page.path
            where = f"{page.path}:{number + 1}"
            if not full.exists():
                yield f"{where}: there is no {target}"
                continue
            other = all_pages.get(full.resolve())
            if anchor and other and anchor not in other.anchors():
                yield f"{where}: {other.path} has no heading #{anchor}"


def script_problems(page):
    for language, first, last in page.blocks:
        for number in range(first + 1, last if language in ("sh", "bash", "console") else first):
            for script in SCRIPT.findall(re.sub(r"(^|\s)#.*", "", page.lines[number])):
                if not (tree.root() / script).is_file():
                    yield f"{page.path}:{number + 1}: there is no {script}"


def main():
    update = "--update" in sys.argv[2:]
    snippets = Snippets()
    all_pages = {(tree.root() / path).resolve(): Page(path) for path in pages()}
    problems = []
    for page in all_pages.values():
        if page.open_block:
            problems.append(f"{page.path}:{page.open_block[1] + 1}: this block has no end")
        problems += [*stray_markers(page), *link_problems(page, all_pages), *script_problems(page)]
        problems += code_problems(page, snippets, update)
    blocks = sum(language in ("cpp", "c++") for page in all_pages.values() for language, _, _ in page.blocks)
    print(f"{len(all_pages)} pages, {blocks} blocks of C++")
    tree.finish(problems if all_pages else ["no page found"])


main()
