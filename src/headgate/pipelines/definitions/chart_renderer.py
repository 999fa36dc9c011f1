"""Charts are drawn in processes of their own: the library that draws them may end its process, or take all of its time."""

import asyncio
from functools import cache

from headgate.pipelines.definitions.chart import ChartError
from headgate.untrusted_input.blocking_pool import CHART_LIMITS, BlockingPool
from headgate.untrusted_input.errors import OversizedInputError, ParsersBusyError, UnreadableInputError
from headgate.untrusted_input.purposes import CHARTS


class ChartsBusyError(Exception):
    """Too many charts wait, or no process can be started; the message says when to request the chart again."""


@cache
def chart_pool() -> BlockingPool:
    """Return the processes that draw charts for this one. They end with it."""
    return BlockingPool(CHART_LIMITS, CHARTS)


async def render_chart(pool: BlockingPool, owner: str, specification: bytes) -> bytes:
    """Return a chart as SVG. `owner` shares the processes with other owners.

    Raises:
        ChartError: the chart cannot be drawn within the limits of one process.
        ChartsBusyError: the chart was not tried.
    """
    try:
        # Cancelled with the request, so that no process draws for a client that is not there.
        [picture] = await asyncio.wrap_future(pool.submit(owner, b"chart", [specification], _keep_no_account))
    except (UnreadableInputError, OversizedInputError) as error:
        raise ChartError(str(error)) from None
    except ParsersBusyError as error:
        raise ChartsBusyError(str(error)) from None
    return picture


def _keep_no_account(_size: int) -> None:
    """Charge for nothing: the limits bound the one answer of a job."""
