#!/usr/bin/env bash
# Check files, write SARIF, and add the report to the summary of the job.
#
# Input: TOOL, FILES (a path or glob on each line), REGION, PARAMETERS (NAME=VALUE on each line), FAIL_ON, SARIF_FILE;
#        GITHUB_OUTPUT and GITHUB_STEP_SUMMARY as GitHub sets them.
# Exit status: that of `plimsoll lint`: 0 nothing found, 1 a finding, 2 bad input.
set -u -o pipefail
shopt -s globstar nullglob

# The runner takes lines of the log for its commands (::error::, ##[group]), and a pull request chooses names in a
# report. It takes none until it reads this token again, which nobody knows in advance.
token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
[[ ${#token} == 32 ]] || { echo "no random numbers on this machine"; exit 2; }
echo "::stop-commands::$token"
trap 'echo "::$token::"' EXIT

# A message of our own is a command: only after the token, and on one line.
fail() {
  local text=${1//'%'/%25}
  text=${text//$'\r'/%0D}
  trap - EXIT
  echo "::$token::"
  echo "::error::${text//$'\n'/%0A}"
  exit 2
}

files=()
while IFS= read -r line; do
  [[ -n ${line//[[:space:]]/} ]] || continue
  if [[ -e $line ]]; then
    files+=("$line")
    continue
  fi
  # No splitting: a glob may match names with spaces.
  IFS='' matches=($line)
  ((${#matches[@]})) || fail "no file matches '$line'"
  files+=("${matches[@]}")
done <<< "$FILES"
((${#files[@]})) || fail "no files were given"

options=(--fail-on "$FAIL_ON")
[[ -z $REGION ]] || options+=(--region "$REGION")
while IFS= read -r line; do
  [[ -z $line ]] || options+=(--parameter "$line")
done <<< "$PARAMETERS"

check() { plimsoll lint "$TOOL" "${options[@]}" "$@" -- "${files[@]}"; }

check --width 120
status=$?
if ((status < 2)); then
  check --format markdown >> "$GITHUB_STEP_SUMMARY"
  check --format sarif > "$SARIF_FILE"
  echo "sarif-file=$SARIF_FILE" >> "$GITHUB_OUTPUT"
fi
echo "status=$status" >> "$GITHUB_OUTPUT"
exit "$status"
