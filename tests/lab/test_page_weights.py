"""What a page weighs: itself and each file that it names, once."""

import gzip

from lab import page_weights as pages

HTML = """<link rel="stylesheet" href="_static/theme.css?v=1"><link rel="next" href="other.html">
<script src="_static/a.js"></script><script defer="defer" src="_static/live/fig.js"></script>
<link as="script" href="_static/a.js" rel="preload"><img alt="" src="_images/p.svg">
<script src="_static/tex-chtml-full.js"></script><script>inline("src='x.js'")</script>
<img src="data:image/gif;base64,AAAA">"""
FILES = {
    "_static/theme.css": "a" * 1000,
    "_static/a.js": "b" * 300,
    "_static/live/fig.js": "c" * 700,
    "_images/p.svg": "d" * 50,
    "_static/tex-chtml-full.js": "e" * 9000,
    "_static/font.woff2": "g" * 400,
    "other.html": "f" * 5000,
}


def site(folder):
    for name, text in {"index.html": HTML, **FILES}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_each_file_counts_once_and_where_it_belongs(tmp_path):
    fonts = [site(tmp_path) / "_static/font.woff2"]
    found = pages.sizes(tmp_path, "index", fonts)
    assert {part: size[0] for part, size in found.items()} == {
        "html": len(HTML),
        "live": 700,
        "pictures": 50,
        "mathjax": 9000,
        "fonts": 400,
        "all": len(HTML) + 1000 + 300 + 700 + 50 + 9000 + 400,
    }
    assert found["live"][1] == len(gzip.compress(b"c" * 700, 6, mtime=0))
