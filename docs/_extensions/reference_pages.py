"""A page for every public name, made from `reference.md`.

Rows of its tables such as ``| `knn_graph` | ... |`` become links, and each named thing gets a page
in ``api/`` that shows its docstring. So the reference is one page to read and one place to edit.
"""

import importlib
import inspect
import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

PAGE = "reference"
FOLDER = "api"
ROW = re.compile(r"^\| `(\w+)` \|", flags=re.MULTILINE)
SECTION = re.compile(r"^## (\S+)$", flags=re.MULTILINE)


def write_pages(app: Sphinx) -> None:
    """Write one page for each name that the reference lists."""
    source = Path(app.srcdir)
    shutil.rmtree(source / FOLDER, ignore_errors=True)
    (source / FOLDER).mkdir()
    for room, names in own_names((source / f"{PAGE}.md").read_text()).items():
        for name in names:
            path = source / FOLDER / f"{room}.{name}.rst"
            path.write_text(page_of(room, name))


def listed_names(text: str) -> dict[str, list[str]]:
    """Return the public names of each room, in the order of the reference."""
    parts = SECTION.split(text)[1:]
    return {
        room: ROW.findall(section) for room, section in zip(parts[::2], parts[1::2], strict=True)
    }


def own_names(text: str) -> dict[str, list[str]]:
    """Return the names of each room that get a page there; those of two rooms get one."""
    pages = listed_names(text)
    first = set(pages["walkconv"])
    return {
        room: [name for name in names if room == "walkconv" or name not in first]
        for room, names in pages.items()
    }


def page_of(room: str, name: str) -> str:
    """Return the source of the page of one public name."""
    full = f"{room}.{name}"
    thing = getattr(importlib.import_module(room), name)
    head = f"{name}\n{'=' * len(name)}\n\n"
    if inspect.ismodule(thing):
        return f"{head}.. automodule:: {full}\n"
    if inspect.isclass(thing):
        methods = [] if issubclass(thing, Exception) else own_methods(thing)
        entries = [f"\n   .. automethod:: {method}\n" for method in methods]
        return f"{head}.. autoclass:: {full}\n{''.join(entries)}"
    kind = "autofunction" if callable(thing) else "autodata"
    return f"{head}.. {kind}:: {full}\n"


def own_methods(thing: type) -> list[str]:
    """Return the public methods that this library documents; torch's and scikit-learn's are not."""
    return [
        name
        for name, member in inspect.getmembers(thing, inspect.isroutine)
        if not name.startswith("_")
        and getattr(member, "__module__", "").startswith("walkconv")
        and member.__doc__
    ]


def name_shapes(
    app: Sphinx, what: str, name: str, thing: object, options, lines: list[str]
) -> None:
    """Show the section Shape of a layer as notes: numpydoc knows no such section."""
    for number in range(len(lines) - 1):
        if lines[number] == "Shape" and lines[number + 1].startswith("---"):
            lines[number : number + 2] = ["Notes", "-----", "**Shape**", ""]


def link_names(app: Sphinx, document: str, content: list[str]) -> None:
    """Let the names in the tables of the reference lead to their pages, and list the pages."""
    if document != PAGE:
        return
    own = own_names(content[0])
    first = set(own["walkconv"])
    parts = SECTION.split(content[0])
    linked = [parts[0]]
    for room, section in zip(parts[1::2], parts[2::2], strict=True):

        def link(match: re.Match[str], room: str = room) -> str:
            home = "walkconv" if match[1] in first else room
            return f"| [`{match[1]}`]({FOLDER}/{home}.{match[1]}.rst) |"

        linked.append(f"## {room}\n{ROW.sub(link, section)}")
    entries = [f"{FOLDER}/{room}.{name}" for room, names in own.items() for name in names]
    listing = "\n".join(["```{toctree}", ":hidden:", "", *entries, "```"])
    content[0] = f"{''.join(linked)}\n\n{listing}\n"


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension to the build."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_names)
    app.connect("autodoc-process-docstring", name_shapes, priority=100)  # before numpydoc
    return {"parallel_read_safe": True}
