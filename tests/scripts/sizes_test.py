# SPDX-FileCopyrightText: The Takt authors
# SPDX-License-Identifier: BSD-3-Clause
"""Tests that lint.sizes counts correctly: bodies from brace to brace, and each line that is too long."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

LINT = pathlib.Path(__file__).resolve().parent.parent / "lint"
sys.path.insert(0, str(LINT))
import functions  # noqa: E402

TEXT = r'''
namespace a::b {
enum class Kind : int { one, two };
struct alignas(64) Values {
  int number{3};
  std::array<int, 2> pair = {1, 2};
  const char* text = "}{";  // } not a brace
  int one() const { return 1; }
  template <class T = std::vector<int>>
  auto two() const noexcept(noexcept(T{})) -> std::pair<int, int> {
    if (number) {
      return {1, 2};
    }
    auto inner = [&] {
      return 3;
    };
    return {0, 0};
  }
  Values(int x)
      : number{x}, pair{{1, 2}} {
    number = 1'000;
  }
};
constexpr auto after = [](int a) {
  return a;
};
const Table table[] = {{"one", [](int) { return 1; }}, {"two", &two}};
#if defined(X)
int branch(int a) {
#else
int branch(long a) {
#endif
  return a;
}
void tried() try {
  call();
} catch (...) {
  call(R"({)");
}
#define MACRO(x) \
  do {           \
  } while (0)
}
'''


class Functions(unittest.TestCase):
    def test_bodies_from_brace_to_brace(self):
        found = [(function.name, function.lines) for function in functions.of(TEXT)]
        self.assertEqual(found, [("one", 1), ("two", 9), ("Values", 3), ("a lambda", 3), ("a lambda", 1), ("branch", 4),
                                 ("tried", 5), ("#define MACRO(x)", 3)])

    def test_a_lambda_within_a_function_belongs_to_it(self):
        self.assertEqual([each.lines for each in functions.of("void f() {\n  g([] {\n  });\n}\n")], [4])


class Sizes(unittest.TestCase):
    def lint(self, text):
        with tempfile.TemporaryDirectory() as root:
            (pathlib.Path(root) / "src").mkdir()
            (pathlib.Path(root) / "src/one.cpp").write_text(text, encoding="utf-8")
            done = subprocess.run([sys.executable, "-B", str(LINT / "sizes.py"), root], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
            return done.returncode, [line for line in done.stdout.splitlines() if "src/" in line]

    def test_a_line_may_have_120_characters_and_a_function_any_number_of_lines(self):
        self.assertEqual(self.lint("void f() {\n" + "  g();\n" * 100 + "}\n" + "/" * 120 + "\n"), (0, []))

    def test_a_longer_line_is_an_error(self):
        self.assertEqual(self.lint("\n" + "/" * 121), (1, ["src/one.cpp:2: 121 characters; 120 are the most"]))

    def test_a_file_of_more_than_600_lines_is_a_warning(self):
        self.assertEqual(self.lint("//\n" * 600), (0, []))
        self.assertEqual(self.lint("//\n" * 601), (0, ["warning: src/one.cpp has 601 lines"]))


unittest.main()
