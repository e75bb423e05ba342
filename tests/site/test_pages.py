"""The built pages as files: all there, figures described, links that lead somewhere, no CDN."""

import copy
import re
from pathlib import Path
from urllib.parse import parse_qs, unquote, urldefrag, urlsplit

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup

from book._ext.course_ext import has_address
from tests.site.browsing import parsed
from tests.site.conftest import ROOT, toc_pages

CHAPTERS = [name for name in toc_pages() if name.startswith("notebooks/")]
REPOSITORY = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["repository"]["url"]
LOADS = "script[src], link[href], img[src], iframe[src], source[src]"
# <link> elements that name a page and load nothing
NAMES_ONLY = {"index", "search", "next", "prev", "canonical", "alternate", "author", "copyright"}
MOST_WORDS = 2600  # open on the page of a chapter that names its moment
FOLDED = "script, style, svg, nav, pre, details > *:not(summary), .tag_remove-input .cell_input"


class Page:
    """What the checks need of one page: its ids, links, images, and what it loads."""

    def __init__(self, tree: BeautifulSoup):
        self.ids = [part["id"] for part in tree.select("[id]")]
        self.ids += [anchor["name"] for anchor in tree.select("a[name]")]
        self.links = [link["href"] for link in tree.select("a[href]")]
        self.images = tree.select("img")
        loading = [t for t in tree.select(LOADS) if not NAMES_ONLY & set(t.get("rel", ()))]
        self.loads = [tag.get("src") or tag["href"] for tag in loading]


@pytest.fixture(scope="module")
def pages(site) -> dict[Path, Page]:
    files = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    return {path: Page(parsed(path)) for path in files}


def outside(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme not in ("", "data")


def faults_of_links(path: Path, page: Page, pages: dict[Path, Page]):
    """Links and loads of `page` that lead to no file, or to no anchor in it."""
    for address in page.links + page.loads:
        if outside(address) or address.startswith("data:"):
            continue
        file, anchor = urldefrag(address)
        file = unquote(file.split("?")[0])
        target = (path.parent / file).resolve() if file else path
        if not target.is_file():
            yield f"{address}: no such file"
        elif "=" in anchor:
            continue  # settings, which a figure of that page reads
        elif anchor and target in pages and unquote(anchor) not in pages[target].ids:
            yield f"{address}: no such anchor"


def test_each_page_is_described_for_search_engines_and_shared_links(site):
    owner, repository = REPOSITORY.split("/")[-2:]
    base = f"https://{owner}.github.io/{repository}/"
    for name in toc_pages():
        page = parsed(site / f"{name}.html")
        meta = {t.get("name") or t.get("property"): t.get("content") for t in page.select("meta")}
        title = page.article.h1.find(string=True)
        assert 20 < len(meta["description"]) <= 200, name
        assert not set(meta["description"]) & set("$\\{}<>"), "markup in the description"
        assert meta["og:description"] == meta["description"] and meta["og:title"] == title
        address = page.find("link", rel="canonical")["href"]
        assert address == meta["og:url"] == f"{base}{name}.html"
        card = meta["og:image"].removeprefix(base)
        assert name.replace("/", "_") in card and len(meta["og:image:alt"]) > 20
        assert (site / card).read_bytes()[16:24] == bytes.fromhex("0000047a00000258"), "1146 by 600"
        assert len(page.find_all("h1")) == 1
        parts = page.title.get_text().split(" — ")
        assert len(parts) == len(set(parts)) and parts[-1] == "Transformers from Scratch", name
        reports = page.select(".course-report a")
        assert len(reports) == has_address(REPOSITORY)
        for report in reports:
            query = parse_qs(urlsplit(report["href"]).query)
            assert query["title"] == [f"Error on the page “{title.strip()}”"]
    cards = (site / "_images" / "social_previews").glob("notebooks_[0-9]*.png")
    pictures = [path.read_bytes() for path in cards]
    assert len(set(pictures)) == len(pictures) >= len(CHAPTERS), "chapters have their own"


def test_a_chapter_numbers_and_describes_its_figures_is_short_and_hands_out_its_notebook(site):
    for name in CHAPTERS:
        article, path = parsed(site / f"{name}.html").article, f"{name}.ipynb"
        notebook = nbformat.read(ROOT / path, as_version=4)
        captions = article.select("figcaption .caption-number")
        number = int(name.split("/")[1].split("_")[0])
        expected = [f"Fig. {number}.{i}" for i in range(1, len(captions) + 1)]
        assert [caption.get_text().strip() for caption in captions] == expected
        for link in article.select('a.internal[href^="#"]:has(.std-numref)'):
            (named,) = article.select(f"[id='{link['href'][1:]}'] .caption-number")
            assert named.get_text().strip() == link.get_text()
        outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
        html = [str(output.get("data", {}).get("text/html", "")) for output in outputs]
        shown = article.select("figure svg[class^=course-]")
        drawn = sum(text.startswith('<svg class="course-') for text in html)
        assert len(shown) == drawn and (drawn or number == 26), name  # 26 is told by the ladder
        assert [s for s in shown if s.get("role") != "img" or len(s["aria-label"]) < 20] == [], name
        links = [link["href"] for link in article.find_previous("body").select("a[href]")]
        stem = path.split("/")[1]
        assert any(link.endswith(f"/{stem}") and not outside(link) for link in links)
        slug = REPOSITORY.removeprefix("https://github.com/")
        address = f"https://colab.research.google.com/github/{slug}/blob/main/{path}"
        assert [x for x in links if "colab" in x] == ([address] if has_address(slug) else [])
        if notebook.metadata.get("moment"):
            text = copy.copy(article)
            for part in text.select(FOLDED):
                part.extract()
            words = re.findall(r"[A-Za-zÀ-ÿ’'–-]+", text.get_text(" "))
            assert len(words) <= MOST_WORDS, f"{name} is not read to its end"


def test_a_silent_bug_shows_a_described_curve_and_hides_its_diagnosis(site):
    article = parsed(site / "book" / "silent_bugs.html").article
    patients = [h3.find_parent("section") for h3 in article.select("h3")]
    assert len(patients) == 30
    for patient in patients:
        (fold,), (curve,) = patient.select("details"), patient.select("svg[role=img]")
        assert not fold.has_attr("open") and fold.select_one(".highlight-diff")
        assert len(curve["aria-label"]) > 80


def test_links_lead_somewhere_ids_are_unique_images_are_described_and_nothing_comes_from_elsewhere(
    site, pages
):
    for path, page in pages.items():
        name = path.relative_to(site)
        assert list(faults_of_links(path, page, pages)) == [], name
        assert [address for address in page.loads if outside(address)] == [], name
        twice = {anchor for anchor in page.ids if page.ids.count(anchor) > 1}
        # on Python 3.10 the theme is older, and gives its search page two such fields
        assert twice <= ({"search-input"} if name.name == "search.html" else set()), name
        assert [image["src"] for image in page.images if not image.has_attr("alt")] == [], name
    styles = [path for path in site.rglob("*.css") if "url(http" in path.read_text("utf-8")]
    assert styles == []


def test_no_formula_is_left_as_text(site):
    for path in [*site.glob("notebooks/*.html"), *site.glob("book/*.html")]:
        article = parsed(path).article
        signs = [text for text in article.strings if "$" in text]
        code = {id(text) for tag in article.select("pre, code, .math") for text in tag.strings}
        left = [text for text in signs if id(text) not in code]
        assert left == [], path.relative_to(site)
