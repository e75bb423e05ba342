"""Photograph the built welcome page for README.md: book/_pictures/welcome.png.

Usage: make pictures

The site must have been built (`make book`), and Chromium be on the PATH. The page is opened from
disk at 1280 × 800 by somebody who wants no motion, so that its film stands at its end.
"""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "_build" / "html" / "book" / "welcome.html"
FILE = ROOT / "book" / "_pictures" / "welcome.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


def photograph(path: Path = FILE) -> None:
    """Write the picture. FileNotFoundError without a site or a browser."""
    from playwright.sync_api import sync_playwright

    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not PAGE.is_file() or browser is None:
        missing = PAGE if browser else "Chromium"
        raise FileNotFoundError(f"{missing} is missing: run `make book`, and install Chromium")
    path.parent.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(
            viewport={"width": 1280, "height": 800},
            device_scale_factor=1.5,
            color_scheme="light",
            reduced_motion="reduce",
        )
        page.goto(PAGE.as_uri())
        page.get_by_role("button", name="Play again").wait_for()
        page.evaluate("document.fonts.ready.then(() => 0)")
        page.screenshot(path=path)
        chromium.close()


if __name__ == "__main__":
    try:
        photograph()
    except FileNotFoundError as error:
        sys.exit(str(error))
    print(f"{FILE.relative_to(ROOT)}: {FILE.stat().st_size / 1e3:.0f} kB")
