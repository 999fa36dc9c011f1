"""Jobs are divided into shards, and their results are identified by all that they run."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.compatibility.doc_examples import divide, parse_cases
from tools.compatibility.jobs import Job, chunks, job_from_json, shard_of

JOB = Job("a.sql", ("SELECT 1",), (("k", "v"),))


def test_a_job_survives_json_with_its_digest() -> None:
    read = job_from_json(json.loads(json.dumps(JOB.to_json())))

    assert read == JOB
    assert read.digest == JOB.digest


@pytest.mark.parametrize(
    "other", [replace(JOB, name="b"), replace(JOB, statements=("SELECT 2",)), replace(JOB, settings=())]
)
def test_jobs_that_run_other_things_have_other_digests(other: Job) -> None:
    assert other.digest != JOB.digest


@given(st.lists(st.integers(1, 300), max_size=60), st.integers(1, 9))
def test_every_job_is_in_exactly_one_shard(sizes: list[int], count: int) -> None:
    """The shards of any jobs contain each job once."""
    jobs = [Job(f"{number}.sql", ("SELECT 1",) * size) for number, size in enumerate(sizes)]

    sharded = [job.name for number in range(1, count + 1) for job in shard_of(jobs, number, count)]

    assert sorted(sharded) == sorted(job.name for job in jobs)


def test_shards_cost_about_the_same() -> None:
    jobs = [Job(f"{number}.sql", ("SELECT 1",) * (number % 50)) for number in range(200)]

    weights = [sum(job.weight for job in shard_of(jobs, number, 7)) for number in range(1, 8)]

    assert max(weights) - min(weights) <= 60


@given(st.lists(st.integers(1, 50)), st.integers(1, 100))
def test_ranges_of_items_are_consecutive_and_limited(sizes: list[int], most: int) -> None:
    """Ranges cover all items in order; each is within the limit or has one item."""
    found = chunks(sizes, most)

    assert [at for first, end in found for at in range(first, end)] == list(range(len(sizes)))
    assert all(sum(sizes[first:end]) <= most or end - first == 1 for first, end in found)


def test_a_file_of_cases_has_a_document_for_each_heading() -> None:
    text = 'An introduction.\n\n# one\n>>> 1\n>>> sql("# no heading")\n\n# two\n>>> def f():\n...     return 2\n'

    found = parse_cases(text, "x.pycon")

    assert {name: [each.source for each in document.examples] for name, document in found.items()} == {
        "one": ["1\n", 'sql("# no heading")\n'],
        "two": ["def f():\n    return 2\n"],
    }


def test_two_sections_of_the_same_name_are_refused() -> None:
    with pytest.raises(ValueError, match="has the section `a` twice"):
        parse_cases("\n# a\n>>> 1\n# b\n>>> 1\n# a\n>>> 1\n", "x.pycon")


def test_a_large_module_is_divided_into_jobs_with_whole_documents() -> None:
    documents = parse_cases("".join(f"\n# {name}\n" + ">>> 1\n" * 150 for name in "abc"), "x.pycon")

    jobs = divide("pyspark.sql.x", documents)

    assert [(job.name, job.documents, len(job.statements)) for job in jobs] == [
        ("pyspark.sql.x.1", ("a",), 150),
        ("pyspark.sql.x.2", ("b",), 150),
        ("pyspark.sql.x.3", ("c",), 150),
    ]
