#!/bin/sh
# Slurm's Epilog: after a job, at most once a day, a measurement of the node for at most 10 s. It joins the node's series, which
#   XDG_DATA_HOME=/var/lib hostmark report epilog
# shows over time. It always succeeds, since an epilog that fails drains its node, unless HOSTMARK_REJECT says that it is to: then a run of ten
# seconds decides.
#
#   HOSTMARK         the program; hostmark unless set
#   HOSTMARK_DATA    where the series goes; /var/lib unless set
#   HOSTMARK_EVERY   seconds between two measurements at least; 86400 unless set
#   HOSTMARK_REJECT  exit codes of `hostmark run --profile glance --expect usual` that drain the node: "1 6" for a node that is slower than usual (1)
#                    or not known to be as usual (6); none unless set
data=${HOSTMARK_DATA:-/var/lib}
stamp=$data/hostmark/epilog.time
now=$(date +%s)
last=$(cat "$stamp" 2>/dev/null || echo 0)
case $last in *[!0-9]* | '') last=0 ;; esac
[ $((now - last)) -ge "${HOSTMARK_EVERY:-86400}" ] || exit 0

mkdir -p "$data/hostmark" && echo "$now" >"$stamp" || exit 0
if [ -n "${HOSTMARK_REJECT:-}" ]; then
    code=0
    XDG_DATA_HOME=$data timeout --kill-after=5 30 "${HOSTMARK:-hostmark}" --quiet run --profile glance --expect usual >/dev/null 2>&1 || code=$?
    case " $HOSTMARK_REJECT " in
    *" $code "*)
        # The next job's end measures again, whatever the time.
        rm -f "$stamp"
        echo "hostmark: not as usual for this processor (exit code $code)" >&2
        exit 1
        ;;
    esac
    exit 0
fi
# Jobs that share the node would be measured with it, and hostmark tells so in the run's grade.
XDG_DATA_HOME=$data timeout --kill-after=5 30 "${HOSTMARK:-hostmark}" --quiet watch --once --series epilog >/dev/null 2>&1
exit 0
