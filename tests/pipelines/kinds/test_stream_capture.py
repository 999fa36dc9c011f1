"""Stream captures on Spark: each file once despite restarts, new columns, files that do not match, and starting over."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError
from pyspark.errors import PySparkException

from headgate.pipelines.kinds import parse_definition
from headgate.pipelines.load_errors import EndedError, LoadError
from tests.pipelines.drop_folder import Drop


def capture(name: str, **more: Any) -> dict[str, Any]:
    """A capture of the folder of this name, which loads the existing files and ends."""
    where = {"connection": "drop", "path": name, "into": f"lake.raw.{name}"}
    return {"kind": "stream_capture", "name": name, **where, "every": None, **more}


class TestADefinition:
    @pytest.mark.parametrize(
        "wrong",
        [
            {"connection": None},
            {"source": "s"},
            {"path": "../x"},
            {"path": "/x"},
            {"path": "a/../../x"},
            {"path": "a*"},
        ],
        ids=str,
    )
    def test_a_capture_needs_one_folder_below_its_connection_or_source(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(ValidationError):
            parse_definition(capture("late") | wrong)


@pytest.mark.spark
class TestOnSpark:
    def test_a_capture_loads_each_file_once_after_a_lost_checkpoint(self, drop: Drop) -> None:
        definition = capture("late", columns="n BIGINT", null_value="NA")
        drop.put("late/1.csv", "n,day", "1,2013-01-01", "NA,2013-01-02")
        first = drop.lake.run(definition)
        assert first.metrics == {"rows.lake.raw.late": 2}
        drop.put("late/2.csv", "n,day", "3,2013-01-03")
        drop.lake.run(definition)
        last = max((drop.progress("late") / "commits").glob("[0-9]*"))
        (last.parent / f".{last.name}.crc").unlink()
        last.unlink()  # as if the worker and Spark had died between the table's commit and the stream's

        drop.lake.run(definition)
        nothing_new = drop.lake.run(definition)

        assert [str(value) for value, _ in drop.rows("late")] == ["1", "3", "None"]
        assert nothing_new.lines == []

    def test_a_capture_adds_new_columns_of_the_files(self, drop: Drop) -> None:
        drop.put("grows/1.json", '{"n": 1}')
        drop.lake.run(capture("grows", format="json"))
        drop.put("grows/2.json", '{"n": 2, "word": "new"}')

        told = drop.lake.run(capture("grows", format="json"))

        assert told.lines[0] == "the files have new columns; adding them to lake.raw.grows: `word`"
        assert drop.rows("grows") == [(1, None), (2, "new")]

    def test_a_capture_loads_nothing_of_a_batch_until_its_bad_file_is_corrected(self, drop: Drop) -> None:
        drop.put("fits/1.csv", "n", "1")
        drop.lake.run(capture("fits"))
        drop.put("fits/2.csv", "n", "2")
        drop.put("fits/3.csv", "n", "three")

        with pytest.raises(
            LoadError, match=r"the file `3\.csv` does not fit the columns of lake\.raw\.fits; no file of its batch"
        ):
            drop.lake.run(capture("fits"))
        assert drop.rows("fits") == [(1,)]
        drop.put("fits/3.csv", "n", "3")
        drop.lake.run(capture("fits"))

        assert drop.rows("fits") == [(1,), (2,), (3,)]

    def test_a_capture_refuses_csv_files_with_different_columns(self, drop: Drop) -> None:
        drop.put("order/1.csv", "a,b", "1,2")
        drop.put("order/2.csv", "b,a", "2,1")

        with pytest.raises(LoadError, match=r"`1\.csv` and `2\.csv` have different columns"):
            drop.lake.run(capture("order"))
        (drop.folder / "order" / "2.csv").rename(drop.folder / "2.csv")
        drop.lake.run(capture("order"))
        (drop.folder / "2.csv").rename(drop.folder / "order" / "2.csv")
        drop.lake.run(capture("order"))

        assert drop.rows("order") == [(1, 2), (1, 2)]

    def test_a_capture_starts_again_with_an_empty_table_after_cleaning(self, drop: Drop) -> None:
        file = drop.put("anew/1.csv", "n", "1")
        drop.lake.run(capture("anew"))
        file.unlink()
        drop.put("anew/2.csv", "n", "2")

        for _ in range(2):
            drop.lake.run(capture("anew"), cleaned=1)

        assert drop.rows("anew") == [(2,)]

    def test_a_continuous_capture_loads_new_files_until_its_run_has_to_end(self, drop: Drop) -> None:
        drop.put("long/1.csv", "n", "1")
        looks = 0

        def wait(seconds: float) -> bool:
            nonlocal looks
            if seconds != 5.0:  # not the wait between two listings
                return False
            looks += 1
            drop.put(f"long/{looks + 1}.csv", "n", str(looks + 1))
            return looks == 2

        with pytest.raises(EndedError):
            drop.lake.run(capture("long", every=5.0), wait=wait)

        assert drop.rows("long") == [(1,), (2,)]

    def test_a_missing_folder_of_a_capture_is_reported(self, drop: Drop) -> None:
        with pytest.raises(LoadError, match="there is no folder `nowhere` in the connection's folder"):
            drop.lake.run(capture("nowhere"))

    def test_a_capture_may_not_read_or_checkpoint_in_another_folder(self, drop: Drop, tmp_path: Path) -> None:
        drop.put("bound/1.csv", "n", "1")
        drop.lake.run(capture("bound"))
        (tmp_path / "secret.csv").write_text("n\n1\n")
        with drop.lake.execution("bound") as (execution, _):
            spark = execution.spark

            def stream(folder: object, progress: object) -> None:
                files = spark.readStream.schema("n INT").csv(str(folder))
                files.writeStream.option("checkpointLocation", str(progress)).toTable("lake.raw.bound")

            own, beside = execution.checkpoints / "0", execution.checkpoints.parent / "another"
            tries = [(tmp_path, own), (own, own)]
            tries += [
                (drop.folder / "bound", each) for each in (beside, tmp_path, execution.staging, drop.folder / "cp")
            ]
            for folder, progress in tries:
                with pytest.raises(PySparkException, match=r"may not access the path|checkpoint"):
                    stream(folder, progress)

        assert drop.rows("bound") == [(1,)]
        assert not (drop.folder / "cp").exists()
        assert [each.name for each in tmp_path.iterdir()] == ["secret.csv"]
