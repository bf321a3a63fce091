#!/usr/bin/env python3
"""Makes tests/data/delta_tables.tar.gz: Delta tables as Apache Spark writes them, for host/land/delta_foreign_test.cpp.

    ${LAKEFLOW_CACHE}/python-spark/bin/python tests/tools/make_delta_tables.py tests/data/delta_tables.tar.gz

`vectors` has deletion vectors of each kind of container; `v2` and `v2_json` have checkpoints with sidecars and no commit before them;
`multipart` has a checkpoint of several files; the others are empty and use one feature each. conan/setup.sh --spark brings Spark.
"""

import os
import pathlib
import shutil
import sys
import tarfile
import tempfile

import spark_read

COLUMNS = "id BIGINT, n INT, title STRING"
EMPTY = {
    "check": ("id BIGINT, n INT, title STRING", "", ["ALTER TABLE {} ADD CONSTRAINT positive CHECK (n > 0)"]),
    "append_only": (COLUMNS, "'delta.appendOnly' = 'true'", []),
    "change_feed": (COLUMNS, "'delta.enableChangeDataFeed' = 'true'", []),
    "row_tracking": (COLUMNS, "'delta.enableRowTracking' = 'true'", []),
    "commit_timestamps": (COLUMNS, "'delta.enableInCommitTimestamps' = 'true'", []),
    "mapped_by_id": (COLUMNS, "'delta.columnMapping.mode' = 'id'", []),
    "generated": ("id BIGINT, n INT, title STRING GENERATED ALWAYS AS (CAST(n AS STRING))", "", []),
    "identity": ("id BIGINT GENERATED ALWAYS AS IDENTITY, n INT, title STRING", "", []),
    "default_value": (COLUMNS, "'delta.feature.allowColumnDefaults' = 'supported'", ["ALTER TABLE {} ALTER COLUMN n SET DEFAULT 7"]),
    "clustered": (COLUMNS, "", []),
    "partitioned": (COLUMNS, "", []),
}


def rows(spark, first, count):
    return spark.range(first, first + count, 1, 1).selectExpr("id", "CAST(id % 7 AS INT) AS n", "concat('t', id % 5) AS title").sortWithinPartitions("id")


def main():
    target = pathlib.Path(sys.argv[1]).resolve()
    cache = pathlib.Path(os.environ.get("LAKEFLOW_CACHE") or pathlib.Path.home() / ".cache" / "lakeflow")
    with tempfile.TemporaryDirectory() as scratch:
        lake = pathlib.Path(scratch) / "lake"
        spark = spark_read.session(cache, scratch)
        spark.sparkContext.setLogLevel("ERROR")
        spark.conf.set("spark.sql.parquet.compression.codec", "zstd")

        def table(name, properties="", columns=COLUMNS, more=""):
            path = f"delta.`{lake / name}`"
            spark.sql(f"CREATE TABLE {path} ({columns}) USING delta {more} " + (f"TBLPROPERTIES ({properties})" if properties else ""))
            return path

        path = table("vectors", "'delta.enableDeletionVectors' = 'true'")
        for first, count in ((0, 10_000), (10_000, 10_000), (20_000, 100)):
            rows(spark, first, count).write.format("delta").mode("append").save(str(lake / "vectors"))
        spark.sql(f"DELETE FROM {path} WHERE id < 10000 AND id % 2 = 0")
        spark.sql(f"DELETE FROM {path} WHERE id BETWEEN 12000 AND 15999")
        spark.sql(f"DELETE FROM {path} WHERE id IN (20001, 20050, 20099)")
        spark.sql(f"DELETE FROM {path} WHERE id = 3")  # a second vector of the first file

        spark.conf.set("spark.databricks.delta.checkpoint.partSize", "4")
        for name, form in (("v2", "parquet"), ("v2_json", "json")):
            spark.conf.set("spark.databricks.delta.checkpointV2.topLevelFileFormat", form)
            path = table(name, "'delta.checkpointPolicy' = 'v2', 'delta.checkpointInterval' = '12'")
            for batch in range(12):
                rows(spark, batch * 10, 10).write.format("delta").mode("append").save(str(lake / name))
            spark.sql(f"DELETE FROM {path} WHERE id < 10")
        table("multipart", "'delta.checkpointInterval' = '12'")
        for batch in range(13):
            rows(spark, batch * 10, 10).write.format("delta").mode("append").save(str(lake / "multipart"))

        for name, (columns, properties, statements) in EMPTY.items():
            more = {"clustered": "CLUSTER BY (id)", "partitioned": "PARTITIONED BY (n)"}.get(name, "")
            path = table(name, properties, columns, more)
            for statement in statements:
                spark.sql(statement.format(path))
        spark.stop()

        for name in ("v2", "v2_json", "multipart"):
            log = lake / name / "_delta_log"
            assert list(log.glob("*12.checkpoint.*")), f"{name} has no checkpoint"
            for commit in log.glob("*.json"):
                if commit.name[20:] == ".json" and int(commit.name[:20]) < 12:
                    commit.unlink()
        for junk in [*lake.rglob("*.crc"), *lake.rglob("_staged_commits"), *lake.rglob("_commits")]:
            shutil.rmtree(junk) if junk.is_dir() else junk.unlink()
        with tarfile.open(target, "w:gz") as archive:
            archive.add(lake, arcname=".")
    print(target, target.stat().st_size, "bytes")


if __name__ == "__main__":
    main()
