"""The suites that define correct behaviour are complete copies, and their files have the documented form."""

import json
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent


class TestConformanceSuite:
    def test_the_conformance_suite_passes_its_own_checker(self) -> None:
        checked = subprocess.run(
            [sys.executable, TESTS / "conformance" / "validate.py"], capture_output=True, text=True, check=False
        )

        assert checked.returncode == 0, checked.stdout + checked.stderr

    def test_the_conformance_suite_has_a_world_for_each_file_of_cases(self) -> None:
        suite = TESTS / "conformance"

        worlds = {path.stem for path in (suite / "worlds").glob("*.yaml")}
        cases = {path.stem for path in (suite / "cases").glob("*.jsonl")}

        assert worlds == cases == {"nekt", "y42", "onehouse", "datamesh"}


class TestBypassCorpus:
    def test_the_bypass_corpus_has_the_fields_of_its_format_and_no_id_twice(self) -> None:
        lines = (TESTS / "bypass" / "public.jsonl").read_text().splitlines()

        cases = [json.loads(line) for line in lines]

        assert cases
        assert all({"id", "kind", "statement", "needs"} <= case.keys() for case in cases)
        assert {case["kind"] for case in cases} == {"sql", "dataframe"}
        assert len({case["id"] for case in cases}) == len(cases)
