// SPDX-FileCopyrightText: The Takt authors
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/completion_script.hpp"

TAKT_BEGIN_NAMESPACE
namespace cli {
namespace {

// Each asks the command that is being typed, so that no list here can be of another version.

constexpr const char* kBash = R"(# bash completion for takt, as `takt completion bash` prints it

_takt() {
  local program=${COMP_WORDS[0]/#\~/$HOME} word=${COMP_WORDS[COMP_CWORD]} line rest=
  local -a paths
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :*) rest=${line#:} ;;
      *) COMPREPLY+=("${line%%$'\t'*}") ;;
    esac
  done < <("$program" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  case $rest in
    folders) mapfile -t paths < <(compgen -d -- "$word") ;;
    files) mapfile -t paths < <(compgen -f -- "$word") ;;
    *) return ;;
  esac
  compopt -o filenames
  COMPREPLY+=("${paths[@]}")
}

complete -F _takt takt
)";

constexpr const char* kZsh = R"(#compdef takt
# zsh completion for takt, as `takt completion zsh` prints it

_takt() {
  local line rest
  local -a names shown
  while IFS= read -r line; do
    case $line in
      :*) rest=${line#:} ;;
      *) names+=("${line%%$'\t'*}")
         shown+=("${line/$'\t'/  -- }") ;;
    esac
  done < <("${(Q)words[1]/#\~/$HOME}" complete -- "${(@Q)words[2,CURRENT]}" 2>/dev/null)
  (( $#names )) && compadd -Q -l -d shown -a names
  case $rest in
    folders) _files -/ ;;
    files) _files ;;
  esac
}

if [[ $funcstack[1] == _takt ]]; then
  _takt "$@"
else
  compdef _takt takt
fi
)";

constexpr const char* kFish = R"(# fish completion for takt, as `takt completion fish` prints it

function __takt_complete
  set -l words (commandline -opc) (commandline -ct)
  for line in ($words[1] complete -- $words[2..-1] 2>/dev/null)
    switch $line
      case :folders
        __fish_complete_directories (commandline -ct) ''
      case :files
        __fish_complete_path (commandline -ct)
      case ':*'
      case '*'
        echo $line
    end
  end
end

complete -c takt -f -a '(__takt_complete)'
)";

}  // namespace

std::string completion_script(const std::string& shell) {
  return shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish;
}

}  // namespace cli
TAKT_END_NAMESPACE
