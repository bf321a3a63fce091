#!/usr/bin/env python3
"""Reads Delta tables with Apache Spark and prints, as JSON, what it saw in each (see table_summary.py) with Spark's own schema.

    ${LAKEFLOW_CACHE}/python-spark/bin/python tests/tools/spark_read.py [--keys id] [--questions FILE] TABLE...

conan/setup.sh --spark brings Spark and Delta's jars. One JVM reads all the tables, so name them all at once; a file of questions is as in
delta_read.py. A timestamp of a condition without a zone is one without a zone.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

import table_summary


def session(cache, scratch):
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["TZ"] = "UTC"
    # A name that cannot be resolved must not stop a driver that talks to nobody but itself.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    from pyspark.sql import SparkSession

    jars = sorted(str(jar) for jar in (cache / "spark-jars").glob("*.jar"))
    if not jars:
        sys.exit(f"no jars in {cache / 'spark-jars'}: run conan/setup.sh --spark")
    return (
        SparkSession.builder.master("local[2]")
        .appName("lakeflow-read-back")
        .config("spark.jars", ",".join(jars))
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.timestampType", "TIMESTAMP_NTZ")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.databricks.delta.snapshotPartitions", "1")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.warehouse.dir", f"{scratch}/warehouse")
        .config("spark.local.dir", scratch)
        # Many small questions: nothing is asked often enough for compiled code to pay.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        # A loaded machine answers late; nothing here is worth giving up for.
        .config("spark.executor.heartbeatInterval", "60s")
        .config("spark.network.timeout", "900s")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.extraJavaOptions", f"-XX:TieredStopAtLevel=1 -Djava.io.tmpdir={scratch} -Dderby.system.home={scratch}")
        .getOrCreate()
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--keys", default="", help="columns of the primary key, separated by commas")
    parser.add_argument("--questions", help="a file of tables, their keys and conditions")
    parser.add_argument("tables", nargs="*")
    arguments = parser.parse_args()
    keys = table_summary.key_columns(arguments.keys)
    cache = pathlib.Path(os.environ.get("LAKEFLOW_CACHE") or pathlib.Path.home() / ".cache" / "lakeflow")
    with tempfile.TemporaryDirectory() as scratch:
        spark = session(cache, scratch)
        spark.sparkContext.setLogLevel("ERROR")
        seen = {}
        asked = [(table, {"keys": keys}) for table in arguments.tables] + table_summary.questions(arguments.questions)
        for table, what in asked:
            frame = spark.read.format("delta").load(str(pathlib.Path(table).resolve()))
            rows = (row.asDict(recursive=True) for row in frame.collect())
            seen[table] = table_summary.summary(rows, frame.columns, what["keys"])
            seen[table]["schema"] = dict(frame.dtypes)
            seen[table]["found"] = {condition: frame.where(condition).count() for condition in what.get("where", [])}
        spark.stop()
    print(json.dumps(seen, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
