"""Settings of the documentation site; `make docs` builds it."""

import os
import sys
import warnings
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

# numpydoc does not know this section of layers; `reference_pages` shows it.
warnings.filterwarnings("ignore", message="Unknown section Shape")

project = "walkconv"
author = "The walkconv developers"
release = version = version_of("walkconv")
copyright = f"The walkconv developers, BSD-3-Clause. Version {version}"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "checked_links",
    "outer_links",
    "plain_math",
    "reference_pages",
]
root_doc = "index"
exclude_patterns = ["_build", "gallery/README.*", "**/*.ipynb"]
nitpicky = False
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
myst_links_external_new_tab = False
html_math_renderer = "mathml"

autodoc_typehints = "none"  # numpydoc shows the types of the docstrings
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
default_role = "code"

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "image_scrapers": ("matplotlib",),
    "abort_on_example_error": True,
    "min_reported_time": 1,
    "plot_gallery": "WALKCONV_DOCS_PAGES" not in os.environ,
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "walkconv"
html_static_path = ["_static"]
html_css_files = ["walkconv.css"]
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "walkconv"},
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Only the guides, the gallery and the reference have pages below them to list at the side.
html_sidebars = {page.stem: [] for page in Path(__file__).parent.glob("*.md")}
del html_sidebars["reference"]
toc_object_entries_show_parents = "hide"
suppress_warnings = ["config.cache"]
