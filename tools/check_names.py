"""Checks the names of modules, of their definitions and of tests against the rules of CONTRIBUTING.md.

A module is named by a noun, a public name - one that another module imports - is defined in one module, and the name of a
test is a sentence with a subject. `tools/name_exceptions.toml` lists the exceptions with their reasons; an exception that is
not needed is a complaint, too. Prints the complaints and exits with 1, or prints one line of figures.
"""

import ast
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXCEPTIONS = ROOT / "tools" / "name_exceptions.toml"
SOURCES, TESTS = "src/headgate", "tests"

WORDS_THAT_NAME_NOTHING = frozenset(
    (
        *("who", "whom", "whose", "which", "what", "how", "where", "when", "why"),
        *("somebody", "nobody", "everybody", "anybody", "anything", "something", "everything", "things", "stuff"),
        *("many", "several", "apart", "twice", "again", "anew", "once", "here", "there", "beside", "around", "away"),
        *("door", "doors", "room", "rooms", "helper", "helpers", "util", "utils", "misc"),
    )
)
PARTICIPLES = frozenset(
    (
        *("told", "kept", "shown", "known", "said", "done", "gone", "made", "found", "given", "taken", "lent"),
        *("begun", "written", "drawn", "sent", "held", "meant", "spoken", "heard"),
    )
)
NO_SUBJECTS = frozenset(
    (
        *("is", "are", "was", "were", "be", "has", "have", "had", "does", "do", "did", "may", "can", "cannot", "must"),
        *("of", "in", "on", "at", "by", "to", "for", "from", "with", "without", "under", "over", "after", "before"),
        *("and", "or", "but", "if", "that", "than", "then", "as", "so", "too", "only", "not", "never", "even", "still"),
        *("what", "which", "where", "when", "while", "how", "why", "whether", "because", "until", "since", "once"),
        *("it", "its", "they", "them", "their", "those", "these", "this", "he", "she", "his", "her", "there"),
        *("says", "gives", "gets", "takes", "makes", "keeps", "holds", "ends", "begins", "leaves", "lets", "names"),
        *("shows", "tells", "refuses", "needs", "reads", "writes", "asks", "finds", "goes", "comes", "waits", "stays"),
    )
)
"""Words that begin no sentence with a subject: the name of such a test is clear only beside the name of its class."""

UNNAMED_ACTORS = frozenset(("who", "whom", "whose", "whoever", "somebody", "someone", "nobody", "anybody", "everybody"))
FEWEST_WORDS = 3


def main() -> int:
    """Check the whole repository; return the exit status."""
    exceptions = tomllib.loads(EXCEPTIONS.read_text("utf-8"))
    sources = {str(path.relative_to(ROOT / "src")): path.read_text("utf-8") for path in _modules(SOURCES)}
    places = [*sources, *(str(path.relative_to(ROOT)) for path in _modules(TESTS))]
    words = {word: f"is not a noun in {place}" for place in places for word in unfit_words(place)}
    twice = {name: f"is defined in {', '.join(modules)}" for name, modules in duplicates(sources).items()}
    tests = [name for path in _modules(TESTS) for name in test_functions(path.read_text("utf-8"))]
    unclear = {name: f"of a test {fault}" for name in tests if (fault := fault_of_test(name))}
    complaints = [
        *departures("the word", words, exceptions["words"]),
        *departures("the name", twice, exceptions["names"]),
        *departures("the name", unclear, {}),
    ]
    print(
        "\n".join(complaints)
        or f"{len(places)} modules named by nouns, {len(twice)} names defined twice with a reason, {len(tests)} tests named by sentences"
    )
    return 1 if complaints else 0


def unfit_words(place: str) -> Iterator[str]:
    """Yield the words that are not allowed in the name of a module or package at a place (`a/b/c.py`).

    A participle is allowed before a noun (`staged_creates`), and not as the noun (`staged`).
    """
    for name in place.removesuffix(".py").split("/"):
        words = name.removeprefix("test_").split("_")
        yield from WORDS_THAT_NAME_NOTHING.intersection(words)
        if words[-1].endswith(("ing", "ed")) or words[-1] in PARTICIPLES:
            yield words[-1]


def duplicates(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return each public name that more than one module of `sources` (place -> text) defines, with the modules."""
    trees = {_module(place): ast.parse(text) for place, text in sources.items()}
    imported = {each for tree in trees.values() for each in _imported(tree)}
    places: dict[str, list[str]] = {}
    for module, tree in sorted(trees.items()):
        for name in sorted(set(_defined(tree))):
            if f"{module}.{name}" in imported:
                places.setdefault(name, []).append(module)
    return {name: found for name, found in sorted(places.items()) if len(found) > 1}


def test_functions(text: str) -> Iterator[str]:
    """Yield the names of the tests that the text of a module defines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name


def fault_of_test(name: str) -> str | None:
    """Return why the name of a test is not a sentence with a subject; None if it may be one."""
    words = name.removeprefix("test_").split("_")
    if words[0] in NO_SUBJECTS:
        return f"begins with `{words[0]}`: begin with its subject"
    if unnamed := UNNAMED_ACTORS.intersection(words):
        return f"has `{min(unnamed)}`: name the actor"
    if len(words) < FEWEST_WORDS:
        return "is not a sentence: name a subject and what is true of it"
    return None


def departures(what: str, found: Mapping[str, str], exceptions: Mapping[str, str]) -> list[str]:
    """Return a sentence for each departure without an exception, and for each exception without a departure or a reason."""
    return [
        *(f"{what} `{name}` {fault}" for name, fault in found.items() if name not in exceptions),
        *(f"{what} `{name}`: the exception is not needed" for name in exceptions if name not in found),
        *(
            f"{what} `{name}`: the exception gives no reason"
            for name, reason in exceptions.items()
            if not reason.strip()
        ),
    ]


def _module(place: str) -> str:
    return place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _imported(tree: ast.Module) -> Iterator[str]:
    """Yield the full name of everything that a module imports from others, by its name or as an attribute of its module."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                names[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    yield from names.values()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            yield f"{names[node.value.id]}.{node.attr}"


def _defined(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        yield from (name for name in _names(node) if not name.startswith("_"))


def _names(node: ast.stmt) -> Iterable[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return (name,)
        case ast.Assign(targets=targets):
            return (each.id for each in targets if isinstance(each, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            return (name,)
        case _:
            return ()


def _modules(folder: str) -> Iterator[Path]:
    return (path for path in sorted((ROOT / folder).rglob("*.py")) if "versions" not in path.parts)


if __name__ == "__main__":
    sys.exit(main())
