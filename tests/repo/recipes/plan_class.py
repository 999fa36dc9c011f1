"""Checks that the table of plan classes has the class of the recipe: `python -m tests.repo.recipes.plan_class`."""

import re

from headgate.spark.toolchain.guard_build import SOURCES
from tests.spark.guard.plan_page import page, plan_rows

NAME = "org.apache.spark.sql.catalyst.plans.logical.AggregateOverTime"


def main() -> None:
    """Read the table like the page that shows it, with the verbs of the guard."""
    (row,) = (each for each in plan_rows() if each.name == NAME)
    assert (row.when, row.needs) == ("always", ("read:child",))
    verbs = re.findall(
        r'case \("([a-z-]+)", ', (SOURCES / "scala" / "policy" / "RequiredPrivilege.scala").read_text(encoding="utf-8")
    )
    assert "read" in verbs
    assert "| `AggregateOverTime` | may run | read `child` | a dummy of the tests |" in page({NAME}, set()).splitlines()


if __name__ == "__main__":
    main()
