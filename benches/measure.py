"""What the benchmarks measure by."""
import os
import subprocess
import sys


def processor_time(command, runs=7, **options):
    """Seconds of processor time that a command and what it starts use: the least of several runs.

    On a machine with nothing else to do it takes no longer, and on one that is busy the number is the same.
    """
    times = []
    for _ in range(runs):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))} failed: exit status {process.returncode}")
        times.append(used.ru_utime + used.ru_stime)
    return min(times)
