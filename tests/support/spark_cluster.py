"""Spark for tests: on loopback alone, with little memory, and gone when it is over."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.crawls import PROJECT

if TYPE_CHECKING:
    from typing import Any

# For small tables and short lives: what is compiled well is not used for long enough to pay.
_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "WARN",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "700m",
    "spark.driver.extraJavaOptions": _JAVA,
    "spark.executor.extraJavaOptions": _JAVA,
    "spark.executor.memory": "512m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.port.maxRetries": "100",
}
# Spark's own master and two workers, in the Java that is there; their executors, with a core each,
# are processes of their own, as are the Pythons of these.
CLUSTER = "local-cluster[2,1,512]"


def has_java() -> bool:
    """Whether there is a Java to run Spark."""
    return bool(os.environ.get("JAVA_HOME") or shutil.which("java"))


def environment(folder: Path, **more: str) -> dict[str, str]:
    """The environment of Spark's processes."""
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(PROJECT),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_WORKER_DIR": str(folder / "work"),
        **more,
    }


class OneSpark:
    """Spark in this process. Java starts once, for one master, or Python, after the other."""

    def __init__(self) -> None:
        self._session: Any = None
        self._asked = ("", "")

    def start(
        self, master: str = "local[2,4]", python: str = sys.executable, **variables: str
    ) -> None:
        """Have this Spark, and no other; *variables* are for the environment of executors."""
        from pyspark.sql import SparkSession  # it may not be there

        if self._asked == (master, python):
            return
        self.stop()
        os.environ["PYSPARK_PYTHON"] = python
        builder = SparkSession.builder.master(master)
        for setting, value in SETTINGS.items():
            builder = builder.config(setting, value)
        for variable, value in variables.items():
            builder = builder.config(f"spark.executorEnv.{variable}", value)
        self._session, self._asked = builder.getOrCreate(), (master, python)

    def stop(self) -> None:
        """Have none."""
        from pyspark.find_spark_home import _find_spark_home

        if self._session:
            name = self._session.sparkContext.applicationId
            self._session.stop()
            # Workers of a cluster keep what executors write beside Spark itself.
            shutil.rmtree(Path(_find_spark_home(), "work", name), ignore_errors=True)
        self._session, self._asked = None, ("", "")
