
cd "$FLEET" || exit
echo "$*" >> log
mkdir -p pods
case "$1 $2" in
"get nodes") [ "$3 $4" = "-l pool=bench" ] || exit 1; cat nodes.json ;;
"create -f")
    cat > new.$$
    name=$(sed 's/.*"name":"\(hostmark-[0-9a-f]*-[0-9]*\)".*/\1/' new.$$)
    mv new.$$ "pods/$name"
    cp "pods/$name" "made-$name"
    ;;
"get pods")
    printf '{"items":['
    comma=
    for pod in pods/*; do
        [ -e "$pod" ] || continue
        node=$(sed 's/.*"nodeName":"\([^"]*\)".*/\1/' "$pod")
        status='{"phase":"Running","containerStatuses":[{"state":{"running":{}}}]}'
        [ ! -e "status-$node" ] || status=$(cat "status-$node")
        printf '%s{"metadata":{"name":"%s"},"status":%s}' "$comma" "${pod#pods/}" "$status"
        comma=,
    done
    printf ']}'
    ;;
"get events")
    [ "$3 $5" = "--field-selector -o" ] || exit 1
    printf '{"items":[%s]}' "$(cat events 2>/dev/null)"
    ;;
"exec -i")
    [ -e "pods/$3" ] && [ "$4 $5 $6" = "-c hostmark --" ] || exit 1
    node=$(sed 's/.*"nodeName":"\([^"]*\)".*/\1/' "pods/$3")
    if [ -e "hang-$node" ]; then : > hangs; exec sleep 1000; fi
    pod=$3
    shift 6
    [ -e "vanish-$node" ] || exec "$@"
    "$@"
    rm -f "pods/$pod"
    ;;
"delete pod") rm -f "pods/$3" ;;
"delete pods") rm -f pods/* ;;
*) echo "what is $*?" >&2; exit 1 ;;
esac