# Makes a place for a program, says so, reads the program from standard input, and becomes it. Before it come, as shell
# words: n (what our lines are known by), size (of the program, bytes), and the program's arguments as this script's own.
# Nothing of the program has a name while it is copied and when it runs: whoever is killed leaves nothing.
say() { printf '\nhostmark %s %s\n' "$n" "$*"; }
umask 077
sh=$(command -v sh)
d=
for b in "$TMPDIR" /tmp /var/tmp /dev/shm "$HOME" "$XDG_RUNTIME_DIR"; do
    [ -n "$b" ] || continue
    d=$b/hostmark-$n
    mkdir "$d" 2>/dev/null || { d=; continue; }
    trap 'rm -rf "$d"' EXIT
    trap 'exit 1' HUP INT TERM
    # A file system may be mounted so that nothing on it is executed.
    { printf '#!%s\n' "$sh" >"$d/try" && chmod 700 "$d/try" && "$d/try" &&
        : >"$d/program" && chmod 700 "$d/program" && exec 8>"$d/program" 9<"$d/program"; } 2>/dev/null &&
        rm -rf "$d" 2>/dev/null && [ -x /proc/self/fd/9 ] && break
    exec 8>&- 9<&-
    rm -rf "$d" 2>/dev/null
    d=
done
trap - EXIT HUP INT TERM
[ -n "$d" ] || { say nowhere; exit 1; }
say ready "$(uname -m)"
head -c "$size" >&8
exec 8>&-
copied=$(wc -c <&9)
[ "$copied" -eq "$size" ] || { say short "$copied"; exit 1; }
say copied
exec /proc/self/fd/9 "$@"
