"""Rendering of charts in separate processes: the drawing library may crash its process, or use all of its time."""

import asyncio
from functools import cache

from headgate.pipelines.definitions.chart import ChartError
from headgate.untrusted_input.blocking_pool import CHART_LIMITS, BlockingPool
from headgate.untrusted_input.errors import OversizedInputError, ParsersBusyError, UnreadableInputError
from headgate.untrusted_input.purposes import CHARTS


class ChartsBusyError(Exception):
    """Too many charts are waiting, or no process can be started; the message says when to request the chart again."""


@cache
def chart_pool() -> BlockingPool:
    """Return the pool of processes that draw charts for this process. They end with it."""
    return BlockingPool(CHART_LIMITS, CHARTS)


async def render_chart(pool: BlockingPool, owner: str, specification: bytes) -> bytes:
    """Return a chart as SVG. `owner` shares the processes with other owners.

    Raises:
        ChartError: the chart cannot be drawn within the limits of one process.
        ChartsBusyError: drawing the chart was not attempted.
    """
    try:
        # Cancelled with the request, so that no process draws for a client that has disconnected.
        [picture] = await asyncio.wrap_future(pool.submit(owner, b"chart", [specification], _keep_no_account))
    except (UnreadableInputError, OversizedInputError) as error:
        raise ChartError(str(error)) from None
    except ParsersBusyError as error:
        raise ChartsBusyError(str(error)) from None
    return picture


def _keep_no_account(_size: int) -> None:
    """Account for nothing: the limits already bound the one result of a job."""
