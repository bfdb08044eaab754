# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Takes the picture of a run's charts in MLflow: mlflow_picture.py URL-of-the-run OUT.png. Needs playwright and
chromium."""

import shutil
import sys
from playwright import sync_api

PATIENCE_MS = 120_000
BESIDE = ("mlflow_header.toggle_sidebar_button", "mlflow.assistant.chat_panel.close")


def main():
    url, out = sys.argv[1:]
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 830, "height": 632}, device_scale_factor=2)
        page.goto(f"{url}/model-metrics", timeout=PATIENCE_MS)
        for button in BESIDE:
            page.locator(f"[data-component-id='{button}']").click(timeout=PATIENCE_MS)
        page.locator(".js-plotly-plot .trace").first.wait_for(timeout=PATIENCE_MS)
        page.mouse.move(1, 1)
        page.wait_for_timeout(2_000)  # until the tooltip of a chart under the mouse has closed
        page.screenshot(path=out)
        browser.close()


main()
