"""The target of a path: every way to interpret the path must lead inside the table's folder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.lake.containment import is_directly_inside, is_inside, path_of, place_of
from headgate.lake.errors import RuleError

T1 = "file:///w/db/t1"


@pytest.mark.parametrize(
    "path",
    [
        "file:///w/db/t1/data/a.parquet",
        "file:/w/db/t1/data/a.parquet",
        "/w/db/t1/data/a.parquet",
        "/w//db/t1//a",
        "file:////w/db/t1/a",
        "/w/db/t1/data/c=a%2Fb/a.parquet",
        "/w/db/t1/data/c=50%25/a.parquet",
        "/w/db/t1/data/c=../a.parquet",
        "/w/db/t1/data/c d=é/a.parquet",
    ],
)
def test_a_file_below_the_location_is_inside(path: str) -> None:
    assert is_inside(T1, path)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/w/db/t1",
        "/w/db/t1/",
        "/w/db/t10/a",
        "/w/db/t1.bak/a",
        "/w/db/t2/a",
        "/W/db/t1/a",
        "w/db/t1/a",
        "file:w/db/t1/a",
        "file://w/db/t1/a",
        "file://localhost/w/db/t1/a",
        "FILE:/w/db/t1/a",
        "s3://w/db/t1/a",
        "hdfs:/w/db/t1/a",
        "http://w/db/t1/a",
        "file:file:/w/db/t1/a",
        "/w/db/t1/../t2/a",
        "/w/db/t2/../t1/a",
        "/w/db/t1/./a",
        "/w/db/t1/%2e%2e/t2/a",
        "/w/db/t1/%252e%252e/t2/a",
        "/w/db/t1/%252525252561",
        f"/w/db/t1/%{'25' * 2000}",
        f"/w/db/t1/%{'25' * 400_000}",
        f"/w/db/t1/{'a' * 4096}",
        "/w/db/t1/..%2ft2/a",
        "/w/db/t1/data/c=%2f..%2f..%2f..%2ft2/a",
        "/w/db/%74%31/a",
        "/w/db/t2#/../t1/a",
        "/w/db/t1/a?x",
        "/w/db/t1/a#x",
        "/w/db/t1\\..\\t2/a",
        "/w/db/t1/a\n",
        "/w/db/t1/a\0b",
        " /w/db/t1/a",
    ],
)
def test_a_path_outside_the_location_is_not_inside(path: str) -> None:
    assert not is_inside(T1, path)


@pytest.mark.parametrize(
    ("path", "fault"),
    [
        ("/w/%252525252e", "is percent-encoded more than 4 times"),
        (f"/w/%{'25' * 400_000}", "has more than 4096 characters"),
        (f"/w/{'a' * 4096}", "has more than 4096 characters"),
        (f"s3://{'%25' * 2000}/k", "has more than 4096 characters"),
    ],
)
def test_a_path_that_is_too_long_or_encoded_too_often_is_refused(path: str, fault: str) -> None:
    with pytest.raises(RuleError, match=fault):
        place_of(path)


def test_nothing_is_inside_a_bucket_with_a_name_that_is_encoded_too_often() -> None:
    assert not is_inside("s3://%25252525252e/a", "s3://%25252525252e/a/b")


def test_a_location_with_percent_signs_contains_its_own_files() -> None:
    assert is_inside("file:///w%20x/t", "file:///w%20x/t/a")
    assert not is_inside("file:///w%20x/t", "file:///w x/t/a")


@pytest.mark.parametrize("path", ["file:/w/t/metadata/a", "/w/t//metadata//a.avro", "file:///w/t/metadata/a%20b"])
def test_a_file_of_a_folder_is_directly_inside(path: str) -> None:
    assert is_directly_inside("file:///w/t/metadata", path)


@pytest.mark.parametrize(
    "path",
    [
        "/w/t/metadata",
        "/w/t/a",
        "/w/t/data/a",
        "/w/t/metadata/b/a",
        "/w/t/metadata/../data/a",
        "/w/t/metadata/b%2fa",
        "/w/t/metadata/..%2fdata%2fa",
        "/w/t/metadata/b%25252Fa",
        "s3://w/t/metadata/a",
    ],
)
def test_a_file_of_another_folder_is_not_directly_inside(path: str) -> None:
    assert not is_directly_inside("file:///w/t/metadata", path)


def test_a_path_is_returned_without_doubled_slashes() -> None:
    assert path_of("file:///a//b/") == path_of("file:/a/b") == path_of("/a/b") == "/a/b"


@pytest.mark.parametrize("location", ["s3://b/a", "a/b", "file://host/a", "/a/../b"])
def test_an_unclear_path_is_refused(location: str) -> None:
    with pytest.raises(RuleError):
        path_of(location)


@pytest.mark.parametrize(
    ("location", "fault"),
    [
        ("s3://", "names no bucket"),
        ("s3:///a", "names no bucket"),
        ("s3://b/a//c", "an empty part"),
    ],
)
def test_a_path_in_a_bucket_is_refused_with_its_fault(location: str, fault: str) -> None:
    with pytest.raises(RuleError, match=fault):
        place_of(location)


PARTS = st.lists(st.sampled_from(["a", "t1", "t10", "..", ".", "", "%2e%2e", "%2f", "c=1", "%25"]), max_size=8)


@given(PARTS)
def test_a_path_inside_the_location_has_no_parent_segments(parts: list[str]) -> None:
    path = "/w/db/t1/" + "/".join(parts)
    if is_inside(T1, path):
        assert ".." not in path.split("/")
        assert path_of(path).startswith("/w/db/t1/")
