"""The real model's file in the browser: loaded once, kept, shared by tabs, deleted, refused.

A small GGUF file stands in for it, with its own length and SHA-256.
"""

import hashlib
import re
import threading
from types import SimpleNamespace

import gguf
import numpy as np
import pytest

from book._ext import real_model_ext
from scratchformer.data import real_model
from scratchformer.data.gguf import read_gguf
from scratchformer.models.llama_files import gguf_sizes
from scratchformer_course.pages.talk_page import talk
from tests.node import Node
from tests.quoted_numbers import absent
from tests.site.browsing import LIVE, PHONE, TOO_SMALL, axe_finds, opened, parsed
from tests.site.conftest import ROOT, Quiet, serving
from tests.site.firefox import PROGRAM, Firefox

NAME, PART = "small.gguf", 1 << 16
PANEL = ".sx-model-panel"
OPEN, KEPT = "The model is here", "this browser keeps its"
# how many files are kept
STORED = """navigator.storage.getDirectory()
  .then(root => root.getDirectoryHandle('course-real-model'))
  .then(async folder => (await Array.fromAsync(folder.keys())).length, () => 0)"""
# whether what needs the model can be used
ALIVE = "!document.querySelector('.sx-go').disabled"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A small file, and the page that asks for it, in a folder."""
    folder = tmp_path_factory.mktemp("model")
    writer = gguf.GGUFWriter(folder / NAME, "llama")
    writer.add_size_label("A small Llama")
    writer.add_array("general.languages", ["en"])
    writer.add_block_count(1030)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(["a"])
    writer.add_token_types([1])
    writer.add_tensor("noise", np.random.default_rng(0).random(400_000, dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    data = (folder / NAME).read_bytes()
    talk().save(folder / "lone.html")
    html = (folder / "lone.html").read_text(encoding="utf-8")
    html = html.replace(real_model.FILE, NAME).replace("98_362_432", str(len(data)))
    html = html.replace("4_194_304", str(PART))
    html = html.replace(real_model.SHA256, hashlib.sha256(data).hexdigest())
    (folder / "lone.html").write_text(html, encoding="utf-8")
    for name, address in (("page", NAME), ("without", "")):
        tag = f'<script type="text/plain" data-real-model="{address}"></script><main>'
        (folder / f"{name}.html").write_text(html.replace("<main>", tag), encoding="utf-8")
    return SimpleNamespace(folder=folder, path=folder / NAME, data=data)


@pytest.fixture
def served(file):
    """A server of the page; what it sends for the file can be cut, another one, or wait."""
    sent = SimpleNamespace(data=file.data, times=0, waits=threading.Event(), length=len(file.data))
    sent.waits.set()

    class Handler(Quiet):
        def __init__(self, *given):
            super().__init__(*given, directory=str(file.folder))

        def do_GET(self):
            if not self.path.endswith(NAME):
                return super().do_GET()
            sent.times += 1
            self.send_response(200)
            self.send_header("Content-Length", str(sent.length))
            self.end_headers()
            self.wfile.write(sent.data[:PART])
            sent.waits.wait(60)
            self.wfile.write(sent.data[PART:])

    with serving(Handler) as sent.address:
        yield sent


def button(page, name):
    return page.get_by_role("button", name=name)


def says(page, words):
    page.locator(f"{PANEL} [role=status]", has_text=words).wait_for()


def load(page):
    button(page, "Load the model (1.6 MB)").click()


def test_a_press_loads_it_a_reload_opens_it_and_it_is_deleted(browser, served):
    with opened(browser, f"{served.address}page.html") as page:
        says(page, "loaded once")
        assert not page.evaluate(ALIVE)
        served.waits.clear()
        load(page)
        page.wait_for_function(f"document.querySelector('progress').value === {PART}")
        assert "0.1 of 1.6 MB" in page.locator(PANEL).inner_text()
        served.waits.set()
        says(page, KEPT)
        assert page.evaluate("document.activeElement.textContent") == "Delete it"
        page.reload()
        says(page, KEPT)
        assert served.times == 1 and page.evaluate(ALIVE)
        button(page, "Delete it").press("Enter")
        says(page, "It is deleted.")
        assert page.evaluate(STORED) == 0 and not page.evaluate(ALIVE)
        page.reload()
        button(page, "Load the model").wait_for()


def test_what_is_stopped_cut_or_another_file_is_told_and_not_kept(browser, served, file):
    with opened(browser, f"{served.address}page.html", faults=[]) as page:
        served.waits.clear()
        load(page)
        button(page, "Stop").click()
        says(page, "It was stopped, and nothing is kept.")
        served.waits.set()
        for data, length, words in (
            (file.data[: 3 * PART], len(file.data), r"broke off at 0\.\d of 1\.6 MB \(.+\)"),
            (file.data[:PART], PART, r"broke off at 0\.1 of 1\.6 MB \(the file ended there\)"),
            (b"x" + file.data, len(file.data) + 1, "another file"),
            (file.data[:-1] + b"x", len(file.data), "another file than small.gguf"),
        ):
            served.data, served.length = data, length
            load(page)
            says(page, re.compile(words))
            assert page.evaluate(STORED) == 0
        page.route(f"**/{NAME}", lambda route: route.fulfill(status=404))
        load(page)
        says(page, "the site answered 404")
        page.unroute(f"**/{NAME}")
        served.data, served.length = file.data, len(file.data)
        load(page)
        says(page, KEPT)


def test_a_second_tab_waits_for_the_first_and_both_hear_that_it_is_deleted(browser, served):
    with opened(browser, f"{served.address}page.html") as first:
        second = first.context.new_page()
        second.goto(f"{served.address}page.html")
        served.waits.clear()
        load(first)
        first.get_by_role("progressbar").wait_for()
        load(second)
        says(second, "Waiting for another tab")
        served.waits.set()
        for page in (first, second):
            says(page, KEPT)
        assert served.times == 1
        button(second, "Delete it").click()
        for page in (first, second):
            says(page, "It is deleted.")


LOAD = "course.modelFile.newModelFile('small.gguf').load(() => {}, new AbortController().signal)"
HEX = """crypto.subtle.digest('SHA-256', await blob.arrayBuffer()).then((sum) =>
  Array.from(new Uint8Array(sum), (byte) => byte.toString(16).padStart(2, '0')).join(''))"""
OPENED = f"{LOAD}.then(async ({{blob, isKept}}) => [isKept, await {HEX}])"


@pytest.mark.parametrize("quota", [1000, 20 * PART, 10**8])
def test_where_there_is_no_room_it_is_open_until_the_page_is_left(browser, served, file, quota):
    fits = quota > len(file.data)
    with opened(browser, f"{served.address}page.html") as page:
        devtools = page.context.new_cdp_session(page)
        origin = served.address.rstrip("/")
        devtools.send("Storage.overrideQuotaForOrigin", {"origin": origin, "quotaSize": quota})
        assert page.evaluate(OPENED) == [fits, hashlib.sha256(file.data).hexdigest()]
        assert (page.evaluate(STORED) > 0) == fits
        page.reload()
        if not fits:
            load(page)
        says(page, KEPT if fits else "until you leave this page")
        assert page.evaluate(ALIVE)
        assert button(page, "Delete it").is_visible() == fits


def test_what_a_closed_page_has_left_half_done_is_never_offered_and_removed(browser, served):
    with opened(browser, f"{served.address}page.html") as page:
        served.waits.clear()
        load(page)
        page.wait_for_function(f"{STORED}.then(count => count === 1)")
        second = page.context.new_page()
        second.goto(f"{served.address}page.html")
        says(second, "loaded once")
        assert second.evaluate(STORED) == 1, "while a page loads nothing is removed"
        page.close()
        served.waits.set()
        second.reload()
        says(second, "loaded once")
        second.wait_for_function(f"{STORED}.then(count => count === 0)")


NO_FILES = "navigator.storage.getDirectory = () => Promise.reject(new Error('no'))"


def test_where_nothing_may_be_kept_it_is_loaded_for_the_page(browser, served, file):
    script = f"{NO_FILES}; Object.defineProperty(navigator, 'locks', {{value: undefined}})"
    with opened(browser, f"{served.address}page.html", script=script) as page:
        load(page)
        says(page, "until you leave this page")
        assert page.evaluate(OPENED) == [False, hashlib.sha256(file.data).hexdigest()]


def from_folder(folder, **headers):
    """Answers a page's requests from a folder, from whatever address."""

    def answer(route):
        path = folder / route.request.url.rpartition("/")[2]
        kind = "text/html" if path.suffix == ".html" else "application/octet-stream"
        route.fulfill(body=path.read_bytes(), content_type=kind, headers=headers)

    return answer


@pytest.mark.parametrize("place", ["insecure", "sandbox"])
def test_a_page_that_may_keep_nothing_checks_it_all_the_same(browser, file, place):
    headers = {"Content-Security-Policy": "sandbox allow-scripts"} if place == "sandbox" else {}
    with opened(browser, "about:blank", faults=[]) as page:
        page.route(f"http://{place}.test/**", from_folder(file.folder, **headers))
        page.goto(f"http://{place}.test/{'page' if place == 'insecure' else 'without'}.html")
        assert page.evaluate("isSecureContext") is False
        if place == "insecure":
            load(page)
        else:
            page.get_by_label(f"The file {NAME}").set_input_files(file.path)
        says(page, "until you leave this page")
        page.wait_for_function(ALIVE)


def test_a_page_with_too_little_memory_says_so_before_anything_loads(browser, served):
    small = "Object.defineProperty(navigator, 'deviceMemory', {value: 0.5})"
    with opened(browser, f"{served.address}page.html", script=small) as page:
        says(page, "0.5 GB of memory")
        assert not page.locator(f"{PANEL} :is(button, input)").locator("visible=true").count()
    assert served.times == 0


@pytest.mark.parametrize("place", ["disk", "a site without it", "a notebook"])
def test_the_reader_chooses_the_file_where_it_cannot_be_fetched(
    browser, served, file, tmp_path, axe, place
):
    folder = f"{file.folder.as_uri()}/" if place == "disk" else served.address
    name = {"a site without it": "without", "a notebook": "lone"}.get(place, "page")
    with opened(browser, f"{folder}{name}.html", mode="dark", width=PHONE) as page:
        why = {"disk": "from disk cannot", "a notebook": "not beside this page"}
        says(page, why.get(place, "built without the model"))
        assert not button(page, "Load").is_visible()
        picker = page.get_by_label(f"The file {NAME}")
        for data in (file.data[:-1], file.data[:-1] + b"x"):
            (tmp_path / NAME).write_bytes(data)
            picker.set_input_files(tmp_path / NAME)
            says(page, "another file than small.gguf")
        assert page.evaluate(TOO_SMALL, ".live-figure") == []
        assert axe_finds(page, axe, ".live-figure") == []
        picker.set_input_files(file.path)
        says(page, OPEN)
        assert page.evaluate(ALIVE)


@pytest.mark.skipif(PROGRAM is None, reason="no Firefox on the PATH: nothing was loaded in it")
def test_firefox_loads_keeps_and_deletes_it(served):
    status = f"document.querySelector('{PANEL} [role=status]').textContent"
    waits = f"""new Promise((done, fail) => {{ const end = Date.now() + 20000, look = () =>
      {status}.includes(WORDS) ? done({status}) : Date.now() > end ? fail({status})
      : setTimeout(look, 50); look(); }})"""
    press = f"document.querySelector('{PANEL} button:not([hidden])').click()"
    with Firefox() as page:
        for words in (f"'{KEPT}'", f"'{KEPT}'", "'It is deleted.'"):
            page.goto(f"{served.address}page.html")
            page.evaluate(f"document.querySelector('{LIVE}') !== null")
            if served.times == 0 or "deleted" in words:
                page.evaluate(
                    waits.replace(
                        "WORDS", "'browser keeps it'" if not served.times else f"'{KEPT}'"
                    )
                )
                page.evaluate(press)
            page.evaluate(waits.replace("WORDS", words))
        assert served.times == 1 and page.evaluate(STORED) == 0


# ---- the file of the site ----


def test_the_hash_of_pieces_is_pythons():
    in_node = Node("real_model/sha256.js")
    body = """const hash = course.sha256.newSha256(), { bytes, step } = input;
      for (let i = 0; i < bytes.length; i += step) {
        hash.update(Uint8Array.from(bytes.slice(i, i + step)));
      }
      return hash.hex();"""
    data = np.random.default_rng(1).bytes(300)
    for length in (0, 1, 55, 56, 57, 63, 64, 65, 119, 120, 127, 128, 129, 300):
        for step in (1, 63, 64, 65, 300):
            digest = in_node(body, bytes=list(data[:length]), step=step)
            assert digest == hashlib.sha256(data[:length]).hexdigest(), (length, step)


def test_the_pinned_file_is_pythons_and_the_page_says_its_sizes():
    pinned = Node("real_model/model_file.js")("return course.modelFile.PINNED")
    assert (pinned["name"], pinned["sha256"]) == (real_model.FILE, real_model.SHA256)
    assert pinned["bytes"] < 100e6, "GitHub takes no larger file"
    try:
        path = real_model.find_real_model(download=False)
    except OSError:
        pytest.skip("the real model is not at hand")
    assert path.stat().st_size == pinned["bytes"]
    settings, tensors = read_gguf(path)
    page = (ROOT / "book" / "talk.md").read_text(encoding="utf-8")
    sizes = gguf_sizes(settings, tensors)
    names = "n_layers d_model n_heads n_kv_heads d_ff vocab_size context_length".split()
    assert not absent(page, *(f"{sizes[name]:,}" for name in names))


@pytest.mark.parametrize("can_link", [True, False])
def test_the_build_puts_the_file_into_the_site_if_it_is_at_hand(
    file, tmp_path, monkeypatch, can_link
):
    def refuse(*_):
        raise OSError("another disk")

    if not can_link:
        monkeypatch.setattr("os.link", refuse)
    placed = tmp_path / real_model_ext.FOLDER / NAME
    for source in (str(file.path), str(file.path), ""):
        config = SimpleNamespace(real_model_file=source)
        builder = SimpleNamespace(format="html")
        app = SimpleNamespace(config=config, outdir=tmp_path, builder=builder)
        real_model_ext.put_model(app, None)
        assert placed.exists() == bool(source)
        assert not source or (
            placed.read_bytes() == file.data and placed.samefile(source) == can_link
        )


def test_the_page_names_the_file_that_the_site_has_and_nothing_of_it_is_there_without_javascript(
    site, browser
):
    page = site / "book" / "talk.html"
    (tag,) = parsed(page).select("script[data-real-model]")
    address = tag["data-real-model"]
    assert not address or (page.parent / address).is_file()
    with opened(browser, page.as_uri(), javascript=False) as shown:
        assert "of France is Paris." in shown.locator(".live-figure").inner_text()
        assert shown.locator(".live-figure :is(button, input)").count() == 0
