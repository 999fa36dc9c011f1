"""The SELECT of a pipeline: it must be one query that reads only declared tables."""

import pytest

from headgate.pipelines.definitions.select import InputsError, reads, require_same, wrap_query

EXPLAINED = """== Parsed Logical Plan ==
'Project [*]
+- 'SubqueryAlias __auto_generated_subquery_name
   +- 'UnresolvedRelation [lake, secret, s], [], false

== Analyzed Logical Plan ==
n: bigint
Project [n#70L]
+- SubqueryAlias __auto_generated_subquery_name
   +- Project [n#70L, scalar-subquery#204 [] AS q#205]
      :  +- SubqueryAlias lake.raw.`odd-name`
      :     +- RelationV2[n#120] lake.raw.`odd-name`
      +- Join Inner, (n#70L = n#67L)
         :- SubqueryAlias lake.trusted.v
         :  +- SubqueryAlias lake.raw.t.files
         :     +- RelationV2[n#71L, we]ird name#72, m#73] lake.raw.t
         +- SubqueryAlias `lake.raw.alias`
            +- SubqueryAlias lake.raw.t
               +- RelationV2[n#67L, we]ird name#68, m#69] lake.raw.t

== Optimized Logical Plan ==
SubqueryAlias lake.raw.optimized
"""


class TestWhatASelectReads:
    def test_the_inputs_of_a_select_are_its_tables_and_views_without_aliases(self) -> None:
        assert reads(EXPLAINED) == {"lake.raw.odd-name", "lake.trusted.v", "lake.raw.t"}

    def test_a_select_that_reads_an_undeclared_table_is_refused(self) -> None:
        with pytest.raises(
            InputsError, match=r"lacks `lake\.a\.b` and `lake\.a\.c`, which the SELECT reads; add them to `inputs`"
        ):
            require_same(["lake.a.a"], {"lake.a.a", "lake.a.b", "lake.a.c"})

    def test_a_declared_input_that_the_select_does_not_read_is_refused(self) -> None:
        with pytest.raises(InputsError, match=r"lists `lake\.a\.b`, which the SELECT does not read; leave it out"):
            require_same(["lake.a.a", "lake.a.b"], {"lake.a.a"})


def test_a_query_with_a_trailing_comment_or_semicolon_can_be_wrapped() -> None:
    assert wrap_query("SELECT 1 -- one") == "SELECT * FROM (\nSELECT 1 -- one\n)"
    assert wrap_query("SELECT 1;\n") == "SELECT * FROM (\nSELECT 1\n)"
