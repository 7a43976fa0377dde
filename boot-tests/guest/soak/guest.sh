# boot-tests/soak in a guest. The first line of /boot-test/programs: its seconds, the events a second of each program, the seconds between two
# samples; the other lines start the sessions.

# The uptime, and the time of day.
clocks() { echo "$(cut -d' ' -f1 /proc/uptime) $(date +%s)" >>$OUT/clocks; }
now() { cut -d. -f1 /proc/uptime; }

# KB of smaps_rollup: kb KEY PID...
kb() { key=$1; shift; for p in "$@"; do cat /proc/$p/smaps_rollup; done | awk "/^$key:/ { sum += \$2 } END { print sum }"; }

# A line of JSON, memory in KB, time in ns. The daemon is the keeper's only child.
sample() {
    pid=$(tr -d ' ' </proc/$DAEMON/task/$DAEMON/children)
    echo "{\"s\": $(($(now) - begun)), \"Rss\": $(kb Rss $pid), \"Pss\": $(kb Pss $pid), \"Anonymous\": $(kb Anonymous $pid)," \
        "\"programs\": $(kb Anonymous $(cat $OUT/writers)), \"cpu\": $(cat /proc/$pid/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f", sum }')," \
        "\"fds\": $(ls /proc/$pid/fd | wc -l), \"threads\": $(ls /proc/$pid/task | wc -l), \"file\": $(stat -c %s /var/log/autologger/box.etl)," \
        "\"box\": $(autologger query box --json | tr -d '\n'), \"ring\": $(autologger query ring --json | tr -d '\n')}" >>$OUT/samples
}

run_programs() {
    read -r seconds rate step </boot-test/programs
    tail -n +2 /boot-test/programs | sh >$OUT/start 2>&1
    for number in 0 1; do
        event_writer $OUT/tally-$number $number $((rate * seconds * 6 / 5 + 64)) "$rate" >$OUT/writer-$number 2>&1 &
        echo $! >>$OUT/writers
    done
    begun=$(now)
    clocks
    while left=$((begun + seconds + 1 - $(now))) && [ "$left" -gt 0 ]; do # one second more: both clocks are cut to whole seconds
        sleep $((left < step ? left : step))
        sample
    done
    clocks
    for pid in $(cat $OUT/writers); do
        kill -KILL "$pid" || echo "a program ended before its time" >>$OUT/start
        wait "$pid"
    done
    for name in box ring; do
        autologger stop $name --json >$OUT/stop-$name 2>&1
    done
    mark programs
}
