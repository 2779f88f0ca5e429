[ "$1 $2" = "exec -i" ] || { echo "docker: unknown command" >&2; exit 125; }
temporary=$3; shift 3
d=$(mktemp -d "${0%/*}/streams-XXXXXX"); mkfifo "$d/in" "$d/out" "$d/err"
# Both ends of each are open before anybody has one: who opens a fifo alone waits.
exec 3<&0 4<>"$d/in" 5<"$d/in" 6>"$d/in"
exec 4<>"$d/out" 7<"$d/out" 8>"$d/out"
exec 4<>"$d/err" 9<"$d/err"
setsid env -i PATH="$PATH" TMPDIR="$temporary" "$@" <&5 >&8 2>&4 3<&- 4<&- 5<&- 6>&- 7<&- 8>&- 9<&- &
there=$!
exec 4<&- 5<&- 8>&-
cat <&7 6>&- & out=$!
cat <&9 >&2 6>&- & err=$!
cat <&3 >&6 & in=$!
exec 6>&-
wait $there; code=$?
wait $out; wait $err
kill $in 2>/dev/null
exit $code