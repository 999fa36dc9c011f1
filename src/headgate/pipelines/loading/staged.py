"""What an API gives, as JSON lines in the run's own folder, from where Spark reads it."""

import json
from collections.abc import Iterable
from pathlib import Path

from headgate.pipelines.loading.paging import Answer


def stage(answers: Iterable[Answer], folder: Path) -> int:
    """Write every record into one file of a new folder, and return how many there are."""
    folder.mkdir(parents=True)
    count = 0
    with (folder / "records.jsonl").open("w", encoding="utf-8") as file:
        for answer in answers:
            file.writelines(f"{json.dumps(record)}\n" for record in answer.records)
            count += len(answer.records)
    return count
