"""The check of English finds the phrases of its table, and no others."""

from pathlib import Path

import pytest

from tools.check_english import Phrase, complaints, files_of, texts_of

NOBODY = Phrase(r"\bnobody\b", "the caller")
FIRST = Phrase("what", "the noun", begins=True)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.py", '"""Served to nobody."""\n'),
        ("a.py", "#: nobody\n"),
        ("a.py", "x = f'{y} is for nobody'\n"),
        ("a", '#!/usr/bin/env python3\n"""Served to nobody."""\n'),
        ("a", "#!/bin/sh\n# For nobody"),
        ("A.scala", "/** For\n  * nobody. */"),
        ("A.scala", 's"$x is for nobody"'),
        ("A.scala", "f() // for nobody"),
        ("a.md", "For nobody"),
    ],
)
def test_a_phrase_is_found_in_every_kind_of_text(name: str, content: str) -> None:
    assert [each.split("; ")[1] for each in complaints({name: content}, [NOBODY], {})] == ["write: the caller"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.py", "nobody = 1\n"),
        ("a.py", 'x = "nobody"\n'),
        ("a", "#!/usr/bin/env python3\nnobody = 1\n"),
        ("a.py", '"""Calls `nobody` here."""\n'),
        ("A.scala", "val nobody = 1"),
    ],
)
def test_a_name_in_code_is_no_phrase(name: str, content: str) -> None:
    assert complaints({name: content}, [NOBODY], {}) == []


def test_a_phrase_is_found_across_lines_with_its_line() -> None:
    assert complaints({"a.py": "\n# there are so\n# many\n"}, [Phrase("so many", "the number")], {}) == [
        "a.py:2: `so many`; write: the number"
    ]


def test_a_word_that_may_not_begin_a_docstring_may_be_inside_it_and_begin_another_string() -> None:
    content = 'def f():\n    """What it does."""\n    return "What is it?"\n\n\ndef g():\n    """Return what."""\n'

    assert complaints({"a.py": content}, [FIRST], {}) == ["a.py:2: `What`; write: the noun"]


def test_an_exception_excuses_its_phrase_in_its_file_and_must_be_needed() -> None:
    exceptions = {"a.md": {"nobody": "a quotation"}}

    assert complaints({"a.md": "nobody, nobody"}, [NOBODY], exceptions) == []
    assert complaints({"a.md": "no user"}, [NOBODY], exceptions) == ["a.md: the exception `nobody` is not needed"]


def test_a_document_is_one_text() -> None:
    assert len(list(texts_of("a.md", "one\n\ntwo"))) == 1


def test_the_files_of_a_folder_that_is_left_out_are_not_searched(tmp_path: Path) -> None:
    for name in ("a.md", "old/b.md", "old/new/c.py", "older/d", "e.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    found = files_of([tmp_path], [tmp_path / "old"])

    assert {str(each.relative_to(tmp_path)) for each in found} == {"a.md", "older/d"}
    assert list(files_of([tmp_path / "a.md"])) == [tmp_path / "a.md"]
