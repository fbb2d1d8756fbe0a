/**
 * The scripts by which a shell completes `drydock`. Each asks `drydock completion --words -- WORDS…`, which
 * prints a candidate and a description in each line, with a tab between; without any, files are completed.
 */
export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

export const COMPLETION_SCRIPTS: { readonly [shell in Shell]: string } = {
  bash: `# Completion of drydock for bash: eval "$(drydock completion bash)"
_drydock() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("$(printf '%q' "\${line%%$'\\t'*}")")
  done < <(drydock completion --words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _drydock drydock
`,
  zsh: `#compdef drydock
# Completion of drydock for zsh: eval "$(drydock completion zsh)"
_drydock() {
  local -a candidates
  local line
  while IFS= read -r line; do
    candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done < <(drydock completion --words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( $#candidates )); then _describe drydock candidates; else _files; fi
}
# From a folder of fpath this file is the function itself.
if [[ $funcstack[1] == _drydock ]]; then _drydock "$@"; else compdef _drydock drydock; fi
`,
  fish: `# Completion of drydock for fish: drydock completion fish | source
function __drydock_words
  set -l words (commandline -opc)[2..] (commandline -ct)
  set -l candidates (drydock completion --words -- $words 2>/dev/null)
  if test (count $candidates) -gt 0
    printf '%s\\n' $candidates
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c drydock -f -a '(__drydock_words)'
`,
};
