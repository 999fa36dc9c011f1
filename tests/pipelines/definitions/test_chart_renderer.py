"""The renderer of charts: the picture, or an error for the caller."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future

import pytest
from typing_extensions import override

from headgate.pipelines.definitions.chart import Chart, ChartError, ChartRows, specify_chart
from headgate.pipelines.definitions.chart_renderer import ChartsBusyError, render_chart
from headgate.untrusted_input.blocking_pool import BlockingPool
from headgate.untrusted_input.errors import OversizedInputError, ParsersBusyError, UnreadableInputError
from headgate.untrusted_input.pool import Charge
from headgate.untrusted_input.purposes import CHARTS

SPECIFICATION = specify_chart(
    Chart(type="bar", x="x", y="y"), ChartRows(columns=(("x", "string"), ("y", "int")), rows=(("a", 1),))
)


class Answering(BlockingPool):
    """A pool with one answer to each document, or without an answer for the length of the test."""

    def __init__(self, answer: bytes | Exception | None) -> None:
        super().__init__()
        self.future: Future[list[bytes]] = Future()
        if isinstance(answer, Exception):
            self.future.set_exception(answer)
        elif answer is not None:
            self.future.set_result([answer])

    @override
    def submit(
        self, owner: str, kind: bytes, documents: Sequence[bytes], charge: Charge, file: int | None = None
    ) -> Future[list[bytes]]:
        """Return the answer."""
        return self.future


def test_the_renderer_returns_the_picture_of_the_process() -> None:
    assert asyncio.run(render_chart(Answering(b"<svg/>"), "ann", SPECIFICATION)) == b"<svg/>"


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (UnreadableInputError(CHARTS.lost), ChartError),
        (OversizedInputError(CHARTS.slow), ChartError),
        (ParsersBusyError(CHARTS.busy), ChartsBusyError),
        (ParsersBusyError(CHARTS.down), ChartsBusyError),
    ],
)
def test_a_chart_that_is_not_drawn_raises_the_error_of_the_pool(error: Exception, raised: type[Exception]) -> None:
    with pytest.raises(raised, match=str(error)):
        asyncio.run(render_chart(Answering(error), "ann", SPECIFICATION))


def test_a_cancelled_request_cancels_its_chart() -> None:
    pool = Answering(None)

    async def leave() -> None:
        async with asyncio.timeout(0.01):
            await render_chart(pool, "ann", SPECIFICATION)

    with pytest.raises(TimeoutError):
        asyncio.run(leave())

    assert pool.future.cancelled()
