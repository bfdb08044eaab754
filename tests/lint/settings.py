# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that the YAML settings are valid and name existing things: workflows, issue forms, pre-commit hooks."""

import re
import sys
import tree

SKIPPED = 77
SCRIPT = re.compile(r"(?<![\w./-])(?:scripts|tests)/[\w./-]+\.(?:sh|py)\b")
FORM_PARTS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}

try:
    import yaml
except ImportError:
    print("not checked: no python3-yaml")
    sys.exit(SKIPPED)


def all_settings():
    """Returns (path, settings), or (path, None and the parse error)."""
    paths = [*(tree.root() / ".github").rglob("*.y*ml"), tree.root() / ".pre-commit-config.yaml"]
    for path in sorted(paths):
        try:
            yield path.relative_to(tree.root()).as_posix(), yaml.safe_load(path.read_text(encoding="utf-8")), None
        except (OSError, yaml.YAMLError) as error:
            yield path.relative_to(tree.root()).as_posix(), None, " ".join(str(error).split())


def command_problems(path, command):
    for script in SCRIPT.findall(command):
        if not (tree.root() / script).is_file():
            yield f"{path}: there is no {script}"


def workflow_problems(path, said):
    steps = [step for job in said["jobs"].values() for step in job["steps"]]
    commands = [step["run"] for step in steps if "run" in step]
    for command in commands:
        yield from command_problems(path, command)
    for wanted in ("scripts/test.sh", "scripts/test.sh --full", "scripts/test.sh --nightly"):
        if path.endswith("/test.yml") and wanted not in commands:
            yield f"{path}: no step runs {wanted}"


def form_problems(path, said):
    for field in ("name", "description", "body"):
        if not said.get(field):
            yield f"{path}: no {field}"
    for part in said.get("body", []):
        if part.get("type") not in FORM_PARTS or not part.get("attributes"):
            yield f"{path}: {part} is no part of a form"


def hook_problems(path, said):
    hooks = [hook for repository in said["repos"] for hook in repository["hooks"]]
    for repository in said["repos"]:
        if repository["repo"] != "local":
            yield f"{path}: {repository['repo']} is not of this repository"
    for hook in hooks:
        yield from command_problems(path, hook["entry"])
        if hook["language"] != "system":
            yield f"{path}: the hook {hook['id']} would fetch {hook['language']}"
    listing = (tree.root() / "tests/lint/CMakeLists.txt").read_text(encoding="utf-8")
    for lint in re.findall(r"^takt_add_lint\((\w+)", listing, re.MULTILINE):
        if not any(f"tests/lint/{lint}.py" in hook["entry"] for hook in hooks):
            yield f"{path}: no hook runs tests/lint/{lint}.py"


def problems():
    found = set()
    for path, said, error in all_settings():
        found.add(path)
        if said is None:
            yield f"{path}: {error or 'says nothing'}"
        elif path.startswith(".github/workflows/"):
            yield from workflow_problems(path, said)
        elif path == ".pre-commit-config.yaml":
            yield from hook_problems(path, said)
        elif not path.endswith("/config.yml"):
            yield from form_problems(path, said)
    for wanted in (".github/workflows/test.yml", ".github/ISSUE_TEMPLATE/bug.yml"):
        if wanted not in found:
            yield f"there is no {wanted}"
    print(f"{len(found)} files")


tree.finish(list(problems()))
