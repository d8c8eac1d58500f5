"""The settings of a run in words. Plain ones only: deeper ones may hold a schema with categories and ranges."""

from __future__ import annotations

from pydantic import JsonValue

from seepage.results.summary import Summary


def values_of(summary: Summary, name: str) -> list[JsonValue]:
    """The values of a setting in all variants of the plan, each once; nothing if it is not stated."""
    over = [summary.settings, *(summary.settings | variant.settings for variant in summary.variants)]
    values: list[JsonValue] = []
    for settings in over:
        if name in settings and settings[name] not in values:
            values.append(settings[name])
    return values


def settings_of(summary: Summary) -> tuple[tuple[str, str], ...]:
    """Every plain setting with its values: ``client or global`` where variants differ."""
    lines = []
    for name in summary.settings:
        texts = [_written(value) for value in values_of(summary, name)]
        known = [text for text in texts if text is not None]
        if len(known) == len(texts):
            lines.append((name, " or ".join(known)))
    return tuple(lines)


def _written(value: JsonValue) -> str | None:
    """A setting as text; None if it is a deep one."""
    if isinstance(value, dict):
        texts = {key: _plain(each) for key, each in value.items()}
        parts = [None if text is None else f"{key}={text}" for key, text in texts.items()]
    else:
        parts = [_plain(each) for each in (value if isinstance(value, list) else [value])]
    known = [part for part in parts if part is not None]
    return (", ".join(known) or "none") if len(known) == len(parts) else None


def _plain(value: JsonValue) -> str | None:
    if isinstance(value, dict | list):
        return None
    return "none" if value is None else str(value)
