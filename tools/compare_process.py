"""Runs hecate and the peers as processes, with the same number of threads bound to cores. See tools/compare."""
import json
import os
import subprocess
import sys


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def run(command, env=None, ask=None):
    """Returns the standard output as JSON, and the peak memory of the process in MB."""
    process = subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE,
                               stdin=subprocess.PIPE)
    process.stdin.write(json.dumps(ask) if ask else "")
    process.stdin.close()
    out = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise subprocess.CalledProcessError(process.returncode, command)
    return json.loads(out), used.ru_maxrss * 1024 / 1e6


def run_peer(script, ask, cache=None):
    """Binds threads to cores, as Hecate does. cache: the folder for compiled code."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), script)
    n = str(ask["threads"])
    env = dict(os.environ, OMP_NUM_THREADS=n, MKL_NUM_THREADS=n, OPENBLAS_NUM_THREADS=n,
               OMP_PROC_BIND="close", OMP_PLACES="cores", CUDA_VISIBLE_DEVICES="",
               HF_HUB_OFFLINE="1", HF_HUB_DISABLE_PROGRESS_BARS="1", TRANSFORMERS_VERBOSITY="error")
    if cache:
        env["TORCHINDUCTOR_CACHE_DIR"] = cache
    return run([sys.executable, path], env, ask)
