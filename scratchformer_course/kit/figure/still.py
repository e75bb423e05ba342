"""The tables of still figures, which stand on a page without JavaScript."""

from collections.abc import Iterable, Sequence
from html import escape

# of a figure that asks SmolLM2
RECORDED = (
    "<p>This figure is live where JavaScript runs: there a press loads SmolLM2, 98 MB, and it "
    "answers the reader. This was recorded.</p>"
)


def table(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A table in HTML, whose columns have the names in `head`, and whose rows begin with theirs.

    Names and cells are HTML already; a column without a name gets an empty cell.
    """

    def name(text: object, of: str) -> str:
        return f"<th scope='{of}'>{text}</th>"

    columns = "".join(name(text, "col") if text else "<td></td>" for text in head)
    body = "".join(
        f"<tr>{name(first, 'row')}{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
        for first, *cells in rows
    )
    return f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>"


def plain_table(head: Sequence[str], rows: Iterable[Iterable[object]]) -> str:
    """A table in HTML whose rows have no names."""
    columns = "".join(f"<th>{name}</th>" for name in head)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table>"


def still_chances(columns: Sequence[str], rows: Iterable[Sequence]) -> str:
    """A table of next tokens, each with a probability for every column."""
    return table(
        ("next token", *columns),
        ((escape(token), *(f"{100 * p:.1f} %" for p in shares)) for token, *shares in rows),
    )
