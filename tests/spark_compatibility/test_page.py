"""The page docs/spark-compatibility.md follows from the classes and from the summary of the last recorded run."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tools.compatibility.classes import load_classes
from tools.compatibility.page import PAGE, page
from tools.compatibility.summary import read_summary


def test_the_committed_page_follows_from_the_classes_and_the_summary(generated: Callable[[Path, str], None]) -> None:
    generated(PAGE, page(load_classes(), read_summary()))


def test_every_class_of_the_summary_exists() -> None:
    classes, summary = load_classes(), read_summary()

    assert {*summary.refused, *summary.wake} <= {each.name for each in classes.exclusions}
    assert set(summary.differences) <= {each.name for each in classes.differences}


def test_the_page_has_the_reason_and_the_alternative_of_each_class() -> None:
    classes, summary = load_classes(), read_summary()
    text = page(classes, summary)

    for each in classes.exclusions:
        assert f"| {each.why} | {each.instead} |".replace("\\|", "|") in text
    for each in classes.differences:
        assert each.why.replace("|", "\\|") in text


def test_a_partial_run_is_marked_and_a_complete_one_is_not() -> None:
    classes, summary = load_classes(), replace(read_summary(), jobs=3, all_jobs=9)

    assert "**This was a partial run: 3 of 9 jobs.**" in page(classes, summary)
    assert "partial run" not in page(classes, replace(summary, jobs=9))
