"""`make soak` runs every long test, in parts that exist, and shows the result of each."""

import importlib.util
import re
import subprocess
import sys
from collections import Counter
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

TESTS = Path("tests")


@pytest.fixture(scope="module")
def soak() -> ModuleType:
    loader = SourceFileLoader("soak_parts", "tools/soak")
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    first = sys.path[0]
    loader.exec_module(module)
    sys.path[0] = first
    return module


def test_every_file_with_long_tests_is_in_one_part_or_divided_among_several(soak: ModuleType) -> None:
    marked = {file.as_posix() for file in TESTS.rglob("*.py") if re.search(r"\bmark\.soak\b", file.read_text("utf-8"))}
    named = Counter(test for part in soak.PARTS for test in part.tests)

    assert {test.partition("::")[0] for test in named} == marked - {Path(__file__).relative_to(Path.cwd()).as_posix()}
    assert set(named.values()) == {1}


def test_no_test_of_a_divided_file_is_left_out(soak: ModuleType) -> None:
    divided = {test for part in soak.PARTS for test in part.tests if "::" in test}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "soak", "-p", "no:cacheprovider"]
    files = sorted({test.partition("::")[0] for test in divided})

    collected = subprocess.run([*command, *files], capture_output=True, text=True, check=True).stdout

    tests = {line for line in collected.splitlines() if "::" in line}
    assert {test if test in divided else test.partition("[")[0] for test in tests} == divided


def test_every_part_has_a_name_of_its_own_and_fits_ten_minutes(soak: ModuleType) -> None:
    assert len({part.name for part in soak.PARTS}) == len(soak.PARTS)
    assert all(0 < part.minutes <= soak.LONGEST / 60 for part in soak.PARTS)


def test_the_page_shows_what_failed_and_what_was_counted(soak: ModuleType) -> None:
    kills, races = soak.PARTS[:2]
    found = [
        soak.Result(kills, True, "8 passed", 200.0, ("200 kills, 0 lost",)),  # noqa: FBT003 (its field)
        soak.Result(races, False, "1 failed | 2 passed", 61.0, ()),  # noqa: FBT003
    ]

    page = soak.page(found, "abc123", "2026-11-25")

    assert f"| `kills` | {kills.tries} | passed | 3:20 | 8 passed; 200 kills, 0 lost | `abc123`, 2026-11-25 |" in page
    assert "| **failed** | 1:01 | 1 failed / 2 passed |" in page


def test_the_page_keeps_the_rows_of_parts_that_did_not_run(soak: ModuleType) -> None:
    kills, races = soak.PARTS[:2]
    before = soak.page([soak.Result(kills, True, "8 passed", 200.0, ())], "old", "2026-11-24")  # noqa: FBT003 (its field)

    page = soak.page([soak.Result(races, True, "2 passed", 61.0, ())], "new", "2026-11-25", before)  # noqa: FBT003

    assert "| 8 passed | `old`, 2026-11-24 |" in page
    assert "| 2 passed | `new`, 2026-11-25 |" in page


def test_a_part_that_does_not_exist_is_refused(
    soak: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["soak", "nothing"])

    with pytest.raises(SystemExit) as ended:
        soak.main()

    assert ended.value.code == 2
    assert "there is no part `nothing`" in capsys.readouterr().err
