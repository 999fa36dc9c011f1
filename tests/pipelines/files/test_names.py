"""Names of files in a connection's folder: which names are opened, and how messages show a name."""

import pytest

from headgate.pipelines.files.names import format_file_name, require_plain_name
from headgate.pipelines.load_errors import LoadError


@pytest.mark.parametrize(
    "name",
    [
        "a.csv",
        "a b.csv",
        "Stra\u00dfe \u65e5\u672c.csv",
        "at 1.23\u202fPM.csv",
        "a.gz.parquet",
        "100%.csv",
        "gz",
        "a#b'c\"d&e+f=g@h!i~.csv",
    ],
)
def test_a_plain_name_is_accepted(name: str) -> None:
    require_plain_name(name)


@pytest.mark.parametrize(
    "name", ["a\x1b]0;x\x07\n.csv", "\udcff\udcfe.csv", "a\u2028.csv", "a\x7f", "%2e%2E%2f", *r"*?[]{}\:"]
)
def test_a_name_that_spark_would_interpret_is_refused(name: str) -> None:
    with pytest.raises(LoadError, match="rename the file") as raised:
        require_plain_name(name)

    assert str(raised.value).isprintable()


@pytest.mark.parametrize("ending", ["bz2", "deflate", "gz", "lz4", "passthrough", "snappy", "zst", "GZ"])
def test_a_compressed_file_is_refused(ending: str) -> None:
    with pytest.raises(LoadError, match="compressed files are not read"):
        require_plain_name(f"a.csv.{ending}")


def test_a_name_is_shown_on_one_line() -> None:
    assert format_file_name("a\n\x1b\udcff\u00df.csv") == "a???\u00df.csv"
