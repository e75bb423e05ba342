"""The files around the course: workflows, citation."""

import re
from pathlib import Path

import pytest
import yaml

from book._ext.course_ext import pages_address

ROOT = Path(__file__).resolve().parents[2]

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def read(path: str | Path):
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_commit_and_only_the_job_that_deploys_may_write(path):
    uses = re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))
    pinned = re.compile(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert uses
    assert [use for use in uses if not use.startswith("./") and not pinned.fullmatch(use)] == []
    workflow = read(path)
    assert workflow["permissions"] == {"contents": "read"}
    may_write = {
        name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job
    }
    expected = {"deploy": {"pages": "write", "id-token": "write"}} if path.stem == "publish" else {}
    assert may_write == expected


def test_pages_are_deployed_only_after_the_tests_and_by_a_job_that_runs_no_code_of_ours():
    jobs = read(".github/workflows/publish.yml")["jobs"]
    assert jobs["test"]["uses"] == "./.github/workflows/test.yml"
    assert jobs["build"]["needs"] == "test"
    assert jobs["deploy"]["needs"] == "build"
    assert [list(step) for step in jobs["deploy"]["steps"]] == [["id", "uses"]]


def test_citation_names_what_the_configuration_does():
    citation, config = read("CITATION.cff"), read("_config.yml")
    assert citation["title"] == config["title"]
    assert citation["authors"] == [{"name": config["author"]}]
    assert citation["repository-code"] == config["repository"]["url"]
    assert citation["url"] == pages_address(config["repository"]["url"])
