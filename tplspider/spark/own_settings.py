"""What a job sets in Spark; in one that somebody has already, all is afterwards as it was."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

LOG_LEVEL = "WARN"
SHUFFLE_PARTS = "spark.sql.shuffle.partitions"
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "200",  # a row may have thousands of places
    "spark.sql.debug.maxToStringFields": "100",  # it warns of plans that it would have to shorten
}
# These tell of each failure in hundreds of lines of Java, each time that a task is tried.
_LENGTHY = (
    "org.apache.hadoop.util.Shell",
    "org.apache.spark.api.python",
    "org.apache.spark.executor.Executor",
    "org.apache.spark.scheduler.TaskSetManager",
    "org.apache.spark.sql.execution.datasources",
    "org.apache.spark.util.Utils",
)


@contextmanager
def own_settings(spark: SparkSession, log_level: str | None, *, is_new: bool) -> Iterator[None]:
    """Have Spark set as jobs need it, but for what is set on purpose.

    Without a level it warns, but says nothing of tasks that fail: why a job fails is told by us.
    """
    context = spark.sparkContext
    given = {name for name, _ in context.getConf().getAll()}
    before = {name: spark.conf.get(name, None) for name in (*_SETTINGS, SHUFFLE_PARTS)}
    level = _log_level(context)
    for name, value in _SETTINGS.items():
        if name not in given:
            spark.conf.set(name, value)
    if is_new or log_level:
        context.setLogLevel(log_level or LOG_LEVEL)
    if is_new and log_level is None:
        log4j = _log4j(context)
        for each in _LENGTHY:
            log4j.core.config.Configurator.setLevel(each, log4j.Level.OFF)
    try:
        yield
    finally:
        if not is_new:
            with suppress(Exception):  # Java may be gone
                for name, was in before.items():
                    spark.conf.unset(name) if was is None else spark.conf.set(name, was)
                context.setLogLevel(level)


@contextmanager
def silence(context: SparkContext) -> Iterator[None]:
    """Have Spark say nothing for a while."""
    level = _log_level(context)
    context.setLogLevel("OFF")
    try:
        yield
    finally:
        with suppress(Exception):  # as above
            context.setLogLevel(level)


def _log_level(context: SparkContext) -> str:
    return str(_log4j(context).LogManager.getRootLogger().getLevel().toString())


def _log4j(context: SparkContext) -> Any:
    jvm: Any = context._jvm  # noqa: SLF001 - the one way
    return jvm.org.apache.logging.log4j
