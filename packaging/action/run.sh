#!/usr/bin/env bash
# The one step of action.yml, with its inputs as INPUT_…: measures, adds the answer to the job's summary, and fails where a case is slower than
# the baseline by more than the threshold. Where the runner has no hostmark, pip installs it beside the job.
set -euo pipefail

profile=${INPUT_PROFILE:-quick}
against=${INPUT_AGAINST:-}
threshold=${INPUT_THRESHOLD:-5}
temp=${RUNNER_TEMP:-${TMPDIR:-/tmp}}
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
outputs=${GITHUB_OUTPUT:-/dev/null}
read -r -a filters <<<"${INPUT_FILTERS:-}"

# A line above the job's log; what would end it early is written as the runner reads it.
annotate() { # LEVEL TEXT
    local text=${2//'%'/%25}
    text=${text//$'\r'/%0D}
    printf '::%s title=hostmark::%s\n' "$1" "${text//$'\n'/%0A}"
}

# Inputs are words of others: none of them is an option, and a version is no other requirement of pip's.
case " ${filters[*]}" in
*' -'*)
    annotate error "filters are groups, probes or cases, and none begins with -"
    exit 2
    ;;
esac
case ${INPUT_VERSION:-} in
*[!0-9A-Za-z.+!_-]*)
    annotate error "the version has other characters than those of a version"
    exit 2
    ;;
esac

if ! command -v hostmark >/dev/null; then
    python3 -m venv "$temp/hostmark-venv"
    "$temp/hostmark-venv/bin/pip" install --quiet --disable-pip-version-check -- "hostmark${INPUT_VERSION:+==$INPUT_VERSION}"
    PATH=$temp/hostmark-venv/bin:$PATH
fi

run=$(mktemp "$temp/hostmark-XXXXXX.json")
rm "$run"
status=0
hostmark --quiet run --profile="$profile" --out "$run" --format markdown -- "${filters[@]}" >>"$summary" || status=$?
# A case that failed leaves a run to look at.
if [ "$status" != 0 ] && [ "$status" != 3 ]; then
    annotate error "hostmark run ended with exit code $status"
    exit "$status"
fi
trust=$(sed -n '/"trust"/,/}/s/.*"grade": *"\([A-F]\)".*/\1/p' "$run" | head -n 1)
printf 'run=%s\ntrust=%s\n' "$run" "$trust" >>"$outputs"
annotate notice "measured${filters[*]:+ ${filters[*]}}, TRUST ${trust:-unknown}: the answer is in the job's summary"

compared=0
if [ -z "$against" ]; then
    printf 'verdict=\n' >>"$outputs"
elif [ -e "$against" ]; then
    hostmark --quiet compare --threshold="$threshold" --strict --format markdown -- "$against" "$run" >>"$summary" || compared=$?
else
    {
        printf '\n```\n'
        hostmark --quiet compare "$run" --against="$against" || compared=$?
        printf '```\n'
    } >>"$summary"
fi
case $compared in
0) verdict=same ;;
1) verdict=slower ;;
6) verdict=open ;;
*)
    annotate error "hostmark compare ended with exit code $compared: is $against a run?"
    exit "$compared"
    ;;
esac
if [ -n "$against" ]; then printf 'verdict=%s\n' "$verdict" >>"$outputs"; fi
case $verdict in
slower) annotate error "slower than $against by more than $threshold %: the summary names the cases" ;;
open) annotate warning "nothing is slower than $against, and some cases are open: the summary names them" ;;
esac
if [ "$compared" = 1 ]; then exit 1; fi
exit "$status"
