"""Chapter 02 without gensim, which some Pythons cannot have: a line less, and it goes on."""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[2]


def test_the_chapter_runs_to_its_end_without_gensim(monkeypatch, tmp_path):
    (tmp_path / "gensim.py").write_text("raise ImportError('hidden by a test')\n", "utf-8")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("SCRATCHFORMER_BUDGET", "smoke")
    monkeypatch.setenv("SCRATCHFORMER_CACHE", str(tmp_path))
    monkeypatch.setenv("SCRATCHFORMER_OFFLINE", "1")
    monkeypatch.delenv("SCRATCHFORMER_DATA", raising=False)
    notebook = nbformat.read(ROOT / "notebooks" / "02_embeddings.ipynb", as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    (table,) = (cell for cell in notebook.cells if "gensim_seeds]" in cell.source)
    text = "".join(output.text for output in table.outputs)
    assert "counts" in text and "gensim" not in text
