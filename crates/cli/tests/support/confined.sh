
    as=$1 limit=$2 first=$3 queues=$4
    shift 4
    mount -t tmpfs -o mode=1777 hostmark-test /dev/shm || exit 99
    mount -t mqueue hostmark-test "$queues" || exit 99
    eval "$first" || exit 99
    $as sleep 1000 & bystander=$!
    $as $limit "$0" run "$@" --format json
    echo "code $?" >&2
    kill -0 "$bystander" && echo "the bystander lives" >&2
    left() {
        for process in /proc/[0-9]*; do
            case "${process#/proc/}" in 1 | "$bystander") continue ;; esac
            # The shells of this script itself are no remains.
            read -r number name state rest <"$process/stat" && [ "$state" != Z ] && [ "$name" != '(sh)' ] && echo "$name"
        done 2>/dev/null
        ls -A /dev/shm "$TMPDIR" "$queues" | grep hostmark
        cat /proc/sysvipc/shm /proc/sysvipc/sem /proc/sysvipc/msg | grep -v key
    }
    # What a run's janitor removes is gone soon after it.
    for look in $(seq 60); do
        found=$(left)
        [ -z "$found" ] && break
        sleep 0.5
    done
    echo "left:" $found >&2
    kill "$bystander"
