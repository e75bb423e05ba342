"""Shape comments, `q = f(x)  # (B, T, C) -> (B, H, T, D)`, are compared with what really happens.

The source is parsed with its comments, and what a comment stands behind is wrapped in a check that
runs with the code. A letter has one size in a function call, or in a notebook outside functions;
where a variable with its name is a whole number, that is its size. Comments on lines of their own,
in docstrings and behind `def` are not traced.
Needs no torch: a shape is whatever has `.shape`.
"""

import ast
import builtins
import io
import sys
import tokenize
from numbers import Integral
from pathlib import Path

from shape_comments import OPERATORS, Comment, Scope

FUNCTION = ast.FunctionDef | ast.AsyncFunctionDef
STATEMENT = ast.Assign | ast.AnnAssign | ast.Return | ast.Expr
OPERAND = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.BinOp


class ShapeLie(AssertionError):
    """A comment says one shape and the value has another."""


def shape_of(value) -> tuple | None:
    """The shape of a tensor or an array, or `x.shape` itself; None for anything else."""
    shape = value if type(value).__name__ == "Size" else getattr(value, "shape", None)
    return tuple(shape) if isinstance(shape, tuple) else None


class Tracer:
    """All comments seen so far, the lies found, and the checks that the code calls."""

    def __init__(self):
        self.comments, self.lies = [], []
        self.top = {}  # file or "notebook" -> Scope outside functions

    def scope(self) -> Scope:
        return Scope()

    def fail(self, message: str) -> None:
        self.lies.append(message)  # for the case that somebody catches the error
        raise ShapeLie(message)

    def note(self, scope: Scope | str, number: int, roles: list, name: str | None, value):
        """Keep the shape of a value that goes into a commented line."""
        if (shape := shape_of(value)) is not None:
            self.top.get(scope, scope).notes.setdefault(number, []).append((roles, name, shape))
        return value

    def check(self, scope: Scope | str, number: int, names: list, near: dict, far: dict, value):
        """Hold `value`, meant for targets called `names`, against comment `number`; return it."""
        scope, comment = self.top.get(scope, scope), self.comments[number]
        notes = scope.notes.pop(number, [])
        if names and not hasattr(value, "__len__"):
            value = tuple(value)  # an iterator gives its values only once
        far = {name: far[name] for name in comment.mentioned & far.keys()}
        sizes = {name: {**far, **near}.get(name) for name in comment.names}
        scope.sizes |= {
            name: int(size)
            for name, size in sizes.items()
            if isinstance(size, Integral) and not isinstance(size, bool)
        }
        self._result(comment, scope, names, value)
        kind, shapes = comment.inputs
        named = [note for note in notes if note[1]]
        is_single = len(shapes) == len({name for _, name, _ in named}) == 1
        for j, (text, axes) in enumerate(shapes):
            role = f"{kind}{min(j, 1)}"
            seen = [note for note in notes if role in note[0]] or (named if is_single else notes)
            if seen:
                self._learn(comment, scope, text, axes, [shape for _, _, shape in seen])
        comment.verified |= not comment.sure  # (int, int) behind a dictionary
        return value

    def _result(self, comment: Comment, scope: Scope, names: list, value) -> None:
        kind, shapes = comment.result
        values = [value]
        if kind == "and" or comment.each or (names and shape_of(value) is None):
            values = list(value) if names or isinstance(value, tuple | list) else values
            if len(names) == len(values):
                values = [v for v, name in zip(values, names, strict=True) if name != "_"]
        if kind == "and" and len(shapes) != len(values):
            self._lie(comment, scope, f"{len(shapes)} shapes, {len(values)} values")
        for i, item in enumerate(values if shapes else []):
            if (shape := shape_of(item)) is not None:
                self._learn(comment, scope, *shapes[i if kind == "and" else 0], [shape])
            elif item is not None and item is not ...:  # None and ... : nothing there yet
                if comment.first and comment.sure:
                    self._lie(comment, scope, f"a {type(item).__name__} has no shape")
                comment.verified = True  # it was prose

    def _learn(self, comment: Comment, scope: Scope, text: str, axes: list, seen: list) -> None:
        """The axes have to fit one of the shapes seen; if only in one way, its sizes are known."""
        ways = [way for shape in seen if (way := scope.fit(axes, shape)) is not None]
        if not ways:
            self._lie(comment, scope, f"{text} is {' or '.join(map(str, dict.fromkeys(seen)))}")
        if all(way.sizes == ways[0].sizes for way in ways):
            scope.sizes, scope.open = ways[0].sizes, ways[0].open
        comment.verified = True

    def _lie(self, comment: Comment, scope: Scope, truth: str) -> None:
        known = [f"{name}={scope.sizes[name]}" for name in sorted(comment.names & set(scope.sizes))]
        where = f" (where {', '.join(known)})" if known else ""
        self.fail(f"{comment.where}: the comment `{comment.text}` is not true: {truth}{where}")

    def instrument(self, source: str, tree: ast.Module, file: str, top: str) -> ast.Module:
        """`tree` of `source` with its shape comments checked; `top` names its outermost scope."""
        self.top.setdefault(top, Scope())
        rewriter, problems, lines = Rewriter(self.comments, top), [], source.splitlines()
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            line, column = token.start
            if token.type != tokenize.COMMENT or not lines[line - 1][:column].strip():
                continue
            try:
                comment = Comment(f"{file}{line}", token.string)
                if comment.result[1] or comment.inputs[1]:
                    rewriter.place(tree, line, comment)
            except ValueError as error:
                problems.append(f"{file}{line}: the comment `{token.string}`: {error}")
        tree = rewriter.visit(tree)
        if problems:
            fail = ast.parse(f"__shapes__.fail({'; '.join(problems)!r})").body
            tree.body[:0] = [ast.copy_location(fail[0], tree.body[0])]
        return ast.fix_missing_locations(tree)


class Rewriter(ast.NodeTransformer):
    """Puts a check around what a comment describes, and a note around what goes into it."""

    def __init__(self, comments: list[Comment], top: str):
        self.comments, self.top = comments, top
        self.functions = []  # for each function we are in, the names it mentions
        self.around = {}  # id(node) -> [call to put around it]

    def place(self, tree: ast.Module, line: int, comment: Comment) -> None:
        """Mark what the comment ending `line` stands behind. Raises ValueError if nothing."""
        nodes = [n for n in ast.walk(tree) if getattr(n, "end_lineno", None) == line]
        statements = [n for n in nodes if isinstance(n, STATEMENT) and n.value is not None]
        parts = [n for n in nodes if isinstance(n, OPERAND) and not self._is_target(n)]
        check = f"check({{scope}}, {len(self.comments)}, %s, locals(), globals())"
        if statements:
            node = max(statements, key=lambda n: n.end_col_offset)
            root, target = node.value, getattr(node, "targets", [None])[0]
            if isinstance(node, ast.Expr) and ast.unparse(root).startswith("print("):
                raise ValueError("what `print` returns has no shape")
            self.around.setdefault(id(root), []).append(check % self._names(target))
        elif any(isinstance(n, ast.AugAssign) for n in nodes):
            raise ValueError("write x = x + … to say its shape")
        elif parts:
            root = min(parts, key=lambda n: (n.lineno, n.col_offset, -n.end_col_offset))
            self.around.setdefault(id(root), []).append(check % [])
        else:
            raise ValueError("a shape stands behind an assignment, a return or a value")
        if comment.inputs[1]:
            self._note(root)
        self.comments.append(comment)

    def _note(self, root: ast.expr) -> None:
        roles = {}
        for node in ast.walk(root):
            if isinstance(node, ast.BinOp):
                sign = OPERATORS.get(type(node.op))
                roles.setdefault(id(node.left), []).append(f"{sign}0")
                roles.setdefault(id(node.right), []).append(f"{sign}1")
        for node in ast.walk(root):
            if node is not root and isinstance(node, OPERAND) and not self._is_target(node):
                name = node.id if isinstance(node, ast.Name) else None
                call = f"note({{scope}}, {len(self.comments)}, {roles.get(id(node), [])}, {name!r})"
                self.around.setdefault(id(node), []).insert(0, call)

    def visit(self, node: ast.AST) -> ast.AST:
        key, function = id(node), isinstance(node, FUNCTION)
        if function:
            self.functions.append({n.id for n in ast.walk(node) if isinstance(n, ast.Name)})
        new = self.generic_visit(node)
        for call in self.around.get(key, []):
            new = self._call(call, new)
        if function:
            self.functions.pop()
            start = ast.parse("__scope__ = __shapes__.scope()").body[0]
            at = 0 if ast.get_docstring(node, clean=False) is None else 1
            node.body.insert(at, ast.copy_location(start, node.body[0]))
        return new

    def _call(self, call: str, value: ast.expr) -> ast.expr:
        call = call.replace("{scope}", "__scope__" if self.functions else repr(self.top))
        new = ast.parse(f"__shapes__.{call}", mode="eval").body
        comment = self.comments[new.args[1].value]
        # In a function, a global number gives a letter its size only if the function mentions it.
        comment.mentioned = comment.names & self.functions[-1] if self.functions else comment.names
        new.args.append(value)
        return ast.copy_location(new, value)

    @staticmethod
    def _is_target(node: ast.expr) -> bool:
        return not isinstance(getattr(node, "ctx", ast.Load()), ast.Load)

    @staticmethod
    def _names(target: ast.expr | None) -> list[str]:
        """Of a tuple of targets; a target that is no plain name is called nothing."""
        several = isinstance(target, ast.Tuple | ast.List)
        return [getattr(n, "id", "") for n in target.elts] if several else []


def install(hook) -> Tracer:
    """Trace whatever jaxtyping's `hook` imports from now on; the tracer tells what it saw."""
    from jaxtyping._import_hook import JaxtypingTransformer  # its loader would not take a tree

    tracer = builtins.__shapes__ = Tracer()

    class Finder:
        @staticmethod
        def find_spec(name, path=None, target=None):
            spec = hook.find_spec(name, path, target)
            if spec is not None:
                spec.loader.get_code = lambda _: code(spec.loader)  # always from the source
            return spec

    def code(loader):
        source = loader.get_source(loader.name)
        file = str(Path(loader.path).relative_to(Path(__file__).parents[2]))
        tree = tracer.instrument(source, ast.parse(source), f"{file}:", file)
        wrong_on_purpose = loader.name.endswith(".exercises")
        without_shapes = ".kit.checks." in loader.name  # and called a million times
        if not wrong_on_purpose and not without_shapes:
            tree = JaxtypingTransformer(typechecker=loader._typechecker).visit(tree)
        return compile(ast.fix_missing_locations(tree), loader.path, "exec", dont_inherit=True)

    sys.meta_path.insert(0, Finder)
    return tracer


def load_ipython_extension(shell) -> None:
    """Trace the cells of this kernel from now on."""
    tracer = builtins.__shapes__ = Tracer()
    cell = []

    def remember(lines: list[str]) -> list[str]:
        cell[:] = lines
        return lines

    class Cells:
        @staticmethod
        def visit(tree: ast.Module) -> ast.Module:
            return tracer.instrument("".join(cell), tree, "line ", "notebook")

    shell.input_transformers_post.append(remember)
    shell.ast_transformers.append(Cells)
