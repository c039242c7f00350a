"""After a build, every link within the site must lead to a file, and to a place in it.

Sphinx checks the links that it resolves itself. This reads the finished pages, as a browser would:
pictures, downloads, cards, and links in the pages of the gallery count too. A link that leads
nowhere is a warning. Links to other hosts are left alone.
"""

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


class Page(HTMLParser):
    """The links of a page, and the names that links can lead to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.names: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep what the element names and where it leads."""
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.names.add(value)
            if name in {"href", "src"} and value:
                self.links.append(value)


def check(app: Sphinx, exception: Exception | None) -> None:
    """Warn of every link of a finished site that leads nowhere."""
    if exception is None and app.builder.format == "html":
        for page, link in broken_links(Path(app.outdir)):
            logger.warning("%s has a link that leads nowhere: %s", page, link)


def broken_links(site: Path) -> Iterator[tuple[str, str]]:
    """Yield the page and the target of every broken link, with paths from the top of the site."""
    paths = sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)
    pages = {path: Page(path.read_text()) for path in paths}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            names = pages[target].names if target in pages else None
            is_place = not parts.fragment or names is None or unquote(parts.fragment) in names
            if not target.is_file() or not is_place:
                yield str(path.relative_to(site)), link


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension to the build."""
    app.connect("build-finished", check)
    return {"parallel_read_safe": True}
