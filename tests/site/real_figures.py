"""A page of its own with a figure of the real model, for which a small file stands in."""

import contextlib
import functools
import hashlib

from scratchformer.data import real_model
from tests.library.small_gguf import write_real_shape
from tests.site.browsing import LIVE, opened
from tests.site.conftest import Quiet, serving

NAME = "small.gguf"
LOADED = "The model is here"


@contextlib.contextmanager
def real_figure(browser, folder, figure, file=None, **settings):
    """The page of a live figure, alive, over http; its button *Load the model* loads `file`.

    The file is a small random model unless another is given. `settings` are those of `opened`.
    """
    file = file or write_real_shape(folder / NAME)
    html = (folder / "page.html").resolve()
    figure.save(html)
    text = html.read_text(encoding="utf-8")
    data = file.read_bytes()
    pinned = (NAME, f"{len(data):_}", hashlib.sha256(data).hexdigest())
    for known, own in zip((real_model.FILE, "98_362_432", real_model.SHA256), pinned, strict=True):
        assert known in text
        text = text.replace(known, own)
    tag = f'<script type="text/plain" data-real-model="{NAME}"></script><main>'
    html.write_text(text.replace("<main>", tag), encoding="utf-8")
    if file.parent != folder:
        (folder / NAME).symlink_to(file)
    with (
        serving(functools.partial(Quiet, directory=str(folder))) as address,
        opened(browser, f"{address}page.html", **settings) as page,
    ):
        page.locator(LIVE).wait_for()
        yield page


def load(page):
    """Press the button, and wait until the model is there."""
    page.get_by_role("button", name="Load the model").click()
    page.locator(".sx-model-panel [role=status]", has_text=LOADED).wait_for()


def delete(page):
    """Delete the file, and wait until it is gone."""
    page.get_by_role("button", name="Delete it").click()
    page.locator(".sx-model-panel [role=status]", has_text="It is deleted").wait_for()
