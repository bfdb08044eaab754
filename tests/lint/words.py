# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that pages, comments and names of tests use plain standard words, and that no comment begins like a fragment.

Skips code: `such` and blocks in pages, and everything but comments and names of tests in sources. Also skips decisions, which stay as
they were written."""

import re
import tree

# Words that are not used, and what to write instead.
RETIRED = {
    r"folders?": "directory",
    r"told|untold": "reported, recorded or logged; distinguished",
    r"mishaps?|mistakes? of (?:a|the) (?:user|program)": "misuse, or error",
    r"glanc(?:es?|ed|ing)|takes? a look|looks? at it": "check, poll or read",
    r"books": "stats, or totals",
    r"diver(?:t|ts|ted)": "excluded",
    r"remarks?": "warning, or note",
    r"patience": "timeout",
    r"abstentions?": "skipped rule",
    r"takers?": "consumer",
    r"whoever|nobody knows": "the caller, or unknown",
    r"rooms? (?:for|in|of|is)|no room|finds? room": "space, or capacity",
    r"(?:stands?|lies) (?:in|on|at|behind|below|beside|there)": "is",
    r"beside each other": "side by side",
    r"the begin of|its begin|a begin": "start",
    r"gone on with|goes on with": "continued",
    r"anew": "again",
    r"mended": "fixed",
    r"hush(?:es|ed|ing)?": "silence",
    r"timelines?": "time line",
    r"as ever": "as before, or as always",
    r"in vain": "without a result",
    r"by (?:the|their|its) (?:\w+(?:'s|s') )?leave": "if … allows it",
}
WORD = re.compile("|".join(rf"(?P<w{number}>(?<![\w/.-]){word}(?![\w]))" for number, word in enumerate(RETIRED)), re.IGNORECASE)
USE = list(RETIRED.values())
COMMENTS = {".hpp": r"//[^\n]*|/\*.*?\*/", ".cpp": r"//[^\n]*|/\*.*?\*/", ".cu": r"//[^\n]*|/\*.*?\*/", ".hip": r"//[^\n]*|/\*.*?\*/",
            ".py": r'#[^\n]*|""".*?"""', ".js": r"//[^\n]*|/\*.*?\*/", ".sh": r"#[^\n]*", ".cmake": r"#[^\n]*", ".txt": r"#[^\n]*"}
TEXTS = r'"(?:\\.|[^"\\\n])*"|'  # in which no comment begins
CODE_IN_PAGE = re.compile(r"^```.*?^```|`[^`\n]*`|<!--.*?-->|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
CODE_IN_COMMENT = re.compile(r"`[^`\n]*`|\\param \w+")
KEPT = ("docs/decisions/",)
ITSELF = ("tests/lint/words.py",)
FRAGMENT = re.compile(r"^\s*(?://[/<!]*|#|/\*\*?|\"\"\")\s*(?:Of|What|Whether|Where|How|Who|That)\b")
TEST_NAME = re.compile(r'\b(?:TEST_CASE\w*|SECTION)\((?:\w+, )?"((?:\\.|[^"\\\n])*)"')


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def comments_of(path, text):
    """The text with nothing but its comments, at the lines where they are."""
    suffix = path[path.rindex("."):]
    texts = '"""|' if suffix == ".py" else ""
    pattern = re.compile(f"(?P<comment>{COMMENTS[suffix]})|{TEXTS}{texts}" + r"[^\n]", re.DOTALL)
    kept = pattern.sub(lambda match: CODE_IN_COMMENT.sub("", match["comment"]) if match["comment"] else " ", text)
    if suffix != ".cpp":
        return kept
    lines = kept.split("\n")
    for number, line in enumerate(text.split("\n")):
        lines[number] += " ".join(TEST_NAME.findall(line))
    return "\n".join(lines)


def prose():
    """(path, text to read) of all pages and sources."""
    pages = [*tree.root().glob("*.md"), *(tree.root() / "docs").rglob("*.md")]
    for page in sorted(pages):
        path = page.relative_to(tree.root()).as_posix()
        if not path.startswith(KEPT) and path not in ITSELF:
            yield path, CODE_IN_PAGE.sub(lambda match: blank(match.group()), page.read_text(encoding="utf-8"))
    for path, text in tree.files(tuple(COMMENTS)):
        if path not in ITSELF and not path.startswith(("tests/data/", "examples/data/")):
            yield path, comments_of(path, text)


def problems_of(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if not path.endswith(".md") and FRAGMENT.search(line):
            yield f"{path}:{number}: begins like a fragment: \"{line.strip()[:60]}\"; a comment is a sentence, or begins with a noun or a verb"
        for found in WORD.finditer(line):
            yield f"{path}:{number}: \"{found.group()}\"; the word is: {USE[int(found.lastgroup[1:])]}"


def glossary_problems():
    """The words stand in order, each once."""
    text = (tree.root() / "docs/glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| \*\*([^*]+)\*\* \|", text, re.MULTILINE)
    for before, after in zip(words, words[1:]):
        if after.lower() <= before.lower():
            yield f"docs/glossary.md: \"{after}\" stands behind \"{before}\""


def main():
    texts = list(prose())
    print(f"{len(texts)} files")
    tree.finish([*glossary_problems(), *(problem for path, text in texts for problem in problems_of(path, text))])


main()
