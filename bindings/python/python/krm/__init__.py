"""Build Kubernetes configuration: kustomizations and Compositions, as krm builds them.

    >>> import krm
    >>> files = {
    ...     "kustomization.yaml": "namePrefix: live-\\nresources: [settings.yaml]\\n",
    ...     "settings.yaml": "apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: settings}\\n",
    ... }
    >>> result = krm.build(".", files=files)
    >>> result.objects[0]["metadata"]["name"]
    'live-settings'
    >>> result.explain("ConfigMap/live-settings", "metadata.name")[0].events[-1].place
    Place(file='kustomization.yaml', line=1, column=13)

No program is started and no connection made; a build that would have to raises an error.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Union

from ._krm import __version__, answer as _answer

__all__ = ["BuildError", "Diagnostic", "Event", "History", "Place", "Result", "build", "explain", "__version__"]

Files = Mapping[str, Union[str, bytes]]


@dataclass(frozen=True)
class Place:
    """A place in a file; lines and columns are counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Diagnostic:
    """An error or a warning."""

    severity: str
    code: str
    message: str
    place: Optional[Place]
    help: list[str]
    text: str
    """What a terminal would show: the line with carets under it, notes and advice."""


class BuildError(Exception):
    """Everything that is wrong with the input."""

    def __init__(self, diagnostics: list[Diagnostic]) -> None:
        self.diagnostics = diagnostics
        super().__init__("\n".join(d.text for d in diagnostics))


@dataclass(frozen=True)
class Event:
    """One thing that happened to a value."""

    event: str
    before: Any
    after: Any
    place: Optional[Place]
    label: str
    layer: str
    decides: bool
    """It made the value what it is."""


@dataclass(frozen=True)
class History:
    """Where a value comes from."""

    field: str
    value: Any
    events: list[Event]
    text: str
    """What `krm explain` prints."""


@dataclass(frozen=True)
class Result:
    """The resources of a build."""

    yaml: str
    objects: list[dict[str, Any]]
    warnings: list[Diagnostic]
    _target: str = field(repr=False)
    _files: Optional[dict[str, bytes]] = field(repr=False)
    _options: dict[str, Any] = field(repr=False)

    def explain(self, resource: str, field: Optional[str] = None) -> list[History]:
        """Where a field of a resource, or the resource, comes from."""
        return _explain(self._target, resource, field, self._files, self._options)


def build(
    target: Union[str, os.PathLike[str]] = ".",
    *,
    files: Optional[Files] = None,
    unrestricted: bool = False,
    keep_order: bool = False,
    managed_by_label: bool = False,
    kube_version: Optional[str] = None,
) -> Result:
    """Build a folder on disk or, with `files`, one in memory: a mapping of paths to contents.

    Raises BuildError if the input is wrong.
    """
    options = _options(unrestricted, keep_order, managed_by_label, kube_version)
    contents = _contents(files)
    name = os.fspath(target)
    answer = _ask({"ask": "build", "target": name, "objects": True, "options": options}, contents)
    return Result(
        yaml=answer["output"],
        objects=answer["objects"],
        warnings=[_diagnostic(d) for d in answer["warnings"]],
        _target=name,
        _files=contents,
        _options=options,
    )


def explain(
    target: Union[str, os.PathLike[str]],
    resource: str,
    field: Optional[str] = None,
    *,
    files: Optional[Files] = None,
    unrestricted: bool = False,
    kube_version: Optional[str] = None,
) -> list[History]:
    """Where a field of a resource comes from; without a field, the resource as a whole.

    A resource is named `Kind/name`, a field as by `krm explain`.
    """
    options = _options(unrestricted, False, False, kube_version)
    return _explain(os.fspath(target), resource, field, _contents(files), options)


def _explain(
    target: str,
    resource: str,
    field: Optional[str],
    files: Optional[dict[str, bytes]],
    options: dict[str, Any],
) -> list[History]:
    question: dict[str, Any] = {"ask": "explain", "target": target, "resource": resource, "options": options}
    if field is not None:
        question["field"] = field
    return [_history(history) for history in _ask(question, files)["histories"]]


def _options(
    unrestricted: bool, keep_order: bool, managed_by_label: bool, kube_version: Optional[str]
) -> dict[str, Any]:
    options: dict[str, Any] = {
        "unrestricted": unrestricted,
        "keepOrder": keep_order,
        "enableManagedbyLabel": managed_by_label,
    }
    if kube_version is not None:
        options["kubeVersion"] = kube_version
    return options


def _contents(files: Optional[Files]) -> Optional[dict[str, bytes]]:
    if files is None:
        return None
    return {path: text.encode() if isinstance(text, str) else bytes(text) for path, text in files.items()}


def _ask(question: dict[str, Any], files: Optional[dict[str, bytes]]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_answer(json.dumps(question), files))
    errors = answer.get("errors")
    if errors:
        raise BuildError([_diagnostic(error) for error in errors])
    return answer


def _place(data: Optional[dict[str, Any]]) -> Optional[Place]:
    return Place(data["file"], data["line"], data["column"]) if data else None


def _diagnostic(data: dict[str, Any]) -> Diagnostic:
    return Diagnostic(
        severity=data["severity"],
        code=data["code"],
        message=data["message"],
        place=_place(data.get("place")),
        help=data.get("help", []),
        text=data["text"],
    )


def _history(data: dict[str, Any]) -> History:
    events = [
        Event(
            event=event["event"],
            before=event.get("before"),
            after=event.get("after"),
            place=_place(event.get("place")),
            label=event["label"],
            layer=event["layer"],
            decides=event.get("decides", False),
        )
        for event in data["history"]
    ]
    return History(field=data["field"], value=data.get("value"), events=events, text=data["text"])
