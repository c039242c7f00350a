"""Pages that live outside the folder of the documentation, and links to such files.

Some files of the repository are pages of the site too: the changelog, for example. Their page here
only names the file. Links work in the repository; on the site a link to a file that is a page leads
to that page, and a link to any other file becomes plain text. A link to no file is a warning.
"""

import re
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)
PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
    "experiments/README.md": "experiments.md",
}
"""Files of the repository, and the pages that show them."""
GALLERY = Path("examples/gallery")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#)([^)#\s]+)(#[^)]*)?\)")


def read(app: Sphinx, document: str, content: list[str]) -> None:
    """Replace the name of a file by its text, and turn links that leave the folder."""
    docs = Path(app.srcdir)
    files = {Path(page).stem: file for file, page in PAGES.items()}
    path = docs / f"{document}.md"
    if document in files:
        path = docs.parent / files[document]
        content[0] = path.read_text()
    if path.exists():
        content[0] = turned(content[0], path.parent, docs)


def turned(text: str, folder: Path, docs: Path) -> str:
    """Return text from a file in `folder` with its links as the site needs them."""

    def replaced(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        path = (folder / target).resolve()
        if path.is_relative_to(docs):
            return f"[{words}](/{path.relative_to(docs)}{anchor})"
        if not path.exists():
            logger.warning("a link to a file that does not exist: %s, from %s", target, folder)
        page = page_of(path.relative_to(docs.parent))
        return words if page is None else f"[{words}](/{page}{anchor})"

    return LINK.sub(replaced, text)


def page_of(file: Path) -> str | None:
    """Return the page that shows a file of the repository, if there is one."""
    if file == GALLERY:
        return "gallery/index.rst"
    if file.parent == GALLERY:
        return f"gallery/{file.stem}.rst"
    return PAGES.get(str(file))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension to the build."""
    app.connect("source-read", read, priority=400)  # before the names of the reference are linked
    return {"parallel_read_safe": True}
