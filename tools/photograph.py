"""Photograph the built welcome page for README.md: book/_pictures/welcome.png.

Usage: make pictures

The site must have been built (`make book`), and Chromium be on the PATH. The page is opened from
disk at 1200 × 900, the temperature is lowered, and 20 tokens are drawn.
"""

import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "_build" / "html" / "book" / "welcome.html"
FILE = ROOT / "book" / "_pictures" / "welcome.png"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
STEPS, TEMPERATURE = 20, "0.8"


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
            viewport={"width": 1200, "height": 900}, device_scale_factor=1.5, color_scheme="light"
        )
        page.goto(PAGE.as_uri())
        page.locator(".sx-bars").wait_for()
        page.get_by_label("Temperature").fill(TEMPERATURE)
        for _ in range(STEPS):
            page.get_by_role("button", name="Step", exact=True).click()
        page.evaluate("document.activeElement.blur()")
        page.mouse.move(0, 0)
        page.screenshot(path=path)
        chromium.close()


if __name__ == "__main__":
    try:
        photograph()
    except FileNotFoundError as error:
        sys.exit(str(error))
    print(f"{FILE.relative_to(ROOT)}: {FILE.stat().st_size / 1e3:.0f} kB")
