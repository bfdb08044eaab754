# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Whether pages and comments use the words of docs/glossary.md, and not those that these replace.

Code is left out: `such` and blocks in pages, and all but comments in sources. So are pages that stay as they were written: decisions
and the changelog."""

import re
import tree

# What is not written any more, and what is written in its place. docs/glossary.md shows the same.
RETIRED = {
    r"mishaps?": "loss",
    r"damages?": "loss",
    r"gaps?": "loss, or pause",
    r"glanc(?:es?|ed|ing)": "read, or look",
    r"hush(?:es|ed|ing)?": "silence",
    r"timelines?": "time line",
    r"step rows?|step records?": "row",
    r"gone on with": "continued",
    r"anew": "again",
    r"as ever": "as before, or as always",
    r"in vain": "without a result",
    r"by (?:the|their|its) (?:\w+(?:'s|s') )?leave": "where … allows it",
}
WORD = re.compile("|".join(rf"(?P<w{number}>(?<![\w/.-]){word}(?![\w]))" for number, word in enumerate(RETIRED)), re.IGNORECASE)
USE = list(RETIRED.values())
COMMENTS = {".hpp": r"//[^\n]*|/\*.*?\*/", ".cpp": r"//[^\n]*|/\*.*?\*/", ".cu": r"//[^\n]*|/\*.*?\*/", ".hip": r"//[^\n]*|/\*.*?\*/",
            ".py": r'#[^\n]*|""".*?"""', ".js": r"//[^\n]*|/\*.*?\*/", ".sh": r"#[^\n]*", ".cmake": r"#[^\n]*", ".txt": r"#[^\n]*"}
TEXTS = r'"(?:\\.|[^"\\\n])*"|'  # in which no comment begins
CODE_IN_PAGE = re.compile(r"^```.*?^```|`[^`\n]*`|<!--.*?-->|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
CODE_IN_COMMENT = re.compile(r"`[^`\n]*`|\\param \w+")
KEPT = ("docs/decisions/", "CHANGELOG.md")
ITSELF = ("docs/glossary.md", "tests/lint/words.py")


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def comments_of(path, text):
    """The text with nothing but its comments, at the lines where they are."""
    suffix = path[path.rindex("."):]
    texts = '"""|' if suffix == ".py" else ""
    pattern = re.compile(f"(?P<comment>{COMMENTS[suffix]})|{TEXTS}{texts}" + r"[^\n]", re.DOTALL)
    return pattern.sub(lambda match: CODE_IN_COMMENT.sub("", match["comment"]) if match["comment"] else " ", text)


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
