# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Finds the functions of a C++ file and the length of their bodies, from the line of the opening brace to that of the
closing one.

A lambda or class inside a function belongs to it. A lambda outside functions counts as a function, and so does a macro,
with its lines. This parses braces, not the language. It does not expand macros, and it counts each branch of `#if …
#else` separately."""

import dataclasses
import re

COMMENT_OR_TEXT = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?\*/|(?:u8|[uUL])?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-zA-Z_])'(?:\\.|[^'\\\n])+'|(?<=[0-9a-fA-F])'(?=[0-9a-fA-F])", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?P<word>\w+)(?:\\\n|[^\n])*", re.MULTILINE)
DECORATION = re.compile(r"\[\[[^\]]*\]\]|\b(?:alignas|__attribute__|decltype|explicit)\s*\((?:[^()]|\([^()]*\))*\)")
TYPE = re.compile(r"^(?:(?:typedef|static|inline|constexpr|const|friend|export)\s+)*(?:class|struct|union|enum)\b[^(=]*$")
# Tokens allowed between a function's parameters and its body.
BODY_FOLLOWS = re.compile(r"\)\s*(?:(?:const|volatile|noexcept|override|final|mutable|constexpr|try|&&?|[A-Z][A-Z_]+)\s*|->[^{}]*"
                          r"|noexcept\s*\((?:[^()]|\([^()]*\))*\)\s*)*$")
LAMBDA_FOLLOWS = re.compile(r"(?:^|[=(,?:]|\breturn\b)\s*\[[^\[\]]*\]\s*(?:mutable\s*)?$")
MEMBERS_FOLLOW = re.compile(r"\)[^():?]*(?<!:):(?!:)")
NAME = re.compile(r"(operator\s*\S+?|~?[A-Za-z_][\w:~]*)\s*(?:<[^()]*>)?\s*\(")


@dataclasses.dataclass
class Function:
    name: str
    line: int  # of the opening brace
    lines: int


def blank(match):
    """Replaces text with as many blanks and line breaks."""
    return re.sub(r"[^\n]", " ", match.group())


def without_templates(head):
    """Removes `template <…>` including its parameters."""
    while (found := re.match(r"\s*template\s*<", head)):
        depth, at = 1, found.end()
        while depth and at < len(head):
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            at += 1
        head = head[at:]
    return head


def meaning(head):
    """Returns the meaning of a brace after these words: a scope, a body or values."""
    head = DECORATION.sub(" ", without_templates(head)).strip()
    if re.search(r"\bnamespace\b", head) or re.fullmatch(r"extern", head) or TYPE.match(head):
        return "scope"
    if LAMBDA_FOLLOWS.search(head):
        return "body"
    if ")" in head and MEMBERS_FOLLOW.search(head):
        return "body" if re.search(r"[)}]\s*$", head) else "values"
    return "body" if BODY_FOLLOWS.search(head) else "values"


def name_of(head):
    found = NAME.search(DECORATION.sub(" ", without_templates(head)))
    return found[1] if found else "a lambda"


class Reader:
    """Parses a text without comments and strings, brace by brace."""

    def __init__(self):
        self.functions = []
        self.open_ = []        # (meaning, head, line) of each open brace
        self.head_ = ""        # words since the last statement or scope
        self.conditions_ = []  # open braces at each `#if`

    def directive(self, word):
        if word in ("if", "ifdef", "ifndef"):
            self.conditions_.append((list(self.open_), self.head_))
        elif word in ("else", "elif") and self.conditions_:
            self.open_, self.head_ = list(self.conditions_[-1][0]), self.conditions_[-1][1]
        elif word == "endif" and self.conditions_:
            self.conditions_.pop()

    def character(self, character, line):
        if character == "{":
            inside = any(kind in ("body", "handler") for kind, _, _ in self.open_)
            handler = re.match(r"\s*catch\b", self.head_) and not inside
            self.open_.append(("inner" if inside else "handler" if handler else meaning(self.head_), self.head_, line))
            self.head_ = ""
        elif character == "}" and self.open_:
            kind, head, first = self.open_.pop()
            if kind == "body":
                self.functions.append(Function(name_of(head), first, line - first + 1))
            elif kind == "handler" and self.functions:  # the body is a try block
                self.functions[-1].lines = line - self.functions[-1].line + 1
            self.head_ = head + "{}" if kind == "values" else ""
        elif character == ";" and not (self.head_.count("(") > self.head_.count(")")):
            self.head_ = ""
        else:
            self.head_ += character
            if re.search(r"\b(?:public|protected|private)\s*:$", self.head_):
                self.head_ = ""


def macro(match, text):
    words = match.group().split()
    first = text.count("\n", 0, match.start()) + 1
    return Function(" ".join(words[:2]), first, match.group().count("\n") + 1)


def of(text):
    """Returns the functions and macros of this text."""
    text = COMMENT_OR_TEXT.sub(blank, text)
    directives = {match.start(): match for match in DIRECTIVE.finditer(text)}
    reader = Reader()
    at, line = 0, 1
    while at < len(text):
        if at in directives:
            match = directives[at]
            reader.directive(match["word"])
            if match["word"] == "define":
                reader.functions.append(macro(match, text))
            line += match.group().count("\n")
            at = match.end()
            continue
        line += text[at] == "\n"
        reader.character(text[at], line)
        at += 1
    return reader.functions
