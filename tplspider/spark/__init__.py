"""Archives on Spark: jobs for ``spark-submit``, and what runs in its Python workers.

No module here may be named like one of the standard library: the folder of a job is where Python
looks first.
"""
