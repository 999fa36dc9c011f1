"""`headgate pipeline save` looks at the file before it asks the server anything."""

from pathlib import Path

import pytest

from headgate.cli.api.pipelines import save_pipeline
from headgate.cli.client import ApiError


class TestSavePipeline:
    @pytest.mark.parametrize("text", ["", "load", "- load", "kind: query", "name: [load]"])
    def test_a_definition_without_kind_and_name_is_refused(self, tmp_path: Path, text: str) -> None:
        file = tmp_path / "load.yaml"
        file.write_text(text)

        with pytest.raises(
            ApiError, match="is not the definition of a pipeline: it has no `name`; write at least `kind` and `name`"
        ):
            save_pipeline(file)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (None, "there is no file `"),
            (b"name: [", "load.yaml` is not valid YAML"),
            (b"\xff", "load.yaml` is not UTF-8 text"),
        ],
    )
    def test_an_unreadable_definition_is_reported_in_one_line(
        self, tmp_path: Path, content: bytes | None, said: str
    ) -> None:
        file = tmp_path / "load.yaml"
        if content is not None:
            file.write_bytes(content)

        with pytest.raises(ApiError, match=said) as raised:
            save_pipeline(file)

        assert "\n" not in str(raised.value)
