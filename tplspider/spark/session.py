"""The start of a job: Spark, and workers that can do what is asked of them. And its end."""

from __future__ import annotations

import os
import re
import shutil
import sys
from contextlib import suppress
from threading import Timer
from typing import TYPE_CHECKING, Any

from tplspider.spark.ending import is_java_gone
from tplspider.spark.own_settings import silence

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

_NO_JAVA = (
    "Spark needs Java, which is not found: install a JRE (17 or later), or set JAVA_HOME to one"
)
_JAVA_ENDED = "Spark does not start: its Java has ended at once, and says why above"
_NO_SPARK = "this needs pyspark, which is not installed: pip install -e '.[spark]' in a clone"
_NO_PROGRAM = "Cannot run program"
_PATIENCE = 15  # seconds for the first worker to come, before that is told
_CAUSE = re.compile(r"(?:Caused by: )?[\w.]*(?:Error|Exception):")
_EXTRAS = "pip install '.[archive,spark]' in a clone on every node, or ship an environment"


class JobError(Exception):
    """The job cannot be done; it says why in one line."""


def tell(line: str) -> None:
    """A line for the person who runs the job."""
    with suppress(OSError):  # nobody may listen any more
        print(f"tplspider: {line}", file=sys.stderr, flush=True)


def start_spark(name: str) -> tuple[SparkSession, bool]:
    """Spark, as ``spark-submit`` was told, and whether it is new; JobError if there is none."""
    try:
        from pyspark import SparkContext  # it may not be there
        from pyspark.sql import SparkSession
    except ImportError:
        raise JobError(_NO_SPARK) from None
    # Not by the active session: each thread has one of its own.
    is_new = SparkContext._active_spark_context is None  # noqa: SLF001 - the one way
    builder = SparkSession.builder
    try:
        return (builder.appName(name) if is_new else builder).getOrCreate(), is_new
    except Exception as error:  # noqa: BLE001 - whatever Spark may raise
        if "JAVA_GATEWAY" in str(error) or isinstance(error, FileNotFoundError):
            raise JobError(_JAVA_ENDED if _has_java() else _NO_JAVA) from None
        told = short(str(error))
        raise JobError(f"Spark does not start: {told} (is the master right?)") from None


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=os.path.join(home, "bin") if home else None) is not None  # noqa: PTH118 - a path as it is given


def check_workers(spark: SparkSession, modules: Iterable[str], patience: float = _PATIENCE) -> None:
    """Have those workers that are there import what is needed; JobError says what is missing."""
    context = spark.sparkContext
    names = tuple(modules)

    def probe(batches: Iterator[Any]) -> Iterator[Any]:
        import importlib  # it is there, where the function runs

        for name in names:
            importlib.import_module(name)
        for batch in batches:  # a row is made as all are later: by pandas, if that is there
            yield type(batch).from_pylist(batch.to_pylist())

    waiting = Timer(patience, _tell_if_idle, [context])
    waiting.daemon = True
    waiting.start()
    try:
        # In the way in which all is done later: the processes that this starts are used again.
        # Spark tells of the same failure many times, with all that led to it: once is enough.
        tasks = context.defaultParallelism
        with silence(context):
            spark.range(0, tasks, 1, tasks).mapInArrow(probe, "id long").collect()
    except Exception as error:
        if is_java_gone(error):
            raise
        raise JobError(worker_fault(str(error), context.pythonExec)) from None
    finally:
        waiting.cancel()


def _tell_if_idle(context: SparkContext) -> None:
    with suppress(Exception):  # it may be over by now
        tracker = context.statusTracker()
        stages = [tracker.getStageInfo(each) for each in tracker.getActiveStageIds()]
        if not any(stage and stage.numActiveTasks for stage in stages):
            tell(
                f"no worker of {context.master} has taken the job yet: it waits for one that has"
                " the cores and the memory that are asked for"
            )


def is_worker_fault(told: str) -> bool:
    """Whether a worker that came later is not like those that were asked."""
    return any(mark in told for mark in ("PYTHON_VERSION_MISMATCH", _NO_PROGRAM, "No module named"))


def worker_fault(told: str, python: str) -> str:
    """What is wrong with the workers, by what an exception says."""
    if "PYTHON_VERSION_MISMATCH" in told:
        versions = re.findall(r"\b3\.\d+\b", told)
        shown = f" ({', '.join(dict.fromkeys(versions))})" if versions else ""
        return (
            f"the workers have another Python than the driver{shown}: set PYSPARK_PYTHON and"
            " PYSPARK_DRIVER_PYTHON to the same version"
        )
    if _NO_PROGRAM in told:
        return f"the workers have no {python!r}: set PYSPARK_PYTHON to a Python that is there"
    if "reading the port number from" in told:
        return (
            f"Python does not start on the workers: PYSPARK_PYTHON={python} must be of the driver's"
            " version, and able to import pyspark"
        )
    if found := re.search(r"No module named '([\w.]+)'", told):
        return f"the workers have no module {found[1]!r}: {_EXTRAS} (PYSPARK_PYTHON={python})"
    if found := re.search(r"ImportError: (.*)", told):
        return f"the workers lack something: {found[1]} (PYSPARK_PYTHON={python})"
    return f"the workers cannot be used: {short(told)}"


def short(told: str) -> str:
    """The line of an exception that says what happened."""
    lines = [line.strip().removeprefix(": ") for line in told.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("at ")]
    causes = [line for line in lines if _CAUSE.match(line)]
    return " ".join(
        (causes or lines or ["no more is known"])[-1].removeprefix("Caused by: ").split()
    )[:500]
