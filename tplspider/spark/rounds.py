"""Searches in rounds: look up what they ask for, search, and once more for those who ask for more.

A search asks for its key page first, then for the links on it. Most are answered by then; others
ask for where redirects lead, for pages that may be witnesses, for the pool of their site. Nothing
is grouped by site: what is looked up is a matter of one key page.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.sql import functions as sql

from tplspider.spark.captures import place
from tplspider.spark.joined_site import DEEP, SHALLOW
from tplspider.spark.table_columns import ASKED, ATTEMPT, LOOKED_UP, ddl
from tplspider.spark.tables import in_order, spread

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from tplspider.spark.captures import Captures
    from tplspider.spark.searching import SearchAttempts

MOST_ROUNDS = 30  # more than a chain of redirects is followed
KEYS = 250  # for each task, where there are many


@dataclass(frozen=True)
class Rounds:
    """Answers key pages. *tell* is given lines for people; *partitions*: 0 for enough."""

    captures: Captures
    attempts: SearchAttempts
    partitions: int
    tell: Callable[[str], object]

    def answers(self, asking: DataFrame) -> DataFrame:
        """The answers to all rows of :data:`ASKED`."""
        done: list[DataFrame] = []
        left, pools = int(asking.count()), 0  # that ask, and that ask for pools
        for number in range(1, MOST_ROUNDS + 1):
            is_last = number == MOST_ROUNDS
            if is_last:
                self.tell(
                    f"{left} ask for more in the last round: to them, the rest is not archived"
                )
            work = replace(self.attempts, is_final=is_last)
            tried = self.captures.output.keep(
                self._attempt(asking, work, left, with_pools=pools > 0), f"round-{number}"
            )
            counted = tried.groupBy("done").agg(sql.count("*"), sql.count("pool_of"))
            counts = {row[0]: row[1:] for row in counted.collect()}
            done.append(tried.where("done"))
            left, pools = counts.get(False, (0, 0))
            answered = counts.get(True, (0, 0))[0]
            self.tell(f"Round {number}: {answered} answered, {left} ask for more")
            if not left:
                break
            asking = tried.where(~sql.col("done")).select(*ASKED.names)
        found = done[0]
        for more in done[1:]:
            found = found.unionByName(more)
        return found

    def _attempt(
        self, asking: DataFrame, work: SearchAttempts, count: int, *, with_pools: bool
    ) -> DataFrame:
        ready = self._with_places(asking)
        pools = self._with_pools(ready) if with_pools else ready.withColumn("pool", sql.lit(None))
        dealt = spread(pools.select(*LOOKED_UP.names), count, KEYS, self.partitions)
        return dealt.mapInArrow(work.table, ddl(ATTEMPT))

    def _with_places(self, asking: DataFrame) -> DataFrame:
        """Rows with what was captured of the addresses that they ask for, and where that leads."""
        wanted = asking.select("number", "search", sql.explode("asked").alias("key"))
        found = self._join(wanted)
        targets = (
            found.where(sql.col("target").isNotNull())
            .select("number", "asker", sql.col("target").alias("key"))
            .distinct()
            .join(wanted.select("number", "key"), ["number", "key"], "left_anti")
            .withColumnRenamed("asker", "search")
        )
        both = found.unionByName(self._join(targets))
        places = both.groupBy("number").agg(in_order(place()).alias("places"))
        return asking.join(places, "number", "left")

    def _join(self, wanted: DataFrame) -> DataFrame:
        wanted = wanted.withColumnRenamed("search", "asker")
        is_for = sql.col("search").isNull() | (sql.col("search") == sql.col("asker"))
        return wanted.join(self.captures.best, "key").where(is_for)

    def _with_pools(self, asking: DataFrame) -> DataFrame:
        """Rows with the first pages of the site that they ask for, if they do."""
        wanted = asking.where(sql.col("pool_of").isNotNull())
        sites = wanted.groupBy(sql.col("pool_of").alias("site")).agg(
            sql.max("deep").alias("any_deep")
        )
        pages = self.captures.first_of_sites(DEEP, sites)
        pages = pages.where(sql.col("any_deep") | (sql.col("turn") <= SHALLOW))
        pools = pages.groupBy("site").agg(
            in_order(sql.when(sql.col("turn") <= SHALLOW, place())).alias("few"),
            in_order(place()).alias("many"),
        )
        found = asking.join(pools, asking["pool_of"] == pools["site"], "left")
        pool = sql.when(sql.col("deep"), sql.col("many")).otherwise(sql.col("few"))
        return found.withColumn("pool", pool)
