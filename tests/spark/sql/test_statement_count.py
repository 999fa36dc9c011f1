"""Whether a text is several statements."""

import pytest

from headgate.spark.sql.statement_count import has_several_statements


@pytest.mark.parametrize(
    "text",
    ["SELECT 1; SELECT 2", "SELECT 1;SELECT 2;", "a; -- one\nb", "SELECT ';'; SELECT 1", "x /* ; */ ; y", ";a;;b"],
)
def test_a_text_with_two_statements_is_counted_as_several(text: str) -> None:
    assert has_several_statements(text)


@pytest.mark.parametrize(
    "text",
    [
        *("SELECT 1", "SELECT 1;", "SELECT 1 ; \n ;", "SELECT ';'", 'SELECT "a;b"', "SELECT `a;b` FROM t", "", ";"),
        *("SELECT 1; -- and; no more", "SELECT 1 /* ; b */", r"SELECT 'it\'s; one'", "SELECT 1; /* a; b */"),
        *("SELECT 'a; b", 'SELECT "a; b', "SELECT `a; b", "SELECT 1; /* a; b", "SELECT 'a; \\"),
    ],
)
def test_a_text_with_one_statement_is_not_counted_as_several(text: str) -> None:
    assert not has_several_statements(text)


@pytest.mark.parametrize(
    "text", ["SELECT 'it\\\\'; b", 'SELECT "a\\""; b', "SELECT ''; b", "SELECT `a``b`; b", "/**/a; /* b */ c"]
)
def test_a_semicolon_after_a_closed_quote_or_comment_separates_statements(text: str) -> None:
    assert has_several_statements(text)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("unit", ["\\'", '\\"', "/* ", "'", "`", "''"])
def test_an_unclosed_text_is_read_in_linear_time(unit: str) -> None:
    assert not has_several_statements(f"SELECT {unit * 300_000}")
