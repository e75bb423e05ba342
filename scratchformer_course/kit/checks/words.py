"""An exception in one short line, whatever it does when it is printed."""


def words(error: BaseException | None) -> str:
    """Type and text of an error: "ValueError: too long"; "" of text that cannot be had."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text[:200]}".rstrip(": .")
