# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""The changes that a mutant may consist of.

An operator is a function of (source, token number) that yields (name, start,
end, replacement) for each change it knows at that place."""

import re

RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
LOGIC = {"&&": "||", "||": "&&"}
BINARY = {"+": "-", "-": "+", "*": "+", "/": "*", "%": "/", "<<": ">>", ">>": "<<",
          "&": "|", "|": "&"}
ASSIGN = {"+=": "-=", "-=": "+=", "++": "--", "--": "++"}
MINMAX = {"min": "max", "max": "min", "min_t": "max_t", "max_t": "min_t"}
TYPES = {"u8", "u16", "u32", "u64", "bool", "int", "void", "struct", "enum", "const",
         "static", "__be32", "__be64", "else", "case", "default", "if", "for", "while",
         "do", "switch", "goto"}
SWAPS = {}
for pair in ("handle length", "offset handle", "send_size recv_size", "inline_send inline_recv",
             "reply_pages reply_max", "write_segs reply_segs", "read_segs write_segs",
             "err_vers_low err_vers_high", "head tail", "base data", "pz_bytes read_bytes",
             "reads writes", "read_chunks read_segs", "write_chunks write_segs", "at left",
             "max_read_segs max_write_segs", "max_qp_wr max_cqe", "credits bc_credits",
             "sq_depth rq_depth", "max_send_sge max_recv_sge", "body body_len", "len max",
             "mr_pages mrs_per_payload", "vers credits", "page_count page_sges",
             "tail_pad tail", "vers_min vers_max", "call_ddp reply_ddp", "reply writes",
             "write_list reply_chunk", "xid vers", "msg_len body_len", "errcode vers"):
    left, right = pair.split()
    SWAPS.setdefault(left, right)
    SWAPS.setdefault(right, left)

# Enumerators, which have a next one but no arithmetic
ENUMERATOR = re.compile(
    r"RPCRDMA_(FAULT_\w+|DIR_\w+|EXTENT_\w+|CALL_\w+|DO_\w+|ANSWER_\w+|ACCEPT|DROP|CLOSE|MSG|NOMSG"
    r"|MSGP|DONE|ERROR|ERR_VERS|ERR_CHUNK|RESPONDER|REQUESTER)$")
ZEROES = ("0", "NULL", "false", ";", "RPCRDMA_FAULT_NONE", "RPCRDMA_DIR_CALL",
          "RPCRDMA_EXTENT_INLINE", "XPRT_RDMA_CALL_INLINE", "RPCRDMA_ACT_CALL")
CONSTANT = re.compile(r"(RPCRDMA|AT|CMP|RPC|U32|U64|EXTRA|DRAIN)_[A-Z0-9_]+$")


def tokens_to_tokens(src, i):
    """Another operator of the same kind."""
    token = src.tokens[i]
    for name, table in (("rel", RELATIONS), ("logic", LOGIC), ("assign", ASSIGN)):
        if token.text in table:
            yield name, token.start, token.end, table[token.text]
    if token.text in BINARY and src.spaced(i):
        yield "arith", token.start, token.end, BINARY[token.text]
    if token.text in MINMAX and src.tokens[i + 1].text == "(":
        yield "minmax", token.start, token.end, MINMAX[token.text]
    if token.text == "!" and src.tokens[i - 1].text != "!":
        yield "neg", token.start, token.end, ""
    if token.text in ("true", "false"):
        yield "bool", token.start, token.end, {"true": "false", "false": "true"}[token.text]
    if token.kind == "name" and src.tokens[i - 1].text in ("->", ".") and token.text in SWAPS:
        yield "field", token.start, token.end, SWAPS[token.text]


def constants(src, i):
    """One more, one less; the next enumerator."""
    token = src.tokens[i]
    if token.kind == "number":
        value = int(token.text.rstrip("uUlL"), 0)
        suffix = token.text[len(token.text.rstrip("uUlL")):]
        yield "const+1", token.start, token.end, str(value + 1) + suffix
        if value:
            yield "const-1", token.start, token.end, str(value - 1) + suffix
    elif token.code and ENUMERATOR.match(token.text):
        yield "enum", token.start, token.end, "(%s + 1)" % token.text
    elif token.code and CONSTANT.match(token.text):
        yield "const+1", token.start, token.end, "(%s + 1)" % token.text
        yield "const-1", token.start, token.end, "(%s - 1)" % token.text


def conditions(src, i):
    """A check that never, or always, holds; its side effects stay."""
    token = src.tokens[i]
    if token.text in ("if", "while"):
        start, end = i + 2, src.closing(i + 1) - 1
    elif token.text == "for":
        start = src.statement_end(i + 2) + 1
        end = src.statement_end(start) - 1
        if end < start:
            return
    elif token.text == "?":
        yield "cond-0", token.start, token.start, "&& 0 "
        yield "cond-1", token.start, token.start, "|| 1 "
        return
    else:
        return
    first, last = src.tokens[start].start, src.tokens[end].end
    for value in "01":
        yield "cond-" + value, first, last, "((%s), %s)" % (src.text[first:last], value)


def statements(src, i):
    """A statement that is not there; a function that says nothing."""
    token, before = src.tokens[i], src.tokens[i - 1].text
    if not token.code:
        return
    if token.text == "return":
        end = src.statement_end(i)
        if end > i + 2 or src.tokens[i + 1].text not in ZEROES:
            yield ("return-0", src.tokens[i + 1].start, src.tokens[end].start, "0")
    if before not in (";", "{", "}", ")", "else", ":", "do") or token.text in TYPES:
        return
    if token.kind != "name" and token.text not in ("++", "--", "*"):
        return
    if src.tokens[i - 2].text == "for" or src.in_parentheses(i):
        return
    if before == ")" and src.tokens[src.opening(i - 1) - 1].text not in ("if", "for", "while"):
        return
    if before == ":" and src.tokens[i - 2].text != "default" and src.tokens[i - 3].text != "case":
        return
    end = src.statement_end(i)
    last = src.tokens[end + 1].text == "}" and src.tokens[end + 2].function != token.function \
        if end + 2 < len(src.tokens) else True
    if token.text == "return" and last and end > i + 1:
        return
    yield "drop", token.start, src.tokens[end].end, ";"


def calls(src, i):
    """A bound that is not kept, a word in the order of the host."""
    token = src.tokens[i]
    if token.kind != "name" or i + 1 >= len(src.tokens) or src.tokens[i + 1].text != "(":
        return
    end = src.tokens[src.closing(i + 1)].end
    if token.text in ("cpu_to_be32", "be32_to_cpu", "cpu_to_be64", "be64_to_cpu"):
        yield "order", token.start, token.end, ""
    elif token.text in ("min", "max"):
        a, b = src.arguments(i + 1)
        yield "bound-a", token.start, end, "(%s)" % a
        yield "bound-b", token.start, end, "(%s)" % b
    elif token.text in ("min_t", "max_t"):
        kind, a, b = src.arguments(i + 1)
        yield "bound-a", token.start, end, "(%s)(%s)" % (kind, a)
        yield "bound-b", token.start, end, "(%s)(%s)" % (kind, b)
    elif token.text == "clamp_t":
        kind, value, low, high = src.arguments(i + 1)
        yield "bound-low", token.start, end, "min_t(%s, %s, %s)" % (kind, value, high)
        yield "bound-high", token.start, end, "max_t(%s, %s, %s)" % (kind, value, low)


def widths(src, i):
    """A sum in 32 bits."""
    token = src.tokens[i]
    if token.text != "u64":
        return
    if src.tokens[i - 1].text == "(" and src.tokens[i + 1].text == ")":
        yield "cast", src.tokens[i - 1].start, src.tokens[i + 1].end, ""
    else:
        yield "narrow", token.start, token.end, "u32"


OPERATORS = (tokens_to_tokens, constants, conditions, statements, calls, widths)


class Mutant:
    """One change: where, which, and its name FUNCTION:OPERATOR:NUMBER."""

    def __init__(self, src, name, change):
        self.src, self.name = src, name
        self.operator, self.start, self.end, self.replacement = change

    def text(self):
        """The whole file with the change."""
        return self.src.text[:self.start] + self.replacement + self.src.text[self.end:]

    def where(self):
        """For people: FILE:LINE: what became of what."""
        old = " ".join(self.src.text[self.start:self.end].split())
        return "%s:%d: \"%s\" becomes \"%s\"" % (
            self.src.path, self.src.line(self.start), old, " ".join(self.replacement.split()))


def mutants_of(src):
    """All of them, in the order of the file. Numbers count from 1 for each
    operator in a function, so that an edit leaves other functions' names."""
    count = {}
    for i, token in enumerate(src.tokens):
        if not token.function:
            continue
        for operator in OPERATORS:
            for change in operator(src, i):
                key = (token.function, change[0])
                count[key] = count.get(key, 0) + 1
                yield Mutant(src, "%s:%s:%d" % (key + (count[key],)), change)
