# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""Tokens of a C file in kernel style, and which function each belongs to."""

import re

TOKEN = re.compile(
    r"(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<string>\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*')"
    r"|(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|\d+[uUlL]*)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<punct><<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|[^\s\w])",
    re.S)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:\\\n|[^\n])*", re.M)
DEFINE = re.compile(r"#\s*define\s+(\w+)\s+(?=[0-9])")


class Token:
    """A token: its kind, text, place, the function, macro or enum it is in, or
    None, and whether that is code."""

    def __init__(self, kind, text, start):
        self.kind, self.text, self.start = kind, text, start
        self.end = start + len(text)
        self.function, self.code = None, False

    def __repr__(self):
        return self.text


class Source:
    """A file as tokens. Comments are left out, and so is the preprocessor,
    but for the values of simple macros, which count as functions."""

    def __init__(self, path, text):
        self.path, self.text, self.tokens = path, text, []
        at = 0
        for line in PREPROCESSOR.finditer(self._without_comments()):
            self._add(at, line.start())
            define = DEFINE.match(line.group())
            if define:
                first = len(self.tokens)
                self._add(line.start() + define.end(), line.end())
                for token in self.tokens[first:]:
                    token.function = define.group(1)
            at = line.end()
        self._add(at, len(text))
        self._find_functions()

    def _without_comments(self):
        return re.sub(r"/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m.group()), self.text, flags=re.S)

    def _add(self, start, end):
        for match in TOKEN.finditer(self.text, start, end):
            if match.lastgroup != "comment":
                self.tokens.append(Token(match.lastgroup, match.group(), match.start()))

    def _find_functions(self):
        """A body is what stands in braces behind a parenthesis, outside of all others."""
        depth, name, code = 0, None, False
        for i, token in enumerate(self.tokens):
            if token.function:
                continue
            if token.text == "{":
                if depth == 0:
                    name = self._name_of(i)
                    code = self.tokens[i - 1].text == ")"
                depth += 1
            token.function, token.code = name, code
            if token.text == "}":
                depth -= 1
                if depth == 0:
                    name = None

    def _name_of(self, i):
        """Of the function whose body, or of the enum whose list, begins at token i."""
        before = self.tokens[i - 1]
        if before.text == ")":
            return self.tokens[self.opening(i - 1) - 1].text
        if before.kind == "name" and self.tokens[i - 2].text == "enum":
            return before.text
        return None

    def opening(self, i):
        """The token that opens what token i closes."""
        depth = 0
        while True:
            depth += (self.tokens[i].text in ")]}") - (self.tokens[i].text in "([{")
            if depth == 0:
                return i
            i -= 1

    def closing(self, i):
        """The token that closes what token i opens."""
        depth = 0
        while True:
            depth += (self.tokens[i].text in "([{") - (self.tokens[i].text in ")]}")
            if depth == 0:
                return i
            i += 1

    def in_parentheses(self, i):
        """Whether token i stands in the head of a for."""
        depth = 0
        while self.tokens[i].text not in "{}" and depth <= 0:
            depth += (self.tokens[i].text == "(") - (self.tokens[i].text == ")")
            i -= 1
        return depth > 0

    def arguments(self, i):
        """Texts of the arguments in the parentheses that open at token i."""
        end, parts, start, depth = self.closing(i), [], i + 1, 0
        for k in range(i + 1, end + 1):
            text = self.tokens[k].text
            if k == end or (text == "," and depth == 0):
                parts.append(self.text[self.tokens[start].start:self.tokens[k - 1].end])
                start = k + 1
            depth += (text in "([{") - (text in ")]}")
        return parts

    def statement_end(self, i):
        """The semicolon that ends the statement that begins at token i."""
        depth = 0
        while depth or self.tokens[i].text != ";":
            depth += (self.tokens[i].text in "([{") - (self.tokens[i].text in ")]}")
            i += 1
        return i

    def spaced(self, i):
        """Blanks on both sides of token i: in this style, a binary operator."""
        token = self.tokens[i]
        return self.text[token.start - 1].isspace() and self.text[token.end].isspace()

    def line(self, offset):
        """Line number of an offset."""
        return self.text.count("\n", 0, offset) + 1
