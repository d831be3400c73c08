"""Templates at random, most of them nonsense: both engines must fail, or give the same text.

Literals are never sliced, and numbers only take the place of flags and sizes where Python checks them:
jinja2's constant folding, and Python's reading of arguments it does not use, are not what is compared.
"""

NAMES = [
    "messages", "tools", "none_value", "empty", "text", "lines", "number", "real", "yes", "words", "numbers", "people",
    "table", "nested", "missing", "bos_token", "ns", "x", "loop",
]
SLICEABLE = ["text", "numbers", "words", "messages", "lines", "missing", "table", "number"]
LITERALS = [
    "0", "1", "-1", "2", "3", "7", "2.5", "0.0", "1e3", "true", "false", "none", "''", "'a'", "'ab'", "'é你'", "' a b '",
    "'a,b,a'", "','", "' '", "'user'", "'role'", "'name'", "'x'", "'A b'", "'-2.5'", "[]", "{}", "()", "[1, 2]", "(1, 2)",
    "{'a': 1}", "'a\\nb'",
]
OPERATORS = ["+", "-", "*", "/", "//", "%", "**", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or"]
PLAIN_FILTERS = [
    "abs", "capitalize", "count", "e", "escape", "first", "float", "items", "last", "length", "list", "lower", "reverse",
    "safe", "string", "title", "trim", "upper", "dictsort", "sort", "unique", "max", "min", "sum", "tojson", "int", "round",
    "join", "indent", "center", "truncate", "default", "select", "reject",
]
FILTERS = [
    "join({0})", "default({0})", "default({0}, {1})", "replace({0}, {1})", "trim({0})", "attr({0})", "map(attribute={0})",
    "map(attribute={0}, default={1})", "sum(start={0})", "batch(2)", "batch(3, {0})", "slice(2)", "indent(2)",
    "indent({0}, true)", "center(9)", "truncate(5)", "truncate(6, true, '')", "tojson(indent=2)", "tojson(sort_keys=true)",
    "tojson(ensure_ascii=true)", "sort(reverse=true)", "sort(attribute={0})", "dictsort(by='value')", "int({0})",
    "float({0})", "round(1)", "round(0, 'ceil')", "format({0})", "unique(attribute={0})", "max(attribute={0})", "d({0}, true)",
]
TESTS = [
    "odd", "even", "defined", "undefined", "none", "boolean", "false", "true", "integer", "float", "lower", "upper", "string",
    "mapping", "number", "sequence", "iterable", "callable", "escaped",
]
TESTS_OF_TWO = ["divisibleby", "in", "eq", "equalto", "ne", "gt", "ge", "lt", "le"]
METHODS = [
    "capitalize()", "center(5)", "count({0})", "endswith({0})", "find({0})", "index({0})", "isalnum()", "isalpha()",
    "isdigit()", "islower()", "isspace()", "isupper()", "join({0})", "ljust(4)", "lower()", "lstrip({0})", "partition({0})",
    "removeprefix({0})", "replace({0}, {1})", "rfind({0})", "rsplit({0}, 1)", "rstrip()", "split({0})", "split()",
    "splitlines()", "startswith({0})", "strip({0})", "title()", "upper()", "zfill(5)", "get({0})", "get({0}, {1})", "items()",
    "keys()", "values()", "copy()", "append({0})", "update({0})", "cycle({0}, {1})", "changed({0})",
]
ATTRIBUTES = ["role", "content", "name", "age", "home", "a", "b", "items", "x", "index", "first", "last", "length", "nope"]
SPACES = ["", "", " ", "\n", "\n  ", "\n\n", "  \n", "x", "x\n"]


class Source:
    def __init__(self, random):
        self.random = random
        self.one_of = random.choice

    def chance(self, share):
        return self.random.random() < share

    def filled(self, pattern, depth):
        return pattern.format(self.expression(depth), self.expression(depth)) if "{" in pattern else pattern

    def expression(self, depth):
        if depth <= 0:
            return self.one_of(NAMES if self.chance(0.5) else LITERALS)
        inner = lambda: self.expression(depth - 1 - self.random.randint(0, 1))
        kind = self.random.randrange(12)
        if kind < 2:
            return f"({inner()} {self.one_of(OPERATORS)} {inner()})"
        if kind == 2:
            return f"({inner()} if {inner()}" + (f" else {inner()})" if self.chance(0.8) else ")")
        if kind == 3:
            return f"({inner()}).{self.one_of(ATTRIBUTES)}" if self.chance(0.5) else f"({inner()})[{inner()}]"
        if kind == 4:
            bounds = [self.one_of(["", "none", str(self.random.randint(-4, 4))]) for _ in range(3)]
            return f"({self.one_of(SLICEABLE)})[{':'.join(bounds)}]"
        if kind == 5:
            return f"({inner()}).{self.filled(self.one_of(METHODS), depth - 2)}"
        if kind < 9:
            return self.filtered(inner(), depth)
        if kind == 9:
            negation = "not " if self.chance(0.3) else ""
            if self.chance(0.6):
                return f"({inner()} is {negation}{self.one_of(TESTS)})"
            return f"({inner()} is {negation}{self.one_of(TESTS_OF_TWO)}({inner()}))"
        if kind == 10:
            return f"[{', '.join(inner() for _ in range(self.random.randint(0, 3)))}]"
        return f"{self.one_of(['not ', '-', '+'])}({inner()})"

    def filtered(self, value, depth):
        kind = self.random.randrange(6)
        if kind < 2:
            return f"({value})|{self.one_of(PLAIN_FILTERS)}"
        if kind < 4:
            return f"({value})|{self.filled(self.one_of(FILTERS), depth - 2)}"
        if kind == 4:
            return f"({value})|map('{self.one_of(PLAIN_FILTERS)}')|list"
        test = f"'{self.one_of(TESTS)}'" if self.chance(0.5) else f"'{self.one_of(TESTS_OF_TWO)}', {self.expression(depth - 2)}"
        if self.chance(0.5):
            return f"({value})|{self.one_of(['select', 'reject'])}({test})|list"
        return f"({value})|{self.one_of(['selectattr', 'rejectattr'])}('{self.one_of(ATTRIBUTES)}', {test})|list"

    def tag(self, content):
        return "{%" + self.one_of(["", "", "", "-", "+"]) + f" {content} " + self.one_of(["", "", "", "-", "+"]) + "%}"

    def body(self, depth):
        return "".join(self.statement(depth - 1) for _ in range(self.random.randint(0, 2)))

    def statement(self, depth):
        space = lambda: self.one_of(SPACES)
        kind = self.random.randrange(14)
        if depth <= 0 or kind < 4:
            sign = lambda: self.one_of(["", "-"])
            return space() + "{{" + sign() + f" {self.expression(self.random.randint(0, 2))} " + sign() + "}}" + space()
        if kind < 6:
            otherwise = self.tag("else") + self.body(depth) if self.chance(0.5) else ""
            return space() + self.tag("if " + self.expression(2)) + self.body(depth) + otherwise + self.tag("endif") + space()
        if kind < 9:
            target = self.one_of(["x", "x", "x, y"])
            items = self.one_of(["messages", "numbers", "words", "table", "table.items()", self.expression(2)])
            condition = f" if {self.expression(1)}" if self.chance(0.3) else ""
            leave = self.tag("if " + self.expression(1)) + self.tag(self.one_of(["break", "continue"])) + self.tag("endif")
            parts = [self.body(depth), leave if self.chance(0.3) else "", self.body(depth)]
            otherwise = self.tag("else") + self.body(depth) if self.chance(0.3) else ""
            return space() + self.tag(f"for {target} in {items}{condition}") + "".join(parts) + otherwise + self.tag("endfor")
        if kind == 9:
            return self.tag(f"set {self.one_of(['x', 'ns.x', 'number', 'y', 'x, y'])} = {self.expression(2)}") + space()
        if kind == 10:
            return self.tag("set x" + self.one_of(["", " | trim", " | upper"])) + self.body(depth) + self.tag("endset")
        if kind == 11:
            head = self.tag(f"macro f({self.one_of(['', 'x', 'x, y=1', 'x=number'])})")
            return head + self.body(depth) + self.tag("endmacro") + "{{ f(" + self.one_of(["", self.expression(1)]) + ") }}"
        if kind == 12:
            name, end = self.one_of([("with x = 1", "endwith"), ("filter upper", "endfilter"), ("generation", "endgeneration")])
            return self.tag(name) + self.body(depth) + self.tag(end)
        return self.one_of(["{# c #}", "{#- c +#}", "{% raw -%} {{ x }} {%- endraw %}\n", "  {% raw %} {% endraw +%}\n"]) + space()

    def template(self):
        start = "{% set ns = namespace(a=1, x='q') %}"
        return start + "".join(self.statement(3) for _ in range(self.random.randint(1, 3)))
