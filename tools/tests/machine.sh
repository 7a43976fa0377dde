#!/bin/sh
# Makes the tree of a machine that does not exist, for tests of apply, clean and check --system, and runs a command about it.
# Usage: machine.sh KIND[,WHAT...] COMMAND...      the tree is ./m, the calls of its programs are in ./calls
#   KIND  grub | systemd-boot | uki | bare
#   WHAT  hook     initramfs-tools with autologger's hook     dracut   the same with dracut
#         installed  autologgerd and its unit                   tpm      the root is unlocked by a TPM
#         lvm      /boot on LVM                               lockdown confidentiality
#         off      booted with autologger=off                 broken   the initramfs cannot be built
#         open     a daemon that was started by hand, and settings that protect from nothing
#         closed   a daemon that its unit started, and Debian's settings
#         keep     the tree is there already
# Its programs are STUBS that record how they were called: update-initramfs, lsinitramfs, dracut, grub-reboot, grub-editenv, bootctl, systemctl;
# "chroot" is a stub too, in a PATH of its own, which runs them.
set -e
kinds=$1
shift
has() { case ",$kinds," in *,$1,*) return 0 ;; esac; return 1; }
stub() { # NAME BODY
    mkdir -p m/usr/sbin
    printf '#!/bin/sh\necho "%s $*" >>calls\n%s\n' "$1" "$2" >"m/usr/sbin/$1"
    chmod 755 "m/usr/sbin/$1"
}
entry() { # KIND-OF-MODULE
    printf "menuentry 'Debian GNU/Linux' --class debian \$menuentry_id_option 'gnulinux-simple' {\n\tinsmod %s\n\tlinux\t/boot/vmlinuz-6.1.0-9-amd64 root=UUID=r ro quiet\n\tinitrd\t/boot/initrd.img-6.1.0-9-amd64\n}\n" "$1"
}
if ! has keep; then
    mkdir -p m/lib/modules/6.1.0-9-amd64 m/boot m/var/log m/proc m/etc stubs
    touch m/boot/initrd.img-6.1.0-9-amd64 calls
    echo 'root=UUID=r ro quiet' >m/proc/cmdline
    printf '#!/bin/sh\n[ "$1" = "$PWD/m" ] || [ "$1" = m ] || exit 125\nprogram=$2\nshift 2\nexec "$PWD/m/usr/sbin/$program" "$@"\n' >stubs/chroot
    chmod 755 stubs/chroot
    case ",$kinds," in
    *,grub,*)
        mkdir -p m/boot/grub
        module=ext2
        ! has lvm || module=lvm
        { echo 'if [ "${next_entry}" ] ; then set default="${next_entry}"; fi'; entry $module
          echo 'if [ -f ${config_directory}/custom.cfg ]; then source ${config_directory}/custom.cfg; fi'; } >m/boot/grub/grub.cfg
        stub grub-reboot 'echo "next_entry=$1" >m/boot/grub/env'
        stub grub-editenv 'if [ "$2" = list ]; then cat m/boot/grub/env; else rm -f m/boot/grub/env; fi' ;;
    *,systemd-boot,*)
        mkdir -p m/efi/loader/entries
        printf 'title Debian\nversion 6.1.0-9-amd64\noptions root=UUID=r ro\nlinux /d/6.1.0-9-amd64/linux\ninitrd /d/6.1.0-9-amd64/initrd\n' >m/efi/loader/entries/d-6.1.0-9-amd64.conf
        stub bootctl '' ;;
    *,uki,*)
        mkdir -p m/efi/EFI/Linux
        touch m/efi/EFI/Linux/debian-6.1.0-9-amd64.efi
        stub bootctl '' ;;
    esac
    if has hook; then
        mkdir -p m/usr/share/initramfs-tools/hooks
        touch m/usr/share/initramfs-tools/hooks/autologger
        stub autologger-early ''
        image=m/boot/initrd.img-6.1.0-9-amd64
        build='if [ -f m/var/lib/autologger/boot.snapshot ] && [ ! -e m/var/lib/autologger/put-back ]; then cp m/var/lib/autologger/boot.snapshot m/image; echo early; else rm -f m/image; echo plain; fi >'$image.new'; mv '$image.new' '$image
        ! has broken || build='echo "no space left" >&2; exit 3'
        stub update-initramfs "$build"
        stub lsinitramfs '[ ! -f m/image ] || echo usr/sbin/autologger-early'
    fi
    if has dracut; then
        mkdir -p m/usr/lib/dracut/modules.d/90autologger
        touch m/usr/lib/dracut/modules.d/90autologger/module-setup.sh
        stub autologger-early ''
        stub dracut 'if [ -e m/var/lib/autologger/put-back ]; then rm -f m/image; echo plain; else cp m/var/lib/autologger/boot.snapshot m/image; echo early; fi >"m$2"'
        stub lsinitrd '[ ! -f m/image ] || echo usr/sbin/autologger-early'
    fi
    if has installed; then
        mkdir -p m/usr/lib/systemd/system
        touch m/usr/lib/systemd/system/autologgerd.service
        stub autologgerd ''
        stub systemctl 'case $1 in is-enabled) if [ -f m/enabled ]; then echo enabled; else echo disabled; exit 1; fi ;; enable) touch m/enabled ;; disable) rm -f m/enabled ;; esac'
    fi
    ! has tpm || echo 'root UUID=l none luks,tpm2-device=auto' >m/etc/crypttab
    ! has off || echo 'root=UUID=r autologger=off quiet' >m/proc/cmdline
    if has lockdown; then
        mkdir -p m/sys/kernel/security
        echo 'none integrity [confidentiality]' >m/sys/kernel/security/lockdown
    fi
    if has open || has closed; then
        mkdir -p m/proc/411 m/proc/412 m/proc/sys/kernel m/proc/sys/fs m/proc/sys/user m/sys/kernel/security
        rights() { printf 'Name:\tautologgerd\nCapEff:\t%s\nNoNewPrivs:\t%s\nSeccomp:\t%s\n' "$2" "$3" "$4" >"m/proc/$1/status"; }
        number() { echo "$2" >"m/proc/sys/$1"; }
        rights 412 000000c40128402f 1 2
        if has open; then
            rights 411 000001ffffffffff 0 0
            number kernel/unprivileged_bpf_disabled 0
            number kernel/perf_event_paranoid -1
            number fs/protected_symlinks 0
            number user/max_user_namespaces 63000
            echo capability,yama >m/sys/kernel/security/lsm
        else
            rights 411 000000c40128402f 1 2
            number kernel/unprivileged_bpf_disabled 2
            number kernel/perf_event_paranoid 3
            number fs/protected_symlinks 1
            number user/max_user_namespaces 0
            echo capability,landlock,yama >m/sys/kernel/security/lsm
        fi
    fi
    : >calls
fi
PATH=$PWD/stubs:$PATH
export PATH
"$@"
