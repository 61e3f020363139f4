"""Values as Go prints them, for messages that show one."""

from __future__ import annotations

from vcray.api.meta import JsonValue


def go_text(value: JsonValue) -> str:
    """A value as Go prints it: `map[a:1 b:[x y]]`."""
    match value:
        case dict():
            return f"map[{' '.join(f'{key}:{go_text(value[key])}' for key in sorted(value))}]"
        case list():
            return f"[{' '.join(map(go_text, value))}]"
        case bool():
            return "true" if value else "false"
        case None:
            return "<nil>"
    return str(value)
