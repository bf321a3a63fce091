"""What a process costs, by the kernel's own accounting."""

import os
import subprocess
import sys
import time


def measured(command, **settings):
    """Seconds, CPU seconds and peak memory of a process, by the kernel's own accounting."""
    begin = time.monotonic()
    process = subprocess.Popen(command, **settings)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with {process.returncode}: {process.stderr.read().decode() if process.stderr else ''}")
    return {"seconds": round(time.monotonic() - begin, 3), "cpu": round(used.ru_utime + used.ru_stime, 3), "peak_mib": round(used.ru_maxrss / 1024, 1)}
