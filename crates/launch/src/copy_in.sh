# Reads a program from standard input and becomes it. Before it come, as shell words: n (what our lines are known by), and
# the program's arguments as this script's own. It says what machine this is and the SHA-256 of the program of that name that
# is installed here; then it is told to use that one, or to take another.
# Nothing of the program has a name while it is copied and when it runs: whoever is killed leaves nothing. Only for as long as
# a file takes to be made and removed is there an empty one. What is executed is the descriptor whose digest was taken, and
# nobody but root and we can write to it.
say() { printf '\nhostmark %s %s\n' "$n" "$*"; }
# Of standard input, in s.
digest() { s=$(command -v sha256sum) && s=$(sha256sum 2>&1) && s=${s%% *} || s=-; }
# Whether root and we alone may change what lies at $1, with $2 told to ls: whose it is, and who may write to it. Others may
# write to a directory as to /tmp, where nobody takes away another one's names. Whoever has / could replace this shell.
is_safe() {
    set -- "$1" $(ls -ldn $2 "$1" 2>&-)
    case $2 in ?????-??-* | d????????[Tt]*) ;; *) return 1 ;; esac
    [ "$1" = / ] && root=$4
    [ "$4" = 0 ] || [ "$4" = "$root" ] || [ -O "$1" ]
}
# Whether this holds for $1 and each directory above it, from / on: where it holds down to one, nobody puts another below it.
# The first for which it does not is in d.
is_safe_path() {
    d=/ r=${1#/}
    while is_safe "$d"; do
        [ -n "$r" ] || return 0
        d=${d%/}/${r%%/*}
        case $r in */*) r=${r#*/} ;; *) r= ;; esac
    done
    return 1
}
# Whether the file that was just made was nobody else's from the beginning, and has one name.
is_new() {
    set -- $(ls -ldnL /proc/self/fd/8 2>&-)
    [ "${1%[.+]} $2 $5" = "-rw------- 1 0" ] && [ -O /proc/self/fd/8 ]
}
# Says why a directory does not do; what the system said goes to the last colon and beyond.
refused() {
    say tried "$b ($1: ${e##*: })"
    exec 8>&- 9>&-
}
mask=$(umask)
umask 077
f=
trap '[ -z "$f" ] || rm -f "$f"; exit 1' HUP INT TERM PIPE
own=$(command -v hostmark)
s=-
case $own in
    /*)
        # By its descriptor from here on: another file may come to have this name.
        if [ -f "$own" ] && [ -x "$own" ] && [ -r "$own" ] && exec 9<"$own"; then
            is_safe / && is_safe /proc/self/fd/9 -L && digest </proc/self/fd/9
        fi
        ;;
esac
m=$(uname -m)
say ready "${m:-unknown}" "$s"
IFS=' ' read -r word size want || exit 1
case $word in
    use)
        trap - HUP INT TERM PIPE
        umask "$mask"
        exec /proc/self/fd/9 "$@"
        ;;
    take) ;;
    *) exit 1 ;;
esac
for t in head wc chmod rm ls; do
    [ -n "$(command -v "$t")" ] || { say lacks "$t"; exit 1; }
done
[ -e /proc/self/fd/0 ] || { say lacks /proc; exit 1; }
sh=$(command -v sh)
# A shell that has all its programs in it names none.
case $sh in /*) ;; *) sh="$(readlink /proc/self/exe) sh" ;; esac
found=
for b in "$TMPDIR" /tmp /var/tmp /dev/shm "$HOME" "$XDG_RUNTIME_DIR"; do
    case $b in /*) ;; *) continue ;; esac
    e=$({ cd -P "$b" && pwd -P; } 2>&1) || { refused "no directory"; continue; }
    # Without links: what is looked at is what is used.
    b=$e
    is_safe_path "$b" || { say tried "$b (others may rename files in $d)"; continue; }
    # An empty file of ours that has this name was left by one who was killed then, or is about to be removed by its maker,
    # who has it open: no name of one that is used is taken away.
    for o in "$b"/hostmark-????????????????????????????????; do
        if [ -f "$o" ] && [ ! -L "$o" ] && [ ! -s "$o" ] && [ -O "$o" ]; then rm -f "$o"; fi
    done
    # What may fail is tried in another shell before: this one would end.
    f=$b/hostmark-$n
    e=$({ [ ! -e "$f" ] && set -C && : >"$f"; } 2>&1) || { f=; refused "no file can be made"; continue; }
    exec 8<>"$f"
    is_new || { rm -f "$f"; f= e="its owner, mode or links"; refused "a file made there is not ours alone"; continue; }
    e=$(rm -f "$f" 2>&1) || { refused "no file can be removed"; continue; }
    f=
    # A file system may be mounted so that nothing on it is executed.
    e=$({ chmod 700 /proc/self/fd/8 && : 9<>/proc/self/fd/8 && printf '#!%s\n' "$sh" >&8; } 2>&1) || {
        refused "no file can be written"
        continue
    }
    exec 9</proc/self/fd/8 8>&-
    e=$({ /proc/self/fd/9 && : 8>/proc/self/fd/9; } 2>&1) || { refused "no file can be executed"; continue; }
    exec 8>/proc/self/fd/9
    [ ! -c /dev/zero ] || e=$({ head -c "$size" /dev/zero >&8; } 2>&1) || { refused "no room for $size bytes"; continue; }
    exec 8>/proc/self/fd/9
    found=$b
    break
done
[ -n "$found" ] || { say nowhere; exit 1; }
say room
e=$({ head -c "$size" >&8; } 2>&1)
exec 8>&-
c=$(wc -c </proc/self/fd/9)
[ "$c" -eq "$size" ] || { say short "$c" "${e##*: }"; exit 1; }
digest </proc/self/fd/9
[ "$s" = - ] || [ "$s" = "$want" ] || { say differs "$s"; exit 1; }
say copied "$s"
trap - HUP INT TERM PIPE
umask "$mask"
exec /proc/self/fd/9 "$@"
