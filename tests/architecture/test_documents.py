"""The documents say what the code says, and their links lead somewhere."""

import re
import tomllib
from pathlib import Path

import pytest

from homeai.domain import states

ROOT = Path(__file__).parents[2]
DOCUMENTS = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("packaging/**/*.md")]


def table_below(heading):
    text = (ROOT / "docs/ARCHITECTURE.md").read_text("utf-8")
    section = text.partition(f"### {heading}\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| (\w+) \| (.+?) \|$", section, re.MULTILINE)
    return {old: set(re.findall(r"\w+", new)) for old, new in rows if old != "state"}


@pytest.mark.parametrize(
    ("heading", "table"),
    [("Worker", states.WORKER_TRANSITIONS), ("Request", states.REQUEST_TRANSITIONS)],
)
def test_the_state_tables_are_those_of_the_code(heading, table):
    assert table_below(heading) == {
        old.value: {new.value for new in after} for old, after in table.items()
    }


def test_the_layers_in_the_architecture_are_those_of_the_contract():
    text = (ROOT / "docs/ARCHITECTURE.md").read_text("utf-8")
    drawn = re.search(r"## Layers\n.*?```\n(.*?)```", text, re.DOTALL)[1]
    configuration = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = configuration["tool"]["importlinter"]["contracts"]
    (contract,) = (c for c in contracts if c["type"] == "layers")

    names = [set(re.findall(r"\w+", line.partition("   ")[0])) for line in drawn.splitlines()]

    layers = [set(re.findall(r"\w+", layer)) for layer in contract["layers"]]
    assert names == [layers[0] | layers[1], *layers[2:]]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_inside_the_tree_lead_somewhere(document):
    links = re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.read_text("utf-8"))
    local = [link for link in links if "://" not in link]

    assert [link for link in local if not (document.parent / link).exists()] == []


def test_decisions_are_numbered_without_gaps_and_listed():
    files = sorted(ROOT.glob("docs/adr/[0-9]*.md"))
    index = (ROOT / "docs/adr/README.md").read_text("utf-8")

    assert [int(file.name[:4]) for file in files] == list(range(1, len(files) + 1))
    for file in files:
        title = file.read_text("utf-8").splitlines()[0].removeprefix(f"# {int(file.name[:4])}. ")
        assert f"({file.name}) | {title} |" in index


def test_every_direct_dependency_is_pinned():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    names = {re.match(r"[\w.-]+", line)[0].lower() for group in groups for line in group}
    pins = (ROOT / "packaging/constraints.txt").read_text("utf-8")

    pinned = {name.lower() for name in re.findall(r"(?m)^([\w.-]+)==", pins)}

    assert names - pinned == set()
