# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""compile_fail.py CASE.cpp -- COMPILER FLAG...

The case must compile as it is. With -DMISTAKE it must fail, and every `// expect: <regular expression>` of the file
must match the compiler's output. The twin proves that only the mistake makes it fail.
"""

import pathlib
import re
import subprocess
import sys


def main():
    case, compiler = sys.argv[1], sys.argv[3:]
    expected = re.findall(r"^// expect: (.+)$", pathlib.Path(case).read_text(encoding="utf-8"), re.MULTILINE)
    if not expected:
        sys.exit(f"{case} has no '// expect:' line")

    right = subprocess.run([*compiler, case], check=False, stderr=subprocess.PIPE, text=True)
    if right.returncode != 0:
        sys.exit(f"the right way does not compile:\n{right.stderr}")
    mistake = subprocess.run([*compiler, "-DMISTAKE", case], check=False, stderr=subprocess.PIPE, text=True)
    if mistake.returncode == 0:
        sys.exit("the mistake compiles")
    missing = [words for words in expected if not re.search(words, mistake.stderr)]
    if missing:
        sys.exit(f"the message does not say: {missing}\n{mistake.stderr}")


if __name__ == "__main__":
    main()
