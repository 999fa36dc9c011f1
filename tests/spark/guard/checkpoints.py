"""Checkpoints of DataFrames."""

from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import DataFrame
from pyspark.sql.connect.session import SparkSession as ConnectSession


def checkpointed(frame: DataFrame, *, eager: bool = True) -> DataFrame:
    """Return the checkpoint of a DataFrame.

    PySpark assigns it to the session that is active on the thread, so the session is made active first.
    """

    def made() -> DataFrame:
        assert isinstance(frame.sparkSession, ConnectSession)
        ConnectSession._set_default_and_active_session(frame.sparkSession)
        return frame.localCheckpoint(eager=eager)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(made).result()
