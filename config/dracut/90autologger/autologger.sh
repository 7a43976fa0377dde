#!/bin/sh
# Starts autologger's early program in an initramfs of dracut that has no systemd. Process 1 reads this file into itself: it must
# not end it, and leaves no variable behind.
case " $(cat /proc/cmdline) " in
*" autologger=off "*) ;;
*)
    # not in a kernel that only saves a crash dump
    if [ -x /usr/sbin/autologger-early ] && [ -s /var/lib/autologger/boot.snapshot ] && [ ! -e /proc/vmcore ]; then
        /usr/sbin/autologger-early start </dev/null >/dev/null 2>&1 &
    fi
    ;;
esac
