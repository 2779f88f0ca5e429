
cd "$1" || exit 1
run=$5
turn=0
while :; do
    turn=$((turn + 1))
    for number in 0 1 2 3 4 5 6 7; do
        for name in "hostmark-$run-$number" "hostmark-$((run + number))-0" "round-$number"; do
            ln -s "$3" "$name" 2>/dev/null
            mkdir "/dev/shm/$name" 2>/dev/null && chmod 777 "/dev/shm/$name"
            for file in file0 locked exit listener socket near far there back page output; do
                ln -s "$2" "/dev/shm/$name/$file" 2>/dev/null
            done
        done
    done
    for found in hostmark-*; do
        # Where names may be taken away, the run's own directory is moved and a copy of what it could hold is put there.
        if [ -d "$found" ] && [ ! -L "$found" ] && mv "$found" "moved-$turn" 2>/dev/null; then
            echo "$found" >> "$4"
            if [ $((turn % 2)) = 0 ]; then ln -s "$3" "$found"; else
                mkdir -m 777 "$found"
                for round in 0 1 2 3 4 5 6 7 8 9; do ln -s "$3" "$found/round-$round"; done
            fi
        fi
    done
done
