#!/usr/bin/env bash
# Checks what starts hostmark elsewhere: `packaging/check-integrations.sh PROGRAM`. The action's step is executed as a runner would, with a baseline it
# meets, one it cannot, and none; the component's script, cloud-init's commands, Slurm's epilog and Ansible's role likewise, and each variant that rejects an instance with a hostmark that says so and one that does not. Every file is held to the schema or the linter of what reads it, as
# far as that is here. Ends with 1 when something is wrong; a line that begins with "skipped" tells what could not be looked at.
#
# Linters: shellcheck, actionlint, check-jsonschema, kubernetes-validate, ansible-lint, cloud-init.
set -euo pipefail

if [ $# != 1 ] || [ ! -x "$1" ]; then
    echo "give the program: packaging/check-integrations.sh target/debug/hostmark"
    exit 2
fi
program=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ANSIBLE_HOME=$work/ansible
failed=0
skip() { printf 'skipped: %s\n' "$*"; }
wrong() {
    printf 'wrong: %s\n' "$*"
    failed=1
}

# A linter and its words, which end well.
lint() { # WHAT TOOL WORDS…
    local what=$1
    shift
    if ! command -v "$1" >/dev/null; then skip "$what: there is no $1"; return; fi
    if "$@" >"$work/lint" 2>&1; then printf 'ok: %s (%s)\n' "$what" "$1"; else wrong "$what, says $1: $(tail -n 20 "$work/lint")"; fi
}

scripts() {
    lint "shell scripts" shellcheck -x packaging/*.sh packaging/action/run.sh packaging/slurm/epilog.sh
}

# The step as the runner starts it; its exit code goes to `code`.
step() { # NAME=VALUE…
    code=0
    : >"$work/summary"
    : >"$work/output"
    env -i PATH="$work/bin:/usr/bin:/bin" HOME="$work" XDG_DATA_HOME="$work/data" LC_ALL=C.UTF-8 RUNNER_TEMP="$work/temp" GITHUB_ACTIONS=true \
        GITHUB_STEP_SUMMARY="$work/summary" GITHUB_OUTPUT="$work/output" INPUT_PROFILE=quick INPUT_FILTERS='syscall.null clock.read' \
        "$@" packaging/action/run.sh >"$work/log" 2>&1 || code=$?
    run=$(sed -n 's/^run=//p' "$work/output")
}

# What a step must leave behind.
holds() { # CODE VERDICT ANNOTATION
    [ "$code" = "$1" ] || wrong "the step ends with $code, not $1: $(tail -n 3 "$work/log")"
    grep -qx "verdict=$2" "$work/output" || wrong "the verdict is not '$2': $(cat "$work/output")"
    grep -q "^::$3 title=hostmark::" "$work/log" || wrong "no line of the log is an $3: $(cat "$work/log")"
    grep -q 'hostmark' "$work/summary" || wrong "the summary has no answer"
    grep -qE '^trust=[A-F]$' "$work/output" || wrong "there is no grade"
}

action() {
    mkdir -p "$work/bin" "$work/temp"
    ln -s "$program" "$work/bin/hostmark"
    step
    holds 0 '' notice
    [ -s "$run" ] || wrong "there is no run file"
    # The run's own values are met.
    local baseline=$work/baseline.json
    cp "$run" "$baseline"
    step INPUT_AGAINST="$baseline" INPUT_THRESHOLD=900
    if grep -qx verdict=open "$work/output"; then holds 0 open warning; else holds 0 same notice; fi
    # What a comparison that finds something slower ends with.
    mkdir "$work/slower"
    printf '#!/bin/sh\ncase " $* " in *" compare "*) exit 1 ;; *) exec "%s" "$@" ;; esac\n' "$program" >"$work/slower/hostmark"
    chmod +x "$work/slower/hostmark"
    step PATH="$work/slower:/usr/bin:/bin" INPUT_AGAINST="$baseline"
    holds 1 slower error
    step INPUT_AGAINST=x220
    holds 0 same notice
    grep -q 'ThinkPad X220' "$work/summary" || wrong "the summary names no reference"
    step INPUT_FILTERS=no.such.probe
    [ "$code" = 4 ] || wrong "a filter that selects nothing ends with $code"
    grep -q '^::error title=hostmark::' "$work/log" || wrong "and is no error"
    # Words of others are words: no option, no command, no file name. A stand-in prints what it is started with.
    mkdir "$work/words"
    # shellcheck disable=SC2016 # its own words
    printf '#!/bin/sh\nprintf "<%%s>" "$@" >>"%s"; echo >>"%s"; exit 9\n' "$work/started" "$work/started" >"$work/words/hostmark"
    chmod +x "$work/words/hostmark"
    # shellcheck disable=SC2016 # the text of an input
    step PATH="$work/words:/usr/bin:/bin" INPUT_FILTERS='clock.read * $(touch PWNED)'
    # shellcheck disable=SC2016 # the text of an input
    grep -qF '<--><clock.read><*><$(touch><PWNED)>' "$work/started" || wrong "the step starts $(cat "$work/started")"
    : >"$work/started"
    step PATH="$work/words:/usr/bin:/bin" INPUT_FILTERS='clock.read --on=./evil.sh'
    [ "$code $(cat "$work/started")" = "2 " ] || wrong "a filter that is an option ends with $code"
    step PATH=/usr/bin:/bin INPUT_VERSION='1 --index-url=https://evil.invalid'
    [ "$code" = 2 ] || wrong "a version that is none ends with $code"
    echo "ok: the action's step, eight times"
}

# What the component's script becomes of inputs that are not what they should be, which GitLab's own check of them would stop before.
component() {
    if ! python3 -c 'import yaml' 2>/dev/null; then skip "GitLab's component, executed: there is no yaml of python3"; return; fi
    python3 - packaging/gitlab/templates/hostmark.yml "$work/component" <<'PY'
import re, shlex, sys, yaml
head, job = open(sys.argv[1]).read().split("\n---\n")
inputs = yaml.safe_load(head)["spec"]["inputs"]
bad = "clock.read; touch PWNED; $(touch PWNED) `touch PWNED` * --on=./evil.sh"
for name in ("filters", "against", "threshold", "version"):
    assert not re.fullmatch(inputs[name]["regex"], bad), name
assert re.fullmatch(inputs["filters"]["regex"], "memory.read@size=4K,cpus=same_cpu ipc clock.*")
assert "options" in inputs["profile"]
job = yaml.safe_load(re.sub(r"\$\[\[ inputs\.\w+ \]\]", lambda match: bad, job.replace("$[[ inputs.tags ]]", "[]")))["hostmark"]
assert not any("PWNED" in line for line in job["script"]), "an input stands in the script"
words = [f"export {name}={shlex.quote(of['value'])}" for name, of in job["variables"].items()]
assert all(of["expand"] is False for of in job["variables"].values())
open(sys.argv[2], "w").write("\n".join(words + job["script"]) + "\n")
PY
    mkdir "$work/runner"
    : >"$work/started"
    (cd "$work/runner" && PATH="$work/words:/usr/bin:/bin" sh "$work/component" >/dev/null 2>&1) || true
    [ ! -e "$work/runner/PWNED" ] || wrong "GitLab's component executes what stands in an input"
    # shellcheck disable=SC2016 # the text of an input
    grep -qF '<--><clock.read;><touch><PWNED;><$(touch>' "$work/started" || wrong "the component starts $(cat "$work/started")"
    echo "ok: GitLab's component, with inputs of a stranger"
}

# An instance unpacks what has the digest that stands in its user data, and nothing else.
user_data() {
    if ! python3 -c 'import yaml' 2>/dev/null; then skip "cloud-init's commands, executed: there is no yaml of python3"; return; fi
    mkdir "$work/instance" "$work/fetch" "$work/tarball"
    ln -s "$program" "$work/tarball/hostmark"
    tar -C "$work" -cf "$work/hostmark.tar" tarball
    # shellcheck disable=SC2016 # its own words
    printf '#!/bin/sh\ncp "%s" "$2"\n' "$work/hostmark.tar" >"$work/fetch/curl"
    printf '#!/bin/sh\necho run >>"%s"\n' "$work/instance/ran" >"$work/fetch/hostmark"
    chmod +x "$work/fetch/curl" "$work/fetch/hostmark"
    local digest became
    for digest in 0000000000000000000000000000000000000000000000000000000000000000 "$(sha256sum <"$work/hostmark.tar" | cut -d' ' -f1)"; do
        python3 - packaging/cloud-init/hostmark.yaml "$work/instance" "$digest" >"$work/commands" <<'PY'
import sys, yaml
[[sh, options, script]] = yaml.safe_load(open(sys.argv[1]))["runcmd"]
assert sh == "sh" and "e" in options
script = script.replace("0" * 64, sys.argv[3]).replace("/usr/local", sys.argv[2]).replace("/var/lib", sys.argv[2])
print("set", options.replace("c", ""), "\n", script, sep=" ")
PY
        became=0
        PATH="$work/fetch:/usr/bin:/bin" sh "$work/commands" >"$work/log" 2>&1 || became=$?
        became="$became $(find "$work/instance" -mindepth 1 -printf '%f\n' | sort | tr '\n' ' ')"
        case "$digest $became" in
        000000*' 1 ' | *' 0 hostmark ran ') ;;
        *) wrong "with the digest $digest the commands end with, and leave: $became: $(cat "$work/log")" ;;
        esac
    done
    echo "ok: cloud-init's commands, twice"
}

# A stand-in for hostmark whose runs end with this code, in $work/ends; it notes what it is started with.
ends_with() { # CODE
    mkdir -p "$work/ends"
    printf '#!/bin/sh\necho "$*" >>"%s"\nexit %s\n' "$work/asked" "$1" >"$work/ends/hostmark"
    chmod +x "$work/ends/hostmark"
    : >"$work/asked"
}

# What each variant that rejects an instance makes of a run that is not known to be as usual, and of one that is.
reject() {
    local code became glance='run --profile glance --expect usual'
    for code in 6 0; do
        ends_with "$code"
        became=0
        env HOSTMARK="$work/ends/hostmark" HOSTMARK_DATA="$work/reject-$code" HOSTMARK_REJECT='1 6' sh packaging/slurm/epilog.sh 2>/dev/null || became=1
        [ "$became" = $((code > 0)) ] || wrong "where a run ends with $code the epilog ends with $became"
        grep -qx -- "--quiet $glance" "$work/asked" || wrong "the epilog starts $(cat "$work/asked")"
    done
    if ! python3 -c 'import yaml' 2>/dev/null; then skip "cloud-init's and Kubernetes' variants, executed: there is no yaml of python3"; return; fi
    # shellcheck disable=SC2016 # its own words
    printf '#!/bin/sh\necho "kubectl $*" >>"%s"\n' "$work/asked" >"$work/ends/kubectl"
    chmod +x "$work/ends/kubectl"
    python3 - packaging >"$work/init" <<'PY'
import shlex, sys, yaml
containers = list(yaml.safe_load_all(open(sys.argv[1] + "/kubernetes/reject.yaml")))[-1]["spec"]["template"]["spec"]["initContainers"]
program = lambda image: "kubectl" if "/kubectl:" in image else "hostmark"
print(" && ".join(shlex.join([program(of["image"]), *of["args"]]) for of in containers))
PY
    python3 - packaging >"$work/user-data" <<'PY'
import sys, yaml
[[_, _, script]] = yaml.safe_load(open(sys.argv[1] + "/cloud-init/hostmark.yaml"))["runcmd"]
decides = script[script.index("if [ -n"):]
print("set -eu\nreject='1 6'\n" + decides)
PY
    for code in 6 0; do
        ends_with "$code"
        became=0
        PATH="$work/ends:/usr/bin:/bin" sh "$work/init" || became=1
        [ "$became $(grep -c taint "$work/asked")" = "$((code > 0)) $((code > 0 ? 1 : 2))" ] || wrong "where a run ends with $code, Kubernetes does: $(cat "$work/asked")"
        ends_with "$code"
        became=0
        PATH="$work/ends:/usr/bin:/bin" sh "$work/user-data" || became=1
        [ "$became" = $((code > 0)) ] || wrong "where a run ends with $code, the boot ends with $became"
        grep -qx -- "$glance" "$work/asked" || wrong "cloud-init starts $(cat "$work/asked")"
    done
    echo "ok: what rejects an instance, with 6 and with 0"
}

epilog() {
    local runs
    for _ in 1 2; do
        env HOSTMARK="$program" HOSTMARK_DATA="$work/slurm" sh packaging/slurm/epilog.sh || wrong "the epilog fails, which drains a node"
    done
    runs=$(find "$work/slurm/hostmark/series/epilog" -name '*.json' 2>/dev/null | wc -l)
    [ "$runs" = 1 ] || wrong "two epilogs within a day left $runs runs"
    env HOSTMARK=/nowhere/hostmark HOSTMARK_DATA="$work/slurm-2" sh packaging/slurm/epilog.sh || wrong "the epilog without hostmark fails"
    env HOSTMARK_DATA=/proc/nowhere sh packaging/slurm/epilog.sh 2>/dev/null || wrong "the epilog without a place fails"
    [ "$failed" = 1 ] || echo "ok: Slurm's epilog"
}

ansible() {
    lint "Ansible's role" ansible-lint --offline --profile production packaging/ansible/hostmark
    if ! command -v ansible-playbook >/dev/null; then skip "Ansible's role: there is no ansible-playbook"; return; fi
    cat >"$work/play.yml" <<PLAY
- hosts: localhost
  connection: local
  gather_facts: false
  vars: {ansible_python_interpreter: "{{ ansible_playbook_python }}"}
  roles:
    - role: hostmark
      vars: {hostmark_program: "$program", hostmark_path: "$work/installed", hostmark_run: "$work/role/run.json", hostmark_filters: [syscall.null]}
PLAY
    # shellcheck disable=SC2054 # the comma makes a list of hosts of a name
    local play=(env ANSIBLE_ROLES_PATH="$PWD/packaging/ansible" ANSIBLE_LOCALHOST_WARNING=false XDG_DATA_HOME="$work/data" ansible-playbook -i localhost, "$work/play.yml")
    "${play[@]}" >"$work/first" 2>&1 || { wrong "the role fails: $(tail -n 5 "$work/first")"; return; }
    "${play[@]}" >"$work/second" 2>&1 || wrong "the role fails the second time"
    [ -s "$work/role/run.json" ] || wrong "the role leaves no run"
    grep -q 'changed=3 ' "$work/first" || wrong "the role changes nothing"
    grep -q 'changed=0 ' "$work/second" || wrong "the role changes something each time"
    echo "ok: Ansible's role, twice"
    local code became
    for code in 6 0; do
        ends_with "$code"
        sed "s|hostmark_filters: .*}|hostmark_reject: [1, 6]}|; s|hostmark_program: \"[^\"]*\"|hostmark_program: \"$work/ends/hostmark\"|" "$work/play.yml" >"$work/reject.yml"
        became=0
        "${play[@]/play.yml/reject.yml}" >"$work/rejected" 2>&1 || became=1
        [ "$became" = $((code > 0)) ] || wrong "where a run ends with $code, the role ends with $became: $(tail -n 5 "$work/rejected")"
        grep -qx -- '--quiet run --profile glance --expect usual' "$work/asked" || wrong "the role starts $(cat "$work/asked")"
    done
    echo "ok: Ansible's role that rejects, with 6 and with 0"
}

schemas() {
    lint "the action" check-jsonschema --builtin-schema vendor.github-actions packaging/action/action.yml
    lint "issue templates" check-jsonschema --builtin-schema vendor.github-issue-forms .github/ISSUE_TEMPLATE/{value,failure,reference}.yml
    lint "the choice of templates" check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
    # The component's head is GitLab's own; what follows is a pipeline, once its inputs are put in.
    sed '1,/^---$/d; s/\$\[\[ inputs.tags \]\]/[]/; s/\$\[\[ inputs.stage \]\]/test/; s/\$\[\[ inputs[.][a-z]* \]\]//g' \
        packaging/gitlab/templates/hostmark.yml >"$work/gitlab-ci.yml"
    lint "GitLab's component" check-jsonschema --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci "$work/gitlab-ci.yml"
    lint "Kubernetes' Job" kubernetes-validate packaging/kubernetes/job.yaml
    lint "Kubernetes' DaemonSet" kubernetes-validate packaging/kubernetes/daemonset.yaml
    lint "Kubernetes' DaemonSet that rejects" kubernetes-validate packaging/kubernetes/reject.yaml
    lint "cloud-init's snippet" cloud-init schema --config-file packaging/cloud-init/hostmark.yaml
    lint "CITATION.cff" check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
    # A workflow that uses the action as a person would.
    mkdir -p "$work/workflow/.github/workflows"
    # shellcheck disable=SC2016 # backquotes of markdown
    sed -n '/^```yaml$/,/^```$/{/```/d;p}' packaging/action/README.md >"$work/workflow/.github/workflows/hostmark.yml"
    lint "a workflow with the action" actionlint "$work/workflow/.github/workflows/hostmark.yml"
}

scripts
schemas
action
component
user_data
epilog
reject
ansible
exit "$failed"
