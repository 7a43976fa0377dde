#!/bin/bash
# dracut module of autologger: the early program, the sealed snapshot of the store, and the unit that starts it, at the paths that
# they have in the root. Without a snapshot (nothing was applied, or all was cleaned) it is left out; also when it was for one boot, and
# that is over (put-back).
# dracut sets: moddir, initdir, dracutsysrootdir, systemdsystemunitdir, SYSTEMCTL.

early=/usr/sbin/autologger-early
snapshot=/var/lib/autologger/boot.snapshot

# called by dracut
check() {
    [[ -s ${dracutsysrootdir-}$snapshot && -x ${dracutsysrootdir-}$early ]] || return 1
    [[ ! -e ${dracutsysrootdir-}/var/lib/autologger/put-back ]] || return 1
    return 0
}

# called by dracut
depends() {
    return 0
}

# called by dracut
install() {
    inst_simple "$snapshot"
    inst_simple "$early"
    # for rdinit=
    ln -sfn autologger-early "${initdir:?}/usr/sbin/autologger-init"
    if dracut_module_included systemd; then
        inst_simple "${systemdsystemunitdir:?}/autologger-early.service"
        "${SYSTEMCTL:-systemctl}" -q --root "$initdir" add-wants sysinit.target autologger-early.service
    else
        # without systemd the hooks run in process 1 itself: what they start stays
        inst_hook cmdline 00 "${moddir:?}/autologger.sh"
    fi
}
