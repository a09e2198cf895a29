#!/usr/bin/env python3
"""Plots result files that the perf-tests wrote with -J: bandwidth or time over size, several files in one picture.

    python/plot_perf.py results.json -o picture.png
    python/plot_perf.py before.json after.json -o picture.svg --metric time
"""

import argparse
import json
import os
import sys

METRICS = {"busbw": ("bus_bw", "bus bandwidth (GB/s)"), "algbw": ("alg_bw", "algorithm bandwidth (GB/s)"),
           "time": ("time", "time of one call (µs)")}
FORMATS = (".png", ".svg", ".pdf")
# Okabe and Ito's palette, which people with colour-blindness can tell apart.
COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442"]
MAX_SERIES = 24


class Refused(Exception):
    """Something about the input that the user can put right."""


def load(path):
    try:
        with open(path, encoding="utf-8") as stream:
            document = json.load(stream)
    except OSError as error:
        raise Refused(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise Refused(f"{path}: is not JSON, as -J writes it: {error}") from error
    if not isinstance(document, dict) or not isinstance(document.get("results"), list):
        raise Refused(f"{path}: has no list 'results'; files that the perf-tests write with -J have one")
    if not document["results"]:
        raise Refused(f"{path}: 'results' is empty: the run ended before its first row")
    return document


def mode_points(path, rows, mode, key):
    """Sizes and values of one mode; rows of size 0 have no place on a logarithmic axis."""
    points = []
    for number, row in enumerate(rows):
        if row.get(mode) is None:
            continue
        try:
            size, value = float(row["size"]), float(row[mode][key])
        except (KeyError, TypeError, ValueError) as error:
            raise Refused(f"{path}: row {number} of 'results' lacks a number '{mode}.{key}' or 'size' ({error})") from error
        if size > 0 and value > 0:
            points.append((size, value))
    return sorted(points)


class Series:
    """The rows of one file with the same type, reduction and root."""

    def __init__(self, path, document, rows):
        config = document.get("config", {})
        self.path = path
        self.rows = rows
        self.machine = document.get("machine", {}).get("cpu", "")
        self.facts = {
            "program": document.get("program") or os.path.basename(str(document.get("args", ["?"])[0])),
            "ranks": f"{config.get('nranks', config.get('nthreads', '?'))} ranks",
            "type": str(rows[0].get("type", "")),
            "redop": "" if rows[0].get("redop") in (None, "none") else str(rows[0]["redop"]),
            "root": "" if rows[0].get("root") in (None, -1, "-1") else f"root {rows[0]['root']}",
            "file": os.path.splitext(os.path.basename(path))[0],
        }


def collect(paths):
    series = []
    for path in paths:
        document = load(path)
        groups = {}
        for row in document["results"]:
            if not isinstance(row, dict):
                raise Refused(f"{path}: a row of 'results' is no object")
            groups.setdefault((row.get("type"), row.get("redop"), row.get("root")), []).append(row)
        series += [Series(path, document, rows) for rows in groups.values()]
    if len(series) > MAX_SERIES:
        raise Refused(f"{len(series)} lines would be drawn, at most {MAX_SERIES} can be told apart; "
                      "plot fewer files, types or reductions")
    return series


def split_facts(series):
    """What all series share goes into the title, what differs into the labels."""
    shared, differing = [], []
    for key in series[0].facts:
        same = len({one.facts[key] for one in series}) == 1
        if same and key == "file":
            continue
        (shared if same else differing).append(key)
    if not differing and len(series) > 1:
        differing = ["file"]
    title = ", ".join(series[0].facts[key] for key in shared if series[0].facts[key])
    labels = [", ".join(one.facts[key] for key in differing if one.facts[key]) for one in series]
    return title, labels


def size_text(size):
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return f"{size / (1 << power):g} {unit}"
    return f"{size:g} B"


def size_ticks(low, high):
    ticks = [1 << power for power in range(64) if low <= 1 << power <= high]
    return ticks[:: max(1, -(-len(ticks) // 10))] or [low]


def annotate_algorithms(axes, one, points):
    """Names of the algorithms along the top, where each begins."""
    names = {float(row["size"]): row.get("algorithm", "") for row in one.rows}
    last, previous = None, None
    for size, _ in points:
        name = names.get(size, "")
        if name and name != last:
            at = size if previous is None else (size * previous) ** 0.5
            if last is not None:
                axes.axvline(at, color="0.7", linewidth=0.8, zorder=0)
            axes.annotate(name, (at, 1), xycoords=("data", "axes fraction"), xytext=(3, -4),
                          textcoords="offset points", rotation=90, va="top", ha="left", fontsize=8, color="0.35")
            last = name
        previous = size


def draw(pyplot, paths, metric, output):
    key, axis_label = METRICS[metric]
    series = collect(paths)
    title, labels = split_facts(series)
    figure, axes = pyplot.subplots(figsize=(9, 5.2), constrained_layout=True)
    sizes = []
    for number, (one, label) in enumerate(zip(series, labels)):
        colour = COLOURS[number % len(COLOURS)]
        marker = "os^Dvx"[number // len(COLOURS) % 6]
        out = mode_points(one.path, one.rows, "out_of_place", key)
        inside = mode_points(one.path, one.rows, "in_place", key)
        sizes += [size for size, _ in out + inside]
        prefix = f"{label}, " if label else ""
        if out:
            axes.plot(*zip(*out), color=colour, marker=marker, markersize=4, linewidth=1.6,
                      label=f"{prefix}out of place" if inside else label or "out of place")
        if inside:
            axes.plot(*zip(*inside), color=colour, marker=marker, markersize=4, markerfacecolor="white", linewidth=1.1,
                      linestyle="--", label=f"{prefix}in place")
        if metric == "time" and len(series) <= 3 and out:
            worst = mode_points(one.path, [row for row in one.rows if "p99" in (row.get("out_of_place") or {})],
                                "out_of_place", "p99")
            if worst:
                axes.plot(*zip(*worst), color=colour, linewidth=0.9, linestyle=":", label=f"{prefix}99th percentile")
        if len(series) == 1 and out:
            annotate_algorithms(axes, one, out)
    if not sizes:
        raise Refused("no row has a size and a value above 0, which logarithmic axes need; "
                      "for a barrier use --metric time of a run with sizes")
    finish_axes(axes, sizes, axis_label)
    axes.set_title(title, fontsize=12, loc="left")
    machines = " · ".join(sorted({one.machine for one in series if one.machine}))
    axes.set_xlabel("size" + (f"\n{machines}" if machines else ""))
    axes.legend(fontsize=8, loc="best", framealpha=0.9)
    try:
        figure.savefig(output, dpi=150)
    except OSError as error:
        raise Refused(f"{output}: cannot be written: {error.strerror}") from error


def finish_axes(axes, sizes, label):
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    ticks = size_ticks(min(sizes), max(sizes))
    axes.set_xticks(ticks)
    axes.set_xticks([], minor=True)
    axes.set_xticklabels([size_text(tick) for tick in ticks])
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_ylabel(label)
    axes.grid(True, which="major", color="0.88", linewidth=0.8)
    axes.grid(True, which="minor", axis="y", color="0.95", linewidth=0.5)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def import_pyplot():
    try:
        import matplotlib
    except ImportError as error:
        # Debian's matplotlib belongs to the system's Python, which need not be the first in PATH.
        system = "/usr/bin/python3"
        if os.path.exists(system) and os.environ.get("PLOT_PERF_AGAIN") != "1":
            os.environ["PLOT_PERF_AGAIN"] = "1"
            os.execv(system, [system, "-B", *sys.argv])
        raise Refused("matplotlib is missing; to install it: apt-get install python3-matplotlib") from error
    matplotlib.use("Agg")
    matplotlib.rcParams["svg.fonttype"] = "none"
    from matplotlib import pyplot
    return pyplot


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", metavar="FILE", help="written by a perf-test with -J FILE")
    parser.add_argument("-o", "--output", required=True, metavar="PICTURE", help="a .png, .svg or .pdf file")
    parser.add_argument("--metric", choices=METRICS, default="busbw", help="what to plot (busbw)")
    arguments = parser.parse_args()
    try:
        if not arguments.output.lower().endswith(FORMATS):
            raise Refused(f"-o {arguments.output}: the name must end with {', '.join(FORMATS)}")
        draw(import_pyplot(), arguments.files, arguments.metric, arguments.output)
    except Refused as error:
        print(f"plot_perf.py: {error}", file=sys.stderr)
        return 2
    print(arguments.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
