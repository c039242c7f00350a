"""Reports in a real browser: Chromium without a window, driven by selenium.

Any Chromium or Chrome with its driver will do. Without one the tests are skipped, or fail if
WALKCONV_NEEDS_BROWSER=1 is set.
"""

import base64
import json
import os
import shutil
from contextlib import contextmanager
from itertools import pairwise

import pytest

from .conftest import HOSTILE

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync "
    "--disable-background-networking --disable-component-update --disable-dev-shm-usage "
    "--force-prefers-reduced-motion --window-size=1280,900"
)
REMEDY = (
    "The tests of reports need Chromium and its driver: apt-get install chromium chromium-driver "
    "(as root), or put chromium and chromedriver on PATH."
)


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One browser for all tests."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if program is None or driver is None:
        if os.environ.get("WALKCONV_NEEDS_BROWSER") == "1":
            pytest.fail(REMEDY)
        pytest.skip(REMEDY)
    webdriver = pytest.importorskip("selenium.webdriver", reason="pip install walkconv[test]")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for flag in FLAGS.split():
        options.add_argument(flag)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('browser')}")
    options.binary_location = program
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    yield opened
    opened.quit()


@pytest.fixture(scope="session")
def pages(hostile, digits, molecules, sensors, tmp_path_factory):
    """The reports of all models, by name."""
    folder = tmp_path_factory.mktemp("pages")
    cases = {"hostile": hostile, "digits": digits, "molecules": molecules, "sensors": sensors}
    for name, case in cases.items():
        case.model.report(folder / f"{name}.html", case.X, case.y)
    return {name: (folder / f"{name}.html").as_uri() for name in cases}


@contextmanager
def clean(browser):
    """Fail if the page asks for anything but itself, or writes an error or warning."""
    browser.get_log("browser")
    browser.get_log("performance")
    yield
    assert browser.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    asked = [
        e["params"]["request"]["url"] for e in events if e["method"].endswith("requestWillBeSent")
    ]
    assert {url.split("#")[0] for url in asked} <= {browser.current_url.split("#")[0]}


def find(browser, selector):
    return browser.find_element("css selector", selector)


def chosen(browser):
    """Return the name of the chosen column, "" if there is none."""
    return browser.execute_script("return document.querySelector('#chosen h3')?.textContent ?? ''")


def search(browser, text, *keys):
    field = find(browser, "#search")
    browser.execute_script("arguments[0].value = ''", field)
    field.send_keys(text, *keys)


@pytest.mark.parametrize("name", ["hostile", "digits", "molecules", "sensors"])
def test_a_page_opens_without_errors_and_without_a_network(browser, pages, name):
    with clean(browser):
        browser.get(pages[name])
        assert find(browser, "h1").text.startswith("GraphCNN")
        has_map = find(browser, "body").get_attribute("innerHTML").count('id="canvas"') == 1
        assert has_map == (name != "molecules")


def test_hostile_names_stay_text_in_the_browser(browser, pages):
    from selenium.webdriver.common.keys import Keys

    with clean(browser):
        browser.get(pages["hostile"])
        for name in HOSTILE:
            search(browser, name[:9], Keys.ENTER)
            assert chosen(browser) == name
        assert browser.title.startswith("GraphCNNRegressor C4-P4-FC8 ")
        assert browser.find_elements("css selector", "img, iframe, object") == []
        assert len(browser.find_elements("css selector", "script")) == 2


def test_the_policy_of_the_page_blocks_a_script_that_is_put_into_it(browser, pages):
    browser.get(pages["hostile"])
    browser.execute_script(
        "const s = document.createElement('script'); s.textContent = 'document.title = \"broken\"';"
        "document.body.append(s);"
    )
    assert browser.title != "broken"


def test_search_lists_names_and_enter_chooses_the_marked_one(browser, pages):
    from selenium.webdriver.common.keys import Keys

    with clean(browser):
        browser.get(pages["digits"])
        search(browser, "PIXEL 3")
        options = browser.find_elements("css selector", "#found [role=option]")
        assert [option.text for option in options] == [f"pixel 3 {i}" for i in range(8)]
        assert find(browser, "#search").get_attribute("aria-expanded") == "true"
        find(browser, "#search").send_keys(Keys.ARROW_DOWN, Keys.ARROW_DOWN)
        marked = find(browser, "#search").get_attribute("aria-activedescendant")
        assert find(browser, f"#{marked}").get_attribute("aria-selected") == "true"
        find(browser, "#search").send_keys(Keys.ENTER)
        assert chosen(browser) == "pixel 3 1"
        assert find(browser, "#told").get_attribute("textContent").startswith("pixel 3 1. Neigh")


def test_the_panel_lists_the_neighbours_of_the_model_in_order(browser, pages, hostile):
    from selenium.webdriver.common.keys import Keys

    browser.get(pages["hostile"])
    search(browser, "plain 7", Keys.ENTER)
    listed = browser.execute_script(
        "return [...document.querySelectorAll('#chosen button')].map((b) => b.textContent)"
    )
    names = hostile.X.columns
    expected = [names[i] for i in hostile.model.neighbors_.index[7] if i >= 0]
    assert listed == ["itself", *expected[1:]]
    browser.find_elements("css selector", "#chosen button")[1].click()
    assert chosen(browser) == expected[1]


def test_a_click_on_the_map_chooses_the_column_that_is_there(browser, pages, digits):
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    drawn = digits.model.summarize()["map"]
    number = drawn["names"].index("pixel 3 5")
    with clean(browser):
        browser.get(pages["digits"])
        canvas = find(browser, "#canvas")
        browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
        # As the page does it: the whole map in the middle, with a margin.
        width, height = canvas.size["width"], canvas.size["height"]
        ends = max(drawn["x"]), max(drawn["y"])
        scale = min((width - 44) / ends[0], (height - 44) / ends[1])
        aside = [
            (drawn[axis][number] - end / 2) * scale for axis, end in zip("xy", ends, strict=True)
        ]
        ActionChains(browser).move_to_element_with_offset(canvas, *map(round, aside)).perform()
        assert find(browser, "#tip").text.startswith("pixel 3 5 · ")
        ActionChains(browser).click().perform()
        assert chosen(browser) == "pixel 3 5"
        canvas.send_keys(Keys.ARROW_RIGHT)
        assert chosen(browser) == "pixel 4 5"  # the first axis of the positions goes across
        canvas.send_keys(Keys.ARROW_UP)
        assert chosen(browser) == "pixel 4 4"
        canvas.send_keys(Keys.ESCAPE)
        assert chosen(browser) == ""


def test_the_colour_of_the_map_can_be_changed(browser, pages):
    browser.get(pages["digits"])
    picture = "return document.getElementById('canvas').toDataURL()"
    redrawn = "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));"
    before = browser.execute_script(picture)
    find(browser, "#color option[value='1']").click()
    browser.execute_async_script(redrawn)
    assert browser.execute_script(picture) != before


def test_dark_and_light_follow_the_system_and_the_button(browser, pages):
    def is_dark():
        paper = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
        return sum(map(int, paper.removeprefix("rgb(").removesuffix(")").split(","))) < 200

    def system(scheme):
        feature = {"name": "prefers-color-scheme", "value": scheme}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    with clean(browser):
        system("dark")
        browser.get(pages["digits"])
        assert is_dark()
        find(browser, "#theme").click()
        assert not is_dark()
        system("light")
        browser.get(pages["digits"])
        assert not is_dark()
        find(browser, "#theme").click()
        assert is_dark()
        assert find(browser, "#theme").get_attribute("aria-pressed") == "true"


def test_the_page_prints_in_light_colours_with_all_sections_unfolded(browser, pages):
    with clean(browser):
        browser.get(pages["digits"])
        find(browser, "#theme").click()
        browser.execute_script(
            "const { dataset } = document.documentElement;"
            "const folded = () => document.querySelectorAll('details:not([open])').length;"
            "addEventListener('beforeprint', () => window.seen = [dataset.theme, folded()])"
        )
        paper = base64.b64decode(browser.print_page())
        assert paper.startswith(b"%PDF")
        assert len(paper) > 20_000
        assert browser.execute_script("return window.seen") == ["light", 0]
        assert browser.execute_script("return document.documentElement.dataset.theme") == "dark"
        assert browser.find_elements("css selector", "details:not([open])")


def test_nothing_is_wider_than_a_phone(browser, pages):
    for name in pages:
        browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": 375, "height": 700, "deviceScaleFactor": 1, "mobile": True},
        )
        browser.get(pages[name])
        width = browser.execute_script("return document.documentElement.scrollWidth")
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        assert width <= 375, name


def test_every_control_and_picture_has_a_name_for_a_screen_reader(browser, pages):
    for name, page in pages.items():
        browser.get(page)
        nameless = browser.execute_script(
            """
            const named = (e) => e.getAttribute('aria-label') || e.getAttribute('aria-labelledby')
              || e.textContent.trim() || (e.labels && e.labels.length);
            const all = 'button, a, input, select, svg, canvas, section, table';
            const nameless = [...document.querySelectorAll(all)].filter((e) => !named(e));
            return nameless.map((e) => e.outerHTML);
            """
        )
        assert nameless == [], name
        headings = browser.execute_script(
            "return [...document.querySelectorAll('h1, h2, h3')].map((h) => +h.tagName[1])"
        )
        assert headings[0] == 1
        assert all(after <= before + 1 for before, after in pairwise(headings))


def test_the_keyboard_reaches_every_control_of_the_map(browser, pages):
    from selenium.webdriver.common.keys import Keys

    browser.get(pages["digits"])
    find(browser, "#search").click()
    reached = []
    for _ in range(6):
        reached.append(browser.switch_to.active_element.get_attribute("id"))
        browser.switch_to.active_element.send_keys(Keys.TAB)
    assert reached == ["search", "color", "closer", "farther", "whole", "canvas"]
