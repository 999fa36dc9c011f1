"""What somebody sees of a run while it lasts."""

from typing import Any

from headgate.cli.following import follow


def document(state: str, *lines: str, **more: object) -> dict[str, Any]:
    return {"name": "load", "state": state, "log": [{"at": 0.0, "line": line} for line in lines], **more}


class TestFollow:
    def test_shows_each_line_once_and_ends_with_the_run(self) -> None:
        looks = iter((document("running", "a"), document("running", "a", "b"), document("failed", "a", "b", "c")))
        shown: list[str] = []

        last = follow(lambda: next(looks), shown.append)

        assert shown == ["  a", "  b", "  c"]
        assert last["state"] == "failed"

    def test_can_tell_progress_before_there_is_a_line(self) -> None:
        looks = iter((document("running", progress={"done": 1, "tasks": 8}), document("succeeded")))

        last = follow(lambda: next(looks))

        assert last["state"] == "succeeded"
