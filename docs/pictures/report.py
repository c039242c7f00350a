"""Write reports on four data sets and photograph them in Chromium, for the documentation.

MNIST, METAB and MUTAG are read by the loaders of `walkconv.datasets`; the table of 20,000 columns
is drawn here, 200 groups of 100 columns. Needs Chromium and its driver on PATH.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys

import walkconv as wc

HERE = Path(__file__).parent
FLAGS = "--headless=new --no-sandbox --disable-gpu --hide-scrollbars --force-prefers-reduced-motion"


def report_mnist(page: Path) -> None:
    mnist = wc.datasets.load_mnist()
    varying = np.flatnonzero(np.ptp(mnist.X_train, axis=0))
    names = [f"pixel {pixel // 28}:{pixel % 28}" for pixel in varying]
    train, test = (pl.DataFrame(X[:, varying] / np.float32(255), schema=names)
                   for X in (mnist.X_train[:20_000], mnist.X_test))  # fmt: skip
    model = wc.GraphCNNClassifier(
        "C20", order="auto", conv_dropout=0.2, learning_rate=3e-3, max_iter=5, random_state=0
    )
    model.fit(train, mnist.y_train[:20_000]).report(page, test, mnist.y_test)


def report_metab(page: Path) -> None:
    metab = wc.datasets.load_merck("METAB")
    train, test = (
        pl.DataFrame(X, schema=list(metab.feature_names)) for X in (metab.X_train, metab.X_test)
    )
    model = wc.GraphCNNRegressor("C8-FC128", random_state=0).fit(train, metab.y_train)
    model.report(page, test, metab.y_test)


def report_mutag(page: Path) -> None:
    mutag = wc.datasets.load_tu("MUTAG")
    order = np.random.default_rng(0).permutation(len(mutag.y))
    train, test = order[:150], order[150:]
    model = wc.GraphCNNClassifier("C16-C16-G-FC32", n_neighbors=4, max_iter=40, random_state=0)
    model.fit([mutag.graphs[i] for i in train], mutag.y[train])
    model.report(page, [mutag.graphs[i] for i in test], mutag.y[test])


def report_wide(page: Path) -> None:
    rng = np.random.default_rng(0)
    factors = rng.normal(size=(600, 200))
    X = 0.7 * np.repeat(factors, 100, axis=1) + 0.7 * rng.normal(size=(600, 20_000))
    y = factors[:, 0] + factors[:, 1] * factors[:, 2]
    order = rng.permutation(20_000)
    table = pl.DataFrame(X[:, order].astype(np.float32), schema=[f"gene_{i:05d}" for i in order])
    model = wc.GraphCNNRegressor("C2-FC8", max_iter=2, n_members=1, random_state=0)
    model.fit(table[:400], y[:400]).report(page, table[400:], y[400:])


SHOTS = (
    ("report", report_mnist, "#structure", "pixel 14:14", "light", 760),
    ("report_dark", report_metab, "#structure", "D_294", "dark", 760),
    ("report_graphs", report_mutag, "#graphs", "", "light", 640),
    ("report_wide", report_wide, "#structure", "gene_00500", "light", 760),
)
"""Name, report, section, column to choose, colours, and height of each picture."""


def main() -> None:
    options = webdriver.ChromeOptions()
    for flag in FLAGS.split():
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    with tempfile.TemporaryDirectory() as folder:
        for name, report, section, column, colors, height in SHOTS:
            page = Path(folder, f"{name}.html")
            report(page)
            browser.set_window_size(1240, height)
            feature = {"name": "prefers-color-scheme", "value": colors}
            browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
            browser.get(page.as_uri())
            if column:
                browser.find_element("id", "search").send_keys(column, Keys.ENTER)
            browser.execute_script(f"document.querySelector('{section}').scrollIntoView()")
            browser.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0]))")
            browser.save_screenshot(str(HERE / f"{name}.png"))
            print(name, f"{(HERE / f'{name}.png').stat().st_size // 1024} KiB")
    browser.quit()


if __name__ == "__main__":
    main()
