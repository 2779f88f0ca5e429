[ "$1 $2" = "exec -i" ] && [ "$4" = -- ] || { echo "error: unknown command" >&2; exit 1; }
temporary=$3; shift 4
exec env -i PATH="$PATH" TMPDIR="$temporary" "$@"