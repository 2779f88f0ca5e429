_hostmark() {
    local line=${COMP_LINE:0:COMP_POINT} cur shown IFS=$' \t\n'
    local -a words=()
    read -ra words <<<"$line"
    case $line in *[[:space:]]) words+=("") ;; esac
    cur=${words[${#words[@]} - 1]}
    IFS=$'\013'
    COMPREPLY=($(COMPLETE=bash _CLAP_IFS="$IFS" _CLAP_COMPLETE_INDEX=$((${#words[@]} - 1)) \
        _CLAP_COMPLETE_COMP_TYPE="$COMP_TYPE" _CLAP_COMPLETE_SPACE=false hostmark -- "${words[@]}" 2>/dev/null))
    # Readline puts a candidate in the place of what stands behind the last of its own breaks.
    shown=${cur%"${cur##*["${COMP_WORDBREAKS//[^@=:]/}"]}"}
    [ -n "${COMP_WORDBREAKS//[^@=:]/}" ] || shown=
    # An at sign alone it takes for the begin of a word.
    shown=${shown%@}
    local index
    for index in "${!COMPREPLY[@]}"; do COMPREPLY[index]=${COMPREPLY[index]#"$shown"}; done
    if [ ${#COMPREPLY[@]} = 1 ]; then
        case ${COMPREPLY[0]} in *[=/:@]) ;; *) COMPREPLY[0]+=" " ;; esac
    fi
}
complete -o nospace -o nosort -F _hostmark hostmark
