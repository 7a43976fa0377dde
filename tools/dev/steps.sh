# steps.sh - sourced by tools/quickstart and tools/check: steps with progress and seconds, one log, and the packages.
# The caller sets NAME (for messages) and LOG (a file). Everything that a step prints goes to the log.

STARTED=$SECONDS

say() {
    printf '%s\n' "$*" | tee -a "$LOG"
}

# step "words" COMMAND...: a progress line; on failure the end of the log. Returns the command's exit code.
step() {
    local words=$1 from=$SECONDS code
    shift
    printf '[%4d s] %s ... ' $((SECONDS - STARTED)) "$words"
    printf '\n== %s: %s\n' "$words" "$*" >>"$LOG"
    "$@" >>"$LOG" 2>&1
    code=$?
    if [ "$code" -eq 0 ]; then
        printf 'done (%d s)\n' $((SECONDS - from))
    else
        printf 'FAILED, exit code %d (%d s)\n' "$code" $((SECONDS - from))
    fi
    return "$code"
}

# beside NAME COMMAND...: runs a program in the background; its output goes to the log when it has ended.
# settled NAME: waits for it and returns its exit code, also at a second call. BESIDE_SECONDS[NAME]: its duration.
declare -A BESIDE_PID BESIDE_CODE BESIDE_SECONDS
beside() {
    local name=$1
    shift
    # a session of its own, which end_beside ends as a whole
    setsid bash -c '"$@" >"build/beside-$0.log" 2>&1; code=$?; echo "$SECONDS" >"build/beside-$0.seconds"; exit "$code"' "$name" "$@" &
    BESIDE_PID[$name]=$!
}
settled() {
    local name=$1
    if [ -z "${BESIDE_CODE[$name]-}" ]; then
        wait "${BESIDE_PID[$name]}"
        BESIDE_CODE[$name]=$?
        BESIDE_SECONDS[$name]=$(cat "build/beside-$name.seconds" 2>/dev/null || echo '?')
        cat "build/beside-$name.log" >>"$LOG"
        rm -f "build/beside-$name.log" "build/beside-$name.seconds"
    fi
    return "${BESIDE_CODE[$name]}"
}
end_beside() {
    local name
    for name in "${!BESIDE_PID[@]}"; do
        [ -n "${BESIDE_CODE[$name]-}" ] || kill -- "-${BESIDE_PID[$name]}" 2>/dev/null
    done
}
trap end_beside EXIT
# Waits for all background programs: what follows has the machine for itself.
all_settled() {
    local name
    for name in "${!BESIDE_PID[@]}"; do
        settled "$name"
    done
    return 0
}
# step_beside "words" NAME: as step, for a program that beside started.
step_beside() {
    step "$1" settled "$2"
    local code=$?
    echo "         beside other steps: ${BESIDE_SECONDS[$2]} s" | tee -a "$LOG"
    return "$code"
}

# show_log_end: the part of the log that shows why a step failed.
show_log_end() {
    echo "---- the end of $LOG"
    tail -n "${1:-40}" "$LOG"
    echo "----"
}

packages_for() { # build | build check
    local words=$1
    awk -v words=" $words " '/^[^#]/ && index(words, " " $2 " ") { print $1 }' tools/packages
}

missing_of() {
    local package
    for package in "$@"; do
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
    done
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

apt() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600 -o APT::Get::Lock::Timeout=600 \
        -o Acquire::Retries=3 "$@" </dev/null
}

# Another apt-get may hold the lists' lock: updating waits, too.
apt_update() {
    local try
    for try in 1 2 3 4 5 6; do
        apt update -q && return 0
        sleep 5
    done
    return 1
}

# install_packages "build check": installs the missing ones of these packages, if permitted. Sets STILL_MISSING.
install_packages() {
    local missing
    STILL_MISSING=""
    # shellcheck disable=SC2046
    missing=$(missing_of $(packages_for "$1"))
    if [ -z "$missing" ]; then
        say "[$(printf %4d $((SECONDS - STARTED))) s] packages: everything is there"
        return 0
    fi
    missing=$(echo $missing)
    if ! command -v apt-get >/dev/null || { [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null; }; then
        STILL_MISSING=$missing
        say "$NAME: without root these packages stay missing: $missing"
        say "$NAME: as root: apt-get install --no-install-recommends $missing"
        return 0
    fi
    step "updating the package lists" apt_update
    # shellcheck disable=SC2086
    step "installing $missing" apt install -y -q --no-install-recommends $missing
    # shellcheck disable=SC2086
    STILL_MISSING=$(echo $(missing_of $missing))
    if [ -n "$STILL_MISSING" ]; then
        say "$NAME: could not be installed: $STILL_MISSING"
    fi
    return 0
}

# configure_and_build PRESET [TARGET...]
configure_and_build() {
    local preset=$1
    shift
    step "configuring ($preset)" cmake --preset "$preset" || return 1
    step "building ($preset)" cmake --build --preset "$preset" ${1:+--target "$@"}
}
