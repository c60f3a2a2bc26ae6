"""A job from its start to its end, with whatever is wrong told in one line."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from tplspider.spark.ending import is_java_gone, quiet_end
from tplspider.spark.own_settings import own_settings
from tplspider.spark.session import (
    JobError,
    check_workers,
    is_worker_fault,
    short,
    start_spark,
    tell,
    worker_fault,
)
from tplspider.template.markdown import check_markdown

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from pyspark.sql import SparkSession

    from tplspider.spark.captures import Captures
    from tplspider.spark.tables import OutputFolder

DONE, LOST, WRONG_USE = 0, 1, 2
_ENDED = "ended before all was done"
_NEEDED = (
    "pyarrow",
    "tplspider.sources.warc_extra",
    "tplspider.spark.capturing",
    "tplspider.spark.searching",
    "tplspider.spark.strip_pages",
)
_HOST_KEYS = "tplspider.spark.key_pages"


def run_job(
    name: str,
    arguments: argparse.Namespace,
    run: Callable[[SparkSession, Captures], bool],
) -> int:
    """Run a job on the captures that its arguments name, and give its exit status.

    *run* says whether all that was asked for could be fetched.
    """
    try:
        if arguments.markdown:
            check_markdown()
        spark, is_new = start_spark(name)
    except (JobError, ValueError, ImportError) as error:
        tell(short(str(error)))
        return WRONG_USE
    except KeyboardInterrupt:
        tell(_ENDED)
        return LOST
    status, output = LOST, None
    own = own_settings(spark, arguments.log_level, is_new=is_new)
    with quiet_end() if is_new else nullcontext(), own:
        try:
            check_workers(spark, _needed(arguments))
            output = _output(spark, arguments)
            output.check(arguments)
            captures = _captures(spark, arguments, output)
            failed = captures.tell_faults(tell)
            is_whole = run(spark, captures)
            if failed:
                tell(f"{failed} of {len(captures.names.value)} files gave nothing")
            status = DONE if is_whole else LOST
        except (JobError, ValueError) as error:
            tell(str(error))
            status = WRONG_USE
        except KeyboardInterrupt:
            tell(_ENDED)
        except Exception as error:  # noqa: BLE001 - whatever Spark may raise, and it is long
            tell(_told(error, spark))
        finally:
            if is_new:  # in a notebook it is not; and first, as tasks may still write
                _stop(spark, is_done=status == DONE)
            with suppress(Exception):  # whatever happened has been told
                if output:
                    output.close()
    return status


def _told(error: Exception, spark: SparkSession) -> str:
    if is_java_gone(error):
        return f"{_ENDED}: Java is gone"
    if is_worker_fault(str(error)):
        return worker_fault(str(error), spark.sparkContext.pythonExec)
    return f"failed: {short(str(error))} (--log_level WARN tells more)"


def _needed(arguments: argparse.Namespace) -> list[str]:
    """The modules that workers must have."""
    needed = [*_NEEDED]
    if getattr(arguments, "every", None):
        needed.append(_HOST_KEYS)
    if getattr(arguments, "template", False):
        needed.append(arguments.extractor.rpartition(".")[0])
    if arguments.markdown:
        needed.append("html_to_markdown")
    return needed


def _stop(spark: SparkSession, *, is_done: bool) -> None:
    with suppress(Exception):  # Java may be gone
        if not is_done:  # it has much to say of tasks that do not come to their end
            spark.sparkContext.setLogLevel("OFF")
        spark.stop()


def _output(spark: SparkSession, arguments: argparse.Namespace) -> OutputFolder:
    from tplspider.spark.tables import OutputFolder

    return OutputFolder(spark, arguments.output)


def _captures(spark: SparkSession, arguments: argparse.Namespace, output: OutputFolder) -> Captures:
    # Here and not above: pyspark may not be installed, which is told in one line.
    from tplspider.spark.captures import captures_of_files, captures_of_index

    if arguments.columnar_index:
        return captures_of_index(spark, arguments.input, output)
    return captures_of_files(
        spark,
        arguments.input,
        output,
        arguments.input_base_url,
        partitions=arguments.num_input_partitions,
        folder=arguments.local_temp_dir,
    )
