"""The corpora on a real stack: nothing may be let through."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.bypass_corpus.cases import load
from tools.bypass_corpus.judgement import Verdict
from tools.bypass_corpus.report import closing, progress
from tools.bypass_corpus.run import run
from tools.bypass_corpus.stack import Stack, fresh_stack

HERE = Path(__file__).parent


@pytest.fixture
def stack() -> Iterator[Stack]:
    with fresh_stack() as opened:
        yield opened
        opened.require_sound()


def let_through(stack: Stack, name: str) -> list[str]:
    """Return what there is to say about the cases that were let through."""
    cases = load([HERE / name])
    judged = run(stack, cases, progress(len(cases), verbose=False))
    return closing([each for each in judged if each.verdict is Verdict.LET_THROUGH])[:-2]


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_nothing_of_the_delivered_corpus_is_let_through(stack: Stack) -> None:
    assert let_through(stack, "public.jsonl") == []


@pytest.mark.spark
@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_nothing_of_our_own_corpus_is_let_through(stack: Stack) -> None:
    assert let_through(stack, "more.jsonl") == []
