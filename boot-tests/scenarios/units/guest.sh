# A unit that fails, a unit started after the list was read, and systemd's output for all units.
end_unit() {
    systemd-run --quiet --unit=late-failure sh -c 'exit 3'
    systemd-run --quiet --unit=late-sleep sleep 1000
    sleep 2
    systemctl show '*' --all --property=Id,ActiveState,SubState,Result,InvocationID,InactiveExitTimestampMonotonic,ActiveEnterTimestampMonotonic,ActiveExitTimestampMonotonic,InactiveEnterTimestampMonotonic,ExecMainPID,ExecMainStartTimestampMonotonic,ExecMainExitTimestampMonotonic >$OUT/units 2>$OUT/units.errors
    for process in /proc/[0-9]*; do
        read -r line <$process/cgroup && echo "${process#/proc/} $line"
    done >$OUT/cgroups 2>/dev/null
    sleep 1
    autologger stop --merge >$OUT/merge 2>&1 # on a busy host a shutdown would leave the merge to the next boot after 3 s
    systemctl stop autologgerd.service
    mark stopped
}
