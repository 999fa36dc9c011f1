"""The reference of the model language has one page per keyword of the parser, and its examples decide as they state."""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import cast

import pytest
from typing_extensions import override

from headgate.cli.scenarios.folders import read_folder
from headgate.conformance.runner import run_case
from headgate.conformance.steps import STEPS
from headgate.control.kernel.vocabulary import shipped_vocabulary
from headgate.decision.conditions import CONDITIONS
from headgate.decision.engine.engine import Engine
from headgate.decision.evaluator import Reference
from headgate.model.diagnostics import DiagnosticReport
from headgate.model.load import diagnose
from headgate.model.parse_model import read_model
from headgate.model.reader import Reader, Value
from headgate.model.yaml_parser import ListNode, MapNode, Node, parse_yaml
from tests.repo.sessions import BLOCK

ROOT = Path(__file__).parents[2]
LANGUAGE = ROOT / "docs" / "model-language"
WORLDS = LANGUAGE / "worlds-and-cases.md"
"""The page on the files beside a model, which is not about a keyword."""

PAGES = sorted(path for path in LANGUAGE.glob("*.md") if path.stem not in ("README", WORLDS.stem))
MODELS = [ROOT / "tests" / "model" / "small.yaml", *sorted((ROOT / "src/headgate/model/models").glob("*.yaml"))]
"""Models that together use every section that has keys."""

MOST_LINES = 60
TEMPLATE = ["## Rules", "## Example", "## In other languages"]
OTHERS = ("OpenFGA", "SpiceDB", "Cedar")


class RecordingReader(Reader):
    """A reader that records, for each mapping with fixed keys, the keys that the parser knows in it."""

    def __init__(self) -> None:
        super().__init__(DiagnosticReport("model.yaml"))
        self.known: list[tuple[Value, Collection[str]]] = []

    @override
    def fields(self, value: Value, required: Collection[str], optional: Collection[str] = ()) -> Mapping[str, Node]:
        self.known.append((value, (*required, *optional)))
        return super().fields(value, required, optional)


@cache
def keywords() -> Mapping[str, frozenset[str]]:
    """Return each keyword with its places: the sections in which it is a key, and an empty name if it is a section."""
    found: dict[str, set[str]] = {}
    for keyword, place in chain.from_iterable(map(keywords_of, MODELS)):
        found.setdefault(keyword, set()).add(place)
    return {keyword: frozenset(places) for keyword, places in found.items()}


def keywords_of(file: Path) -> Iterator[tuple[str, str]]:
    """Yield each keyword that the parser knows in a file, with its section; the section of a section is empty."""
    reader = RecordingReader()
    document = cast(MapNode, parse_yaml(file.read_text(), reader.report))
    read_model(document, reader, shipped_vocabulary(), CONDITIONS, "")
    section_of = {id(node): key.value for key, body in document.entries for node in _nodes_in(body)}
    for value, keys in reader.known:
        yield from ((key, "" if value is document else section_of[id(value)]) for key in keys)


def _nodes_in(node: Node) -> Iterator[Node]:
    yield node
    inner = (
        node.values
        if isinstance(node, ListNode)
        else [each for _, each in node.entries]
        if isinstance(node, MapNode)
        else []
    )
    for each in inner:
        yield from _nodes_in(each)


def places_line(keyword: str) -> str:
    """Return the third line of a page, which states where the keyword is written."""
    places = keywords()[keyword]
    sections = ", ".join(f"`{place}`" for place in sorted(places - {""}))
    parts = [*(["section of a model file"] if "" in places else []), *([f"key of {sections}"] if sections else [])]
    return f"{'; '.join(parts).capitalize()}."


def test_every_keyword_of_the_parser_has_a_page_and_every_page_a_keyword() -> None:
    assert [page.stem for page in PAGES] == sorted(keywords())


def test_the_index_lists_every_page() -> None:
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (LANGUAGE / "README.md").read_text())

    assert sorted(set(listed)) == sorted(page.name for page in (*PAGES, WORLDS))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
class TestEveryPage:
    def test_a_page_follows_the_template_and_is_short(self, page: Path) -> None:
        lines = page.read_text().splitlines()

        assert lines[:3] == [f"# `{page.stem}`", "", places_line(page.stem)]
        assert [line for line in lines if line.startswith("## ")] == TEMPLATE
        assert len(lines) <= MOST_LINES

    def test_a_page_states_the_rule_in_the_other_languages(self, page: Path) -> None:
        part = page.read_text().partition(TEMPLATE[-1])[2]

        assert [each for each in OTHERS if not re.search(rf"^{each}\b", part, re.MULTILINE)] == []

    def test_the_example_of_a_page_uses_the_keyword(self, page: Path) -> None:
        [model] = [body for _, _, file, body in BLOCK.findall(page.read_text()) if file == "demo.yaml"]

        assert re.search(rf"\b{page.stem}:", model)


@pytest.mark.parametrize("page", [*PAGES, WORLDS], ids=lambda page: page.stem)
def test_the_example_of_a_page_passes_the_checker_and_its_cases(page: Path, tmp_path: Path) -> None:
    for _, _, file, body in BLOCK.findall(page.read_text()):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(body)

    assert diagnose((tmp_path / "demo.yaml").read_text(), shipped_vocabulary(), "demo.yaml", CONDITIONS) == ()
    for start in (Engine, Reference):
        [system] = read_folder(tmp_path, start)
        outcomes = [run_case(system.world, case) for case in system.cases]
        assert {each.case.expect for each in outcomes} == {"allow", "deny"}
        assert [f"{each.case.id}: {each.answer}: {each.why}" for each in outcomes if not each.passed] == []


def test_the_page_on_worlds_names_every_kind_of_step_and_is_short() -> None:
    text = WORLDS.read_text()

    assert [kind for kind in (*STEPS, "create", "clock") if f"`{kind}`" not in text] == []
    assert len(text.splitlines()) <= MOST_LINES
