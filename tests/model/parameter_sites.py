"""Collects from the sources where a question gets parameters: each call, with the names of the words and resources it passes."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2] / "src" / "headgate"
_CALLS = {
    "require_action": (),
    "Question": ("caller", "action", "resource", "on", "role", "subject", "new_role", "given"),
    "replace": (),
    "OperationPlace": ("resource", "on", "given", "about"),
}
"""The calls that build questions, or the places of an operation, with the names of their positional arguments."""

EVERYTHING = frozenset("*")
"""Every attribute or relation of a resource: names that the call does not write out."""

Names = frozenset[str]


@dataclass(frozen=True)
class Site:
    """A function that passes parameters; `action` is its argument as written: the action, or the place of an operation."""

    where: str
    action: str
    words: Names
    resources: Names


def sites() -> set[Site]:
    """Return every call that passes parameters with a question."""
    return {site for file in sorted(ROOT.rglob("*.py")) for site in sites_of(file.read_text(), _module(file))}


def sites_of(source: str, module: str) -> Iterator[Site]:
    """Yield the calls of a module that pass parameters with a question."""
    tree = ast.parse(source)
    owners = {each: owner.name for owner in ast.walk(tree) if isinstance(owner, ast.ClassDef) for each in owner.body}
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and _name(call.func) in _CALLS:
                    for site in _site(call, function, f"{module}.{function.name}"):
                        # The operation is not written at the place, so the command's name stands for it.
                        is_place = _name(call.func) == "OperationPlace" and function in owners
                        yield replace(site, action=f"{owners[function]}: {site.action}") if is_place else site


def _site(call: ast.Call, function: ast.AST, where: str) -> Iterator[Site]:
    written = {
        **dict(zip(_CALLS[_name(call.func)], call.args, strict=False)),
        **{k.arg or "": k.value for k in call.keywords},
    }
    if not written.keys() & {"on", "given"}:
        return
    action = written.get("action") or (call.args[0] if call.args else None)
    words, resources = (
        _names(written[key], function) if key in written else frozenset[str]() for key in ("given", "on")
    )
    yield Site(where, ast.unparse(action) if action else "", words, resources)


def _names(value: ast.expr, function: ast.AST) -> Names:
    """Return the keys of a mapping, also of one that the function has assigned to a name."""
    if isinstance(value, ast.Dict):
        keys = [
            {key.value} if isinstance(key, ast.Constant) else _names(each, function)
            for key, each in zip(value.keys, value.values, strict=True)
        ]
        return frozenset[str]().union(*(frozenset(map(str, each)) for each in keys))
    assigned = _assigned(value.id, function) if isinstance(value, ast.Name) else None
    return _names(assigned, function) if assigned is not None else EVERYTHING


def _assigned(name: str, function: ast.AST) -> ast.expr | None:
    for each in ast.walk(function):
        if isinstance(each, ast.Assign):
            for target in each.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    return each.value
                if isinstance(target, ast.Tuple) and isinstance(each.value, ast.Tuple):
                    for part, value in zip(target.elts, each.value.elts, strict=True):
                        if isinstance(part, ast.Name) and part.id == name:
                            return value
    return None


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _module(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts)
