# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Runs, and what is asked of them."""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from . import _takt

if TYPE_CHECKING:
    from types import TracebackType

    import pandas

_B = TypeVar("_B")
_open: Session | None = None  # the Session of this process that is open


class Session:
    """One run: use it with `with`, around the whole program. A process has one at a time.

    name: display name, and the start of the directory's name.
    trackers: any of "mlflow", "wandb", "tensorboard" and "prometheus", which take their settings from the environment.
    params, tags: of the run.
    options: TAKT_X of docs/environment.md is the option x: warmup=0, dir="/scratch/runs", trace=True.

    An exception that leaves the block marks the run as failed. A Session that is never closed is closed when the
    process exits.
    Raises RuntimeError if a Session is open, and ValueError for unknown options or trackers."""

    def __init__(self, name: str = "run", *, trackers: str | Iterable[str] = (), params: Mapping[str, object] | None = None,
                 tags: Mapping[str, object] | None = None, **options: object) -> None:
        global _open
        if _open is not None and _open._pid == os.getpid():
            raise RuntimeError(f"takt: the Session \"{_open.name}\" is open, and a process has one at a time. Close it, "
                               "or use `with takt.Session(...):`")
        chosen = [trackers] if isinstance(trackers, str) else list(trackers)
        for tracker in chosen:
            _check_tracker(tracker)
        given = {f"TAKT_{key.upper()}": _text(value) for key, value in options.items() if value is not None}
        # Its git commit is the run's; the executable is only Python.
        _takt.set_program_file(getattr(sys.modules.get("__main__"), "__file__", None) or "")
        self._run = _takt.Run("run" if name is None else str(name), given)
        self._pid = os.getpid()
        self._closed: bool | None = None  # result of close()
        identity = self._run.identity()
        self.name, self.id, self.directory = identity["name"], identity["id"], identity["directory"]
        self.rank, self.world_size = identity["rank"], identity["world_size"]
        _open = self
        try:
            for tracker in chosen:
                self.add(tracker)
            for key, value in dict(params or {}).items():
                self.param(key, value)
            for key, value in dict(tags or {}).items():
                self.tag(key, value)
        except BaseException:
            self.close()
            raise

    def add(self, tracker: str) -> None:
        """Adds a tracker: "mlflow", "wandb", "tensorboard" or "prometheus"."""
        _check_tracker(tracker)
        from . import _trackers  # loads libcurl
        _trackers.add(self._run.address(), tracker)

    def param(self, name: str, value: object) -> None:
        """Records a hyper-parameter; a later value of the same name wins."""
        self._run.param(str(name), value if isinstance(value, float) else _text(value))

    def tag(self, name: str, value: object) -> None:
        """Records a tag; a later value of the same name wins."""
        self._run.tag(str(name), str(value))

    def unit(self, items: str) -> None:
        """Sets the plural name of what items() counts, such as "tokens"."""
        self.param("item_unit", items)

    def group(self, name: str, number: int) -> None:
        """Sets the group of this rank, such as "stage" 2 of a pipeline."""
        self._run.group(name, number)

    metric = staticmethod(_takt.metric)
    step = staticmethod(_takt.step)

    def fail(self) -> None:
        """Marks the run as failed."""
        self._run.fail()

    def print(self) -> None:
        """Prints the table of the run so far."""
        _flush()
        self._run.print()

    def snapshot(self) -> Snapshot:
        """Returns takt.snapshot()."""
        return snapshot()

    def close(self) -> bool:
        """Ends the run: writes files, prints the table. Returns False if something could not be finished in time."""
        global _open
        if _open is self:
            _open = None
        if self._closed is None:
            _flush()
            self._closed = self._run.close()
        return self._closed

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if error is not None and not (isinstance(error, SystemExit) and error.code in (None, 0)):
            self.fail()
        self.close()

    def __repr__(self) -> str:
        return f"takt.Session({self.name!r}, {'open' if self._closed is None else 'closed'})"


def _check_tracker(name: str) -> None:
    if name not in ("mlflow", "wandb", "tensorboard", "prometheus"):
        raise ValueError(f"takt: there is no tracker {name!r}; there are mlflow, wandb, tensorboard and prometheus")


def _text(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _flush() -> None:
    """Writes what Python has buffered, so that it comes before Takt's table."""
    try:
        sys.stdout.flush()
    except Exception:  # whatever the program has put there
        pass


def _close_if_interrupted() -> None:
    """Python ends an interrupted program by a signal, which skips libtakt's own end."""
    interrupted = isinstance(getattr(sys, "last_value", None), KeyboardInterrupt) and not hasattr(sys, "ps1")
    if interrupted and _open is not None and _open._pid == os.getpid():
        _open.fail()
        _open.close()


atexit.register(_close_if_interrupted)


def trials(session: Session, loader: Iterable[_B], **options: Any) -> Iterator[_B]:
    """Iterates over the loader, and finds out if the loader or the model limits the loop: docs/trials.md.

    Without TAKT_TRIALS (or the options io, synthetic, full) this is the plain loop, with a region IO around the wait for
    each batch. Trials repeat one batch without a copy; a loop that changes it should leave out SYNTHETIC.

    options: those of takt::TrialOptions: io, synthetic, full, trials, warmup, steps, time_limit (seconds), progress_steps,
    go_on, reset, save, restore, wait, barrier, time_loader, items (of a batch, an int), batch_place. Data restart by
    iter(loader), after reset(). A generator cannot restart, so trials end with it. If the loop leaves work on a GPU, pass
    wait=torch.cuda.synchronize.
    Raises TypeError for unknown options and wrong types, and RuntimeError at the first batch for invalid values."""
    if loader is None:
        raise TypeError("takt.trials(): the loader is None")
    return _takt.Trials(session._run, loader, options)


def measure(session: Session, name: str, function: Callable[[], object], *, warmup: int = 5, runs: int = 30,
            interval: float = 0.0, time_limit: float = 0.0, items: int = 1,
            features: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Measures what a call of `function` costs: docs/models.md. The function returns when its work is done.

    interval: width of the 95 % interval of the median, as a share of it, at which the runs end. time_limit: seconds.
    Returns the fields of a measurement in results.json, as a dict."""
    return _takt.measure(session._run, name, function, warmup, runs, interval, time_limit, items, dict(features or {}))


class Snapshot(dict[str, Any]):
    """Data that the process has recorded: the fields of summary.json (docs/files.md)."""

    def to_pandas(self) -> pandas.DataFrame:
        """Returns a DataFrame with a row for each path of regions. Needs pandas."""
        import pandas
        rows = [{key: value for key, value in path.items() if not isinstance(value, (dict, list))}
                | {f"host_{key}": value for key, value in path["host"].items() if not isinstance(value, (dict, list))}
                for path in self["paths"]]
        return pandas.DataFrame(rows).set_index("path")


def snapshot() -> Snapshot:
    """Returns what the process has recorded so far. Needs no Session."""
    return Snapshot(json.loads(_takt.snapshot_json()))
